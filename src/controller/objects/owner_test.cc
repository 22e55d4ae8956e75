#include "controller/objects/owner.h"

#include <gtest/gtest.h>

#include "api/custom/crd_from_struct.h"
#include "api/types/apps.h"
#include "api/types/core.h"
#include "api/types/custom_resource.h"
#include "base/run/sim_executor.h"
#include "client/testing/fake_api_server.h"
#include "controller/objects/controller_ref.h"
#include "controller/objects/create_or_apply.h"
#include "controller/objects/expectations.h"
#include "controller/objects/retry.h"
#include "controller/objects/slow_start.h"

namespace flyball {
namespace {

using namespace std::chrono_literals;

TEST(OwnerTest, AChildIsNamedOwnedAndPlacedLikeItsOwner) {
  ReplicaSet owner;
  owner.metadata.name = "web";
  owner.metadata.namespace_ = "shop";
  owner.metadata.uid = "u";
  Pod pod;
  pod.metadata = ChildOf(owner, "web-1");
  EXPECT_EQ(pod.metadata.name, "web-1");
  EXPECT_EQ(pod.metadata.namespace_, "shop");
  const auto controller = ControllerOf(pod);
  ASSERT_TRUE(controller);
  EXPECT_EQ(controller->api_version, "apps/v1");
  EXPECT_EQ(controller->kind, "ReplicaSet");
  EXPECT_TRUE(IsControlledBy(pod, owner));
}

TEST(OwnerTest, Finalizers) {
  ObjectMeta meta;
  EXPECT_TRUE(AddFinalizer(meta, "x/y"));
  EXPECT_FALSE(AddFinalizer(meta, "x/y"));
  EXPECT_TRUE(HasFinalizer(meta, "x/y"));
  EXPECT_TRUE(RemoveFinalizer(meta, "x/y"));
  EXPECT_FALSE(RemoveFinalizer(meta, "x/y"));
}

TEST(OwnerTest, AConditionsTimeMovesOnlyWithItsStatus) {
  std::vector<Condition> conditions;
  const api::Time t1{100, 0}, t2{200, 0}, t3{300, 0};
  EXPECT_TRUE(SetCondition(conditions, Condition{.type = "Ready", .status = "False", .reason = "A"}, t1));
  EXPECT_FALSE(SetCondition(conditions, Condition{.type = "Ready", .status = "False", .reason = "A"}, t2));
  EXPECT_TRUE(SetCondition(conditions, Condition{.type = "Ready", .status = "False", .reason = "B"}, t2));
  EXPECT_EQ(FindCondition(conditions, "Ready")->last_transition_time, t1);
  EXPECT_TRUE(SetCondition(conditions, Condition{.type = "Ready", .status = "True", .reason = "B"}, t3));
  EXPECT_EQ(FindCondition(conditions, "Ready")->last_transition_time, t3);
  EXPECT_TRUE(IsConditionTrue(conditions, "Ready"));
  EXPECT_TRUE(RemoveCondition(conditions, "Ready"));
}

TEST(ExpectationsTest, ActOnlyWhenWhatWasAskedForWasSeen) {
  SimExecutor executor(1);
  Expectations expectations(executor.clock());
  const ObjectKey key{"ns", "rs"};
  EXPECT_TRUE(expectations.Satisfied(key));
  expectations.ExpectCreations(key, 2);
  expectations.CreationObserved(key);
  EXPECT_FALSE(expectations.Satisfied(key));
  expectations.CreationObserved(key);
  EXPECT_TRUE(expectations.Satisfied(key));
  expectations.CreationObserved(key);  // one more than expected does no harm
  expectations.ExpectDeletions(key, {"ns/a", "ns/b"});
  expectations.DeletionObserved(key, "ns/a");
  expectations.DeletionObserved(key, "ns/a");
  EXPECT_FALSE(expectations.Satisfied(key));
  executor.RunFor(6min);
  EXPECT_TRUE(expectations.Satisfied(key)) << "given up after five minutes";
  expectations.ExpectCreations(key, 1);
  expectations.Forget(key);
  EXPECT_TRUE(expectations.Satisfied(key));
}

TEST(SlowStartTest, BatchesDoubleAndStopAtTheFirstFailure) {
  std::vector<int> order;
  auto all = SlowStartEach(10, [&](int i) -> Status {
    order.push_back(i);
    return {};
  });
  EXPECT_EQ(all.succeeded, 10);
  EXPECT_TRUE(all.status);
  EXPECT_EQ(order.size(), 10u);
  int calls = 0;
  // Batches of 1, 2, 4: the fourth call is in the third batch, which is completed.
  auto some = SlowStartEach(100, [&](int i) -> Status {
    ++calls;
    if (i == 3) return Unexpected(BadRequest("no"));
    return {};
  });
  EXPECT_EQ(calls, 7);
  EXPECT_EQ(some.succeeded, 6);
  EXPECT_FALSE(some.status);
}

TEST(RetryOnConflictTest, OnlyConflictsAreRetried) {
  int calls = 0;
  EXPECT_TRUE(RetryOnConflict([&]() -> Status {
    if (++calls < 3) return Unexpected(Error(Reason::kConflict, "x"));
    return {};
  }));
  EXPECT_EQ(calls, 3);
  calls = 0;
  EXPECT_FALSE(RetryOnConflict([&]() -> Status {
    ++calls;
    return Unexpected(Error(Reason::kForbidden, "x"));
  }));
  EXPECT_EQ(calls, 1);
  calls = 0;
  EXPECT_FALSE(RetryOnConflict([&]() -> Status {
    ++calls;
    return Unexpected(Error(Reason::kConflict, "x"));
  }));
  EXPECT_EQ(calls, kConflictAttempts);
}

TEST(CoversTest, WhatIsWantedMustBeThereWhatElseIsThereDoesNotMatter) {
  const json::Value have(
      json::Object{{"a", 1}, {"b", json::Object{{"c", "x"}, {"d", "y"}}}, {"l", json::Array{1, 2}}});
  EXPECT_TRUE(Covers(have, json::Object{{"b", json::Object{{"c", "x"}}}}));
  EXPECT_FALSE(Covers(have, json::Object{{"b", json::Object{{"c", "z"}}}}));
  EXPECT_FALSE(Covers(have, json::Object{{"l", json::Array{1}}}));
  EXPECT_FALSE(Covers(have, json::Object{{"new", true}}));
  EXPECT_TRUE(Covers(have, json::Object{{"gone", nullptr}}));
}

class ControllerRefTest : public ::testing::Test {
 protected:
  ControllerRefTest()
      : executor_(2),
        server_(std::make_shared<testing::FakeApiServer>(executor_, executor_.random())),
        runtime_{
            .executor = executor_, .random = executor_.random(), .metrics = metrics_, .may_block = false},
        client_(std::make_shared<RestClient>(server_, runtime_)) {
    ReplicaSet rs;
    rs.metadata.name = "web";
    rs.metadata.namespace_ = "shop";
    owner_ = *client_.Create(rs);
  }
  std::shared_ptr<const Pod> MakePod(const std::string& name, bool matches,
                                     const OwnerReference* ref = nullptr) {
    Pod pod;
    pod.metadata.name = name;
    pod.metadata.namespace_ = "shop";
    if (matches) pod.metadata.labels["app"] = "web";
    if (ref) pod.metadata.owner_references.push_back(*ref);
    return std::make_shared<const Pod>(*client_.Create(pod));
  }
  std::vector<std::string> Claim(const std::vector<std::shared_ptr<const Pod>>& pods) {
    ControllerRefManager<ReplicaSet, Pod> refs(
        client_, owner_, [](const Pod& pod) { return pod.metadata.labels.contains("app"); });
    std::vector<std::string> names;
    auto claimed = refs.Claim(pods);
    EXPECT_TRUE(claimed);
    if (claimed)
      for (const auto& pod : *claimed) names.push_back(pod->metadata.name);
    return names;
  }

