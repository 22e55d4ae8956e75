#include "network/ingress/ingress_status.h"

#include "api/values/ip_address.h"
#include "network/ingress/ingress_source.h"

namespace flyball::network {
namespace {

constexpr char kClassName[] = "flyball";

IngressLoadBalancerStatus StatusWith(const std::string& address) {
  IngressLoadBalancerIngress one;
  (api::ParseIp(address) ? one.ip : one.hostname) = address;
  return {.ingress = {std::move(one)}};
}

json::Value DefaultClass() {
  return json::Object{
      {"apiVersion", "networking.k8s.io/v1"},
      {"kind", "IngressClass"},
      {"metadata",
       json::Object{{"name", kClassName},
                    {"annotations", json::Object{{"ingressclass.kubernetes.io/is-default-class", "true"}}}}},
      {"spec", json::Object{{"controller", kIngressController}}}};
}

}  // namespace

void AddIngressStatusController(Manager& manager, const std::string& address) {
  const auto classes = std::make_shared<IngressClasses>(manager.informers());
  const auto ingresses = manager.informers().For<Ingress>();
  const auto controller = manager.AddController(
      {.name = "ingress-status"},
      [classes, ingresses, want = StatusWith(address)](const ObjectKey& key, Context& ctx) -> Result<Action> {
        const auto found = ingresses.lister().Get(key);
        if (!found || !classes->IsOurs(*found) || found->status.load_balancer == want) return Done();
        Ingress changed = *found;
        changed.status.load_balancer = want;
        FLYBALL_TRY(ctx.client().UpdateStatus(changed));
        return Done();
      });
  const auto enqueue = [weak = std::weak_ptr(controller)](const std::shared_ptr<const Ingress>& ingress) {
    if (const auto live = weak.lock()) live->Enqueue({ingress->metadata.namespace_, ingress->metadata.name});
  };
  controller->DependOn(
      ingresses.AddHandler({.on_add = [enqueue](const auto& ingress, bool) { enqueue(ingress); },
                            .on_update = [enqueue](const auto&, const auto& now) { enqueue(now); },
                            .on_delete = nullptr}));
  // A class that comes or changes may make any of them ours.
  const auto enqueue_all = [ingresses, enqueue] {
    for (const auto& ingress : ingresses.lister().List()) enqueue(ingress);
  };
  controller->DependOn(
      classes->informer().AddHandler({.on_add = [enqueue_all](const auto&, bool) { enqueue_all(); },
                                      .on_update = [enqueue_all](const auto&, const auto&) { enqueue_all(); },
                                      .on_delete = nullptr}));
}

void AddIngressClassController(Manager& manager) {
  const ControllerOptions named{.name = "ingress-class"};
  const auto controller = manager.AddController(named, [](const ObjectKey&, Context& ctx) -> Result<Action> {
    const auto classes = ctx.client().Dynamic(IngressClassKind());
    const auto found = classes.Get("", kClassName);
    if (found) return Done();
    if (!found.error().Is(Reason::kNotFound)) return Unexpected(found.error());
    const auto made = classes.Create(DefaultClass());
    if (!made && !made.error().Is(Reason::kAlreadyExists)) return Unexpected(made.error());
    return Done();
  });
  controller->Enqueue({"", kClassName});
}

}  // namespace flyball::network
