#include "api/apply/apply.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include "api/apply/scale_managed_fields.h"
#include "json/json.h"

namespace flyball::api {
namespace {

using json::Value;

Value J(std::string_view text) {
  auto value = json::Parse(text);
  EXPECT_TRUE(value) << text;
  return value ? *value : Value();
}

constexpr TimePoint kStart{std::chrono::seconds(1700000000)};  // 2023-11-14T22:13:20Z

// One object and the clients that write it, without a server: nothing is defaulted or validated.
class Cluster {
 public:
  Cluster(std::string_view group, std::string_view kind)
      : info_(*FindBuiltinKind(group, "v1", kind)), api_version_(info_.ApiVersion()) {}

  // The config is the body without apiVersion and kind. Returns the error's text, or "".
  std::string Apply(std::string_view manager, std::string_view config, bool force = false,
                    std::string_view subresource = "", const FieldSet* reset = nullptr) {
    Value body = J(config);
    body["apiVersion"] = api_version_;
    body["kind"] = info_.kind;
    auto applied =
        api::Apply(*info_.type, info_.kind, live(), body, Writer(manager, subresource, reset), force);
    error_ = applied ? std::nullopt : std::optional<Error>(applied.error());
    if (!applied) return applied.error().ToString();
    changed_ = applied->changed;
    object_ = std::move(applied->object);
    return "";
  }

  void Update(std::string_view manager, std::string_view body, std::string_view subresource = "",
              const FieldSet* reset = nullptr) {
    Value object = J(body);
    UpdateManagedFields(*info_.type, live(), object, Writer(manager, subresource, reset));
    object_ = std::move(object);
  }

  // As Update, with the managedFields the object has, as a client that read it would send it.
  void ReadModifyWrite(std::string_view manager, std::string_view body) {
    Value object = J(body);
    object["metadata"]["managedFields"] = (*object_)["metadata"]["managedFields"];
    UpdateManagedFields(*info_.type, live(), object, Writer(manager, "", nullptr));
    object_ = std::move(object);
  }

  // Gives the object other content without anyone's doing.
  void Default(std::string_view body) {
    Value object = J(body);
    object["metadata"]["managedFields"] = (*object_)["metadata"]["managedFields"];
    object_ = std::move(object);
  }

  void Tick() { now_ += std::chrono::seconds(1); }

  // A line an entry: manager, operation, subresource, seconds since the start, fields.
  std::string Owners() const {
    std::string out;
    if (!object_) return out;
    for (const Value& entry : OwnersJson()) {
      out.append(entry["manager"].as_string()).append(" ").append(entry["operation"].as_string());
      if (entry.Find("subresource")) out.append("/").append(entry["subresource"].as_string());
      if (entry.Find("time")) out.append(" ").append(entry["time"].as_string().substr(17, 2));
      out.append(" ").append(json::Write(entry["fieldsV1"])).append("\n");
    }
    return out;
  }
  const json::Array& OwnersJson() const {
    static const json::Array none;
    const Value& owners = (*object_)["metadata"]["managedFields"];
    return owners.is_array() ? owners.as_array() : none;
  }

  std::string Get(std::initializer_list<std::string_view> path) const {
    const Value* value = std::as_const(*object_).FindPath(path);
    return value != nullptr ? json::Write(*value) : "<absent>";
  }

  const Value* live() const { return object_ ? &*object_ : nullptr; }
  bool changed() const { return changed_; }
  const std::optional<Error>& error() const { return error_; }

 private:
  FieldWriter Writer(std::string_view manager, std::string_view subresource, const FieldSet* reset) const {
    return {.manager = manager,
            .subresource = subresource,
            .api_version = api_version_,
            .now = now_,
            .reset = reset};
  }

