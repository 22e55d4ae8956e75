// Random histories of applies and updates, and what must hold after each step.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

#include "api/apply/apply.h"
#include "api/apply/object_fields.h"
#include "base/run/random.h"
#include "json/json.h"

namespace flyball::api {
namespace {

using json::Value;

class History {
 public:
  explicit History(std::uint64_t seed) : random_(seed) {}

  void Step() {
    const std::string manager(1, static_cast<char>('a' + Below(3)));
    if (Below(3) == 0) {
      Update(manager);
    } else {
      ApplyAs(manager, Below(2) == 0);
    }
    if (object_) CheckOwnersOwnWhatIsThere();
  }

 private:
  std::uint64_t Below(std::uint64_t n) { return random_.Below(n); }

  // A pod's spec out of few names and values, so that managers meet.
  Value RandomPod() {
    Value pod(json::Object{{"apiVersion", "v1"}, {"kind", "Pod"}});
    Value& metadata = pod["metadata"];
    metadata["uid"] = "u";
    for (std::uint64_t i = Below(3); i > 0; --i) metadata["labels"][Name()] = Name();
    if (Below(3) == 0) metadata["finalizers"] = json::Array{Value("f/" + Name())};
    Value& spec = pod["spec"];
    spec = json::Object();
    json::Array containers;
    for (const char* name : {"c1", "c2", "c3"}) {
      if (Below(2) == 0) continue;
      Value container(json::Object{{"name", name}});
      if (Below(2) == 0) container["image"] = Name();
      if (Below(3) == 0) container["args"] = json::Array{Value(Name())};
      if (Below(3) == 0) container["securityContext"]["privileged"] = Below(2) == 0;
      containers.insert(containers.begin() + static_cast<std::ptrdiff_t>(Below(containers.size() + 1)),
                        container);
    }
    if (!containers.empty()) spec["containers"] = std::move(containers);
    if (Below(3) == 0) spec["nodeSelector"][Name()] = Name();
    if (Below(3) == 0) spec["securityContext"]["runAsUser"] = static_cast<int>(Below(2));
    return pod;
  }

  std::string Name() { return std::string(1, static_cast<char>('x' + Below(3))); }

  FieldWriter Writer(std::string_view manager) const {
    return {.manager = manager, .subresource = "", .api_version = "v1", .now = TimePoint{}};
  }

  void Update(const std::string& manager) {
    Value object = RandomPod();
    if (object_ && Below(2) == 0) {
      object["metadata"]["managedFields"] = (*object_)["metadata"]["managedFields"];
    }
    UpdateManagedFields(type_, object_ ? &*object_ : nullptr, object, Writer(manager));
    object_ = std::move(object);
  }

  void ApplyAs(const std::string& manager, bool force) {
    const Value config = RandomPod();
    SCOPED_TRACE(manager + " applies " + json::Write(config) + "\nto " +
                 (object_ ? json::Write(*object_) : "nothing"));
    auto applied = Apply(type_, "Pod", object_ ? &*object_ : nullptr, config, Writer(manager), force);
    if (!applied) {
      EXPECT_TRUE(!force && applied.error().Is(Reason::kConflict)) << applied.error().ToString();
      return;
    }
    object_ = std::move(applied->object);
    CheckHasAll(config);
    CheckOwnsExactly(manager, config);
    auto again = Apply(type_, "Pod", &*object_, config, Writer(manager), false);
    ASSERT_TRUE(again) << again.error().ToString();
    EXPECT_FALSE(again->changed) << json::Write(again->object);
    EXPECT_EQ(again->object, *object_);
  }

  // Whatever a configuration names is in the object as it says: nothing of it is modified or gone.
  void CheckHasAll(const Value& config) {
    Value object = *object_;
    object["metadata"].as_object().Erase("managedFields");
    const Comparison difference = Compare(type_, config, object);
    EXPECT_TRUE(difference.modified.empty()) << json::Write(difference.modified.ToFieldsV1());
    EXPECT_TRUE(difference.removed.empty()) << json::Write(difference.removed.ToFieldsV1());
  }

  void CheckOwnsExactly(const std::string& manager, const Value& config) {
    auto owners = ManagedFields::Decode((*object_)["metadata"]["managedFields"]);
    ASSERT_TRUE(owners);
    const FieldSet wanted = FieldsOf(type_, config).Difference(UnownedFields());
    const ManagedEntry me{.manager = manager, .operation = ManagedEntry::Operation::kApply};
    ManagedEntry* mine = owners->Find(me);
    EXPECT_EQ(mine != nullptr ? json::Write(mine->fields.set().ToFieldsV1()) : "{}",
              json::Write(wanted.ToFieldsV1()));
  }

  void CheckOwnersOwnWhatIsThere() {
    auto owners = ManagedFields::Decode((*object_)["metadata"]["managedFields"]);
    ASSERT_TRUE(owners);
    const FieldSet present = WithNamedFields(type_, FieldsOf(type_, *object_));
    for (ManagedEntry& entry : owners->entries()) {
      EXPECT_TRUE(present.Contains(entry.fields.set()))
          << entry.Describe() << " owns " << json::Write(entry.fields.set().Difference(present).ToFieldsV1())
          << " of " << json::Write(*object_);
    }
  }

  Random random_;
  const TypeInfo& type_ = *FindBuiltinKind("", "v1", "Pod")->type;
  std::optional<Value> object_;
};

TEST(ApplyPropertyTest, RandomHistories) {
  for (std::uint64_t seed = 0; seed < 40 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    History history(seed);
    for (int step = 0; step < 30 && !HasFailure(); ++step) history.Step();
  }
}

}  // namespace
}  // namespace flyball::api
