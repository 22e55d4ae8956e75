// The manager dies after any one of its writes and is restarted, and everything ends as if nothing had
// happened. One run per write, on virtual time.
#include <algorithm>

#include "base/observe/log.h"
#include "controllers/testing/control_plane_test.h"
#include "controllers/testing/fault_transport.h"

namespace flyball::controllers {
namespace {

using testing::ControlPlane;
using testing::FaultTransport;

// One scenario: the initial state, what the user does, and how it must end.
struct Story {
  std::vector<std::string> controllers;
  // Before the writes are counted, the manager works undisturbed.
  std::function<void(ControlPlane&)> before;
  std::function<void(ControlPlane&)> act;
  // Optional: a second action of the user, once the first has come to rest.
  std::function<void(ControlPlane&)> then;
};

std::string ConditionsOf(const auto& conditions) {
  std::vector<std::string> words;
  for (const auto& c : conditions) words.push_back(" " + c.type + "=" + c.status + "/" + c.reason);
  std::sort(words.begin(), words.end());
  std::string out;
  for (const std::string& word : words) out += word;
  return out;
}

std::string AnnotationOf(const ObjectMeta& meta, const std::string& name) {
  const auto found = meta.annotations.find(name);
  return found == meta.annotations.end() ? "-" : found->second;
}

// A manager that dies once, and its successor.
class CrashRun {
 public:
  CrashRun(const Story& story, int crash_after) : story_(story), crash_after_(crash_after) {}

  // The final state. Ends early on a failure of its own.
  std::string Run() {
    options_.enabled = story_.controllers;
    if (story_.before) {
      plane_.StartControllers(options_);
      story_.before(plane_);
      Rest();
      plane_.StopControllers();
    }
    StartManager(crash_after_);
    plane_.Run(1s);
    story_.act(plane_);
    Rest();
    if (story_.then) {
      story_.then(plane_);
      Rest();
    }
    return FinalState();
  }
  bool crashed() const { return crashed_; }
  std::string last_write() const { return last_write_; }

 private:
  void StartManager(int crash_after) {
    way_ = std::make_shared<FaultTransport>(plane_.transport, plane_.executor, 1);
    way_->DieAfterWrites(crash_after);
    plane_.StartControllers(Client(std::make_shared<RestClient>(way_, plane_.runtime)), options_);
  }
  void RestartIfDead() {
    if (!way_ || !way_->dead()) return;
    crashed_ = true;
    last_write_ = way_->log().back();
    plane_.StopControllers();
    StartManager(-1);
  }
  // Runs until neither the pods nor the store have changed for a while.
  void Rest() {
    constexpr int kQuiet = 4;
    store::Revision seen = 0;
    for (int round = 0, quiet = 0; round < 120 && quiet < kQuiet; ++round) {
      plane_.Run(1s);
      RestartIfDead();
      const int changed = plane_.RunPods() + FinishJobPods();
      const store::Revision now = plane_.store->CurrentRevision();
      quiet = changed == 0 && now == seen ? quiet + 1 : 0;
      seen = now;
    }
  }
  int FinishJobPods() {
    int changed = 0;
    for (const Pod& pod : plane_.List<Pod>()) {
      const auto owner = ControllerOf(pod);
      if (!owner || owner->kind != "Job" || pod.status.phase != "Running") continue;
      plane_.SetPod(pod, "Succeeded", false);
      ++changed;
    }
    return changed;
  }

  std::string FinalState() {
    std::vector<std::string> lines;
    for (const Deployment& d : plane_.List<Deployment>())
      lines.push_back("deployment " + d.metadata.name + " revision " +
                      AnnotationOf(d.metadata, "deployment.kubernetes.io/revision") + " replicas " +
                      std::to_string(d.status.replicas) + " updated " +
                      std::to_string(d.status.updated_replicas) + " available " +
                      std::to_string(d.status.available_replicas) + " observed " +
                      std::to_string(d.status.observed_generation) + ConditionsOf(d.status.conditions));
    for (const ReplicaSet& rs : plane_.List<ReplicaSet>())
      lines.push_back("replicaset " + rs.metadata.name + " revision " +
                      AnnotationOf(rs.metadata, "deployment.kubernetes.io/revision") + " wants " +
                      std::to_string(rs.spec.replicas.value_or(-1)) + " has " +
                      std::to_string(rs.status.replicas) + " ready " +
                      std::to_string(rs.status.ready_replicas));
    for (const Job& job : plane_.List<Job>())
      lines.push_back("job " + job.metadata.name + " active " + std::to_string(job.status.active) +
                      " succeeded " + std::to_string(job.status.succeeded) + " failed " +
                      std::to_string(job.status.failed) + " indexes " + job.status.completed_indexes +
                      ConditionsOf(job.status.conditions));
    for (const Pod& pod : plane_.List<Pod>())
      lines.push_back("pod of " + pod.metadata.generate_name + " " + pod.spec.containers[0].image + " " +
                      pod.status.phase + " finalizers " + std::to_string(pod.metadata.finalizers.size()) +
                      (IsDeleting(pod.metadata) ? " deleting" : ""));
    for (const ConfigMap& map : plane_.List<ConfigMap>())
      lines.push_back("configmap " + map.metadata.namespace_ + "/" + map.metadata.name);
    for (const Namespace& ns : plane_.List<Namespace>())
      lines.push_back("namespace " + ns.metadata.name + " " + ns.status.phase);
    std::sort(lines.begin(), lines.end());
    std::string out;
    for (const std::string& line : lines) out += line + "\n";
    return out;
  }