  const KindInfo& info_;
  const std::string api_version_;
  TimePoint now_ = kStart;
  std::optional<Value> object_;
  bool changed_ = false;
  std::optional<Error> error_;
};

TEST(ApplyTest, CreatesAndOwnsExactlyWhatIsApplied) {
  Cluster c("", "ConfigMap");
  EXPECT_EQ(c.Apply("me", R"({"metadata":{"name":"c"},"data":{"a":"1","b":"1"}})"), "");
  EXPECT_EQ(c.Owners(), "me Apply 20 {\"f:data\":{\"f:a\":{},\"f:b\":{}}}\n");
  EXPECT_TRUE(c.changed());
}

TEST(ApplyTest, ApplyingTheSameAgainChangesNothing) {
  Cluster c("", "ConfigMap");
  c.Apply("me", R"({"data":{"a":"1"}})");
  const std::string before = c.Owners();
  c.Tick();
  EXPECT_EQ(c.Apply("me", R"({"data":{"a":"1"}})"), "");
  EXPECT_FALSE(c.changed());
  EXPECT_EQ(c.Owners(), before);
}

TEST(ApplyTest, WhatIsNoLongerAppliedIsRemoved) {
  Cluster c("", "ConfigMap");
  c.Apply("me", R"({"metadata":{"labels":{"l":"1"}},"data":{"a":"1","b":"1"}})");
  EXPECT_EQ(c.Apply("me", R"({"data":{"b":"2","c":"3"}})"), "");
  EXPECT_EQ(c.Get({"data"}), R"({"b":"2","c":"3"})");
  EXPECT_EQ(c.Get({"metadata", "labels"}), "<absent>");
  EXPECT_EQ(c.Owners(), "me Apply 20 {\"f:data\":{\"f:b\":{},\"f:c\":{}}}\n");
}

TEST(ApplyTest, WhatAnotherOwnsTooIsKept) {
  Cluster c("", "ConfigMap");
  c.Apply("me", R"({"data":{"a":"1","b":"2"}})");
  EXPECT_EQ(c.Apply("other", R"({"data":{"b":"2"}})"), "");
  EXPECT_EQ(c.Apply("me", R"({"data":{"a":"1"}})"), "");
  EXPECT_EQ(c.Get({"data"}), R"({"a":"1","b":"2"})");
}

TEST(ApplyTest, ChangingWhatAnotherOwnsIsAConflict) {
  Cluster c("", "ConfigMap");
  c.Apply("me", R"({"data":{"a":"1","b":"1"}})");
  EXPECT_EQ(c.Apply("other", R"({"data":{"b":"9"}})"),
            R"(Conflict (409): Apply failed with 1 conflict: conflict with "me": .data.b)");
  ASSERT_EQ(c.error()->details().causes.size(), 1u);
  EXPECT_EQ(c.error()->details().causes[0],
            (Cause{"FieldManagerConflict", "conflict with \"me\"", ".data.b"}));
}

TEST(ApplyTest, SeveralConflictsAreListedByOwner) {
  Cluster c("", "ConfigMap");
  c.Apply("me", R"({"data":{"a":"1","b":"1"}})");
  c.ReadModifyWrite("ed", R"({"data":{"a":"1","b":"1","c":"1"}})");
  EXPECT_EQ(c.Apply("other", R"({"data":{"a":"9","b":"9","c":"9"}})"),
            "Conflict (409): Apply failed with 3 conflicts: conflicts with \"ed\" using v1:\n- .data.c\n"
            "conflicts with \"me\":\n- .data.a\n- .data.b");
}

TEST(ApplyTest, ForceTakesTheFieldAway) {
  Cluster c("", "ConfigMap");
  c.Apply("me", R"({"data":{"a":"1","b":"1"}})");
  c.Tick();
  EXPECT_EQ(c.Apply("other", R"({"data":{"b":"9"}})", true), "");
  EXPECT_EQ(c.Get({"data"}), R"({"a":"1","b":"9"})");
  EXPECT_EQ(c.Owners(), "me Apply 20 {\"f:data\":{\"f:a\":{}}}\nother Apply 21 {\"f:data\":{\"f:b\":{}}}\n");
}

TEST(ApplyTest, WhoLosesEverythingIsDropped) {
  Cluster c("", "ConfigMap");
  c.Apply("me", R"({"data":{"a":"1"}})");
  EXPECT_EQ(c.Apply("other", R"({"data":{"a":"2"}})", true), "");
  EXPECT_EQ(c.Owners(), "other Apply 20 {\"f:data\":{\"f:a\":{}}}\n");
}

// Sharing a value changes the object for nobody: such an entry has no time.
TEST(ApplyTest, SharedValuesHaveTwoOwnersAndTheSecondHasNoTime) {
  Cluster c("", "ConfigMap");
  c.Apply("me", R"({"data":{"a":"1"}})");
  EXPECT_EQ(c.Apply("other", R"({"data":{"a":"1"}})"), "");
  EXPECT_FALSE(c.changed());
  EXPECT_EQ(c.Owners(), "other Apply {\"f:data\":{\"f:a\":{}}}\nme Apply 20 {\"f:data\":{\"f:a\":{}}}\n");
}

TEST(ApplyTest, AnUntrackedObjectIsTakenForAnUpdatersWork) {
  Cluster c("", "ConfigMap");
  c.Update("old", R"({"data":{"a":"1"},"metadata":{"uid":"u"}})");
  c.Update("old", R"({"data":{"a":"1"},"metadata":{"uid":"u","managedFields":[]}})");
  EXPECT_EQ(c.Owners(), "");
  EXPECT_EQ(
      c.Apply("me", R"({"data":{"a":"2"}})"),
      "Conflict (409): Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: .data.a");
  EXPECT_EQ(c.Apply("me", R"({"data":{"b":"2"}})"), "");
  EXPECT_EQ(c.Owners(),
            "me Apply 20 {\"f:data\":{\"f:b\":{}}}\n"
            "before-first-apply Update 20 {\"f:data\":{\".\":{},\"f:a\":{}}}\n");
}

TEST(ApplyTest, ListItemsComeAndGoWithTheirOwners) {
  Cluster c("apps", "Deployment");
  const char* kSidecar = R"({"spec":{"template":{"spec":{"containers":[{"name":"side","image":"s:1"}]}}}})";
  c.Apply(
      "me",
      R"({"spec":{"template":{"spec":{"containers":[{"name":"a","image":"a:1"},{"name":"b","image":"b:1"}]}}}})");
  EXPECT_EQ(c.Apply("sidecar", kSidecar), "");
  EXPECT_EQ(c.Apply("me", R"({"spec":{"template":{"spec":{"containers":[{"name":"a","image":"a:1"}]}}}})"),
            "");
  EXPECT_EQ(c.Get({"spec", "template", "spec", "containers"}),
            R"([{"name":"a","image":"a:1"},{"name":"side","image":"s:1"}])");
}

// What was defaulted has no owner; inside an item it goes with the item.
TEST(ApplyTest, AnItemIsRemovedWithWhatWasDefaultedInIt) {
  Cluster c("", "Pod");
  c.Apply("me", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})");
  c.Default(R"({"spec":{"dnsPolicy":"x","containers":[{"name":"a","tty":true},{"name":"b","tty":true}]}})");
  EXPECT_EQ(c.Apply("me", R"({"spec":{"containers":[{"name":"a"}]}})"), "");
  EXPECT_EQ(c.Get({"spec", "containers"}), R"([{"name":"a","tty":true}])");
  EXPECT_EQ(c.Get({"spec", "dnsPolicy"}), R"("x")");
}

TEST(ApplyTest, EmptiedObjectsAreKeptAsLeavesOrVanish) {
  Cluster c("apps", "Deployment");
  c.Apply("vol", R"({"spec":{"template":{"spec":{"volumes":[{"name":"v","emptyDir":{}}]}}}})");
  EXPECT_EQ(
      c.Owners(),
      "vol Apply 20 {\"f:spec\":{\"f:template\":{\"f:spec\":{\"f:volumes\":{\"k:{\\\"name\\\":\\\"v\\\"}\":"
      "{\".\":{},\"f:emptyDir\":{},\"f:name\":{}}}}}}}\n");
  EXPECT_EQ(c.Apply("vol", R"({"spec":{"template":{"spec":{}}}})"), "");
  EXPECT_EQ(c.Owners(), "vol Apply 20 {\"f:spec\":{\"f:template\":{\"f:spec\":{}}}}\n");
  EXPECT_EQ(c.Get({"spec", "template", "spec", "volumes"}), "<absent>");
}

// Upstream drops the object here, and only the next apply brings it back.
TEST(ApplyTest, AnObjectAppliedAsEmptyStaysWhenAllInItIsRemoved) {
  Cluster c("", "Pod");
  c.Apply("me", R"({"spec":{"securityContext":{"runAsUser":1}}})");
  EXPECT_EQ(c.Apply("me", R"({"spec":{"securityContext":{}}})"), "");
  EXPECT_EQ(c.Get({"spec"}), R"({"securityContext":{}})");
}

TEST(ApplyTest, MergedListsKeepTheConfigurationsOrder) {
  Cluster c("", "Pod");
  c.Apply("a", R"({"spec":{"containers":[{"name":"1"},{"name":"2"},{"name":"3"}]}})");
  c.Apply("b", R"({"spec":{"containers":[{"name":"3"},{"name":"x"},{"name":"1"}]}})");
  EXPECT_EQ(c.Get({"spec", "containers"}), R"([{"name":"2"},{"name":"3"},{"name":"x"},{"name":"1"}])");
}

TEST(ApplyTest, ResetFieldsAreNotOwnedThroughThatDoor) {
  const FieldSet main_resets({{"status"}});
  const FieldSet status_resets({{"spec"}, {"metadata", "labels"}});
  Cluster c("apps", "Deployment");
  c.Apply("me", R"({"spec":{"replicas":1},"status":{"replicas":1}})", false, "", &main_resets);
  EXPECT_EQ(c.Owners(), "me Apply 20 {\"f:spec\":{\"f:replicas\":{}}}\n");
  EXPECT_EQ(c.Apply("ctl", R"({"spec":{"replicas":5},"status":{"readyReplicas":1}})", false, "status",
                    &status_resets),
            "");
  EXPECT_EQ(c.Owners(),
            "ctl Apply/status 20 {\"f:status\":{\"f:readyReplicas\":{}}}\n"
            "me Apply 20 {\"f:spec\":{\"f:replicas\":{}}}\n");
}

TEST(ApplyTest, RefusesManagedFieldsAndOtherKinds) {
  Cluster c("", "ConfigMap");
  EXPECT_EQ(c.Apply("me", R"({"metadata":{"managedFields":[{"manager":"m"}]}})"),
            "BadRequest (400): metadata.managedFields must be nil");
  const KindInfo& info = *FindBuiltinKind("", "v1", "ConfigMap");
  const FieldWriter writer{.manager = "me", .subresource = "", .api_version = "v1", .now = kStart};
  auto applied = Apply(*info.type, "ConfigMap", nullptr, J(R"({"apiVersion":"apps/v1","kind":"Deployment"})"),
                       writer, false);
  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().ToString(), "BadRequest (400): invalid object type: apps/v1, Kind=Deployment");
}