  SimExecutor executor_;
  Metrics metrics_;
  std::shared_ptr<testing::FakeApiServer> server_;
  Runtime runtime_;
  Client client_;
  ReplicaSet owner_;
};

TEST_F(ControllerRefTest, KeepsAdoptsReleasesAndLeavesAlone) {
  const OwnerReference ours = ControllerRefTo(owner_);
  OwnerReference theirs = ours;
  theirs.uid = "another";
  const auto kept = MakePod("kept", true, &ours), orphan = MakePod("orphan", true),
             other = MakePod("other", false), foreign = MakePod("foreign", true, &theirs),
             released = MakePod("released", false, &ours);
  EXPECT_EQ(Claim({kept, orphan, other, foreign, released}), (std::vector<std::string>{"kept", "orphan"}));
  EXPECT_TRUE(IsControlledBy(*client_.Get<Pod>("shop", "orphan"), owner_));
  EXPECT_EQ(server_->requests("PATCH", "pods/released"), 1u);
  EXPECT_EQ(server_->requests("PATCH", "pods/foreign"), 0u);
  EXPECT_EQ(server_->requests("GET", "replicasets"), 1u) << "the owner is checked once, on the server";
}

TEST_F(ControllerRefTest, AnOwnerThatIsGoneAdoptsNothing) {
  const auto orphan = MakePod("orphan", true);
  server_->Remove("/apis/apps/v1/replicasets", "shop", "web");
  ControllerRefManager<ReplicaSet, Pod> refs(client_, owner_, [](const Pod&) { return true; });
  EXPECT_FALSE(refs.Claim({orphan}));
  EXPECT_EQ(server_->requests("PATCH"), 0u);
}

struct BackupSpec {
  std::string schedule;
  int keep = 3;
  std::optional<std::string> target;
  std::vector<std::string> paths;
  std::map<std::string, std::string> options;
  static constexpr auto kFields =
      Fields(Field{"schedule", &BackupSpec::schedule, {.required = true, .pattern = "^.+$"}},
             Field{"keep", &BackupSpec::keep, {.default_json = "3", .minimum = 1}},
             Field{"target", &BackupSpec::target, {.one_of = "disk|cloud"}},
             Field{"paths", &BackupSpec::paths}, Field{"options", &BackupSpec::options});
};
using Backup = CustomResource<BackupSpec, "example.com", "v1", "BackupPolicy">;
static_assert(KindTraits<Backup>::plural == "backuppolicies");
static_assert(KindTraits<Backup>::namespaced);

TEST(CustomResourceTest, RoundTrip) {
  Backup backup{
      .spec = {.schedule = "daily", .keep = 5, .target = "disk", .paths = {"/a"}, .options = {{"x", "y"}}}};
  backup.metadata.name = "b";
  const json::Value text = ToJson(backup);
  EXPECT_EQ(text["apiVersion"].string_or(""), "example.com/v1");
  Backup again;
  ASSERT_TRUE(FromJson(text, &again));
  EXPECT_EQ(again.spec.schedule, "daily");
  EXPECT_EQ(again.spec.keep, 5);
  EXPECT_EQ(again.spec.target, "disk");
  EXPECT_EQ(again.spec.paths, std::vector<std::string>{"/a"});
  EXPECT_EQ(again.spec.options.at("x"), "y");
}

TEST(CustomResourceTest, EmptyFieldsAreLeftOutRequiredOnesAreNot) {
  const json::Value text = ToJson(BackupSpec{.keep = 0});
  EXPECT_TRUE(text.Find("schedule"));
  EXPECT_EQ(text.size(), 1u);
}

TEST(CustomResourceTest, AWrongTypeIsNamedWithItsPlace) {
  Backup backup;
  const Status status =
      FromJson(json::Value(json::Object{{"spec", json::Object{{"paths", json::Array{"/a", 3}}}}}), &backup);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message(), "spec: paths: [1]: cannot decode number into string");
}

TEST(CustomResourceTest, TheDefinitionHasTheSchemaOfTheStruct) {
  const json::Value crd = CustomResourceDefinitionOf<Backup>();
  EXPECT_EQ(crd["metadata"]["name"].string_or(""), "backuppolicies.example.com");
  const json::Value& version = crd["spec"]["versions"].as_array()[0];
  const json::Value& spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"];
  EXPECT_EQ(spec["required"].as_array()[0].string_or(""), "schedule");
  EXPECT_EQ(spec["properties"]["keep"]["minimum"].int_or(0), 1);
  EXPECT_EQ(spec["properties"]["keep"]["default"].int_or(0), 3);
  EXPECT_EQ(spec["properties"]["target"]["enum"].size(), 2u);
  EXPECT_EQ(spec["properties"]["paths"]["items"]["type"].string_or(""), "string");
  EXPECT_EQ(spec["properties"]["options"]["additionalProperties"]["type"].string_or(""), "string");
  EXPECT_TRUE(crd["metadata"]["annotations"].is_null());
}

struct RunnerSpec {
  std::int32_t replicas = 1;
  std::vector<std::string> zones;
  PodTemplateSpec template_;
  static constexpr std::array kCategories = {"all"};
  static constexpr ScalePaths kScale = {.spec = ".spec.replicas", .status = ".status.replicas"};
  static constexpr auto kFields =
      Fields(Field{"replicas", &RunnerSpec::replicas},
             Field{"zones", &RunnerSpec::zones, {.max_items = 3, .list_type = "set"}},
             Field{"template", &RunnerSpec::template_, {.required = true}});
};
struct RunnerStatus {
  std::int32_t replicas = 0;
  std::vector<Condition> conditions;
  static constexpr auto kFields =
      Fields(Field{"replicas", &RunnerStatus::replicas},
             Field{"conditions", &RunnerStatus::conditions, {.list_keys = "type"}});
};
using Runner = CustomResource<RunnerSpec, "example.com", "v1", "Runner", RunnerStatus>;

TEST(CustomResourceTest, TheApisOwnStructsAreDescribedInFull) {
  const json::Value crd = CustomResourceDefinitionOf<Runner>();
  const json::Value& version = crd["spec"]["versions"].as_array()[0];
  EXPECT_EQ(version["subresources"]["scale"]["specReplicasPath"].string_or(""), ".spec.replicas");
  EXPECT_EQ(crd["spec"]["names"]["categories"].size(), 1u);
  const json::Value& properties = version["schema"]["openAPIV3Schema"]["properties"];
  const json::Value& zones = properties["spec"]["properties"]["zones"];
  EXPECT_EQ(zones["x-kubernetes-list-type"].string_or(""), "set");
  EXPECT_EQ(zones["maxItems"].int_or(0), 3);

  const json::Value& conditions = properties["status"]["properties"]["conditions"];
  EXPECT_EQ(conditions["x-kubernetes-list-map-keys"].as_array()[0].string_or(""), "type");
  EXPECT_EQ(conditions["items"]["properties"]["lastTransitionTime"]["format"].string_or(""), "date-time");

  const json::Value& pod = properties["spec"]["properties"]["template"]["properties"];
  EXPECT_EQ(pod["metadata"]["properties"]["labels"]["additionalProperties"]["type"].string_or(""), "string");
  EXPECT_TRUE(pod["metadata"]["properties"]["uid"].is_null()) << "the server's own";
  const json::Value& containers = pod["spec"]["properties"]["containers"];
  EXPECT_EQ(containers["x-kubernetes-list-map-keys"].as_array()[0].string_or(""), "name");
  const json::Value& limits = containers["items"]["properties"]["resources"]["properties"]["limits"];
  EXPECT_TRUE(limits["additionalProperties"]["x-kubernetes-int-or-string"].bool_or(false));
  EXPECT_EQ(json::Write(crd).find("$ref"), std::string::npos);
  EXPECT_EQ(json::Write(crd).find("patch-strategy"), std::string::npos);
}

TEST(CustomResourceTest, AServerTakesTheDefinitionOfAProtectedGroup) {
  using Sample = CustomResource<BackupSpec, "sample.k8s.io", "v1", "Sample">;
  const json::Value crd = CustomResourceDefinitionOf<Sample>();
  EXPECT_EQ(crd["metadata"]["annotations"]["api-approved.kubernetes.io"].string_or("").substr(0, 10),
            "unapproved");
}

}  // namespace
}  // namespace flyball
