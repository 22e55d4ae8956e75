// Change: one change of one object, shared by the watch cache's ring and everyone who is told of it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/run/light_mutex.h"
#include "server/cache/stored_object.h"

namespace flyball::server {

enum class ChangeType : std::uint8_t { kAdded, kModified, kDeleted };
std::string_view ChangeTypeName(ChangeType type);  // "ADDED"

// Thread-safe.
class Change {
 public:
  Change(ObjectPtr now, ObjectPtr before, store::Revision at)
      : object(std::move(now)), previous(std::move(before)), revision(at) {}

  const ObjectPtr object;    // null: deleted
  const ObjectPtr previous;  // null: created
  const store::Revision revision;

  // Which bytes an event is sent as: equal forms mean equal bytes.
  struct Form {
    std::string api_version;   // of the object that is shown
    std::uint32_t number = 0;  // everything else
    std::int64_t second = 0;   // when ages are shown: they are counted to here
  };
  // The event in one form, made by `make` for the first watcher that wants it and then shared. `make` runs
  // without a lock, so two watchers may call theirs at the same time.
  Bytes Encoded(const Form& form, const std::function<Bytes()>& make) const;
  // The object that an event of this type shows: a deletion shows the last one.
  const ObjectPtr& Shown(ChangeType type) const { return type == ChangeType::kDeleted ? previous : object; }
  // Lets go of what Encoded keeps; it is made again if anybody still asks.
  void ForgetEncoded() const;
  // The object as it was or is, whichever there is.
  const StoredObject& any() const { return object ? *object : *previous; }
  // The bytes that are in memory because of this change.
  std::size_t size() const { return any().size(); }

 private:
  struct Encoding {
    Form form;
    Bytes bytes;
  };
  mutable LightMutex mu_;
  // Made with the first: most changes of a resource that nobody watches never have any.
  mutable std::unique_ptr<std::vector<Encoding>> encodings_ FLYBALL_GUARDED_BY(mu_);
  // Null if there is none, of whatever time.
  Encoding* Find(const Form& form) const FLYBALL_REQUIRES(mu_);
};
using ChangePtr = std::shared_ptr<const Change>;

}  // namespace flyball::server