TEST(ApplyTest, UnfitConfigurationsAreNamedAndShown) {
  Cluster c("apps", "Deployment");
  const std::string prefix = " (500): failed to create typed patch object (/d; apps/v1, Kind=Deployment): ";
  const auto unfit = [&](std::string_view spec) {
    return c.Apply("me", R"({"metadata":{"name":"d"},"spec":)" + std::string(spec) + "}");
  };
  EXPECT_EQ(unfit(R"({"replicas":"two"})"),
            prefix + ".spec.replicas: expected numeric (int or float), got string");
  EXPECT_EQ(unfit(R"({"bogus":1})"), prefix + ".spec.bogus: field not declared in schema");
  EXPECT_EQ(unfit(R"({"paused":"x"})"), prefix + ".spec.paused: expected boolean, got &{x}");
  EXPECT_EQ(unfit(R"({"template":[]})"), prefix + ".spec.template: expected map, got &{[]}");
  EXPECT_EQ(unfit(R"({"template":{"spec":{"containers":{}}}})"),
            prefix + ".spec.template.spec.containers: expected list, got &{map[]}");
  EXPECT_EQ(unfit(R"({"template":{"spec":{"containers":[{"name":"a","image":1}]}}})"),
            prefix +
                ".spec.template.spec.containers[name=\"a\"].image: expected string, got "
                "&value.valueUnstructured{Value:1}");
  EXPECT_EQ(unfit(R"({"template":{"spec":{"containers":[{"name":"a"},{"name":"a"}]}}})"),
            prefix + ".spec.template.spec.containers: duplicate entries for key [name=\"a\"]");
  EXPECT_EQ(unfit(R"({"template":{"spec":{"containers":[null]}}})"),
            prefix +
                ".spec.template.spec.containers: element 0: associative list with keys may not have a null "
                "element");
  EXPECT_EQ(unfit(R"({"replicas":"x","paused":1})"),
            prefix +
                "errors:\n  .spec.replicas: expected numeric (int or float), got string\n"
                "  .spec.paused: expected boolean, got &{1}");
}

