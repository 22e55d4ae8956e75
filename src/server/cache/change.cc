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

namespace {

// But for the time: an older encoding of the same form is replaced.
bool IsSameForm(const Change::Form& a, const Change::Form& b) {
  return a.number == b.number && a.api_version == b.api_version;
}

}  // namespace

Bytes Change::Encoded(const Form& form, const std::function<Bytes()>& make) const {
  const auto is_same = [&](const Encoding& encoding) { return IsSameForm(encoding.form, form); };
  {
    MutexLock lock(mu_);
    const auto found = std::find_if(encodings_.begin(), encodings_.end(), is_same);
    if (found != encodings_.end() && found->form.second == form.second) return found->bytes;
  }
  Bytes bytes = make();
  MutexLock lock(mu_);
  const auto found = std::find_if(encodings_.begin(), encodings_.end(), is_same);
  if (found == encodings_.end())
    encodings_.push_back({form, bytes});
  else
    *found = {form, bytes};
  return bytes;
}

void Change::ForgetEncoded() const {
  std::vector<Encoding> dropped;
  MutexLock lock(mu_);
  dropped.swap(encodings_);
}

}  // namespace flyball::server
