#include "server/cache/change.h"

namespace flyball::server {

std::string_view ChangeTypeName(ChangeType type) {
  switch (type) {
    case ChangeType::kAdded:
      return "ADDED";
    case ChangeType::kModified:
      return "MODIFIED";
    case ChangeType::kDeleted:
      return "DELETED";
  }
  return "";
}

Bytes Change::Encoded(ChangeType type) const {
  MutexLock lock(mu_);
  auto& slot = encoded_[static_cast<int>(type)];
  if (slot) return slot;
  const auto& shown = type == ChangeType::kDeleted ? previous : object;
  std::string text;
  text.reserve(shown->bytes()->size() + 96);
  text += "{\"type\":\"";
  text += ChangeTypeName(type);
  text += "\",\"object\":";
  shown->AppendJson(text, StoredObject::Form::kWhole, revision);
  text += "}\n";
  return slot = MakeBytes(std::move(text));
}

void Change::ForgetEncoded() const {
  Bytes dropped[3];
  MutexLock lock(mu_);
  for (int i = 0; i < 3; ++i) dropped[i].swap(encoded_[i]);
}

}  // namespace flyball::server