TEST(ApplyTest, NamespaceIsPartOfTheName) {
  Cluster c("", "ConfigMap");
  EXPECT_EQ(
      c.Apply("me", R"({"metadata":{"name":"n","namespace":"s"},"x":1})"),
      " (500): failed to create typed patch object (s/n; /v1, Kind=ConfigMap): .x: field not declared in "
      "schema");
}

constexpr const char* kClientSide =
    R"({"metadata":{"uid":"u","annotations":{"kubectl.kubernetes.io/last-applied-configuration":
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"data\":{\"a\":\"1\",\"b\":\"1\"}}"}},"data":)";

TEST(ApplyTest, KubectlTakesOverWhatItAppliedOnTheClientSide) {
  Cluster c("", "ConfigMap");
  c.Update("kubectl-client-side-apply", std::string(kClientSide) + R"({"a":"1","b":"1"}})");
  EXPECT_EQ(
      c.Apply("other", R"({"data":{"a":"2"}})"),
      "Conflict (409): Apply failed with 1 conflict: conflict with \"kubectl-client-side-apply\" using v1: "
      ".data.a");
  EXPECT_EQ(c.Apply("kubectl", R"({"data":{"a":"2"}})"), "");
  EXPECT_EQ(c.Get({"metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"}),
            R"("{\"apiVersion\":\"v1\",\"data\":{\"a\":\"2\"},\"kind\":\"ConfigMap\"}\n")");
}

TEST(ApplyTest, KubectlDoesNotTakeOverWhatHasChangedSince) {
  Cluster c("", "ConfigMap");
  c.Update("editor", std::string(kClientSide) + R"({"a":"changed","b":"1"}})");
  EXPECT_EQ(c.Apply("kubectl", R"({"data":{"a":"2","b":"2"}})"),
            "Conflict (409): Apply failed with 1 conflict: conflict with \"editor\" using v1: .data.a");
}

TEST(UpdateManagedFieldsTest, ACreatorOwnsWhatItCreates) {
  Cluster c("", "ConfigMap");
  c.Update("", R"({"metadata":{"name":"c","labels":{"l":"1"}},"data":{"a":"1"}})");
  EXPECT_EQ(c.Owners(),
            "unknown Update 20 "
            "{\"f:data\":{\".\":{},\"f:a\":{}},\"f:metadata\":{\"f:labels\":{\".\":{},\"f:l\":{}}}}\n");
}

TEST(UpdateManagedFieldsTest, AnUpdateTakesWhatItChanges) {
  Cluster c("", "ConfigMap");
  c.Apply("me", R"({"metadata":{"uid":"u"},"data":{"a":"1","b":"1"}})");
  c.Tick();
  c.Update("ed", R"({"metadata":{"uid":"u"},"data":{"a":"2","b":"1","c":"1"}})");
  EXPECT_EQ(c.Owners(),
            "me Apply 20 {\"f:data\":{\"f:b\":{}}}\ned Update 21 {\"f:data\":{\"f:a\":{},\"f:c\":{}}}\n");
}

TEST(UpdateManagedFieldsTest, WhatIsRemovedBelongsToNobody) {
  Cluster c("", "ConfigMap");
  c.Apply("me", R"({"metadata":{"uid":"u"},"data":{"a":"1","b":"1"}})");
  c.Tick();
  c.Update("ed", R"({"metadata":{"uid":"u"},"data":{"b":"1"}})");
  EXPECT_EQ(c.Owners(), "me Apply 20 {\"f:data\":{\"f:b\":{}}}\n");
  c.Update("ed", R"({"metadata":{"uid":"u"}})");
  EXPECT_EQ(c.Owners(), "");
}

TEST(UpdateManagedFieldsTest, NothingChangedLeavesTheTimes) {
  Cluster c("", "ConfigMap");
  c.Update("ed", R"({"metadata":{"uid":"u"},"data":{"a":"1"}})");
  const std::string before = c.Owners();
  c.Tick();
  c.Update("ed", R"({"metadata":{"uid":"u","resourceVersion":"5"},"data":{"a":"1"}})");
  EXPECT_EQ(c.Owners(), before);
  c.ReadModifyWrite("other", R"({"metadata":{"uid":"u"},"data":{"a":"1"}})");
  EXPECT_EQ(c.Owners(), before);
}

TEST(UpdateManagedFieldsTest, AnUpdaterHasOneEntryAVersionAndSubresource) {
  Cluster c("apps", "Deployment");
  c.Update("ctl", R"({"spec":{"replicas":1},"status":{}})");
  c.Tick();
  c.Update("ctl", R"({"spec":{"replicas":1},"status":{"replicas":1}})", "status");
  c.Tick();
  c.Update("ctl", R"({"spec":{"replicas":2},"status":{"replicas":1}})");
  EXPECT_EQ(c.Owners(),
            "ctl Update/status 21 {\"f:status\":{\"f:replicas\":{}}}\nctl Update 22 "
            "{\"f:spec\":{\"f:replicas\":{}}}\n");
}

TEST(UpdateManagedFieldsTest, GivenManagedFieldsReplaceTheStored) {
  Cluster c("", "ConfigMap");
  c.Update("ed", R"({"metadata":{"uid":"u"},"data":{"a":"1"}})");
  c.Update("ed",
           R"({"metadata":{"uid":"u","managedFields":[{"manager":"x","operation":"Apply","apiVersion":"v1",
      "fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:a":{}}}}]},"data":{"a":"1"}})");
  EXPECT_EQ(c.Owners(), "x Apply {\"f:data\":{\"f:a\":{}}}\n");
}

