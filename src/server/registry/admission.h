// Admission: the last word on a write, after authorisation and decoding. Plugins may change the object
// (Admit), then check the result (Validate). Order and names are kube-apiserver's.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/run/task.h"
#include "base/values/result.h"
#include "json/value.h"
#include "server/request/request_scope.h"

namespace flyball::server {

struct DeleteOptions;

// What plugins that change objects agree on when the chain runs a second time (upstream:
// admission.ReinvocationContext). Confined to the request.
class ReinvocationContext {
 public:
  // The plugins' Admit shall run once more: one of them wants to see what later ones changed.
  void Request() { requested_ = true; }
  bool requested() const { return requested_; }
  // This is the second time.
  bool is_reinvocation() const { return is_reinvocation_; }
  void Begin() { is_reinvocation_ = true; }
  // What a plugin keeps from the first time to the second; made when it is first asked for.
  template <typename T>
  T& StateOf(std::string_view plugin) {
    auto& state = states_[std::string(plugin)];
    if (!state) state = std::make_shared<T>();
    return *static_cast<T*>(state.get());
  }

 private:
  bool requested_ = false, is_reinvocation_ = false;
  std::map<std::string, std::shared_ptr<void>> states_;
};

struct AdmissionRequest {
  enum class Operation : std::uint8_t { kCreate, kUpdate, kDelete, kConnect };
  Operation operation = Operation::kCreate;
  RequestScope& scope;
  const ServedResource& resource;
  std::string_view subresource, namespace_name, name;
  json::Value* object = nullptr;                  // null for deletes; a plugin's Admit may change it
  const json::Value* old_object = nullptr;        // null for creates
  const DeleteOptions* delete_options = nullptr;  // of deletes
  ReinvocationContext reinvocation{};
};

// Thread-safe.
class AdmissionPlugin {
 public:
  virtual ~AdmissionPlugin() = default;
  virtual std::string_view name() const = 0;
  // Forbidden (or another error) refuses the request.
  virtual Task<Status> Admit(AdmissionRequest& request);
  virtual Task<Status> Validate(const AdmissionRequest& request);
  // Whether there is anything to do for the request at all. Asked before Admit and Validate; it must cost
  // next to nothing, so that plugins without any configuration do not slow down writes. Most plugins have
  // nothing to say about connections to pods and proxies.
  virtual bool WantsAdmit(const AdmissionRequest& request) const {
    return request.operation != AdmissionRequest::Operation::kConnect;
  }
  virtual bool WantsValidate(const AdmissionRequest& request) const {
    return request.operation != AdmissionRequest::Operation::kConnect;
  }
};

class AdmissionChain {
 public:
  explicit AdmissionChain(std::vector<std::unique_ptr<AdmissionPlugin>> plugins)
      : plugins_(std::move(plugins)) {}
  // Runs all plugins, and once more if one of them asked for it.
  Task<Status> Admit(AdmissionRequest& request) const;
  Task<Status> Validate(const AdmissionRequest& request) const;

 private:
  Task<Status> AdmitOnce(AdmissionRequest& request) const;

  std::vector<std::unique_ptr<AdmissionPlugin>> plugins_;
};

// 403: `pods "x" is forbidden: <message>`; "x" is the prefix of a name that is to be generated, and "Unknown"
// for collections.
Error AdmissionForbidden(const AdmissionRequest& request, std::string_view message);

}  // namespace flyball::server
