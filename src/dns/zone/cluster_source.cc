#include "dns/zone/cluster_source.h"

#include <atomic>
#include <set>
#include <vector>

#include "base/run/mutex.h"

namespace flyball::dns {
namespace {

constexpr char kByService[] = "dns.service";
constexpr char kServiceNameLabel[] = "kubernetes.io/service-name";

std::string ServiceOf(const EndpointSlice& slice) {
  const auto label = slice.metadata.labels.find(kServiceNameLabel);
  return label == slice.metadata.labels.end() ? "" : slice.metadata.namespace_ + "/" + label->second;
}

// Only what names are made of, so that a cluster's pods cost little here.
void KeepAddresses(Pod& pod) {
  Pod kept;
  kept.metadata.namespace_ = pod.metadata.namespace_;
  kept.metadata.name = pod.metadata.name;
  kept.metadata.uid = pod.metadata.uid;
  kept.metadata.resource_version = pod.metadata.resource_version;
  kept.status.phase = pod.status.phase;
  kept.status.pod_ips = pod.status.pod_ips;
  pod = std::move(kept);
}

std::vector<std::string> AddressesOf(const Pod& pod) {
  std::vector<std::string> all;
  if (pod.status.phase == "Succeeded" || pod.status.phase == "Failed") return all;
  for (const auto& ip : pod.status.pod_ips)
    if (std::string bytes = AddressBytes(ip.ip); !bytes.empty()) all.push_back(std::move(bytes));
  return all;
}

}  // namespace

struct ClusterSource::State : std::enable_shared_from_this<State> {
  State(InformerFactory& informers, Executor& executor, Change fn)
      : services(informers.For<Service>()),
        slices(informers.For<EndpointSlice>()),
        strand(executor),
        change(std::move(fn)) {}

  void Watch(InformerFactory& informers, PodNames pod_names);
  void WatchServices();
  void WatchNamespaces(InformerFactory& informers);
  void WatchPods(InformerFactory& informers);
  void AfterSync(const std::shared_ptr<HandlerRegistration>& registration);
  void Mark(const std::string& ns, const std::string& name);
  void MarkServiceOf(const EndpointSlice& slice);
  void WorkOut();
  void WorkOutOne(const ObjectKey& key);
  void Tell(std::function<void(Zone&)> fn) {
    if (!closed) change(std::move(fn));
  }

