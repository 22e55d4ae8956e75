#include "network/services/service_proxy.h"

#include <algorithm>

#include "api/values/time.h"
#include "base/observe/log.h"
#include "network/netlink/netlink.h"
#include "network/services/service_chains.h"
#include "network/services/udp_flows.h"

namespace flyball::network {
namespace {

constexpr char kByService[] = "service";
constexpr char kServiceNameLabel[] = "kubernetes.io/service-name";
constexpr char kZoneLabel[] = "topology.kubernetes.io/zone";
// Services that another proxy serves, and endpoints that nobody proxies, are not even asked for.
constexpr char kOurServices[] = "!service.kubernetes.io/service-proxy-name";
constexpr char kOurSlices[] = "!service.kubernetes.io/service-proxy-name,!service.kubernetes.io/headless";
constexpr Duration kHealthTimeout = std::chrono::minutes(2);  // upstream: twice the sync period, of a minute
constexpr Duration kCheckPeriod = std::chrono::hours(1);      // upstream: proxyutil.FullSyncPeriod
const ObjectKey kEverything{"", "services"};

InformerScope Labelled(const char* selector) {
  InformerScope scope;
  scope.label_selector = selector;
  return scope;
}

InformerScope Named(const std::string& name) {
  InformerScope scope;
  scope.field_selector = "metadata.name=" + name;
  return scope;
}

std::string KeyOf(const ObjectMeta& metadata) {
  return metadata.namespace_ + "/" + metadata.name;
}

std::string ServiceOf(const EndpointSlice& slice) {
  const auto label = slice.metadata.labels.find(kServiceNameLabel);
  return label == slice.metadata.labels.end() ? "" : slice.metadata.namespace_ + "/" + label->second;
}

double UnixSeconds(TimePoint time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

double Seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

std::vector<api::IpAddress> AddressesIn(const Node& node) {
  std::vector<api::IpAddress> addresses;
  for (const NodeAddress& address : node.status.addresses)
    if (address.type == "InternalIP")
      if (const auto ip = api::ParseIp(address.address)) addresses.push_back(*ip);
  return addresses;
}

template <typename Body>
std::invoke_result_t<Body> InNamespaceOf(const NetworkNamespace::Ptr& ns, Body body) {
  return ns ? ns->Run(std::move(body)) : body();
}

}  // namespace

struct ServiceProxy::Family {
  Family(ServiceTableOptions options, Metrics& registry)
      : table(std::move(options)), metrics(registry, table.options().family) {}

  std::string Listing() const {
    return "list table " + std::string(FamilyWord(table.options().family)) + " " + table.options().table;
  }
  // What the kernel has of the table; "" if it is not there.
  std::string Present() { return nft->QueryNames(Listing()).value_or(""); }