TEST(UpdateManagedFieldsTest, MalformedOrThroughASubresourceTheStoredStay) {
  Cluster c("", "ConfigMap");
  c.Update("ed", R"({"metadata":{"uid":"u"},"data":{"a":"1"}})");
  const std::string before = c.Owners();
  for (const char* given :
       {R"([{"manager":"x"}])", R"([{"operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV2"}])",
        R"([{"operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"k:x":{}}}])"}) {
    c.Update("ed",
             R"({"metadata":{"uid":"u","managedFields":)" + std::string(given) + R"(},"data":{"a":"1"}})");
    EXPECT_EQ(c.Owners(), before) << given;
  }
  c.Update("ed", R"({"metadata":{"uid":"u","managedFields":[]},"data":{"a":"1"}})", "status");
  EXPECT_EQ(c.Owners(), before);
}

TEST(UpdateManagedFieldsTest, AResetLastsUntilTheNextApply) {
  Cluster c("", "ConfigMap");
  c.Update("ed", R"({"metadata":{"uid":"u"},"data":{"a":"1"}})");
  c.Update("ed", R"({"metadata":{"uid":"u","managedFields":[{}]},"data":{"a":"1"}})");
  EXPECT_EQ(c.Owners(), "");
  c.Update("ed", R"({"metadata":{"uid":"u"},"data":{"a":"2"}})");
  EXPECT_EQ(c.Owners(), "");
}

