#include "server/cache/change.h"

#include <algorithm>

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

Change::Encoding* Change::Find(const Form& form) const {
  if (!encodings_) return nullptr;
  // But for the time: an older encoding of the same form is replaced.
  const auto is_same = [&](const Encoding& encoding) {
    return encoding.form.number == form.number && encoding.form.api_version == form.api_version;
  };
  const auto found = std::find_if(encodings_->begin(), encodings_->end(), is_same);
  return found == encodings_->end() ? nullptr : &*found;
}

Bytes Change::Encoded(const Form& form, const std::function<Bytes()>& make) const {
  {
    LightLock lock(mu_);
    if (const Encoding* found = Find(form); found && found->form.second == form.second) return found->bytes;
  }
  Encoding made{form, make()};
  Bytes bytes = made.bytes;
  LightLock lock(mu_);
  if (!encodings_) encodings_ = std::make_unique<std::vector<Encoding>>();
  if (Encoding* found = Find(form))
    std::swap(*found, made);  // the old one goes after the lock
  else
    encodings_->push_back(std::move(made));
  return bytes;
}

void Change::ForgetEncoded() const {
  std::unique_ptr<std::vector<Encoding>> dropped;
  LightLock lock(mu_);
  dropped.swap(encodings_);
}

}  // namespace flyball::server
