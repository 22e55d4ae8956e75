// Stage: one rule of how a simulated object goes on: which objects it is for, after how long, and what
// becomes of them then (KWOK's kwok.x-k8s.io/v1alpha1 Stage, and its package lifecycle).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/select/selector.h"
#include "api/template/go_template.h"
#include "base/run/clock.h"
#include "base/run/random.h"
#include "base/values/result.h"
#include "client/client.h"
#include "node/stages/stage_value.h"

namespace flyball::node {

struct StageEvent {
  std::string type, reason, message;
};

// A patch whose text comes from a template.
struct StagePatch {
  std::string subresource, root;  // where it goes, and under which member; empty: the object itself
  PatchType type = PatchType::kStrategicMerge;
  api::GoTemplate content;
};

// What is sent in place of a StagePatch.
struct ObjectPatch {
  std::string subresource{};
  PatchType type = PatchType::kStrategicMerge;
  json::Value body{};
};

// Immutable; thread-safe.
class Stage {
 public:
  // BadRequest, with the Stage's name, if the manifest has what is not understood. Impersonation is ignored,
  // as KWOK does for pods and nodes.
  static Result<Stage> Make(const json::Value& manifest);

  const std::string& name() const { return name_; }
  const std::string& kind() const { return kind_; }  // "Pod" or "Node"

  bool Matches(const json::Value& object) const;
  // Among stages that match, how often it is chosen; nothing: its expression gives none.
  std::optional<std::int64_t> Weight(const json::Value& object) const;
  // How long the object stays as it is, drawn anew each time; never negative.
  Duration Delay(const json::Value& object, TimePoint now, Random& random) const;

  const std::optional<StageEvent>& event() const { return event_; }
  bool deletes() const { return deletes_; }
  // Goes on with the next stage although nothing has changed.
  bool immediate() const { return immediate_; }
  // Nothing if the finalizers stay as they are.
  std::optional<ObjectPatch> FinalizerPatch(const json::Value& object) const;
  // BadRequest if a template fails, or gives no YAML.
  Result<std::vector<ObjectPatch>> Patches(const json::Value& object,
                                           const api::TemplateFunctions& functions) const;

 private:
  enum class Operator : std::uint8_t { kIn, kNotIn, kExists, kDoesNotExist };
  struct Requirement {
    StageExpression key;
    Operator op;
    std::vector<std::string> values;
    bool Matches(const json::Value& object) const;
  };
  // A number of the manifest, and an expression that goes before it.
  template <typename T>
  struct Setting {
    std::optional<T> value;
    std::optional<StageExpression> from;
  };

  Status ReadSelector(const json::Value& selector);
  Status ReadDelay(const json::Value& delay);
  Status ReadNext(const json::Value& next);
  Status ReadPatch(const json::Value& patch);
  static Result<Requirement> ReadRequirement(const json::Value& expression);
  static std::optional<Duration> Value(const Setting<Duration>& setting, const json::Value& object,
                                       TimePoint now);

  std::string name_, kind_;
  api::LabelSelector labels_, annotations_;
  std::vector<Requirement> requirements_;
  std::vector<StageExpression> conditions_;
  Setting<std::int64_t> weight_;
  Setting<Duration> delay_, jitter_;
  std::optional<StageEvent> event_;
  bool deletes_ = false, immediate_ = false;
  bool changes_finalizers_ = false, empties_finalizers_ = false;
  std::vector<std::string> added_finalizers_, removed_finalizers_;
  std::vector<StagePatch> patches_;
};

}  // namespace flyball::node
