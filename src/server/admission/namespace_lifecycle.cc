#include "server/admission/namespace_lifecycle.h"

#include "server/request/api_errors.h"

namespace flyball::server {
namespace {

bool IsNamespaces(const ServedResource& resource) {
  return resource.kind->group.empty() && resource.kind->plural == "namespaces";
}

bool IsProtected(std::string_view name) {
  return name == "default" || name == "kube-system" || name == "kube-public";
}

Error Terminating(const AdmissionRequest& request) {
  const std::string space(request.namespace_name);
  auto error = AdmissionForbidden(
      request, "unable to create new content in namespace " + space + " because it is being terminated");
  auto details = error.details();
  details.causes = {
      {"NamespaceTerminating", "namespace " + space + " is being terminated", "metadata.namespace"}};
  return error.WithDetails(std::move(details));
}

class NamespaceLifecycle final : public AdmissionPlugin {
 public:
  explicit NamespaceLifecycle(const Catalog& catalog) : catalog_(catalog) {}
  std::string_view name() const override { return "NamespaceLifecycle"; }

  Task<Status> Admit(AdmissionRequest& request) override {
    if (IsNamespaces(request.resource)) {
      if (request.operation == AdmissionRequest::Operation::kDelete && IsProtected(request.name))
        co_return Unexpected(AdmissionForbidden(request, "this namespace may not be deleted"));
      co_return Status();
    }
    if (request.namespace_name.empty() || request.operation == AdmissionRequest::Operation::kDelete)
      co_return Status();
    const auto namespaces = catalog_.Find("", "v1", "namespaces");
    const auto space = namespaces->cache->Get(request.namespace_name);
    if (!space) co_return Unexpected(NotFound(*namespaces->kind, request.namespace_name));
    if (request.operation != AdmissionRequest::Operation::kCreate) co_return Status();
    // Reviews ask about a place; they make nothing in it.
    if (!request.resource.cache) co_return Status();
    if (!space->ToValue()["metadata"]["deletionTimestamp"].is_null())
      co_return Unexpected(Terminating(request));
    co_return Status();
  }

 private:
  const Catalog& catalog_;
};

}  // namespace

std::unique_ptr<AdmissionPlugin> NewNamespaceLifecycle(const Catalog& catalog) {
  return std::make_unique<NamespaceLifecycle>(catalog);
}

}  // namespace flyball::server
