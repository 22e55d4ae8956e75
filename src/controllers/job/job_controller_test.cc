#include "controllers/job/index_set.h"
#include "controllers/job/job_pods.h"
#include "controllers/testing/control_plane_test.h"

namespace flyball::controllers {
namespace {

class JobTest : public ::testing::Test {
 protected:
  void SetUp() override { plane_.StartControllers(); }

  void Make(const std::string& name, const std::string& spec) {
    plane_.Create("{apiVersion: batch/v1, kind: Job, metadata: {name: " + name +
                  ", namespace: default}, spec: {" + spec + (spec.empty() ? "" : ", ") +
                  "template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}");
    plane_.Run(1s);
  }
  std::vector<Pod> Pods(const std::string& job, int index = -1) {
    std::vector<Pod> out;
    for (Pod& pod : plane_.List<Pod>("default", "job-name=" + job))
      if (!IsDeleting(pod.metadata) && (pod.status.phase == "Pending" || pod.status.phase == "Running") &&
          (index < 0 || IndexOf(pod) == index))
        out.push_back(std::move(pod));
    return out;
  }
  void End(const Pod& pod, bool well, int code = 1) {
    plane_.SetPod(pod, well ? "Succeeded" : "Failed", false, well ? 0 : code);
    plane_.Run(1s);
  }
  // "active=2 ready=0 succeeded=0 failed=0 terminating=0 Complete=True"
  std::string StatusOf(const std::string& name) {
    const Job job = plane_.Get<Job>("default", name);
    std::string out = "active=" + std::to_string(job.status.active) +
                      " ready=" + std::to_string(job.status.ready.value_or(-1)) +
                      " succeeded=" + std::to_string(job.status.succeeded) +
                      " failed=" + std::to_string(job.status.failed) +
                      " terminating=" + std::to_string(job.status.terminating.value_or(-1));
    for (const JobCondition& c : job.status.conditions) out += " " + c.type + "=" + c.status;
    return out;
  }
  std::string Reason(const std::string& name) {
    const Job job = plane_.Get<Job>("default", name);
    if (job.status.conditions.empty()) return "";
    return job.status.conditions.back().reason + ": " + job.status.conditions.back().message;
  }
  testing::ControlPlane plane_;
};

TEST(IndexSetTest, ReadsAndWritesTheFormOfTheStatus) {
  EXPECT_EQ(FormatIndexes({0, 1, 3}), "0,1,3");
  EXPECT_EQ(FormatIndexes({0, 1, 2, 5, 7, 8}), "0-2,5,7,8");
  EXPECT_EQ(ParseIndexes("0-2,5,7,8", 8), (IndexSet{0, 1, 2, 5, 7}));
  EXPECT_EQ(FormatIndexes({}), "");
}

TEST_F(JobTest, TwoAtATimeUntilThreeHaveSucceeded) {
  Make("work", "parallelism: 2, completions: 3");
  EXPECT_EQ(StatusOf("work"), "active=2 ready=0 succeeded=0 failed=0 terminating=0");
  EXPECT_EQ(Pods("work")[0].metadata.finalizers, std::vector<std::string>{kJobTracking});
  for (const Pod& pod : Pods("work")) plane_.SetPod(pod, "Running", true);
  plane_.Run(1s);
  EXPECT_EQ(StatusOf("work"), "active=2 ready=2 succeeded=0 failed=0 terminating=0");
  End(Pods("work")[0], true);
  EXPECT_EQ(StatusOf("work"), "active=2 ready=1 succeeded=1 failed=0 terminating=0");
  for (const Pod& pod : Pods("work")) End(pod, true);
  EXPECT_EQ(StatusOf("work"),
            "active=0 ready=0 succeeded=3 failed=0 terminating=0 SuccessCriteriaMet=True Complete=True");
  EXPECT_EQ(Reason("work"), "CompletionsReached: Reached expected number of succeeded pods");
  EXPECT_TRUE(plane_.Get<Job>("default", "work").status.completion_time);
  for (const Pod& pod : plane_.List<Pod>("default")) EXPECT_TRUE(pod.metadata.finalizers.empty());
  const auto events = plane_.EventsOf("default", "work");
  EXPECT_EQ(std::count(events.begin(), events.end(), "Normal Completed Job completed"), 1);
}

TEST_F(JobTest, FailuresAreRetriedWithBackOffUntilTheLimit) {
  Make("weak", "backoffLimit: 1");
  End(Pods("weak")[0], false);
  EXPECT_EQ(StatusOf("weak"), "active=0 ready=0 succeeded=0 failed=1 terminating=0");
  plane_.Run(5s);
  EXPECT_TRUE(Pods("weak").empty());
  plane_.Run(6s);
  ASSERT_EQ(Pods("weak").size(), 1u);
  End(Pods("weak")[0], false, 7);
  EXPECT_EQ(StatusOf("weak"),
            "active=0 ready=0 succeeded=0 failed=2 terminating=0 FailureTarget=True Failed=True");
  EXPECT_EQ(Reason("weak"), "BackoffLimitExceeded: Job has reached the specified backoff limit");
}

TEST_F(JobTest, SuspendedAndResumed) {
  Make("nap", "suspend: true, parallelism: 2, completions: 2");
  EXPECT_EQ(StatusOf("nap"), "active=0 ready=0 succeeded=0 failed=0 terminating=0 Suspended=True");
  EXPECT_FALSE(plane_.Get<Job>("default", "nap").status.start_time);
  plane_.MergePatch<Job>("default", "nap", "spec: {suspend: false}");
  plane_.Run(1s);
  EXPECT_EQ(StatusOf("nap"), "active=2 ready=0 succeeded=0 failed=0 terminating=0 Suspended=False");
  plane_.MergePatch<Job>("default", "nap", "spec: {suspend: true}");
  plane_.Run(1s);
  EXPECT_EQ(StatusOf("nap"), "active=0 ready=0 succeeded=0 failed=0 terminating=0 Suspended=True");
  EXPECT_TRUE(plane_.List<Pod>("default").empty());
}

TEST_F(JobTest, SizeDownIsNoFailureTheDeadlineIs) {
  Make("late", "parallelism: 2, activeDeadlineSeconds: 60");
  plane_.MergePatch<Job>("default", "late", "spec: {parallelism: 1}");
  plane_.Run(1s);
  EXPECT_EQ(StatusOf("late"), "active=1 ready=0 succeeded=0 failed=0 terminating=0");
  plane_.Run(61s);
  EXPECT_EQ(StatusOf("late"),
            "active=0 ready=0 succeeded=0 failed=1 terminating=0 FailureTarget=True Failed=True");
  EXPECT_EQ(Reason("late"), "DeadlineExceeded: Job was active longer than specified deadline");
  EXPECT_TRUE(plane_.List<Pod>("default").empty());
}

TEST_F(JobTest, Indexed) {
  Make("idx",
       "completionMode: Indexed, completions: 4, parallelism: 4, backoffLimitPerIndex: 0, maxFailedIndexes: "
       "3");
  ASSERT_EQ(Pods("idx").size(), 4u);
  const Pod second = Pods("idx", 1).at(0);
  EXPECT_TRUE(second.metadata.name.starts_with("idx-1-"));
  EXPECT_EQ(second.spec.hostname, "idx-1");
  EXPECT_EQ(second.metadata.annotations.at(kIndexFailureCount), "0");
  EXPECT_EQ(second.spec.containers[0].env.at(0).name, "JOB_COMPLETION_INDEX");
  for (const int i : {0, 1, 3}) End(Pods("idx", i).at(0), true);
  EXPECT_EQ(plane_.Get<Job>("default", "idx").status.completed_indexes, "0,1,3");
  End(Pods("idx", 2).at(0), false);
  EXPECT_EQ(StatusOf("idx"),
            "active=0 ready=0 succeeded=3 failed=1 terminating=0 FailureTarget=True Failed=True");
  EXPECT_EQ(Reason("idx"), "FailedIndexes: Job has failed indexes");
  EXPECT_EQ(plane_.Get<Job>("default", "idx").status.failed_indexes, "2");
}

// An index that fails does not delay the others.
TEST_F(JobTest, WithALimitPerIndexEachIndexIsBackedOffByItself) {
  Make("own",
       "completionMode: Indexed, completions: 3, parallelism: 2, backoffLimitPerIndex: 3, podFailurePolicy: "
       "{rules: [{action: Ignore, onExitCodes: {operator: In, values: [7]}}]}");
  ASSERT_EQ(Pods("own").size(), 2u);
  End(Pods("own", 0).at(0), false);
  plane_.Run(1s);
  EXPECT_TRUE(Pods("own", 0).empty()) << "it waits";
  End(Pods("own", 1).at(0), true);
  plane_.Run(1s);
  EXPECT_EQ(Pods("own", 2).size(), 1u) << "others do not";
  plane_.Run(12s);
  ASSERT_EQ(Pods("own", 0).size(), 1u);
  EXPECT_EQ(Pods("own", 0)[0].metadata.annotations.at(kIndexFailureCount), "1");
  End(Pods("own", 0)[0], false, 7);
  plane_.Run(15s);
  EXPECT_TRUE(Pods("own", 0).empty()) << "20 seconds after the second";
  plane_.Run(10s);
  ASSERT_EQ(Pods("own", 0).size(), 1u);
  const auto notes = Pods("own", 0)[0].metadata.annotations;
  EXPECT_EQ(notes.at(kIndexFailureCount), "1") << "that failure was ignored";
  EXPECT_EQ(notes.at(kIndexIgnoredFailureCount), "1");
}

TEST_F(JobTest, SuccessPolicyEndsTheRest) {
  Make("some",
       "completionMode: Indexed, completions: 3, parallelism: 3, successPolicy: {rules: [{succeededIndexes: "
       "'1'}]}");
  End(Pods("some", 1).at(0), true);
  EXPECT_EQ(Reason("some"), "SuccessPolicy: Matched rules at index 0");
  EXPECT_EQ(plane_.Get<Job>("default", "some").status.succeeded, 1);
  EXPECT_EQ(plane_.List<Pod>("default").size(), 1u);
}

TEST_F(JobTest, FailurePolicy) {
  Make("rule",
       "parallelism: 2, completions: 2, podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: "
       "DisruptionTarget, status: 'True'}]}, {action: FailJob, onExitCodes: {operator: In, values: [42]}}]}");
  plane_.MergePatch<Pod>("default", Pods("rule")[0].metadata.name,
                         "status: {phase: Failed, conditions: [{type: DisruptionTarget, status: 'True'}]}",
                         "status");
  plane_.Run(1s);
  EXPECT_EQ(StatusOf("rule"), "active=2 ready=0 succeeded=0 failed=0 terminating=0");
  const std::string hit = Pods("rule")[0].metadata.name;
  End(Pods("rule")[0], false, 42);
  EXPECT_EQ(Reason("rule"), "PodFailurePolicy: Container c for pod default/" + hit +
                                " failed with exit code 42 matching FailJob rule at index 1");
  EXPECT_EQ(plane_.Get<Job>("default", "rule").status.failed, 2);
}

TEST_F(JobTest, GoneSomeTimeAfterItsEnd) {
  Make("brief", "ttlSecondsAfterFinished: 20");
  End(Pods("brief")[0], true);
  plane_.Run(10s);
  EXPECT_TRUE(plane_.Exists<Job>("default", "brief"));
  plane_.Run(15s);
  EXPECT_FALSE(plane_.Exists<Job>("default", "brief"));
  EXPECT_TRUE(plane_.List<Pod>("default").empty());
}

TEST_F(JobTest, DeletingItLetsItsPodsGoAndOrphansStay) {
  Make("gone", "parallelism: 2");
  DeleteParams background;
  background.propagation_policy = "Background";
  ASSERT_TRUE(plane_.client->Delete<Job>("default", "gone", background));
  plane_.Run(3s);
  EXPECT_TRUE(plane_.List<Pod>("default").empty());
  Make("left", "");
  DeleteParams orphan;
  orphan.propagation_policy = "Orphan";
  ASSERT_TRUE(plane_.client->Delete<Job>("default", "left", orphan));
  plane_.Run(3s);
  const auto pods = plane_.List<Pod>("default");
  ASSERT_EQ(pods.size(), 1u);
  EXPECT_TRUE(pods[0].metadata.finalizers.empty());
  EXPECT_TRUE(pods[0].metadata.owner_references.empty());
}

TEST_F(JobTest, RestartedAtAnyMomentNoPodIsCountedTwice) {
  Make("many", "parallelism: 3, completions: 9");
  for (int round = 0; round < 12; ++round) {
    for (const Pod& pod : Pods("many")) plane_.SetPod(pod, "Succeeded", false);
    for (int step = 0; step < round * 7; ++step) plane_.executor.Step();
    plane_.StopControllers();
    plane_.StartControllers();
    plane_.Run(1s);
  }
  EXPECT_EQ(StatusOf("many"),
            "active=0 ready=0 succeeded=9 failed=0 terminating=0 SuccessCriteriaMet=True Complete=True");
  EXPECT_EQ(plane_.List<Pod>("default").size(), 9u);
}

// As upstream: even a pod that never started is marked as failed, by its node or by the pod garbage
// collector.
TEST_F(JobTest, WhereFailedPodsAloneAreReplacedOneThatEndsIsWaitedFor) {
  plane_.Create(
      "{apiVersion: batch/v1, kind: Job, metadata: {name: w, namespace: default}, spec: "
      "{podReplacementPolicy: "
      "Failed, template: {spec: {nodeName: n1, restartPolicy: Never, containers: [{name: c, image: i}]}}}}");
  plane_.Create("{apiVersion: v1, kind: Node, metadata: {name: n1}}");
  plane_.Run(1s);
  const Pod pod = Pods("w").at(0);
  ASSERT_TRUE(plane_.client->Delete(pod));
  plane_.Run(30s);
  EXPECT_EQ(StatusOf("w"), "active=0 ready=0 succeeded=0 failed=0 terminating=1");
  End(pod, false);
  EXPECT_EQ(StatusOf("w"), "active=0 ready=0 succeeded=0 failed=1 terminating=0");
  plane_.Run(15s);
  EXPECT_EQ(Pods("w").size(), 1u);
}

}  // namespace
}  // namespace flyball::controllers
