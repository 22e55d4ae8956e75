// Compares Place and FindVictims with placements recorded from an unmodified kube-scheduler.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "json/json.h"
#include "scheduler/preemption.h"
#include "scheduler/snapshot/cluster.h"
#include "scheduler/snapshot/spread_group.h"
#include "test_data/test_data.h"

namespace flyball::scheduler {
namespace {

// One recorded cluster, with what the API server would have filled in.
class RecordedCluster {
 public:
  explicit RecordedCluster(const json::Value& recorded) {
    for (const char* ns : {"default", "ns-a", "ns-b"}) AddNamespace(ns, {});
    for (const json::Value& other : recorded["others"].as_array()) AddOther(other);
    for (const json::Value& node : recorded["nodes"].as_array())
      cluster_.SetNode(std::make_shared<Node>(As<Node>(node)));
    for (const json::Value& pod : recorded["pods"].as_array()) Set(MakePod(pod));
  }

  PodInfoPtr MakePod(const json::Value& json) {
    Pod pod = As<Pod>(json);
    pod.metadata.uid = pod.metadata.namespace_ + "/" + pod.metadata.name;
    for (auto* containers : {&pod.spec.containers, &pod.spec.init_containers})
      for (Container& container : *containers)
        container.resources.requests.insert(container.resources.limits.begin(),
                                            container.resources.limits.end());
    if (pod.spec.resources)
      pod.spec.resources->requests.insert(pod.spec.resources->limits.begin(),
                                          pod.spec.resources->limits.end());
    if (!pod.spec.priority) {
      const std::string name =
          pod.spec.priority_class_name.empty() ? default_class_ : pod.spec.priority_class_name;
      if (const auto found = priorities_.find(name); found != priorities_.end()) {
        pod.spec.priority = found->second.first;
        if (!pod.spec.preemption_policy) pod.spec.preemption_policy = found->second.second;
      }
    }
    if (pod.spec.runtime_class_name) {
      const auto found = overheads_.find(*pod.spec.runtime_class_name);
      if (found != overheads_.end()) pod.spec.overhead = found->second;
    }
    return std::make_shared<PodInfo>(std::make_shared<Pod>(std::move(pod)));
  }
  void Set(const PodInfoPtr& pod) {
    const std::string& phase = pod->pod->status.phase;
    if (phase != "Succeeded" && phase != "Failed") cluster_.SetPod(pod);
  }
  Placement Decide(const PodInfoPtr& pod) {
    snapshot_ = cluster_.TakeSnapshot();
    return Place(*pod, SpreadGroup(*pod->pod, services_, nullptr), snapshot_, random_, start_);
  }
  PreemptionResult Preempt(const PodInfoPtr& pod, const Placement& placement) {
    return FindVictims(*pod, snapshot_, placement, budgets_);
  }
  Cluster& cluster() { return cluster_; }

 private:
  template <typename T>
  static T As(const json::Value& json) {
    T object{};
    const Status status = FromJson(json, &object);
    EXPECT_TRUE(status) << (status ? "" : status.error().ToString());
    return object;
  }
  void AddNamespace(const std::string& name, Labels labels) {
    labels["kubernetes.io/metadata.name"] = name;
    cluster_.SetNamespace(name, std::move(labels));
  }
  void AddOther(const json::Value& json) {
    const std::string_view kind = json["kind"].string_or("");
    if (kind == "Namespace") {
      const auto ns = As<Namespace>(json);
      AddNamespace(ns.metadata.name, ns.metadata.labels);
    } else if (kind == "Service") {
      services_.push_back(std::make_shared<Service>(As<Service>(json)));
    } else if (kind == "PodDisruptionBudget") {
      budgets_.push_back(std::make_shared<PodDisruptionBudget>(As<PodDisruptionBudget>(json)));
    } else if (kind == "PriorityClass") {
      const std::string name(json["metadata"]["name"].string_or(""));
      priorities_[name] = {static_cast<std::int32_t>(json["value"].int_or(0)),
                           std::string(json["preemptionPolicy"].string_or("PreemptLowerPriority"))};
      if (json["globalDefault"].bool_or(false)) default_class_ = name;
    } else if (kind == "RuntimeClass") {
      auto& overhead = overheads_[std::string(json["metadata"]["name"].string_or(""))];
      if (const json::Value* fixed = json["overhead"].Find("podFixed"))
        for (const auto& [resource, amount] : fixed->as_object())
          overhead[resource] = *api::Quantity::Parse(amount.string_or("0"));
    }
  }

