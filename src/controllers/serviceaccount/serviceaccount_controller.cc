#include "controllers/serviceaccount/serviceaccount_controller.h"

#include <vector>

#include "api/types/core.h"
#include "controller/objects/owner.h"

namespace flyball::controllers {
namespace {

constexpr char kDefault[] = "default";
constexpr char kRootCa[] = "kube-root-ca.crt";
constexpr char kDescription[] = "kubernetes.io/description";
constexpr char kRootCaDescription[] =
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such "
    "as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of "
    "Kubernetes "
    "clusters.";

bool IsTerminating(const Namespace& ns) {
  return IsDeleting(ns.metadata) || ns.status.phase == "Terminating";
}

// The namespace of an object, if it is the one object of its kind that we maintain.
template <ApiObject T>
std::function<std::vector<ObjectKey>(const T&)> NamespaceIfNamed(std::string name) {
  return [name = std::move(name)](const T& object) -> std::vector<ObjectKey> {
    if (object.metadata.name != name) return {};
    return {ObjectKey{"", object.metadata.namespace_}};
  };
}

// Someone else was faster, or the namespace is being deleted; both are fine.
template <typename T>
Result<Action> Finished(const Result<T>& written) {
  if (written || written.error().Is(Reason::kAlreadyExists) ||
      written.error().HasCause("NamespaceTerminating"))
    return Done();
  return Unexpected(written.error());
}

Result<Action> EnsureServiceAccount(const Namespace& ns, Context& ctx) {
  if (IsTerminating(ns) || ctx.lister<ServiceAccount>().Get(ns.metadata.name, kDefault)) return Done();
  ServiceAccount account;
  account.metadata.namespace_ = ns.metadata.name;
  account.metadata.name = kDefault;
  return Finished(ctx.client().Create(account));
}

Result<Action> EnsureRootCa(const Namespace& ns, const std::string& ca_pem, Context& ctx) {
  if (IsTerminating(ns)) return Done();
  const std::map<std::string, std::string> data{{"ca.crt", ca_pem}};
  const auto known = ctx.lister<ConfigMap>().Get(ns.metadata.name, kRootCa);
  if (!known) {
    ConfigMap published;
    published.metadata.namespace_ = ns.metadata.name;
    published.metadata.name = kRootCa;
    published.metadata.annotations[kDescription] = kRootCaDescription;
    published.data = data;
    return Finished(ctx.client().Create(published));
  }
  const auto noted = known->metadata.annotations.find(kDescription);
  if (known->data == data && noted != known->metadata.annotations.end() &&
      noted->second == kRootCaDescription)
    return Done();
  ConfigMap repaired = *known;
  repaired.data = data;
  repaired.metadata.annotations[kDescription] = kRootCaDescription;
  return Finished(ctx.client().Update(repaired));
}

}  // namespace

Status AddServiceAccountController(Manager& manager) {
  return manager.For<Namespace>()
      .Named("serviceaccount-controller")
      .Watches<ServiceAccount>(NamespaceIfNamed<ServiceAccount>(kDefault))
      .Reconcile(&EnsureServiceAccount);
}

Status AddRootCaPublisher(Manager& manager, const std::string& ca_pem) {
  if (ca_pem.empty()) return {};
  return manager.For<Namespace>()
      .Named("root-ca-certificate-publisher-controller")
      .Watches<ConfigMap>(NamespaceIfNamed<ConfigMap>(kRootCa))
      .Reconcile([ca_pem](const Namespace& ns, Context& ctx) { return EnsureRootCa(ns, ca_pem, ctx); });
}

}  // namespace flyball::controllers
