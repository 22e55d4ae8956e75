#include "server/admission/owner_references.h"

#include "server/admission/basis/requests.h"

namespace flyball::server {
namespace {

const json::Array& OwnersOf(const json::Value* object) {
  static const json::Array kNone;
  if (!object) return kNone;
  const auto& owners = (*object)["metadata"]["ownerReferences"];
  return owners.is_array() ? owners.as_array() : kNone;
}

// The references that begin to block their owner's deletion.
std::vector<const json::Value*> NewlyBlocking(const AdmissionRequest& request) {
  const auto blocks = [](const json::Value& owner) { return owner["blockOwnerDeletion"].bool_or(false); };
  const auto blocked_before = [&](const json::Value& owner) {
    for (const auto& old : OwnersOf(request.old_object))
      if (old["uid"] == owner["uid"]) return blocks(old);
    return false;
  };
  std::vector<const json::Value*> found;
  for (const auto& owner : OwnersOf(request.object))
    if (blocks(owner) && !blocked_before(owner)) found.push_back(&owner);
  return found;
}

std::string ReasonOf(const Verdict& verdict) {
  return verdict.reason + ", " + (verdict.error ? verdict.error->message() : "<nil>");
}

class OwnerReferencesPermissionEnforcement final : public AdmissionPlugin {
 public:
  OwnerReferencesPermissionEnforcement(const Catalog& catalog, const Authorizer& authorizer)
      : catalog_(catalog), authorizer_(authorizer) {}
  std::string_view name() const override { return "OwnerReferencesPermissionEnforcement"; }

  Task<Status> Validate(const AdmissionRequest& request) override {
    if (!Writes(request) || (IsAboutPods(request) && request.subresource == "status")) co_return Status();
    if (OwnersOf(request.object) == OwnersOf(request.old_object)) co_return Status();
    if (request.operation != AdmissionRequest::Operation::kCreate)
      FLYBALL_CO_TRY(co_await CheckMayDelete(request));
    const auto blocking = NewlyBlocking(request);
    if (blocking.empty() || co_await MayFinalizeAnything(request)) co_return Status();
    for (const auto* owner : blocking) FLYBALL_CO_TRY(co_await CheckMayFinalize(request, *owner));
    co_return Status();
  }

 private:
  Task<Status> CheckMayDelete(const AdmissionRequest& request) const {
    AuthorizationAttributes attributes;
    attributes.user = &request.scope.user;
    attributes.verb = "delete";
    attributes.namespace_name = request.namespace_name;
    attributes.group = request.resource.kind->group;
    attributes.version = request.resource.kind->version;
    attributes.resource = request.resource.kind->plural;
    attributes.subresource = request.subresource;
    attributes.name = request.name;
    const Verdict verdict = co_await authorizer_.Authorize(attributes, request.scope.executor);
    if (verdict.decision == Decision::kAllow) co_return Status();
    co_return Unexpected(AdmissionForbidden(
        request, "cannot set an ownerRef on a resource you can't delete: " + ReasonOf(verdict)));
  }

  Task<bool> MayFinalizeAnything(const AdmissionRequest& request) const {
    AuthorizationAttributes attributes;
    attributes.user = &request.scope.user;
    attributes.verb = "update";
    attributes.group = attributes.version = attributes.resource = attributes.name = "*";
    attributes.subresource = "finalizers";
    const Verdict verdict = co_await authorizer_.Authorize(attributes, request.scope.executor);
    co_return verdict.decision == Decision::kAllow;
  }

  Task<Status> CheckMayFinalize(const AdmissionRequest& request, const json::Value& owner) const {
    const std::string api_version(owner["apiVersion"].string_or("")), kind(owner["kind"].string_or(""));
    const auto slash = api_version.find('/');
    const std::string group = slash == std::string::npos ? "" : api_version.substr(0, slash);
    const std::string version = slash == std::string::npos ? api_version : api_version.substr(slash + 1);
    const auto resource = catalog_.snapshot()->FindKind(group, version, kind);
    if (!resource)
      co_return Unexpected(AdmissionForbidden(
          request,
          "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion " +
              api_version + " Kind " + kind + ": no matches for kind \"" + kind + "\" in version \"" +
              api_version + "\""));
    AuthorizationAttributes attributes;
    attributes.user = &request.scope.user;
    attributes.verb = "update";
    attributes.group = group;
    attributes.version = version;
    attributes.resource = resource->kind->plural;
    attributes.subresource = "finalizers";
    attributes.name = owner["name"].string_or("");
    if (resource->kind->namespaced) attributes.namespace_name = request.namespace_name;
    const Verdict verdict = co_await authorizer_.Authorize(attributes, request.scope.executor);
    if (verdict.decision == Decision::kAllow) co_return Status();
    co_return Unexpected(AdmissionForbidden(
        request,
        "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers "
        "on: " +
            ReasonOf(verdict)));
  }

  const Catalog& catalog_;
  const Authorizer& authorizer_;
};

}  // namespace

std::unique_ptr<AdmissionPlugin> NewOwnerReferencesPermissionEnforcement(const Catalog& catalog,
                                                                         const Authorizer& authorizer) {
  return std::make_unique<OwnerReferencesPermissionEnforcement>(catalog, authorizer);
}

}  // namespace flyball::server