  const SharedInformer<Service> services;
  const SharedInformer<EndpointSlice> slices;
  Strand strand;
  const Change change;
  std::atomic<bool> closed{false};
  std::atomic<int> unsynced{0};
  std::vector<std::shared_ptr<HandlerRegistration>> registrations;
  Mutex mu;
  std::set<ObjectKey> marked FLYBALL_GUARDED_BY(mu);
};

void ClusterSource::State::Watch(InformerFactory& informers, PodNames pod_names) {
  WatchServices();
  WatchNamespaces(informers);
  if (pod_names == PodNames::kVerified) WatchPods(informers);
  unsynced = static_cast<int>(registrations.size());
  for (const auto& registration : registrations) AfterSync(registration);
}

void ClusterSource::State::WatchServices() {
  (void)slices.AddIndex(kByService, [](const EndpointSlice& slice) {
    std::vector<std::string> keys;
    if (std::string key = ServiceOf(slice); !key.empty()) keys.push_back(std::move(key));
    return keys;
  });
  const auto self = weak_from_this();
  const auto mark = [self](const std::shared_ptr<const Service>& service) {
    if (const auto state = self.lock()) state->Mark(service->metadata.namespace_, service->metadata.name);
  };
  registrations.push_back(
      services.AddHandler({.on_add = [mark](const auto& service, bool) { mark(service); },
                           .on_update = [mark](const auto&, const auto& now) { mark(now); },
                           .on_delete = [mark](const auto& old, bool) { mark(old); }}));
  const auto mark_slice = [self](const std::shared_ptr<const EndpointSlice>& slice) {
    if (const auto state = self.lock()) state->MarkServiceOf(*slice);
  };
  registrations.push_back(
      slices.AddHandler({.on_add = [mark_slice](const auto& slice, bool) { mark_slice(slice); },
                         .on_update =
                             [mark_slice](const auto& old, const auto& now) {
                               mark_slice(old);
                               mark_slice(now);
                             },
                         .on_delete = [mark_slice](const auto& old, bool) { mark_slice(old); }}));
}

void ClusterSource::State::WatchNamespaces(InformerFactory& informers) {
  const auto set = [self = weak_from_this()](const PartialObject& ns, bool exists) {
    if (const auto state = self.lock())
      state->Tell([name = std::string(ns.name()), exists](Zone& zone) { zone.SetNamespace(name, exists); });
  };
  registrations.push_back(informers.MetadataOnly(KindRefOf<Namespace>())
                              .AddHandler({.on_add = [set](const auto& ns, bool) { set(*ns, true); },
                                           .on_update = nullptr,
                                           .on_delete = [set](const auto& ns, bool) { set(*ns, false); }}));
}

void ClusterSource::State::WatchPods(InformerFactory& informers) {
  const auto tell = [self = weak_from_this()](const Pod* old, const Pod* now) {
    const auto state = self.lock();
    if (!state) return;
    auto gone = old ? AddressesOf(*old) : std::vector<std::string>();
    auto come = now ? AddressesOf(*now) : std::vector<std::string>();
    if (gone == come) return;
    state->Tell([ns = (now ? now : old)->metadata.namespace_, gone = std::move(gone),
                 come = std::move(come)](Zone& zone) {
      for (const auto& bytes : come) zone.AddPodAddress(ns, bytes);
      for (const auto& bytes : gone) zone.RemovePodAddress(ns, bytes);
    });
  };
  registrations.push_back(
      informers.For<Pod>({}, &KeepAddresses)
          .AddHandler({.on_add = [tell](const auto& pod, bool) { tell(nullptr, pod.get()); },
                       .on_update = [tell](const auto& old, const auto& pod) { tell(old.get(), pod.get()); },
                       .on_delete = [tell](const auto& pod, bool) { tell(pod.get(), nullptr); }}));
}

void ClusterSource::State::AfterSync(const std::shared_ptr<HandlerRegistration>& registration) {
  registration->OnSynced([self = weak_from_this()] {
    const auto state = self.lock();
    if (!state || --state->unsynced > 0) return;
    // Behind what has been marked.
    state->strand.Post([self] {
      if (const auto s = self.lock()) s->Tell([](Zone& zone) { zone.SetSynced(true); });
    });
  });
}

void ClusterSource::State::Mark(const std::string& ns, const std::string& name) {
  MutexLock lock(mu);
  if (closed) return;
  const bool first = marked.empty();
  marked.insert(ObjectKey{ns, name});
  if (!first) return;
  strand.Post([self = weak_from_this()] {
    if (const auto state = self.lock()) state->WorkOut();
  });
}

void ClusterSource::State::MarkServiceOf(const EndpointSlice& slice) {
  const std::string key = ServiceOf(slice);
  if (!key.empty()) Mark(slice.metadata.namespace_, key.substr(slice.metadata.namespace_.size() + 1));
}

void ClusterSource::State::WorkOut() {
  std::set<ObjectKey> keys;
  {
    MutexLock lock(mu);
    keys.swap(marked);
  }
  for (const ObjectKey& key : keys) WorkOutOne(key);
}

void ClusterSource::State::WorkOutOne(const ObjectKey& key) {
  std::shared_ptr<const ServiceRecords> records;
  if (const auto service = services.lister().Get(key))
    records = RecordsOf(*service, slices.lister().ByIndex(kByService, key.ns + "/" + key.name));
  Tell([key, records = std::move(records)](Zone& zone) { zone.SetService(key.ns, key.name, records); });
}

ClusterSource::ClusterSource(InformerFactory& informers, Executor& executor, PodNames pods, Change change)
    : state_(std::make_shared<State>(informers, executor, std::move(change))) {
  state_->Watch(informers, pods);
}

ClusterSource::~ClusterSource() {
  state_->closed = true;
  for (const auto& registration : state_->registrations) registration->Remove();
}

}  // namespace flyball::dns
