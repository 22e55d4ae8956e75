// NodeAgent::Core: what an agent is made of; calls under way hold weak references to it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/run/executor.h"
#include "base/run/mutex.h"
#include "controller/events/event_recorder.h"
#include "informer/informer_factory.h"
#include "node/agent/node_agent.h"
#include "node/agent/node_plugins.h"
#include "node/eviction/eviction_decision.h"
#include "node/eviction/pressure_tracker.h"
#include "node/pod/pod_source.h"
#include "node/pod/pod_worker.h"
#include "node/stages/stage_player.h"
#include "node/static_pods/static_pod_files.h"

namespace flyball::node {

inline constexpr Duration kLeaseRenewal = std::chrono::seconds(10);
inline constexpr int kLeaseDurationSeconds = 40;
inline constexpr Duration kStatusReport = std::chrono::minutes(5);
inline constexpr Duration kRegisterRetry = std::chrono::seconds(1);
// How often images that nobody uses are looked for (upstream: ImageGCPeriod).
inline constexpr Duration kImageCollection = std::chrono::minutes(5);
// How often pressure is looked for (upstream: evictionMonitoringPeriod).
inline constexpr Duration kPressureCheck = std::chrono::seconds(10);

// Private methods run on the strand.
class NodeAgent::Core final : public PodSource, public std::enable_shared_from_this<Core> {
 public:
  Core(Client client, ContainerRuntime& runtime, NodeAgentOptions options, int port);

  void Start();
  // Blocks until nothing of it runs any more, where the runtime may block.
  void Stop();
  bool ready() const { return ready_; }
  void OnReady(std::function<void()> fn);
  void OnRegistered(std::function<void()> fn);
  void SetServing();

  const std::string& node_name() const override { return options_.name; }
  void ReadLog(LogRequest request, LogSink sink, Closure not_here) override;
  void Find(PodQuery query, std::function<void(const FoundPod&)> found, Closure not_here) override;
  void ReadStats(StatsDetail detail, std::function<void(const NodeStats&)> done) override;
  void ListPods(std::function<void(json::Value)> done) override;

 private:
  using PodPtr = std::shared_ptr<const Pod>;

  void OnStrand(UniqueFunction<void(Core&)> fn);
  void After(Duration delay, UniqueFunction<void(Core&)> fn);

  void Register();
  void Adopt();
  void Registered(const json::Value& node);
  void RemoveNotReadyTaint(const json::Value& node);
  void ReportStatus();
  // One write at a time: of two that are under way, the older one could be the last to arrive.
  void WriteStatus();
  void StatusWritten(const std::optional<Error>& error);
  void RenewLease();
  void CreateLease();
  // Services first, where pods are real: their variables name them.
  void WatchServices();
  void WatchPods();
  std::shared_ptr<HandlerRegistration> WorkOnPods(const std::string& field_selector);
  // node_stages.cc: in place of workers.
  bool Plays(std::string_view kind) const { return options_.stages && options_.stages->Plays(kind); }
  std::shared_ptr<HandlerRegistration> PlayStages(const KindRef& kind, const std::string& field_selector);
  // node_static_pods.cc: pods of files, and what the server knows of them.
  void FollowStaticPods();
  void HaveStaticPods(const std::vector<PodPtr>& pods);
  void RunStaticPod(const std::string& key);
  void StopStaticPod(const std::string& uid);
  void StaticPodFinished(const PodPtr& pod);
  void CreateMirror(const std::string& key);
  void MirrorSettled(const std::string& key);
  void MirrorChanged(const PodPtr& mirror);
  void MirrorGone(const PodPtr& mirror);
  void DeleteMirror(const Pod& mirror);
  PodWorker* WorkerOfStatic(const std::string& key) const;
  void PodChanged(const PodPtr& pod);
  void PodGone(const PodPtr& pod);
  void WorkerFinished(const std::string& uid);
  void NowReady();
  void AwaitNetwork();
  void NetworkReady();
  // The Node's range of pod addresses, as soon as somebody has given it one.
  void WatchNode();
  void UseCidrs(const std::vector<std::string>& cidrs);
  PodWorker* FindWorker(const std::string& pod_namespace, const std::string& pod_name) const;
  json::Value StatusPatch();
  void AddDevices(json::Object& status) const;
  Node CurrentNode() const;
  // Begins or continues the work on a pod that this node takes or has to refuse.
  void Work(const PodPtr& pod);
  // Reads the Node again and then decides about the pods that wait for that.
  void RefreshNode();
  // Why this node does not take the pod.
  std::optional<PodRejection> WhyNot(const Pod& pod) const;
  TimePoint Now() const { return strand_.clock().Now(); }

  // node_pressure.cc: what the node does when it runs short.
  void WatchPressure();
  void CheckPressure();
  void PressureRead(const NodeStats& stats);
  void Relieve(const EvictionThresholds& met);
  void EvictUnderPressure(const NodeStats& stats);
  std::vector<EvictionCandidate> CandidatesOf(const NodeStats& stats) const;
  void Evict(const Eviction& eviction);
  void SetPressureConditions(Node& node) const;
  void CollectImages();

  const NodeAgentOptions options_;
  const NodeDescription description_;
  const Client client_;
  ContainerRuntime& runtime_;
  const std::unique_ptr<NodePlugins> plugins_;  // null: it has none
  const std::shared_ptr<WorkerContext> context_;
  Strand& strand_;  // the context's
  std::atomic<bool> stopped_ = false, ready_ = false;
  bool running_ = false;
  std::string node_uid_;
  Node node_;                                // as it was last seen: labels and what there is to give
  std::map<std::string, PodPtr> undecided_;  // by UID: they do not fit the node as it was last seen
  api::Time ready_since_;
  std::unique_ptr<InformerFactory> informers_;
  std::shared_ptr<HandlerRegistration> pods_, nodes_, services_, played_node_;
  std::vector<std::shared_ptr<StagePlayer>> players_;
  struct StaticPod {
    PodPtr pod;
    PodPtr mirror;  // null: there is none now
    bool creating_mirror = false;
  };
  std::map<std::string, StaticPod> static_pods_;  // by namespace and name: those there are to be
  std::map<std::string, PodPtr> stray_mirrors_;   // of pods that end
  std::shared_ptr<StaticPodFiles> static_pod_files_;
  std::map<std::string, std::shared_ptr<PodWorker>> workers_;  // by UID
  std::vector<std::function<void()>> waiting_, waiting_for_registration_;
  PressureTracker pressure_;
  std::map<std::string, std::pair<std::string, api::Time>>
      transitions_;  // of conditions: status, and since when
  bool writing_status_ = false, write_status_again_ = false;
  bool networked_;  // it has a range of addresses for its pods, or needs none
  bool serving_;    // what it waits for before it says that it is ready
};

}  // namespace flyball::node
