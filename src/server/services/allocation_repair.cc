#include "server/services/allocation_repair.h"

#include <functional>
#include <map>
#include <utility>

#include "api/values/time.h"
#include "base/observe/log.h"
#include "base/run/notification.h"
#include "server/registry/object_codec.h"
#include "server/registry/own_object.h"

namespace flyball::server {
namespace {

constexpr Duration kRepairInterval = std::chrono::minutes(3);
// Upstream writes the address before the Service, and a request may take that long.
constexpr Duration kAddressGrace = std::chrono::seconds(60);
constexpr int kRoundsBeforeLeak = 3;
constexpr std::size_t kRepairsAtOnce = 50;

Task<void> TellInEvent(ServerState& state, json::Value event) {
  RequestScope scope = OwnScope(state);
  auto made = MakeOwnObject(state, scope, std::move(event));
  if (!made) co_return;
  scope.resource = made->resource;
  // It is there already: told within the last hour.
  auto creating = state.registry.Create(scope, *made->resource, std::move(made->object));
  (void)co_await std::move(creating);
}

struct Complaint {
  std::string reason, action, message;
};

json::Value EventAbout(const StoredObject& object, std::string_view api_version, std::string_view kind,
                       const Complaint& complaint, std::string_view reporter, TimePoint now) {
  const std::string ns = object.namespace_name().empty() ? "default" : std::string(object.namespace_name());
  const auto digest = std::hash<std::string>()(complaint.reason + complaint.message);
  const std::string time = api::FormatTime(now);
  return json::Object{
      {"apiVersion", "v1"},
      {"kind", "Event"},
      {"metadata",
       json::Object{{"name", std::string(object.name()) + "." + std::to_string(digest)}, {"namespace", ns}}},
      {"involvedObject", json::Object{{"apiVersion", api_version},
                                      {"kind", kind},
                                      {"namespace", object.namespace_name()},
                                      {"name", object.name()},
                                      {"uid", object.uid()}}},
      {"reason", complaint.reason},
      {"action", complaint.action},
      {"message", complaint.message},
      {"type", "Warning"},
      {"reportingComponent", reporter},
      {"reportingInstance", reporter},
      {"source", json::Object{{"component", reporter}}},
      {"firstTimestamp", time},
      {"lastTimestamp", time},
      {"count", 1}};
}

Result<store::CommitOutcome> CommitAndWait(store::Store& store, store::Transaction transaction) {
  const auto done = std::make_shared<Notification<Result<store::CommitOutcome>>>();
  store.Commit(std::move(transaction),
               [done](Result<store::CommitOutcome> outcome) { done->Set(std::move(outcome)); });
  return done->Wait();
}

}  // namespace

// What one round leaves to the next, and where findings are counted.
struct AllocationRepair::Findings {
  explicit Findings(Metrics& m) : metrics(m) {}

  void CountAddress(const char* type) {
    metrics
        .GetCounter("apiserver_clusterip_repair_ip_errors_total",
                    "Number of errors detected on clusterips by the repair loop broken down by type of "
                    "error: leak, repair, full, outOfRange, duplicate, unknown, invalid",
                    {{"type", type}})
        .Add();
  }
  void CountPort(const char* type) {
    metrics
        .GetCounter("apiserver_nodeport_repair_port_errors_total",
                    "Number of errors detected on ports by the repair loop broken down by type of error: "
                    "leak, repair, full, outOfRange, duplicate, unknown",
                    {{"type", type}})
        .Add();
  }

  Metrics& metrics;
  std::map<int, int> leaks;  // ports that seem to be in use by nobody, and for how many rounds yet
};

// Confined to one thread.
class AllocationRepair::Round {
 public:
  Round(const AllocationRepair& repair)
      : ranges_(repair.ranges_),
        state_(repair.state_),
        ports_(repair.ports_),
        findings_(*repair.findings_),
        addresses_(state_.catalog.Find("networking.k8s.io", "v1", "ipaddresses")) {
    for (const auto& object : state_.catalog.Find("", "v1", "services")->cache->List({}).objects)
      services_.emplace_back(object, object->ToValue());
  }

