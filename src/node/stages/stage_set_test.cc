#include "node/stages/stage_set.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "json/json.h"
#include "json/yaml/yaml.h"
#include "node/stages/stage_functions.h"

namespace flyball::node {
namespace {

using std::chrono::milliseconds;

// A Stage for pods with this spec, in YAML without its resourceRef.
Result<StageSet> SetOf(const std::vector<std::string>& specs) {
  std::vector<json::Value> manifests;
  for (const std::string& spec : specs) {
    json::Value manifest = *json::ParseYaml(spec);
    manifest["resourceRef"] = json::Object{{"apiGroup", "v1"}, {"kind", "Pod"}};
    manifests.emplace_back(
        json::Object{{"apiVersion", "kwok.x-k8s.io/v1alpha1"},
                     {"kind", "Stage"},
                     {"metadata", json::Object{{"name", "s" + std::to_string(manifests.size())}}},
                     {"spec", manifest}});
  }
  return StageSet::Make(manifests);
}

json::Value Object(const std::string& yaml) {
  return *json::ParseYaml(yaml);
}

std::string ErrorOf(const std::string& spec) {
  const auto set = SetOf({spec});
  return set ? "" : set.error().message();
}

class StoppedClock final : public Clock {
 public:
  explicit StoppedClock(TimePoint now) : now_(now) {}
  TimePoint Now() const override { return now_; }
  SteadyTime Steady() const override { return {}; }

 private:
  const TimePoint now_;
};

class StageSetTest : public ::testing::Test {
 protected:
  // Name of the stage that is next.
  std::string Next(const StageSet& set, const json::Value& object) {
    const Stage* stage = set.Choose("Pod", object, random_);
    return stage ? stage->name() : "-";
  }
  Duration DelayOf(const std::string& spec, const json::Value& object) {
    const auto set = SetOf({"selector: {}\n" + spec});
    EXPECT_TRUE(set) << set.error().message();
    return set->Choose("Pod", object, random_)->Delay(object, now_, random_);
  }

