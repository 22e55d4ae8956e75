// A rollout of a Deployment and a Job, while everything between the manager and the server goes wrong at
// random: stale caches, broken watches, 409s, 500s, lost responses, a manager that dies. The invariants hold
// at every moment, and the final state is correct.
//
// FLYBALL_FAULT_SEEDS=n runs n seeds; FLYBALL_FAULT_SEED=n replays one and prints what happened to its
// writes.
#include <cstdlib>

#include "base/observe/log.h"
#include "controllers/testing/control_plane_test.h"
#include "controllers/testing/fault_transport.h"
#include "controllers/testing/invariants.h"

namespace flyball::controllers {
namespace {

using testing::ControlPlane;
using testing::Faults;
using testing::FaultTransport;
using testing::JobInvariants;
using testing::RolloutInvariants;

// Enough for a normal run; the release build does 500 in less than a minute.
constexpr int kDefaultSeeds = 50;

int FromEnvironment(const char* name, int fallback) {
  const char* text = std::getenv(name);
  return text ? std::atoi(text) : fallback;
}

class FaultRun {
 public:
  explicit FaultRun(std::uint64_t seed)
      : random_(seed * 2 + 1),
        plane_(seed),
        replicas_(Between(2, 5)),
        max_surge_(Between(0, 2)),
        max_unavailable_(max_surge_ == 0 ? Between(1, 2) : Between(0, 2)),
        parallelism_(Between(1, 3)),
        completions_(Between(2, 5)),
        indexed_(random_.OneIn(2)),
        // In every second run, only the manager removes pods, so the bounds are exact.
        pods_fail_(random_.OneIn(2)),
        job_(parallelism_, completions_) {}

  void Run() {
    rollout_.Allow(replicas_, max_surge_, max_unavailable_);
    const auto rollout_watch = plane_.store->WatchPrefix("/registry/pods/", 0, &rollout_);
    const auto job_watch = plane_.store->WatchPrefix("/registry/", 0, &job_);
    StartManager();
    CreateAll();
    Disturb(Between(5, 15));
    SetImage("a:2");
    Disturb(Between(5, 15));
    if (random_.OneIn(2)) Scale(Between(1, 6));
    if (random_.OneIn(2)) SetImage("a:3");
    Disturb(Between(5, 15));
    faults_on_ = false;
    way_->SetFaults({});
    way_->DieAfterWrites(FaultTransport::kNever);
    Settle();
    CheckEnd();
    EXPECT_EQ(rollout_.violations(), std::vector<std::string>());
    EXPECT_EQ(job_.violations(), std::vector<std::string>());
  }

  std::string Report() const {
    std::string out;
    for (const std::string& line : log_) out += line + "\n";
    for (const std::string& line : way_->log()) out += line + "\n";
    return out;
  }

 private:
  int Between(int low, int high) { return low + static_cast<int>(random_.Below(high - low + 1)); }

  Faults RandomFaults() {
    const auto some = [this](double most) { return random_.OneIn(2) ? most * random_.Unit() : 0.0; };
    return {.conflict = some(0.2),
            .refused = some(0.2),
            .failed = some(0.2),
            .lost = some(0.3),
            .unreachable = some(0.1),
            .lag = some(1),
            .longest_lag = std::chrono::milliseconds(Between(100, 8000)),
            .cut = some(0.2)};
  }

  void StartManager() {
    if (way_)
      for (const std::string& line : way_->log()) log_.push_back(line);
    way_ = std::make_shared<FaultTransport>(plane_.transport, plane_.executor, random_.Next());
    if (faults_on_) way_->SetFaults(RandomFaults());
    ControllersOptions options;
    options.enabled = {"deployment-controller", "replicaset-controller", "job-controller"};
    plane_.StartControllers(Client(std::make_shared<RestClient>(way_, plane_.runtime)), options);
  }

  void CreateAll() {
    plane_.Create(
        "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: default}, spec: "
        "{replicas: " +
        std::to_string(replicas_) + ", strategy: {rollingUpdate: {maxSurge: " + std::to_string(max_surge_) +
        ", maxUnavailable: " + std::to_string(max_unavailable_) +
        "}}, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: "
        "{containers: [{name: c, image: 'a:1'}]}}}}");
    plane_.Create(
        "{apiVersion: batch/v1, kind: Job, metadata: {name: work, namespace: default}, spec: {parallelism: " +
        std::to_string(parallelism_) + ", completions: " + std::to_string(completions_) +
        ", backoffLimit: 100, completionMode: " + (indexed_ ? "Indexed" : "NonIndexed") +
        ", template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}");
  }
  void SetImage(const std::string& image) {
    image_ = image;
    plane_.MergePatch<Deployment>(
        "default", "web", "spec: {template: {spec: {containers: [{name: c, image: '" + image + "'}]}}}");
  }
  void Scale(int replicas) {
    replicas_ = replicas;
    rollout_.Allow(replicas_, max_surge_, max_unavailable_);
    plane_.MergePatch<Deployment>("default", "web", "spec: {replicas: " + std::to_string(replicas) + "}");
  }

  void Disturb(int steps) {
    for (int i = 0; i < steps; ++i) {
      if (random_.OneIn(4)) way_->SetFaults(RandomFaults());
      if (random_.OneIn(12)) way_->DieAfterWrites(Between(1, 5));
      if (way_->dead()) {
        plane_.StopControllers();
        StartManager();
      }
      plane_.Run(std::chrono::milliseconds(Between(20, 3000)));
      for (const Pod& pod : plane_.List<Pod>("default")) Age(pod);
    }
  }

