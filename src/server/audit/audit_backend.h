// AuditBackend: where audit events go.
#pragma once

#include <memory>
#include <string>

#include "base/values/bytes.h"
#include "base/values/unique_function.h"
#include "json/value.h"

namespace flyball::server {

// One event, encoded once for all backends.
struct AuditEntry {
  json::Value event;
  Bytes text;  // its JSON, without a newline
};
using AuditEntryPtr = std::shared_ptr<const AuditEntry>;

// Thread-safe. Destroying it waits for what has been accepted, within bounds.
class AuditBackend {
 public:
  virtual ~AuditBackend() = default;
  // Takes an event. Calls `done` once, on any thread or inline: when the request may go on, with whether the
  // event is recorded as well as the backend's mode promises (only blocking-strict says no).
  virtual void Process(AuditEntryPtr entry, UniqueFunction<void(bool)> done) = 0;
};

}  // namespace flyball::server
