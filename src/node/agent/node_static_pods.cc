// Pods that the node runs because its files say so (upstream: kubelet's static pods and mirror client).
#include "base/observe/log.h"
#include "node/agent/node_agent_core.h"

namespace flyball::node {
namespace {

constexpr Duration kMirrorRetry = std::chrono::seconds(10);

}  // namespace

// What is there already is known before anything of an earlier agent is thrown away.
void NodeAgent::Core::FollowStaticPods() {
  static_pod_files_ = std::make_shared<StaticPodFiles>(options_.static_pods, options_.name);
  context_->blocking.Post([weak = weak_from_this(), files = static_pod_files_] {
    const Status watched = files->Watch([weak](const std::vector<PodPtr>& pods) {
      if (const auto self = weak.lock()) self->OnStrand([pods](Core& core) { core.HaveStaticPods(pods); });
    });
    if (!watched) log::Error("static pods are not followed", {{"error", watched.error().message()}});
    const auto self = weak.lock();
    if (!self) return;
    self->OnStrand([pods = files->Read()](Core& core) {
      core.HaveStaticPods(pods);
      core.Register();
    });
  });
}

void NodeAgent::Core::HaveStaticPods(const std::vector<PodPtr>& pods) {
  std::map<std::string, PodPtr> wanted;
  for (const PodPtr& pod : pods) wanted[PodKeyOf(*pod)] = pod;
  for (auto it = static_pods_.begin(); it != static_pods_.end();) {
    const auto found = wanted.find(it->first);
    if (found != wanted.end() && found->second->metadata.uid == it->second.pod->metadata.uid) {
      wanted.erase(found);
      ++it;
      continue;
    }
    const StaticPod old = it->second;
    it = static_pods_.erase(it);
    if (old.mirror) stray_mirrors_[old.mirror->metadata.uid] = old.mirror;
    StopStaticPod(old.pod->metadata.uid);
  }
  for (const auto& [key, pod] : wanted) {
    auto own = std::make_shared<Pod>(*pod);
    own->metadata.annotations[kConfigSeen] = api::FormatMicroTime(Now());
    own->metadata.creation_timestamp = api::Time::From(Now());
    static_pods_[key] = {.pod = std::move(own), .mirror = nullptr};
    RunStaticPod(key);
  }
}

PodWorker* NodeAgent::Core::WorkerOfStatic(const std::string& key) const {
  for (const auto& [uid, worker] : workers_)
    if (IsStaticPod(worker->pod()) && PodKeyOf(worker->pod()) == key) return worker.get();
  return nullptr;
}

// One of the same name has to end before.
void NodeAgent::Core::RunStaticPod(const std::string& key) {
  if (WorkerOfStatic(key)) return;
  Work(static_pods_.at(key).pod);
  if (ready_) CreateMirror(key);
}

// As if somebody had deleted it.
void NodeAgent::Core::StopStaticPod(const std::string& uid) {
  const auto found = workers_.find(uid);
  if (found == workers_.end()) return;
  auto deleted = std::make_shared<Pod>(found->second->pod());
  deleted->metadata.deletion_timestamp = api::Time::From(Now());
  deleted->metadata.deletion_grace_period_seconds =
      deleted->spec.termination_grace_period_seconds.value_or(30);
  found->second->Update(std::move(deleted));
}

void NodeAgent::Core::StaticPodFinished(const PodPtr& pod) {
  const std::string key = PodKeyOf(*pod);
  for (auto it = stray_mirrors_.begin(); it != stray_mirrors_.end();) {
    if (PodKeyOf(*it->second) == key) {
      DeleteMirror(*it->second);
      it = stray_mirrors_.erase(it);
    } else {
      ++it;
    }
  }
  if (static_pods_.contains(key)) RunStaticPod(key);
}

void NodeAgent::Core::CreateMirror(const std::string& key) {
  const auto found = static_pods_.find(key);
  if (found == static_pods_.end() || node_uid_.empty()) return;
  StaticPod& pod = found->second;
  if (pod.mirror || std::exchange(pod.creating_mirror, true)) return;
  json::Value body = ToJson(MirrorOf(*pod.pod, node_uid_));
  SetTypeMeta(body, KindRefOf<Pod>());
  client_.Of<Pod>().CreateAsync(
      std::move(body), {}, [weak = weak_from_this(), key](const Result<json::Value>& result) {
        const auto self = weak.lock();
        if (!self) return;
        auto mirror = std::make_shared<Pod>();
        if (result && FromJson(*result, mirror.get()))
          return self->OnStrand([mirror, key](Core& core) {
            core.MirrorSettled(key);
            core.MirrorChanged(mirror);
          });
        log::Warning("mirror pod not created, will try again",
                     {{"pod", key}, {"error", result ? "it cannot be read" : result.error().message()}});
        self->After(kMirrorRetry, [key](Core& core) {
          core.MirrorSettled(key);
          core.CreateMirror(key);
        });
      });
}

void NodeAgent::Core::MirrorSettled(const std::string& key) {
  const auto found = static_pods_.find(key);
  if (found != static_pods_.end()) found->second.creating_mirror = false;
}

// One that is there although it should not, or not any more, is deleted; its going makes a new one.
void NodeAgent::Core::MirrorChanged(const PodPtr& mirror) {
  const std::string key = PodKeyOf(*mirror);
  const auto found = static_pods_.find(key);
  if (found == static_pods_.end()) {
    // While its pod ends it stays.
    if (WorkerOfStatic(key))
      stray_mirrors_[mirror->metadata.uid] = mirror;
    else
      DeleteMirror(*mirror);
    return;
  }
  StaticPod& pod = found->second;
  const auto hash = mirror->metadata.annotations.find(kConfigMirror);
  const bool same = hash->second == pod.pod->metadata.annotations.at(kConfigHash);
  if (!same || mirror->metadata.deletion_timestamp) return DeleteMirror(*mirror);
  pod.mirror = mirror;
  const auto worker = workers_.find(pod.pod->metadata.uid);
  if (worker != workers_.end()) worker->second->SetMirror(mirror->metadata.uid);
}

void NodeAgent::Core::MirrorGone(const PodPtr& mirror) {
  stray_mirrors_.erase(mirror->metadata.uid);
  const std::string key = PodKeyOf(*mirror);
  const auto found = static_pods_.find(key);
  if (found == static_pods_.end()) return;
  StaticPod& pod = found->second;
  if (pod.mirror && pod.mirror->metadata.uid == mirror->metadata.uid) {
    pod.mirror = nullptr;
    const auto worker = workers_.find(pod.pod->metadata.uid);
    if (worker != workers_.end()) worker->second->SetMirror("");
  }
  CreateMirror(key);
}

void NodeAgent::Core::DeleteMirror(const Pod& mirror) {
  client_.Of<Pod>().DeleteAsync(
      mirror.metadata.namespace_, mirror.metadata.name,
      {.grace_period_seconds = 0, .uid = mirror.metadata.uid},
      [name = mirror.metadata.name](const Result<json::Value>& result) {
        if (result || result.error().Is(Reason::kNotFound) || result.error().Is(Reason::kConflict)) return;
        log::Warning("mirror pod not deleted", {{"pod", name}, {"error", result.error().message()}});
      });
}

}  // namespace flyball::node