  Cluster cluster_;
  Snapshot snapshot_;
  Random random_{1};
  std::size_t start_ = 0;
  std::vector<std::shared_ptr<const Service>> services_;
  std::vector<std::shared_ptr<const PodDisruptionBudget>> budgets_;
  std::map<std::string, std::pair<std::int32_t, std::string>> priorities_ = {
      {"system-cluster-critical", {2000000000, "PreemptLowerPriority"}},
      {"system-node-critical", {2000001000, "PreemptLowerPriority"}}};
  std::string default_class_;
  std::map<std::string, std::map<std::string, api::Quantity>> overheads_;
};

// The decision for one pod, in the recording's format.
void CheckScores(const json::Value& want, const Placement& placement, std::ostream& wrong) {
  if (placement.scores.size() != want.as_object().size()) wrong << "feasible nodes differ; ";
  for (const NodeScore& score : placement.scores) {
    const json::Value* node = want.Find(score.node->name());
    if (!node) {
      wrong << score.node->name() << " should not be feasible; ";
      continue;
    }
    for (const auto& [plugin, points] : (*node)["plugins"].as_object()) {
      const auto found = score.plugins.find(plugin);
      if (found == score.plugins.end() || found->second != points.as_int())
        wrong << score.node->name() << " " << plugin << " want " << points.as_int() << " got "
              << (found == score.plugins.end() ? -1 : found->second) << "; ";
    }
    if (score.total != (*node)["total"].as_int()) wrong << score.node->name() << " total differs; ";
  }
}

void CheckNode(const json::Value& want, const std::string& node, std::ostream& wrong) {
  if (const json::Value* one = want.Find("node")) {
    if (one->string_or("") != node) wrong << "want node " << one->string_or("") << " got " << node << "; ";
  } else if (const json::Value* several = want.Find("nodes")) {
    bool among = false;
    for (const json::Value& name : several->as_array()) among |= name.string_or("") == node;
    if (!among) wrong << "got node " << node << ", none of the best; ";
  }
}

void CheckVictims(const json::Value& want, const PreemptionResult& result, std::ostream& wrong) {
  if (want["nominated"].string_or("") != result.node)
    wrong << "want nominated " << want["nominated"].string_or("") << " got " << result.node << "; ";
  std::set<std::string> got, expected;
  for (const PodInfoPtr& victim : result.victims) got.insert(victim->name());
  for (const json::Value& name : want["victims"].as_array()) expected.insert(std::string(name.string_or("")));
  if (got != expected) wrong << "victims differ; ";
}

void CheckOutcome(RecordedCluster& cluster, const json::Value& pending, const json::Value& want,
                  std::ostream& wrong) {
  if (want.Find("untouched") || want.Find("gated")) return;
  const PodInfoPtr pod = cluster.MakePod(pending);
  Placement placement = cluster.Decide(pod);
  if (const json::Value* message = want.Find("unschedulable")) {
    if (!placement.node.empty()) {
      wrong << "should not fit, got " << placement.node << "; ";
      return;
    }
    const PreemptionResult result = cluster.Preempt(pod, placement);
    const std::string got = placement.message + (result.message.empty() ? "" : " " + result.message);
    if (got != message->string_or(""))
      wrong << "want \"" << message->string_or("") << "\" got \"" << got << "\"; ";
    if (const json::Value* preempts = want.Find("preempts")) CheckVictims(*preempts, result, wrong);
    for (const PodInfoPtr& victim : result.victims) cluster.cluster().RemovePod(victim->uid());
    if (!want.Find("node")) return;
    placement = cluster.Decide(pod);
  }
  CheckNode(want, placement.node, wrong);
  if (const json::Value* scores = want.Find("scores")) CheckScores(*scores, placement, wrong);
  if (placement.node.empty()) {
    wrong << "got \"" << placement.message << "\"; ";
    return;
  }
  cluster.cluster().Assume(pod, std::string(want["node"].string_or(placement.node)));
}

void CheckCounts(RecordedCluster& cluster, const json::Value& recorded, std::ostream& wrong) {
  const json::Value& want = recorded["expect"]["counts"];
  std::map<std::string, std::int64_t> counts;
  std::int64_t pending = 0;
  for (const json::Value& json : recorded["pending"].as_array()) {
    const PodInfoPtr pod = cluster.MakePod(json);
    const Placement placement = cluster.Decide(pod);
    if (placement.node.empty()) {
      ++pending;
      continue;
    }
    cluster.cluster().Assume(pod, placement.node);
    const std::string* value =
        cluster.cluster().FindNode(placement.node)->Label(std::string(want["by"].string_or("")));
    ++counts[value ? *value : ""];
  }
  if (pending != want["pending"].int_or(0)) wrong << pending << " stayed pending; ";
  if (want["values"].is_object()) {
    for (const auto& [value, count] : want["values"].as_object())
      if (counts[value] != count.as_int()) wrong << value << " has " << counts[value] << "; ";
  } else {
    std::multiset<std::int64_t> got, expected;
    for (const auto& [value, count] : counts) got.insert(count);
    for (const json::Value& count : want["values"].as_array())
      if (count.as_int() != 0) expected.insert(count.as_int());
    if (got != expected) wrong << "counts differ; ";
  }
}

std::string Replay(const json::Value& recorded) {
  RecordedCluster cluster(recorded);
  std::ostringstream wrong;
  const json::Value& expect = recorded["expect"];
  if (expect.Find("counts")) {
    CheckCounts(cluster, recorded, wrong);
    return wrong.str();
  }
  for (const json::Value& pending : recorded["pending"].as_array()) {
    const std::string_view name = pending["metadata"]["name"].string_or("");
    const json::Value* each = expect.Find("each");
    CheckOutcome(cluster, pending, each ? (*each)[name] : expect, wrong);
  }
  return wrong.str();
}

// Volumes are not considered. Requeues and nominations over time are the scheduler's job, not Place's.
bool Covered(const json::Value& recorded) {
  const std::string_view feature = recorded["feature"].string_or("");
  if (feature == "volumes" || recorded.Find("steps") || recorded.Find("hold")) return false;
  for (const json::Value& pending : recorded["pending"].as_array())
    for (const json::Value& volume :
         pending["spec"]["volumes"].is_array() ? pending["spec"]["volumes"].as_array() : json::Array{})
      if (volume.Find("persistentVolumeClaim") || volume.Find("ephemeral")) return false;
  return true;
}

TEST(SchedulerGolden, PlacesAsKubeSchedulerDid) {
  int right = 0, skipped = 0;
  for (const std::string& text : ReadFolder(GoldenFolder() / "scheduler")) {
    const auto cases = json::Parse(text);
    ASSERT_TRUE(cases);
    for (const json::Value& recorded : cases->as_array()) {
      if (!Covered(recorded)) {
        ++skipped;
        continue;
      }
      const std::string wrong = Replay(recorded);
      if (wrong.empty())
        ++right;
      else
        ADD_FAILURE() << recorded["name"].string_or("") << ": " << wrong;
    }
  }
  RecordProperty("right", right);
  RecordProperty("skipped", skipped);
  EXPECT_GT(right, 250);
  std::printf("%d recorded placements right, %d not covered\n", right, skipped);
}

}  // namespace
}  // namespace flyball::scheduler
