// Audit: one JSON line a request, metadata level: who did what to which object and how it ended. Never a
// body, so never a secret. The format is audit.k8s.io/v1 Event.
#pragma once

#include <memory>
#include <string>

#include "base/run/mutex.h"
#include "base/values/result.h"
#include "net/http/http.h"
#include "server/request/request_scope.h"

namespace flyball::server {

// Thread-safe. Lines are appended with one write each.
class Audit {
 public:
  // Writes nothing.
  static std::unique_ptr<Audit> Off();
  // Appends to the file ("-": standard output), made if absent.
  static Result<std::unique_ptr<Audit>> Open(const std::string& path);
  ~Audit();

  bool enabled() const { return fd_ >= 0; }
  // Once a request, when its answer is known. `error` is null if the answer is none.
  void Record(const RequestScope& scope, const net::Request& request, int code, const Error* error,
              TimePoint finished);

 private:
  explicit Audit(int fd) : fd_(fd) {}
  const int fd_;
};

}  // namespace flyball::server
