#include "server/admission/namespaces.h"

#include "server/admission/basis/requests.h"
#include "server/registry/object_codec.h"
#include "server/registry/registry.h"
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
    if (!space->Parsed()["metadata"]["deletionTimestamp"].is_null())
      co_return Unexpected(Terminating(request));
    co_return Status();
  }

 private:
  const Catalog& catalog_;
};

class NamespaceAutoProvision final : public AdmissionPlugin {
 public:
  NamespaceAutoProvision(const Catalog& catalog, const RegistryAccess& access)
      : namespaces_(catalog.Find("", "v1", "namespaces")), access_(access) {}
  std::string_view name() const override { return "NamespaceAutoProvision"; }

  Task<Status> Admit(AdmissionRequest& request) override {
    if (request.operation != AdmissionRequest::Operation::kCreate || request.scope.dry_run ||
        request.namespace_name.empty() || IsNamespaces(request.resource) ||
        namespaces_->cache->Get(request.namespace_name))
      co_return Status();
    auto made = co_await Make(request);
    if (made || made.error().Is(Reason::kAlreadyExists)) co_return Status();
    if (made.error().Is(Reason::kForbidden)) co_return Unexpected(made.error());
    co_return Unexpected(AdmissionForbidden(request, made.error().message()));
  }

 private:
  Task<Status> Make(const AdmissionRequest& request) const {
    RequestScope scope({}, request.scope.user, request.scope.executor, request.scope.now);
    scope.field_manager = "kube-apiserver";
    scope.resource = namespaces_;
    const json::Value space =
        json::Object{{"apiVersion", "v1"},
                     {"kind", "Namespace"},
                     {"metadata", json::Object{{"name", std::string(request.namespace_name)}}}};
    FLYBALL_CO_ASSIGN(json::Value object, DecodeValue(scope, *namespaces_, space));
    FLYBALL_CO_TRY(co_await access_.registry->Create(scope, *namespaces_, std::move(object)));
    co_return Status();
  }

  const ResourcePtr namespaces_;
  const RegistryAccess& access_;
};

class NamespaceExists final : public AdmissionPlugin {
 public:
  explicit NamespaceExists(const Catalog& catalog) : namespaces_(catalog.Find("", "v1", "namespaces")) {}
  std::string_view name() const override { return "NamespaceExists"; }

  Task<Status> Validate(const AdmissionRequest& request) override {
    if (request.operation == AdmissionRequest::Operation::kConnect || request.namespace_name.empty() ||
        IsNamespaces(request.resource) || namespaces_->cache->Get(request.namespace_name))
      co_return Status();
    co_return Unexpected(NotFound(*namespaces_->kind, request.namespace_name));
  }

 private:
  const ResourcePtr namespaces_;
};

}  // namespace

std::unique_ptr<AdmissionPlugin> NewNamespaceAutoProvision(const Catalog& catalog,
                                                           const RegistryAccess& access) {
  return std::make_unique<NamespaceAutoProvision>(catalog, access);
}
std::unique_ptr<AdmissionPlugin> NewNamespaceExists(const Catalog& catalog) {
  return std::make_unique<NamespaceExists>(catalog);
}
std::unique_ptr<AdmissionPlugin> NewNamespaceLifecycle(const Catalog& catalog) {
  return std::make_unique<NamespaceLifecycle>(catalog);
}

}  // namespace flyball::server