TEST(UpdateManagedFieldsTest, TheOldestOfTooManyUpdatersAreMerged) {
  Cluster c("", "ConfigMap");
  Value data{json::Object()};
  for (int i = 0; i < 13; ++i) {
    data[std::string(1, static_cast<char>('a' + i))] = "1";
    c.Update("u" + std::to_string(i), R"({"metadata":{"uid":"u"},"data":)" + json::Write(data) + "}");
    c.Tick();
  }
  EXPECT_EQ(c.OwnersJson().size(), 10u);
  EXPECT_EQ(c.OwnersJson()[0]["manager"].as_string(), "ancient-changes");
  EXPECT_EQ(json::Write(c.OwnersJson()[0]["fieldsV1"]),
            R"({"f:data":{".":{},"f:a":{},"f:b":{},"f:c":{},"f:d":{}}})");
  EXPECT_EQ(c.OwnersJson()[0]["time"].as_string(), "2023-11-14T22:13:23Z");
  EXPECT_EQ(c.OwnersJson()[1]["manager"].as_string(), "u4");
}

TEST(KeepTimesIfUnchangedTest, OnlyTimesArePutBack) {
  const Value live = J(R"({"a":1,"metadata":{"managedFields":[{"manager":"m","time":"1"}]}})");
  Value same = J(R"({"a":1,"metadata":{"managedFields":[{"manager":"m","time":"2"}]}})");
  KeepTimesIfUnchanged(live, same);
  EXPECT_EQ(same, live);
  const Value changed = J(R"({"a":2,"metadata":{"managedFields":[{"manager":"m","time":"2"}]}})");
  Value written = changed;
  KeepTimesIfUnchanged(live, written);
  EXPECT_EQ(written, changed);
}