  ServiceTable table;
  ProxyFamilyMetrics metrics;
  std::unique_ptr<Nftables> nft;
  bool complete = false;  // the kernel has what was rendered last
  StaleUdpFlows stale_flows;
  SteadyTime stale_since{};  // when chains were emptied
};

ServiceProxy::ServiceProxy(Manager& manager, ServiceProxyOptions options)
    : manager_(manager),
      clock_(manager.runtime().clock()),
      options_(std::move(options)),
      services_(manager.informers().For<Service>(Labelled(kOurServices)).lister()),
      slices_(manager.informers().For<EndpointSlice>(Labelled(kOurSlices)).lister()),
      nodes_(manager.informers().For<Node>(Named(options_.node_name)).lister()),
      networks_(manager.informers().For<ServiceCIDR>().lister()),
      changes_(manager.runtime().metrics),
      health_checks_(options_.ns, [this] { return healthy(); }),
      place_{options_.node_name, ""} {}

ServiceProxy::~ServiceProxy() = default;

Result<std::shared_ptr<ServiceProxy>> ServiceProxy::Add(Manager& manager, ServiceProxyOptions options) {
  std::shared_ptr<ServiceProxy> proxy(new ServiceProxy(manager, std::move(options)));
  FLYBALL_TRY(proxy->Open());
  FLYBALL_TRY(proxy->Watch());
  return proxy;
}

Status ServiceProxy::Open() {
  const auto& addresses = options_.node_port_addresses;
  const bool everywhere = std::find(addresses.begin(), addresses.end(), "all") != addresses.end();
  return InNamespaceOf(options_.ns, [&]() -> Status {
    for (const IpFamily family : options_.families) {
      ServiceTableOptions table{.family = family,
                                .table = options_.table,
                                .masquerade_mark = options_.masquerade_mark,
                                .masquerade_all = options_.masquerade_all,
                                .local = options_.local,
                                .node_ports_everywhere = everywhere};
      auto& added = families_.emplace_back(std::make_unique<Family>(table, manager_.runtime().metrics));
      FLYBALL_ASSIGN(added->nft, Nftables::Open());
      // Says at once, and not with the first Service, that this cannot work: the right to do it is missing,
      // or the kernel's part.
      FLYBALL_TRY(added->nft->Query("list tables"));
    }
    FLYBALL_ASSIGN(conntrack_, Conntrack::Open());
    return {};
  });
}

Status ServiceProxy::Watch() {
  ControllerOptions options;
  options.name = "service-proxy";
  options.needs_leader = false;
  // A first sync of very many Services is one transaction.
  options.stuck_after = std::chrono::minutes(10);
  const std::weak_ptr<ServiceProxy> weak = weak_from_this();
  controller_ = manager_.AddController(options, [weak](const ObjectKey&, Context& context) -> Result<Action> {
    const auto self = weak.lock();
    return self ? self->Sync(context) : Done();
  });
  const auto call = [weak](auto method) {
    return [weak, method](const auto&... objects) {
      if (const auto self = weak.lock()) method(*self, objects...);
    };
  };
  auto& informers = manager_.informers();

  const auto service = call([](ServiceProxy& self, const std::shared_ptr<const Service>& object, bool) {
    self.MarkService(KeyOf(object->metadata));
  });
  controller_->DependOn(
      informers.For<Service>(Labelled(kOurServices))
          .AddHandler({.on_add = service,
                       .on_update = call([](ServiceProxy& self, const auto&, const auto& now) {
                         self.MarkService(KeyOf(now->metadata));
                       }),
                       .on_delete = service}));

  const auto slices = informers.For<EndpointSlice>(Labelled(kOurSlices));
  const Status indexed = slices.AddIndex(
      kByService, [](const EndpointSlice& slice) { return std::vector<std::string>{ServiceOf(slice)}; });
  if (!indexed && !indexed.error().Is(Reason::kAlreadyExists)) return indexed;
  const auto slice = call([](ServiceProxy& self, const std::shared_ptr<const EndpointSlice>& object, bool) {
    self.MarkSlice(*object);
  });
  controller_->DependOn(
      slices.AddHandler({.on_add = slice,
                         .on_update = call([](ServiceProxy& self, const auto& before, const auto& now) {
                           self.MarkSlice(*before);
                           if (ServiceOf(*before) != ServiceOf(*now)) self.MarkSlice(*now);
                         }),
                         .on_delete = slice}));

  const auto all = call([](ServiceProxy& self, const auto&...) { self.MarkAll(); });
  controller_->DependOn(
      informers.For<Node>(Named(options_.node_name))
          .AddHandler({.on_add = all,
                       .on_update = call([](ServiceProxy& self, const auto& before, const auto& now) {
                         if (before->metadata.labels != now->metadata.labels ||
                             before->status.addresses != now->status.addresses)
                           self.MarkAll();
                       }),
                       .on_delete = all}));
  // Not waited for: clusters before 1.33 do not serve it.
  informers.For<ServiceCIDR>().AddHandler({.on_add = all, .on_update = all, .on_delete = all});
  controller_->Enqueue(kEverything);
  return {};
}

void ServiceProxy::MarkService(const std::string& key) {
  changes_.service_changes.Add();
  {
    MutexLock lock(mu_);
    dirty_.insert(key);
    changes_.service_pending.Set(static_cast<double>(dirty_.size()));
  }
  Schedule();
}

void ServiceProxy::MarkSlice(const EndpointSlice& slice) {
  changes_.endpoint_changes.Add();
  const std::string key = ServiceOf(slice);
  if (key.empty()) return;
  {
    MutexLock lock(mu_);
    dirty_.insert(key);
    changes_.endpoint_pending.Set(static_cast<double>(dirty_.size()));
  }
  Schedule();
}

void ServiceProxy::MarkAll() {
  {
    MutexLock lock(mu_);
    all_dirty_ = true;
  }
  Schedule();
}

void ServiceProxy::Schedule() {
  Duration delay{};
  {
    MutexLock lock(mu_);
    const TimePoint now = clock_.Now();
    if (!health_.waiting_since) health_.waiting_since = now;
    delay = std::max(Duration{}, Duration(last_sync_ + options_.min_sync_period - clock_.Steady()));
  }
  for (const auto& family : families_) family->metrics.last_queued.Set(UnixSeconds(clock_.Now()));
  if (delay > Duration::zero())
    controller_->EnqueueAfter(kEverything, delay);
  else
    controller_->Enqueue(kEverything);
}

ProxyHealth ServiceProxy::Health() const {
  MutexLock lock(mu_);
  return health_;
}

bool ServiceProxy::healthy() const {
  const ProxyHealth health = Health();
  return !health.waiting_since || clock_.Now() - *health.waiting_since < kHealthTimeout;
}

std::shared_ptr<const Node> ServiceProxy::node() const {
  return nodes_.Get(options_.node_name);
}

std::set<std::string> ServiceProxy::TakeDirty() {
  std::set<std::string> dirty;
  {
    MutexLock lock(mu_);
    dirty.swap(dirty_);
    if (!all_dirty_) return dirty;
    all_dirty_ = false;
  }
  UpdateNode();
  UpdateServiceNetworks();
  // Those that are gone are among the dirty ones.
  for (const auto& service : services_.List()) dirty.insert(KeyOf(service->metadata));
  return dirty;
}

void ServiceProxy::UpdateNode() {
  const auto node = nodes_.Get(options_.node_name);
  node_addresses_ = node ? AddressesIn(*node) : std::vector<api::IpAddress>();
  place_.zone.clear();
  if (node)
    if (const auto zone = node->metadata.labels.find(kZoneLabel); zone != node->metadata.labels.end())
      place_.zone = zone->second;

  std::vector<api::Cidr> networks;
  std::vector<api::IpAddress> open;
  for (const std::string& text : options_.node_port_addresses) {
    if (text == "primary") open.insert(open.end(), node_addresses_.begin(), node_addresses_.end());
    if (const auto network = api::ParseCidr(text)) networks.push_back(*network);
  }
  if (!networks.empty()) {
    const auto links = InNamespaceOf(options_.ns, []() -> Result<std::vector<LinkAddress>> {
      FLYBALL_ASSIGN(const auto netlink, Netlink::Open());
      return netlink->ListAddresses();
    });
    if (!links) log::Warning("cannot list the node's addresses", {{"error", links.error().message()}});
    for (const LinkAddress& link : links.value_or(std::vector<LinkAddress>()))
      for (const api::Cidr& network : networks)
        if (network.Contains(link.address.address) && !link.address.address.IsLoopback())
          open.push_back(link.address.address);
  }
  for (const auto& family : families_) family->table.SetNodePortAddresses(open);
}

void ServiceProxy::UpdateServiceNetworks() {
  std::vector<api::Cidr> networks;
  for (const auto& object : networks_.List())
    for (const std::string& text : object->spec.cidrs)
      if (const auto network = api::ParseCidr(text)) networks.push_back(*network);
  for (const auto& family : families_) family->table.SetServiceNetworks(networks);
}

void ServiceProxy::UpdateTables(const std::set<std::string>& dirty) {
  for (const std::string& key : dirty) UpdateService(key);
}

void ServiceProxy::UpdateService(const std::string& key) {
  const std::size_t slash = key.find('/');
  const auto service = services_.Get(key.substr(0, slash), key.substr(slash + 1));
  const EndpointSlices slices = service ? slices_.ByIndex(kByService, key) : EndpointSlices();
  health_checked_.erase(key);
  for (const auto& family : families_) {
    ServiceTable& table = family->table;
    ServiceRules rules;
    if (service)
      rules =
          BuildServiceRules(*service, slices, table.options(), place_, node_addresses_, table.RulesOf(key));
    if (rules.health_check_node_port) health_checked_.insert(key);
    family->stale_flows.Compare(table.RulesOf(key), rules);
    table.Update(key, std::move(rules));
  }
}

// One transaction of changes; if the kernel does not take it, the table from scratch, and if it does not take
// that either, another one in its place.
Status ServiceProxy::Apply(Family& family) {
  const SteadyTime start = clock_.Steady();
  if (family.complete && family.table.has_stale_chains() &&
      start - family.stale_since > std::chrono::seconds(1)) {
    const Status deleted = family.nft->Run(family.table.RenderStaleChains());
    if (!deleted) family.metrics.cleanup_failures.Add();
  }
  Status done;
  const bool full = !family.complete;
  if (family.complete) {
    const std::string changes = family.table.RenderChanges();
    if (changes.empty()) return {};
    done = family.nft->Run(changes);
    if (family.table.has_stale_chains()) family.stale_since = start;
  }
  if (full || !done) {
    if (!done)
      log::Warning("nftables did not take a change; it gets the whole table",
                   {{"family", std::string(FamilyName(family.table.options().family))},
                    {"error", done.error().message().substr(0, 500)}});
    done = family.nft->Run(family.table.RenderReplacement(family.Present()));
    if (!done) done = family.nft->Run(family.table.RenderReplacement(""));
  }
  family.complete = done.has_value();
  const double seconds = Seconds(clock_.Steady() - start);
  family.metrics.sync.Observe(seconds);
  (full ? family.metrics.full_sync : family.metrics.partial_sync).Observe(seconds);
  if (!done) {
    family.metrics.sync_failures.Add();
    return done;
  }
  family.metrics.last_sync.Set(UnixSeconds(clock_.Now()));
  return {};
}

void ServiceProxy::ForgetFlows(Family& family) {
  if (family.stale_flows.empty()) return;
  const SteadyTime start = clock_.Steady();
  const auto deleted =
      conntrack_->DeleteUdp([&](const TrackedFlow& flow) { return family.stale_flows.Contains(flow); });
  family.stale_flows = {};
  family.metrics.conntrack_sync.Observe(Seconds(clock_.Steady() - start));
  if (deleted)
    family.metrics.conntrack_deleted.Add(*deleted);
  else
    log::Warning("cannot delete flows of UDP to endpoints that are gone; they end when they are silent",
                 {{"error", deleted.error().message()}});
}

void ServiceProxy::UpdateHealthChecks(Context& context) {
  std::map<std::uint16_t, HealthCheckPort> ports;
  for (const std::string& key : health_checked_) {
    const std::size_t slash = key.find('/');
    for (const auto& family : families_) {
      const ServiceRules& rules = family->table.RulesOf(key);
      if (rules.health_check_node_port == 0) continue;
      HealthCheckPort& port = ports[rules.health_check_node_port];
      port.ns = key.substr(0, slash);
      port.service = key.substr(slash + 1);
      port.local_endpoints = std::max(port.local_endpoints, rules.local_ready);
    }
  }
  health_checks_.Update(ports, [&](const HealthCheckPort& port, const Error& error) {
    const std::string name = port.ns + "/" + port.service;
    log::Warning("cannot open the health check port of a Service",
                 {{"service", name}, {"error", error.message()}});
    if (const auto service = services_.Get(port.ns, port.service))
      context.recorder().Warning(
          *service, "FailedToStartServiceHealthcheck",
          "node " + options_.node_name + " failed to start healthcheck \"" + name + "\": " + error.message());
  });
}

Result<Action> ServiceProxy::Sync(Context& context) {
  const std::set<std::string> dirty = TakeDirty();
  // Nothing to do: a look at whether somebody else has emptied the packet filter.
  for (const auto& family : families_)
    if (dirty.empty() && family->complete && family->Present().empty()) family->complete = false;
  UpdateTables(dirty);
  Status result;
  for (const auto& family : families_) {
    if (Status applied = Apply(*family); !applied) result = applied;
    ForgetFlows(*family);
    family->metrics.no_local_internal.Set(family->table.dropped_internal());
    family->metrics.no_local_external.Set(family->table.dropped_external());
  }
  UpdateHealthChecks(context);
  const SteadyTime now = clock_.Steady();
  MutexLock lock(mu_);
  last_sync_ = now;
  changes_.service_pending.Set(static_cast<double>(dirty_.size()));
  changes_.endpoint_pending.Set(static_cast<double>(dirty_.size()));
  if (!result) return Unexpected(result.error());
  if (dirty_.empty() && !all_dirty_) health_.waiting_since.reset();
  health_.last_updated = clock_.Now();
  return RequeueAfter(kCheckPeriod);
}

void ServiceProxy::RemoveTables() {
  for (const auto& family : families_) {
    const Status removed = family->nft->Run(family->table.RenderRemoval());
    if (!removed) log::Warning("cannot delete the rules of Services", {{"error", removed.error().message()}});
  }
}

}  // namespace flyball::network
