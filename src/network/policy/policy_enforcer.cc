#include "network/policy/policy_enforcer.h"

#include <algorithm>

#include "base/observe/log.h"

namespace flyball::network {
namespace {

const ObjectKey kAllPolicies{"", "policies"};

std::string PolicyKeyOf(const ObjectMeta& metadata) {
  return metadata.namespace_.empty() ? metadata.name : metadata.namespace_ + "/" + metadata.name;
}

std::pair<std::string, std::string> SplitKey(const std::string& key) {
  const std::size_t slash = key.find('/');
  return {key.substr(0, slash), key.substr(slash + 1)};
}

}  // namespace

PolicyEnforcer::PolicyEnforcer(Manager& manager, PolicyEnforcerOptions options)
    : manager_(manager),
      clock_(manager.runtime().clock()),
      options_(std::move(options)),
      pods_(manager.informers().For<Pod>().lister()),
      namespaces_(manager.informers().For<Namespace>().lister()),
      policies_(manager.informers().For<NetworkPolicy>().lister()),
      table_({.table = options_.table}) {}

PolicyEnforcer::~PolicyEnforcer() = default;

Result<std::shared_ptr<PolicyEnforcer>> PolicyEnforcer::Add(Manager& manager, PolicyEnforcerOptions options) {
  std::shared_ptr<PolicyEnforcer> enforcer(new PolicyEnforcer(manager, std::move(options)));
  FLYBALL_TRY(enforcer->Open());
  enforcer->Watch();
  return enforcer;
}

Status PolicyEnforcer::Open() {
  const auto open = [&]() -> Status {
    FLYBALL_ASSIGN(nft_, Nftables::Open());
    return {};
  };
  return options_.ns ? options_.ns->Run(open) : open();
}

void PolicyEnforcer::Watch() {
  ControllerOptions options;
  options.name = "network-policy";
  options.needs_leader = false;
  options.stuck_after = std::chrono::minutes(10);
  const std::weak_ptr<PolicyEnforcer> weak = weak_from_this();
  controller_ =
      manager_.AddController(options, [weak](const ObjectKey&, flyball::Context&) -> Result<Action> {
        const auto self = weak.lock();
        return self ? self->Sync() : Done();
      });
  const auto watch = [&](const auto& informer, std::set<std::string> Dirty::*which) {
    const auto mark = [weak, which](const auto& object) {
      if (const auto self = weak.lock()) self->Mark(which, PolicyKeyOf(object->metadata));
    };
    const auto forget = [weak](const ObjectMeta& metadata) {
      if (const auto self = weak.lock()) self->Forget(metadata);
    };
    controller_->DependOn(
        informer.AddHandler({.on_add = [mark](const auto& object, bool) { mark(object); },
                             .on_update = [mark](const auto&, const auto& object) { mark(object); },
                             .on_delete =
                                 [mark, forget](const auto& object, bool) {
                                   forget(object->metadata);
                                   mark(object);
                                 }}));
  };
  watch(manager_.informers().For<Namespace>(), &Dirty::namespaces);
  watch(manager_.informers().For<Pod>(), &Dirty::pods);
  watch(manager_.informers().For<NetworkPolicy>(), &Dirty::policies);
  controller_->Enqueue(kAllPolicies);
}

void PolicyEnforcer::Mark(std::set<std::string> Dirty::*which, const std::string& key) {
  {
    MutexLock lock(mu_);
    (dirty_.*which).insert(key);
    ++marks_;
  }
  Schedule();
}

// A pod that is gone before its status ever had an address.
void PolicyEnforcer::Forget(const ObjectMeta& metadata) {
  MutexLock lock(mu_);
  const auto attached = attached_.find(PolicyKeyOf(metadata));
  if (attached != attached_.end() && attached->second.metadata.uid == metadata.uid) attached_.erase(attached);
}

void PolicyEnforcer::Schedule() {
  Duration delay{};
  {
    MutexLock lock(mu_);
    // Nobody waits when a pod does.
    if (attached_.empty())
      delay = std::max(Duration{}, Duration(last_sync_ + options_.min_sync_period - clock_.Steady()));
  }
  if (delay > Duration::zero())
    controller_->EnqueueAfter(kAllPolicies, delay);
  else
    controller_->Enqueue(kAllPolicies);
}

bool PolicyEnforcer::Attach(const Pod& pod, const std::vector<std::string>& ips) {
  Pod known = pod;
  known.status.pod_ips.clear();
  for (const std::string& ip : ips) known.status.pod_ips.push_back({.ip = ip});
  known.spec.node_name = options_.node_name;
  const std::string key = PolicyKeyOf(pod.metadata);
  std::uint64_t wanted = 0;
  {
    MutexLock lock(mu_);
    attached_.insert_or_assign(key, std::move(known));
    dirty_.pods.insert(key);
    wanted = ++marks_;
  }
  Schedule();
  const SteadyTime end = clock_.Steady() + kAttachPatience;
  const std::weak_ptr<PolicyEnforcer> weak = weak_from_this();
  manager_.runtime().executor.PostAt(end, [weak] {
    if (const auto self = weak.lock()) self->applied_.NotifyAll();
  });
  MutexLock lock(mu_);
  while (applied_marks_ < wanted && clock_.Steady() < end) applied_.Wait(mu_);
  return applied_marks_ >= wanted;
}

void PolicyEnforcer::UpdatePod(const std::string& key) {
  const auto [ns, name] = SplitKey(key);
  const auto pod = pods_.Get(ns, name);
  auto seen = pod ? PolicyPodFrom(*pod, options_.node_name) : std::nullopt;
  MutexLock lock(mu_);
  const auto attached = attached_.find(key);
  if (attached == attached_.end()) return table_.SetPod(key, std::move(seen));
  // The status of another pod of that name says nothing about this one's addresses.
  const bool same = pod && pod->metadata.uid == attached->second.metadata.uid;
  const bool ended = same && (pod->status.phase == "Succeeded" || pod->status.phase == "Failed");
  if (!same || (!seen && !ended))
    return table_.SetPod(key, PolicyPodFrom(attached->second, options_.node_name));
  attached_.erase(attached);
  table_.SetPod(key, std::move(seen));
}

void PolicyEnforcer::Update() {
  Dirty dirty;
  {
    MutexLock lock(mu_);
    std::swap(dirty, dirty_);
  }
  for (const std::string& name : dirty.namespaces) {
    const auto object = namespaces_.Get(name);
    table_.SetNamespace(name, object ? &object->metadata.labels : nullptr);
  }
  for (const std::string& key : dirty.pods) UpdatePod(key);
  for (const std::string& key : dirty.policies) {
    const auto [ns, name] = SplitKey(key);
    const auto object = policies_.Get(ns, name);
    table_.SetPolicy(key, object.get());
  }
}

Status PolicyEnforcer::Apply() {
  const SteadyTime now = clock_.Steady();
  if (complete_ && table_.has_stale_chains() && now - stale_since_ > std::chrono::seconds(1))
    if (const Status deleted = nft_->Run(table_.RenderStaleChains()); !deleted)
      log::Warning("cannot delete chains that no policy uses", {{"error", deleted.error().message()}});
  if (complete_) {
    const std::string changes = table_.RenderChanges();
    if (changes.empty()) return {};
    const Status done = nft_->Run(changes);
    if (table_.has_stale_chains()) stale_since_ = now;
    if (done) return {};
    log::Warning("nftables did not take a change of network policies; it gets the whole table",
                 {{"error", done.error().message().substr(0, 500)}});
  }
  const Status done = nft_->Run(table_.RenderReplacement());
  complete_ = done.has_value();
  return done;
}

Result<Action> PolicyEnforcer::Sync() {
  std::uint64_t marks = 0;
  {
    MutexLock lock(mu_);
    marks = marks_;
  }
  Update();
  FLYBALL_TRY(Apply());
  MutexLock lock(mu_);
  applied_marks_ = std::max(applied_marks_, marks);
  last_sync_ = clock_.Steady();
  applied_.NotifyAll();
  return Done();
}

void PolicyEnforcer::RemoveTable() {
  const Status removed = nft_->Run(table_.RenderRemoval());
  if (!removed) log::Warning("cannot delete the rules of policies", {{"error", removed.error().message()}});
}

}  // namespace flyball::network