  Random random_{1};
  TimePoint now_ = TimePoint(std::chrono::seconds(1'700'000'000));
};

TEST_F(StageSetTest, SelectsByLabelsAnnotationsAndExpressions) {
  const auto set = SetOf({R"(
selector:
  matchLabels: {app: web}
  matchAnnotations: {a/b: "1"}
  matchExpressions:
  - {key: .metadata.deletionTimestamp, operator: DoesNotExist}
  - {key: '.status.conditions.[] | select( .type == "Ready" ) | .status', operator: NotIn, values: ["True"]}
  - {jq: {key: .spec.size, operator: In, values: ["3"]}}
  - {cel: {expression: 'self.spec.size > 2'}}
)"});
  ASSERT_TRUE(set) << set.error().message();
  EXPECT_TRUE(set->Plays("Pod"));
  EXPECT_FALSE(set->Plays("Node"));
  const std::string good = "metadata: {labels: {app: web}, annotations: {a/b: '1'}}\nspec: {size: 3}\n";
  EXPECT_EQ(Next(*set, Object(good)), "s0");
  EXPECT_EQ(Next(*set, Object(good + "status: {conditions: [{type: Ready, status: 'False'}]}")), "s0");
  EXPECT_EQ(Next(*set, Object(good + "status: {conditions: [{type: Ready, status: 'True'}]}")), "-");
  EXPECT_EQ(Next(*set, Object("metadata: {labels: {app: web}}\nspec: {size: 3}")), "-");
  EXPECT_EQ(Next(*set, Object("metadata: {labels: {app: web}, annotations: {a/b: '1'}}\nspec: {size: 4}")),
            "-");
}

TEST_F(StageSetTest, WithoutASelectorItIsForNothing) {
  EXPECT_EQ(Next(*SetOf({"weight: 1"}), Object("{}")), "-");
  EXPECT_EQ(Next(*SetOf({"selector: {}"}), Object("{}")), "s0");
}

TEST_F(StageSetTest, WeightsDecideAmongSeveral) {
  const auto set = SetOf({"selector: {}\nweight: 1", "selector: {}\nweight: 3",
                          "selector: {}\nweightFrom: {expressionFrom: '.metadata.annotations[\"w\"]'}"});
  ASSERT_TRUE(set);
  std::map<std::string, int> count;
  for (int i = 0; i < 4000; ++i) ++count[Next(*set, Object("{}"))];
  EXPECT_NEAR(count["s0"], 1000, 150);
  EXPECT_NEAR(count["s1"], 3000, 150);
  EXPECT_EQ(count["s2"], 0);
  EXPECT_EQ(Next(*set, Object("metadata: {annotations: {w: '1000000000000'}}")), "s2");
}

TEST_F(StageSetTest, DelaysHaveJitterAndExpressions) {
  const json::Value object =
      Object("metadata: {annotations: {d: 1m, e: ''}, deletionTimestamp: '2023-11-14T22:13:50Z'}");
  EXPECT_EQ(DelayOf("", object), Duration::zero());
  EXPECT_EQ(DelayOf("delay: {durationMilliseconds: 1500}", object), milliseconds(1500));
  EXPECT_EQ(
      DelayOf(
          "delay: {durationMilliseconds: 1, durationFrom: {expressionFrom: '.metadata.annotations[\"d\"]'}}",
          object),
      std::chrono::minutes(1));
  EXPECT_EQ(
      DelayOf("delay: {durationMilliseconds: 7, durationFrom: {expressionFrom: .metadata.nothing}}", object),
      milliseconds(7));
  EXPECT_EQ(DelayOf("delay: {durationMilliseconds: 1000, jitterDurationMilliseconds: 400}", object),
            milliseconds(400));
  // A moment: half a minute from now.
  EXPECT_EQ(DelayOf("delay: {durationMilliseconds: 60000, jitterDurationFrom: {expressionFrom: "
                    ".metadata.deletionTimestamp}}",
                    object),
            std::chrono::seconds(30));
  const Duration drawn =
      DelayOf("delay: {durationMilliseconds: 1000, jitterDurationMilliseconds: 5000}", object);
  EXPECT_GE(drawn, milliseconds(1000));
  EXPECT_LT(drawn, milliseconds(5000));
}

TEST_F(StageSetTest, ChangesFinalizers) {
  const auto patch = [&](const std::string& change, const std::string& finalizers) -> std::string {
    const auto set = SetOf({"selector: {}\nnext: {finalizers: " + change + "}"});
    const json::Value object = Object("metadata: {finalizers: " + finalizers + "}");
    const auto made = set->Choose("Pod", object, random_)->FinalizerPatch(object);
    return made ? json::Write(made->body) : "-";
  };
  EXPECT_EQ(patch("{empty: true}", "[]"), "-");
  EXPECT_EQ(patch("{empty: true}", "[a]"), R"([{"op":"remove","path":"/metadata/finalizers"}])");
  EXPECT_EQ(patch("{empty: true, add: [{value: b}]}", "[a]"),
            R"([{"op":"replace","path":"/metadata/finalizers","value":["b"]}])");
  EXPECT_EQ(patch("{add: [{value: b}]}", "null"),
            R"([{"op":"add","path":"/metadata/finalizers","value":["b"]}])");
  EXPECT_EQ(patch("{add: [{value: b}]}", "[b]"), "-");
  EXPECT_EQ(patch("{remove: [{value: b}]}", "[a, b]"),
            R"([{"op":"replace","path":"/metadata/finalizers","value":["a"]}])");
}

TEST_F(StageSetTest, PatchesComeFromTemplates) {
  const auto set = SetOf({R"(
selector: {}
next:
  patches:
  - subresource: status
    root: status
    template: |
      phase: {{ .metadata.name | upper | Quote }}
      size: {{ .spec.size }}
      at: {{ Now | Quote }}
      ip: {{ PodIPWith .spec.nodeName ( or .spec.hostNetwork false ) ( or .metadata.uid "" ) "" "" | Quote }}
      gone: {{ Quote .metadata.nothing }}
      labels: {{ with .metadata.labels }}
      {{ YAML . 1 }}
      {{ else }} {} {{ end }}
      {{ $annotations := or .metadata.annotations dict }}
      reason: {{ or ( index $annotations "r" ) "none" }}
  - type: json
    root: metadata
    template: '[{"op":"add","path":"/labels/x","value":"y"}]'
  - type: merge
    template: ''
)"});
  ASSERT_TRUE(set) << set.error().message();
  const StoppedClock clock(now_);
  const StageFunctions functions(
      {.name = "n1", .address = "10.0.0.1", .pod_ip = [](const std::string& uid) { return "ip-of-" + uid; }},
      clock, random_);
  const json::Value object =
      Object("metadata: {name: web, uid: u1, labels: {b: '2', a: '1'}}\nspec: {size: 12345678}");
  const auto patches = set->Choose("Pod", object, random_)->Patches(object, functions);
  ASSERT_TRUE(patches) << patches.error().message();
  ASSERT_EQ(patches->size(), 2u);
  EXPECT_EQ((*patches)[0].subresource, "status");
  EXPECT_EQ(json::Write((*patches)[0].body),
            R"({"status":{"phase":"WEB","size":12345678,"at":"2023-11-14T22:13:20.000000Z","ip":"ip-of-u1",)"
            R"("gone":"null","labels":{"a":"1","b":"2"},"reason":"none"}})");
  EXPECT_EQ(json::Write((*patches)[1].body), R"([{"op":"add","path":"/metadata/labels/x","value":"y"}])");
  EXPECT_EQ((*patches)[1].type, PatchType::kJson);
}

TEST_F(StageSetTest, SaysWhatItDoesNotUnderstand) {
  EXPECT_EQ(ErrorOf("selector: {}\nnext: {statusTemplate: '{{ sha1sum . }}'}"),
            "Stage \"s0\": template: output:1: function \"sha1sum\" not defined");
  EXPECT_EQ(ErrorOf("selector: {matchExpressions: [{key: '.a |', operator: Exists}]}"),
            "Stage \"s0\": jq \".a |\": unexpected token \"the end\" at byte 4");
  EXPECT_EQ(ErrorOf("selector: {matchExpressions: [{key: .a, operator: Near}]}"),
            "Stage \"s0\": operator \"Near\" is not supported");
  EXPECT_EQ(ErrorOf("selector: {}\nnext: {patches: [{type: odd, template: x}]}"),
            "Stage \"s0\": unknown patch type odd");
}

TEST_F(StageSetTest, LoadsFoldersAndLeavesOtherDocuments) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("stages-" + Random::System().Uuid());
  fs::create_directories(folder);
  std::ofstream(folder / "a.yaml")
      << "kind: KwokConfiguration\napiVersion: config.kwok.x-k8s.io/v1alpha1\n---\n"
         "kind: Stage\napiVersion: kwok.x-k8s.io/v1alpha1\nmetadata: {name: one}\n"
         "spec: {resourceRef: {kind: Node}, selector: {}}\n";
  auto set = StageSet::Load(folder.string());
  ASSERT_TRUE(set) << set.error().message();
  EXPECT_TRUE(set->Plays("Node"));
  std::ofstream(folder / "a.yaml") << "kind: KwokConfiguration\n";
  EXPECT_FALSE(StageSet::Load(folder.string()));
  EXPECT_FALSE(StageSet::Load((folder / "missing.yaml").string()));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace flyball::node