  // What the node does with a pod, and sometimes the user.
  void Age(const Pod& pod) {
    const std::string key = "/registry/pods/default/" + pod.metadata.name;
    const bool of_job = HasFinalizer(pod.metadata, "batch.kubernetes.io/job-tracking") ||
                        pod.metadata.labels.contains("job-name");
    if (IsDeleting(pod.metadata)) {
      if (faults_on_ && random_.OneIn(3)) return;
      if (of_job && pod.status.phase != "Failed" && pod.status.phase != "Succeeded")
        plane_.SetPod(pod, "Failed", false, 1);
      return Remove(pod, 0);
    }
    if (pod.status.phase == "Pending") {
      if (!faults_on_ || !random_.OneIn(3)) plane_.SetPod(pod, "Running", true);
    } else if (pod.status.phase == "Running" && of_job) {
      const bool fails = faults_on_ && pods_fail_ && random_.OneIn(5);
      if (!faults_on_ || random_.OneIn(2)) plane_.SetPod(pod, fails ? "Failed" : "Succeeded", false, fails);
    } else if (pod.status.phase == "Running" && faults_on_ && pods_fail_) {
      if (random_.OneIn(30))
        plane_.SetPod(pod, "Failed", false, 1);
      else if (random_.OneIn(30))
        plane_.SetPod(pod, "Running", random_.OneIn(2));
      else if (random_.OneIn(30))
        rollout_.Excuse(key), Remove(pod, 30);
    } else if (pod.status.phase == "Running" && !faults_on_) {
      if (!IsReady(pod)) plane_.SetPod(pod, "Running", true);
    }
  }
  static bool IsReady(const Pod& pod) { return IsConditionTrue(pod.status.conditions, "Ready"); }
  void Remove(const Pod& pod, int grace) {
    DeleteParams params;
    params.grace_period_seconds = grace;
    (void)plane_.client->Delete(pod, params);
  }

  // Long enough for the longest back-off, and for expectations that are never fulfilled.
  void Settle() {
    for (int i = 0; i < 1500 && !(Converged() && PodsAreAsWanted()); ++i) {
      if (way_->dead()) {
        plane_.StopControllers();
        StartManager();
      }
      plane_.Run(1s);
      for (const Pod& pod : plane_.List<Pod>("default")) Age(pod);
    }
    plane_.Run(30s);
  }
  // The actual pods. A status may look right while the deletion of a pod is still in flight.
  bool PodsAreAsWanted() {
    int ready = 0;
    for (const Pod& pod : plane_.List<Pod>("default", "app=web")) {
      if (pod.status.phase == "Failed") continue;
      if (IsDeleting(pod.metadata) || pod.spec.containers[0].image != image_) return false;
      ready += IsReady(pod) ? 1 : 0;
    }
    return ready == replicas_;
  }
  bool Converged() {
    const Deployment d = plane_.Get<Deployment>("default", "web");
    const Job job = plane_.Get<Job>("default", "work");
    return d.status.observed_generation == d.metadata.generation && d.status.replicas == replicas_ &&
           d.status.updated_replicas == replicas_ && d.status.available_replicas == replicas_ &&
           IsConditionTrue(job.status.conditions, "Complete");
  }

  void CheckEnd() {
    EXPECT_TRUE(Converged()) << json::Write(ToJson(plane_.Get<Deployment>("default", "web"))["status"])
                             << json::Write(ToJson(plane_.Get<Job>("default", "work"))["status"]);
    int of_image = 0, others = 0;
    for (const Pod& pod : plane_.List<Pod>("default", "app=web")) {
      if (IsDeleting(pod.metadata) || pod.status.phase == "Failed") continue;
      (pod.spec.containers[0].image == image_ ? of_image : others)++;
    }
    EXPECT_EQ(of_image, replicas_);
    EXPECT_EQ(others, 0);
    const Job job = plane_.Get<Job>("default", "work");
    EXPECT_EQ(job.status.succeeded, completions_);
    EXPECT_EQ(job.status.succeeded, job_.succeeded());
    EXPECT_EQ(job.status.failed, job_.failed());
    EXPECT_EQ(job.status.active, 0);
    for (const Pod& pod : plane_.List<Pod>("default", "job-name=work"))
      EXPECT_TRUE(pod.metadata.finalizers.empty()) << pod.metadata.name;
  }

  Random random_;
  ControlPlane plane_;
  int replicas_;
  const int max_surge_, max_unavailable_, parallelism_, completions_;
  const bool indexed_, pods_fail_;
  bool faults_on_ = true;
  std::string image_ = "a:1";
  RolloutInvariants rollout_;
  JobInvariants job_;
  std::shared_ptr<FaultTransport> way_;
  std::vector<std::string> log_;  // of the previous transports
};

TEST(FaultTest, NothingForbiddenEverHappensAndEverythingArrives) {
  const int only = FromEnvironment("FLYBALL_FAULT_SEED", 0);
  const int seeds = FromEnvironment("FLYBALL_FAULT_SEEDS", kDefaultSeeds);
  log::SetLevel(only > 0 ? log::Level::kDebug : log::Level::kNone);
  for (int seed = only > 0 ? only : 1; seed <= (only > 0 ? only : seeds); ++seed) {
    SCOPED_TRACE("FLYBALL_FAULT_SEED=" + std::to_string(seed));
    FaultRun run(static_cast<std::uint64_t>(seed));
    run.Run();
    if (only > 0) std::puts(run.Report().c_str());
    if (::testing::Test::HasFailure()) break;
  }
  log::SetLevel(log::Level::kInfo);
}

}  // namespace
}  // namespace flyball::controllers