  const Story& story_;
  const int crash_after_;
  ControlPlane plane_;
  ControllersOptions options_;
  std::shared_ptr<FaultTransport> way_;
  bool crashed_ = false;
  std::string last_write_;
};

// Runs the scenario once per write of the manager. `holds` must be in the undisturbed final state.
void EndsTheSameAfterEveryCrash(const Story& story, const std::vector<std::string>& holds) {
  log::SetLevel(log::Level::kNone);
  const std::string undisturbed = CrashRun(story, -1).Run();
  for (const std::string& line : holds)
    EXPECT_NE(undisturbed.find(line), std::string::npos) << line << "\nis not in\n" << undisturbed;
  int runs = 0;
  for (int write = 1; !::testing::Test::HasFailure(); ++write) {
    CrashRun run(story, write);
    const std::string end = run.Run();
    if (!run.crashed()) break;
    ++runs;
    EXPECT_EQ(end, undisturbed) << "after the death at write " << write << ": " << run.last_write();
  }
  EXPECT_GT(runs, 3) << "the manager wrote less than expected";
  log::SetLevel(log::Level::kInfo);
}

std::string DeploymentYaml(const std::string& ns, int replicas) {
  return "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: " + ns +
         "}, spec: {replicas: " + std::to_string(replicas) +
         ", revisionHistoryLimit: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: "
         "{app: web}}, spec: {containers: [{name: c, image: 'a:1'}]}}}}";
}

std::string JobYaml(const std::string& ns, const std::string& mode) {
  return "{apiVersion: batch/v1, kind: Job, metadata: {name: work, namespace: " + ns +
         "}, spec: {parallelism: 2, completions: 3, completionMode: " + mode +
         ", template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}";
}

const std::vector<std::string> kWorkloads = {"deployment-controller", "replicaset-controller",
                                             "job-controller"};

TEST(CrashTest, ARolloutEndsTheSame) {
  Story story;
  story.controllers = kWorkloads;
  story.act = [](ControlPlane& plane) { plane.Create(DeploymentYaml("default", 2)); };
  story.then = [](ControlPlane& plane) {
    plane.MergePatch<Deployment>("default", "web",
                                 "spec: {template: {spec: {containers: [{name: c, image: 'a:2'}]}}}");
  };
  EndsTheSameAfterEveryCrash(story, {"deployment web revision 2 replicas 2 updated 2 available 2 observed 2",
                                     "revision 1 wants 0 has 0"});
}

TEST(CrashTest, AJobEndsTheSame) {
  Story story;
  story.controllers = kWorkloads;
  story.act = [](ControlPlane& plane) { plane.Create(JobYaml("default", "NonIndexed")); };
  EndsTheSameAfterEveryCrash(story, {"job work active 0 succeeded 3 failed 0", "Complete=True"});
}

TEST(CrashTest, AnIndexedJobEndsTheSame) {
  Story story;
  story.controllers = kWorkloads;
  story.act = [](ControlPlane& plane) { plane.Create(JobYaml("default", "Indexed")); };
  EndsTheSameAfterEveryCrash(story, {"job work active 0 succeeded 3 failed 0 indexes 0-2", "Complete=True"});
}

TEST(CrashTest, ANamespaceIsGoneAllTheSame) {
  Story story;
  story.controllers = {"*"};
  story.before = [](ControlPlane& plane) {
    plane.Create("{apiVersion: v1, kind: Namespace, metadata: {name: doomed}}");
    plane.Create("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: doomed}}");
    plane.Create(DeploymentYaml("doomed", 1));
    plane.Create(JobYaml("doomed", "NonIndexed"));
  };
  story.act = [](ControlPlane& plane) { ASSERT_TRUE(plane.client->Delete<Namespace>("", "doomed")); };
  EndsTheSameAfterEveryCrash(story, {"namespace default Active"});
}

TEST(CrashTest, AForegroundDeleteEndsTheSame) {
  Story story;
  story.controllers = {"deployment-controller", "replicaset-controller", "garbage-collector-controller"};
  story.before = [](ControlPlane& plane) { plane.Create(DeploymentYaml("default", 2)); };
  story.act = [](ControlPlane& plane) {
    DeleteParams params;
    params.propagation_policy = "Foreground";
    ASSERT_TRUE(plane.client->Delete<Deployment>("default", "web", params));
  };
  EndsTheSameAfterEveryCrash(story, {"namespace default Active"});
}

}  // namespace
}  // namespace flyball::controllers