TEST(ScaleManagedFieldsTest, AScaleShowsAndTakesTheOwnersOfReplicas) {
  Cluster c("apps", "Deployment");
  c.Apply("me", R"({"spec":{"replicas":1,"paused":true}})");
  c.Apply("other", R"({"spec":{"paused":true}})");
  const PathElement replicas[] = {PathElement::Field("spec"), PathElement::Field("replicas")};
  const Value& parent = (*c.live())["metadata"]["managedFields"];
  auto shown = ScaleManagedFields(parent, replicas);
  ASSERT_TRUE(shown);
  EXPECT_EQ(json::Write(*shown), R"([{"manager":"me","operation":"Apply","apiVersion":"autoscaling/v1",)"
                                 R"("time":"2023-11-14T22:13:20Z","fieldsType":"FieldsV1",)"
                                 R"("fieldsV1":{"f:spec":{"f:replicas":{}}}}])");
  const Value scaled = J(R"([{"manager":"hpa","operation":"Update","apiVersion":"autoscaling/v1","time":"t",
      "fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}},"subresource":"scale"}])");
  auto merged = MergeScaleManagedFields(parent, scaled, "apps/v1", replicas);
  ASSERT_TRUE(merged);
  ASSERT_EQ(merged->size(), 3u);
  EXPECT_EQ(json::Write(merged->as_array()[1]["fieldsV1"]), R"({"f:spec":{"f:paused":{}}})");
  EXPECT_EQ(json::Write(merged->as_array()[2]),
            R"({"manager":"hpa","operation":"Update","apiVersion":"apps/v1","fieldsType":"FieldsV1",)"
            R"("fieldsV1":{"f:spec":{"f:replicas":{}}},"subresource":"scale"})");
}

}  // namespace
}  // namespace flyball::api
