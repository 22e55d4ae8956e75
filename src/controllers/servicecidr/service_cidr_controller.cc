#include "controllers/servicecidr/service_cidr_controller.h"

#include <string>
#include <vector>

#include "api/types/networking.h"
#include "api/values/ip_address.h"
#include "controller/objects/owner.h"
#include "controller/objects/write_status.h"

namespace flyball::controllers {
namespace {

constexpr char kCidrProtection[] = "networking.k8s.io/service-cidr-finalizer";
constexpr char kManagedBy[] = "ipaddress.kubernetes.io/managed-by";
constexpr char kAllocator[] = "ipallocator.k8s.io";
// Allocators that have not seen the deletion yet may still take an address (upstream: deletionGracePeriod).
constexpr Duration kCidrGrace = std::chrono::seconds(10);

std::vector<api::Cidr> NetworksOf(const ServiceCIDR& cidr) {
  std::vector<api::Cidr> networks;
  for (const std::string& text : cidr.spec.cidrs)
    if (auto network = api::ParseCidr(text)) networks.push_back(*network);
  return networks;
}

bool CoversNetwork(const ServiceCIDR& cidr, const api::Cidr& network) {
  for (const api::Cidr& own : NetworksOf(cidr))
    if (own.prefix <= network.prefix && own.Contains(network.address)) return true;
  return false;
}

bool CoversAddress(const ServiceCIDR& cidr, const api::IpAddress& address) {
  for (const api::Cidr& own : NetworksOf(cidr))
    if (own.Contains(address)) return true;
  return false;
}

using CidrList = std::vector<std::shared_ptr<const ServiceCIDR>>;

// Another ServiceCIDR has each of its networks too.
bool HasParent(const ServiceCIDR& cidr, const CidrList& all) {
  for (const api::Cidr& network : NetworksOf(cidr)) {
    bool found = false;
    for (const auto& other : all)
      found = found || (other->metadata.name != cidr.metadata.name && CoversNetwork(*other, network));
    if (!found) return false;
  }
  return true;
}

// An address that no other ServiceCIDR has.
bool WouldOrphan(const ServiceCIDR& cidr, const IPAddress& ip, const CidrList& all) {
  const auto managed = ip.metadata.labels.find(kManagedBy);
  if (managed == ip.metadata.labels.end() || managed->second != kAllocator) return false;
  const auto address = api::ParseIp(ip.metadata.name);
  if (!address || !CoversAddress(cidr, *address)) return false;
  for (const auto& other : all)
    if (other->metadata.name != cidr.metadata.name && CoversAddress(*other, *address)) return false;
  return true;
}

bool CanGo(const ServiceCIDR& cidr, Context& ctx) {
  const CidrList all = ctx.lister<ServiceCIDR>().List();
  if (HasParent(cidr, all)) return true;
  for (const auto& ip : ctx.lister<IPAddress>().List())
    if (WouldOrphan(cidr, *ip, all)) return false;
  return true;
}

Status WriteReady(const ServiceCIDR& cidr, Condition ready, Context& ctx) {
  ServiceCIDR next = cidr;
  ready.type = "Ready";
  if (!SetCondition(next.status.conditions, ready, api::Time::From(ctx.Now()))) return {};
  const auto written = WriteStatus(ctx.client(), next);
  if (!written && !written.error().Is(Reason::kNotFound)) return Unexpected(written.error());
  return {};
}

Result<Action> ReconcileServiceCidr(const ServiceCIDR& cidr, Context& ctx) {
  Condition ready;
  if (!IsDeleting(cidr.metadata)) {
    FLYBALL_TRY(EnsureFinalizer(ctx.client(), cidr, kCidrProtection));
    ready.status = "True";
    ready.message = "Kubernetes Service CIDR is ready";
    FLYBALL_TRY(WriteReady(cidr, ready, ctx));
    return Done();
  }
  if (!CanGo(cidr, ctx)) {
    ready.status = "False";
    ready.reason = "Terminating";
    ready.message =
        "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new "
        "ServiceCIDR";
    FLYBALL_TRY(WriteReady(cidr, ready, ctx));
    return Done();
  }
  const Duration left = cidr.metadata.deletion_timestamp->ToTimePoint() + kCidrGrace - ctx.Now();
  if (left > Duration::zero()) return RequeueAfter(left);
  FLYBALL_TRY(DropFinalizer(ctx.client(), cidr, kCidrProtection));
  return Done();
}

}  // namespace

Status AddServiceCidrController(Manager& manager, int workers) {
  // Any address or network may decide about any other; there are few networks.
  const auto cidrs = manager.informers().For<ServiceCIDR>().lister();
  const auto everything = [cidrs] {
    std::vector<ObjectKey> keys;
    for (const auto& cidr : cidrs.List()) keys.push_back({"", cidr->metadata.name});
    return keys;
  };
  return manager.For<ServiceCIDR>()
      .Named("service-cidr-controller")
      .Watches<ServiceCIDR>([everything](const ServiceCIDR&) { return everything(); })
      .Watches<IPAddress>([everything](const IPAddress&) { return everything(); })
      .Workers(workers)
      .Reconcile(&ReconcileServiceCidr);
}

}  // namespace flyball::controllers
