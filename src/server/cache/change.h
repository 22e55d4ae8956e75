// Change: one change of one object, shared by the watch cache's ring and everyone who is told of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/run/mutex.h"
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

  // `{"type":"ADDED","object":{...}}\n`, encoded once a type and then shared. A deletion carries the last
  // object with the deletion's version.
  Bytes Encoded(ChangeType type) const;
  // Lets go of what Encoded keeps; it is made again if anybody still asks.
  void ForgetEncoded() const;
  // The object as it was or is, whichever there is.
  const StoredObject& any() const { return object ? *object : *previous; }
  // The bytes that are in memory because of this change.
  std::size_t size() const { return any().bytes()->size(); }

 private:
  mutable Mutex mu_;
  mutable Bytes encoded_[3] FLYBALL_GUARDED_BY(mu_);
};
using ChangePtr = std::shared_ptr<const Change>;

}  // namespace flyball::server