  Status Run() {
    for (const auto& [object, service] : services_)
      for (const auto& address : ClusterIpsOf(service)) FLYBALL_TRY(CheckAddress(*object, address));
    for (const auto& object : addresses_->cache->List({}).objects) FLYBALL_TRY(CheckOwner(*object));
    FLYBALL_TRY(Flush());
    return CheckPorts();
  }

 private:
  Status CheckAddress(const StoredObject& service, const std::string& address) {
    const auto ip = api::ParseIp(address);
    const std::string shown = "[" + std::string(ip->is_v4 ? "IPv4" : "IPv6") + "]: " + address;
    if (!InAnyRange(*ip)) {
      findings_.CountAddress("outOfRange");
      Tell(service,
           {"ClusterIPOutOfRange", "ClusterIPAllocation",
            "Cluster IP " + shown + " is not within any configured Service CIDR; please recreate service"});
      return {};
    }
    if (!owners_.emplace(address, &service).second) {
      findings_.CountAddress("duplicate");
      Tell(service, {"ClusterIPAlreadyAllocated", "ClusterIPAllocation",
                     "Cluster IP " + shown + " was assigned to multiple services; please recreate service"});
      return {};
    }
    const auto current = addresses_->cache->Get(address);
    if (current && IsAddressOf(current->ToValue(), service.namespace_name(), service.name())) return {};
    findings_.CountAddress("repair");
    // Services of this store from before addresses were stored are no reason to worry.
    if (state_.store.shared())
      Tell(service, {"ClusterIPNotAllocated", "ClusterIPAllocation",
                     "Cluster IP " + shown +
                         (current ? " has a wrong reference; repairing" : " is not allocated; repairing")});
    return PutAddress(service, address, current);
  }

  bool InAnyRange(const api::IpAddress& ip) const {
    for (const AddressRange& range : ranges_)
      if (range.Contains(ip)) return true;
    const auto ranges = state_.catalog.Find("networking.k8s.io", "v1", "servicecidrs");
    for (const auto& object : ranges->cache->List({}).objects) {
      const auto value = object->ToValue();
      const auto& cidrs = value["spec"]["cidrs"];
      for (std::size_t i = 0; i < cidrs.size(); ++i) {
        const auto cidr = api::ParseCidr(cidrs.as_array()[i].string_or(""));
        if (cidr && cidr->Contains(ip)) return true;
      }
    }
    return false;
  }

  Status PutAddress(const StoredObject& service, const std::string& address, const ObjectPtr& current) {
    RequestScope scope = OwnScope(state_);
    auto value = IpAddressObject(address, service.namespace_name(), service.name());
    FLYBALL_ASSIGN(OwnObject made, MakeOwnObject(state_, scope, std::move(value)));
    const auto precondition =
        current ? store::Precondition::ModRevision(current->revision()) : store::Precondition::Absent();
    return Add({made.key, EncodeObject(*made.resource, made.object), precondition});
  }

  // An address that the allocator made, and no Service has.
  Status CheckOwner(const StoredObject& object) {
    const auto value = object.ToValue();
    const auto& metadata = value["metadata"];
    const std::string address(object.name());
    if (metadata["labels"]["ipaddress.kubernetes.io/managed-by"].string_or("") != kAddressOwner ||
        owners_.contains(address) || !metadata["finalizers"].empty())
      return {};
    const auto made = api::ParseTime(metadata["creationTimestamp"].string_or(""));
    if (made && state_.clock().Now() - made->ToTimePoint() < kAddressGrace) return {};
    findings_.CountAddress("leak");
    Spawned(EventAbout(object, "networking.k8s.io/v1", "IPAddress",
                       {"IPAddressNotAllocated", "IPAddressAllocation",
                        "IPAddress: " + address + " is of no Service; cleaning up"},
                       "ipallocator-repair-controller", state_.clock().Now()));
    return Add({addresses_->Key("", address), nullptr, store::Precondition::ModRevision(object.revision())});
  }

