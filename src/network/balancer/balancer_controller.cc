#include "network/balancer/balancer_controller.h"

#include <algorithm>

#include "network/balancer/address_announcer.h"

namespace flyball::network {
namespace {

const ObjectKey kAllServices{"", "services"};

std::string KeyOf(const Service& service) {
  return service.metadata.namespace_ + "/" + service.metadata.name;
}

std::string Listed(const std::vector<api::IpAddress>& addresses) {
  std::string text;
  for (const api::IpAddress& address : addresses) text += (text.empty() ? "" : ", ") + address.ToString();
  return text;
}

// Confined to the controller's only worker.
class Balancer {
 public:
  Balancer(BalancerPool pool, std::unique_ptr<AddressAnnouncer> announcer)
      : pool_(std::move(pool)), announcer_(std::move(announcer)) {}

  // All Services at once, because one may have to wait for what another one has.
  Result<Action> Reconcile(const std::vector<std::shared_ptr<const Service>>& services, Context& ctx) {
    const BalancerPlan plan = PlanBalancers(pool_, services);
    FLYBALL_TRY(AnnounceAll(plan));
    Status failed;
    for (const auto& service : services)
      if (const Status written = WriteStatus(*service, plan, ctx); !written) failed = written;
    Report(services, plan, ctx);
    if (!failed) return Unexpected(failed.error());
    return Done();
  }

 private:
  Status AnnounceAll(const BalancerPlan& plan) {
    if (!announcer_) return {};
    std::vector<api::IpAddress> all;
    for (const auto& [key, addresses] : plan.addresses)
      all.insert(all.end(), addresses.begin(), addresses.end());
    return announcer_->Update(all);
  }

  Status WriteStatus(const Service& service, const BalancerPlan& plan, Context& ctx) {
    const auto planned = plan.addresses.find(KeyOf(service));
    const auto wanted = planned == plan.addresses.end() ? std::vector<api::IpAddress>() : planned->second;
    const auto present = BalancerAddressesOf(service);
    if (wanted == present) return {};
    // What another implementation has written is its own.
    const bool ours = std::all_of(present.begin(), present.end(),
                                  [this](const api::IpAddress& ip) { return pool_.Contains(ip); });
    const bool anothers = service.spec.type == "LoadBalancer" || !ours;
    if (!WantsBalancer(service) && anothers) return {};
    Service changed = service;
    changed.status.load_balancer = {};
    for (const api::IpAddress& address : wanted)
      changed.status.load_balancer.ingress.push_back({.ip = address.ToString(), .ip_mode = "VIP"});
    const auto written = ctx.client().UpdateStatus(changed);
    if (!written) return written.error().Is(Reason::kNotFound) ? Status() : Unexpected(written.error());
    if (!wanted.empty())
      ctx.recorder().Normal(service, "EnsuredLoadBalancer", "the load balancer has " + Listed(wanted));
    return {};
  }

  // Each reason once.
  void Report(const std::vector<std::shared_ptr<const Service>>& services, const BalancerPlan& plan,
              Context& ctx) {
    for (const auto& service : services) {
      const auto refused = plan.refused.find(KeyOf(*service));
      if (refused == plan.refused.end()) continue;
      const auto said = said_.find(refused->first);
      if (said != said_.end() && said->second == refused->second) continue;
      ctx.recorder().Warning(*service, "SyncLoadBalancerFailed",
                             "the load balancer has no address: " + refused->second);
    }
    said_ = plan.refused;
  }

  const BalancerPool pool_;
  const std::unique_ptr<AddressAnnouncer> announcer_;  // null: the addresses are the node's anyway
  std::map<std::string, std::string> said_;
};

}  // namespace

Status AddBalancerController(Manager& manager, const BalancerOptions& options) {
  std::unique_ptr<AddressAnnouncer> announcer;
  if (!options.pool.ranges.empty()) {
    FLYBALL_ASSIGN(announcer, AddressAnnouncer::Open(options.link, options.pool.ranges));
  }
  const auto balancer = std::make_shared<Balancer>(options.pool, std::move(announcer));
  const auto services = manager.informers().For<Service>();
  const auto controller = manager.AddController(
      {.name = "load-balancer"},
      [balancer, lister = services.lister()](const ObjectKey&, Context& ctx) -> Result<Action> {
        return balancer->Reconcile(lister.List(), ctx);
      });
  const auto enqueue = [weak = std::weak_ptr(controller)](const Service& service) {
    const bool concerns =
        service.spec.type == "LoadBalancer" || !service.status.load_balancer.ingress.empty();
    const auto live = weak.lock();
    if (live && concerns) live->Enqueue(kAllServices);
  };
  controller->DependOn(
      services.AddHandler({.on_add = [enqueue](const auto& service, bool) { enqueue(*service); },
                           .on_update =
                               [enqueue](const auto& before, const auto& now) {
                                 enqueue(*before);
                                 enqueue(*now);
                               },
                           .on_delete = [enqueue](const auto& service, bool) { enqueue(*service); }}));
  // Once in any case: an earlier program may have left addresses on the link.
  controller->Enqueue(kAllServices);
  return {};
}

}  // namespace flyball::network
