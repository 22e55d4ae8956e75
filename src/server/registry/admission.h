// Admission: the last word on a write, after authorisation and decoding. Plugins may change the object
// (Admit), then check the result (Validate). Order and names are kube-apiserver's.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/run/task.h"
#include "base/values/result.h"
#include "json/value.h"
#include "server/request/request_scope.h"

namespace flyball::server {

struct AdmissionRequest {
  enum class Operation : std::uint8_t { kCreate, kUpdate, kDelete, kConnect };
  Operation operation = Operation::kCreate;
  RequestScope& scope;
  const ServedResource& resource;
  std::string_view subresource, namespace_name, name;
  json::Value* object = nullptr;            // null for deletes; a plugin's Admit may change it
  const json::Value* old_object = nullptr;  // null for creates
};

// Thread-safe.
class AdmissionPlugin {
 public:
  virtual ~AdmissionPlugin() = default;
  virtual std::string_view name() const = 0;
  // Forbidden (or another error) refuses the request.
  virtual Task<Status> Admit(AdmissionRequest& request);
  virtual Task<Status> Validate(const AdmissionRequest& request);
};

class AdmissionChain {
 public:
  explicit AdmissionChain(std::vector<std::unique_ptr<AdmissionPlugin>> plugins)
      : plugins_(std::move(plugins)) {}
  Task<Status> Admit(AdmissionRequest& request) const;
  Task<Status> Validate(const AdmissionRequest& request) const;

 private:
  std::vector<std::unique_ptr<AdmissionPlugin>> plugins_;
};

// 403: `pods "x" is forbidden: <message>`.
Error AdmissionForbidden(const AdmissionRequest& request, std::string_view message);

}  // namespace flyball::server