  Status CheckPorts() {
    const auto seen = ports_.state();
    auto leaked = seen.ports;
    PortBitmap rebuilt(seen.ports.range());
    for (const auto& [object, service] : services_)
      for (const int port : NodePortsOf(service)) CheckPort(*object, port, seen, rebuilt, leaked);
    KeepLeaked(leaked, rebuilt);
    if (seen.revision != 0 && seen.same_range && rebuilt == seen.ports) return {};
    store::Transaction transaction;
    transaction.push_back(ports_.Replace(seen, rebuilt));
    const auto outcome = CommitAndWait(state_.store, std::move(transaction));
    return outcome ? Status() : Unexpected(outcome.error());  // if it has changed, the next round looks again
  }

  void CheckPort(const StoredObject& service, int port, const StoredPorts::State& seen, PortBitmap& rebuilt,
                 PortBitmap& leaked) {
    const std::string shown = std::to_string(port);
    const auto tell = [&](const char* type, const char* reason, const std::string& message) {
      findings_.CountPort(type);
      Tell(service, {reason, "PortAllocation", message}, "portallocator-repair-controller");
    };
    if (!rebuilt.range().Contains(port))
      return tell("outOfRange", "PortOutOfRange",
                  "Port " + shown + " is not within the port range " + rebuilt.range().ToString() +
                      "; please recreate service");
    if (!rebuilt.Take(port))
      return tell("duplicate", "PortAlreadyAllocated",
                  "Port " + shown + " was assigned to multiple services; please recreate service");
    findings_.leaks.erase(port);
    if (!leaked.Has(port) && seen.revision != 0 && seen.same_range)
      tell("repair", "PortNotAllocated", "Port " + shown + " is not allocated; repairing");
    leaked.Release(port);
  }

  // What seems to be in use by nobody may belong to a Service that is being made.
  void KeepLeaked(const PortBitmap& leaked, PortBitmap& rebuilt) {
    for (int port = leaked.range().first; port <= leaked.range().last; ++port) {
      if (!leaked.Has(port)) continue;
      const auto [it, is_new] = findings_.leaks.emplace(port, kRoundsBeforeLeak);
      if (--it->second >= 0) {
        rebuilt.Take(port);
        continue;
      }
      findings_.leaks.erase(it);
      findings_.CountPort("leak");
      log::Warning("a node port that no Service has is free again", {{"port", std::to_string(port)}});
    }
  }

  void Tell(const StoredObject& service, const Complaint& complaint,
            std::string_view reporter = "ipallocator-repair-controller") {
    log::Warning(complaint.message,
                 {{"service", std::string(service.namespace_name()) + "/" + std::string(service.name())}});
    Spawned(EventAbout(service, "v1", "Service", complaint, reporter, state_.clock().Now()));
  }
  void Spawned(json::Value event) { SpawnOwn(TellInEvent(state_, std::move(event)), "telling in an event"); }

  Status Add(store::Operation operation) {
    pending_.push_back(std::move(operation));
    return pending_.size() < kRepairsAtOnce ? Status() : Flush();
  }
  Status Flush() {
    if (pending_.empty()) return {};
    const auto outcome = CommitAndWait(state_.store, std::exchange(pending_, {}));
    return outcome ? Status() : Unexpected(outcome.error());
  }

  const AddressRanges& ranges_;
  ServerState& state_;
  const StoredPorts& ports_;
  Findings& findings_;
  const ResourcePtr addresses_;
  std::vector<std::pair<ObjectPtr, json::Value>> services_;
  std::map<std::string, const StoredObject*> owners_;  // by address
  store::Transaction pending_;
};

AllocationRepair::AllocationRepair(const AddressRanges& ranges, ServerState& state, const StoredPorts& ports)
    : ranges_(ranges), state_(state), ports_(ports), findings_(std::make_shared<Findings>(state.metrics)) {}

AllocationRepair::~AllocationRepair() {
  Stop();
}

Status AllocationRepair::Run() {
  return Round(*this).Run();
}

void AllocationRepair::Start() {
  alarm_ = std::make_unique<Alarm>(state_.workers ? *state_.workers : state_.executor, [this] {
    if (const Status done = Run(); !done)
      log::Warning("the allocations of Services could not be checked", {{"error", done.error().message()}});
    RunLater();
  });
  RunLater();
}

void AllocationRepair::RunLater() {
  alarm_->Set(state_.clock().Steady() + kRepairInterval);
}

void AllocationRepair::Stop() {
  if (alarm_) alarm_->Close();
}

}  // namespace flyball::server
