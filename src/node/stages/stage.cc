#include "node/stages/stage.h"

#include <algorithm>

#include "base/values/ascii.h"
#include "json/json.h"
#include "json/yaml/yaml.h"
#include "node/stages/stage_functions.h"

namespace flyball::node {
namespace {

std::string Member(const json::Value& object, const char* name) {
  return std::string(object[name].string_or(""));
}

std::vector<std::string> StringsOf(const json::Value& list) {
  std::vector<std::string> strings;
  if (list.is_array())
    for (const json::Value& item : list.as_array()) strings.emplace_back(item.string_or(""));
  return strings;
}

std::vector<std::string> FinalizerNames(const json::Value& items) {
  std::vector<std::string> names;
  if (items.is_array())
    for (const json::Value& item : items.as_array()) names.push_back(Member(item, "value"));
  return names;
}

// As a selector has its values: texts. Numbers are compared by what they are written as.
bool IsOneOf(const json::Value& value, const std::vector<std::string>& texts) {
  if (value.is_null() || value.is_array() || value.is_object()) return false;
  const std::string text = value.is_string() ? std::string(value.as_string()) : json::Write(value);
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

json::Value Operation(const char* op, std::string path, json::Value value) {
  json::Object operation{{"op", op}, {"path", path}};
  if (!value.is_null()) operation.Set("value", std::move(value));
  return json::Value(std::move(operation));
}

Result<PatchType> PatchTypeOf(const std::string& type) {
  if (type == "json") return PatchType::kJson;
  if (type == "merge") return PatchType::kMerge;
  // Of pods and nodes it is the default.
  if (type == "strategic" || type.empty()) return PatchType::kStrategicMerge;
  return Unexpected(BadRequest("unknown patch type " + type));
}

// Below a member of the object: KWOK's root.
json::Value UnderRoot(json::Value body, const std::string& root, PatchType type) {
  if (root.empty()) return body;
  if (type != PatchType::kJson) return json::Object{{root, std::move(body)}};
  if (body.is_array())
    for (json::Value& operation : body.as_array()) operation["path"] = "/" + root + Member(operation, "path");
  return body;
}

}  // namespace

Result<Stage> Stage::Make(const json::Value& manifest) {
  Stage stage;
  stage.name_ = Member(manifest["metadata"], "name");
  const json::Value& spec = manifest["spec"];
  stage.kind_ = Member(spec["resourceRef"], "kind");
  const auto wrong = [&](const std::string& what) {
    return Unexpected(BadRequest("Stage \"" + stage.name_ + "\": " + what));
  };
  if (stage.kind_ != "Pod" && stage.kind_ != "Node")
    return wrong("resourceRef.kind \"" + stage.kind_ + "\": only Pod and Node are simulated");
  stage.weight_.value = spec["weight"].int_or(0);
  stage.immediate_ = spec["immediateNextStage"].bool_or(false);
  if (spec["weightFrom"].is_object()) {
    auto from = StageExpression::From(spec["weightFrom"]);
    if (!from) return wrong(from.error().message());
    stage.weight_.from = std::move(*from);
  }
  if (const Status ok = stage.ReadSelector(spec["selector"]); !ok) return wrong(ok.error().message());
  if (const Status ok = stage.ReadDelay(spec["delay"]); !ok) return wrong(ok.error().message());
  if (const Status ok = stage.ReadNext(spec["next"]); !ok) return wrong(ok.error().message());
  return stage;
}

Status Stage::ReadSelector(const json::Value& selector) {
  labels_ = api::LabelSelector::FromMap(selector["matchLabels"]);
  annotations_ = api::LabelSelector::FromMap(selector["matchAnnotations"]);
  const json::Value& expressions = selector["matchExpressions"];
  if (!expressions.is_array()) return {};
  for (const json::Value& expression : expressions.as_array()) {
    if (expression["cel"].is_object()) {
      FLYBALL_ASSIGN(StageExpression cel, StageExpression::Cel(Member(expression["cel"], "expression")));
      conditions_.push_back(std::move(cel));
    } else {
      FLYBALL_ASSIGN(Requirement requirement,
                     ReadRequirement(expression["jq"].is_object() ? expression["jq"] : expression));
      requirements_.push_back(std::move(requirement));
    }
  }
  return {};
}

Result<Stage::Requirement> Stage::ReadRequirement(const json::Value& expression) {
  const std::string op = Member(expression, "operator");
  const std::vector<std::string> values = StringsOf(expression["values"]);
  FLYBALL_ASSIGN(StageExpression key, StageExpression::Jq(Member(expression, "key")));
  const bool in = op == "In", not_in = op == "NotIn", exists = op == "Exists";
  if (!in && !not_in && !exists && op != "DoesNotExist")
    return Unexpected(BadRequest("operator \"" + op + "\" is not supported"));
  if ((in || not_in) && values.empty())
    return Unexpected(BadRequest("for 'in', 'notin' operators, values set can't be empty"));
  if (!in && !not_in && !values.empty())
    return Unexpected(BadRequest("values set must be empty for exists and does not exist"));
  return Requirement{std::move(key),
                     in       ? Operator::kIn
                     : not_in ? Operator::kNotIn
                     : exists ? Operator::kExists
                              : Operator::kDoesNotExist,
                     values};
}

Status Stage::ReadDelay(const json::Value& delay) {
  using std::chrono::milliseconds;
  if (!delay.is_object()) return {};
  delay_.value = milliseconds(delay["durationMilliseconds"].int_or(0));
  if (delay["durationFrom"].is_object()) {
    FLYBALL_ASSIGN(delay_.from, StageExpression::From(delay["durationFrom"]));
  }
  if (delay["jitterDurationMilliseconds"].is_int())
    jitter_.value = milliseconds(delay["jitterDurationMilliseconds"].as_int());
  if (delay["jitterDurationFrom"].is_object()) {
    FLYBALL_ASSIGN(jitter_.from, StageExpression::From(delay["jitterDurationFrom"]));
  }
  return {};
}

Status Stage::ReadNext(const json::Value& next) {
  if (const json::Value& event = next["event"]; event.is_object())
    event_ = StageEvent{Member(event, "type"), Member(event, "reason"), Member(event, "message")};
  deletes_ = next["delete"].bool_or(false);
  if (const json::Value& finalizers = next["finalizers"]; finalizers.is_object()) {
    changes_finalizers_ = true;
    empties_finalizers_ = finalizers["empty"].bool_or(false);
    added_finalizers_ = FinalizerNames(finalizers["add"]);
    removed_finalizers_ = FinalizerNames(finalizers["remove"]);
  }
  if (next["patches"].is_array() && !next["patches"].empty()) {
    for (const json::Value& patch : next["patches"].as_array()) FLYBALL_TRY(ReadPatch(patch));
  } else if (const std::string text = Member(next, "statusTemplate"); !text.empty()) {
    // The older way to write the same.
    FLYBALL_TRY(ReadPatch(json::Object{{"subresource", next["statusSubresource"].string_or("status")},
                                       {"root", "status"},
                                       {"template", text}}));
  }
  return {};
}

Status Stage::ReadPatch(const json::Value& patch) {
  FLYBALL_ASSIGN(const PatchType type, PatchTypeOf(Member(patch, "type")));
  FLYBALL_ASSIGN(api::GoTemplate content,
                 api::GoTemplate::Parse(Trimmed(patch["template"].string_or("")), &KnownStageFunctions()));
  patches_.push_back({Member(patch, "subresource"), Member(patch, "root"), type, std::move(content)});
  return {};
}

bool Stage::Requirement::Matches(const json::Value& object) const {
  // What fails has no results, as what finds nothing.
  const auto found = key.Query(object).value_or(std::vector<json::Value>());
  const bool in = std::any_of(found.begin(), found.end(), [&](const auto& v) { return IsOneOf(v, values); });
  switch (op) {
    case Operator::kIn:
      return in;
    case Operator::kNotIn:
      return !in;
    case Operator::kExists:
      return !found.empty();
    case Operator::kDoesNotExist:
      return found.empty();
  }
  return false;
}

bool Stage::Matches(const json::Value& object) const {
  const json::Value& metadata = object["metadata"];
  return labels_.Matches(metadata["labels"]) && annotations_.Matches(metadata["annotations"]) &&
         std::all_of(requirements_.begin(), requirements_.end(),
                     [&](const Requirement& requirement) { return requirement.Matches(object); }) &&
         std::all_of(conditions_.begin(), conditions_.end(),
                     [&](const StageExpression& condition) { return condition.IsTrue(object); });
}

std::optional<std::int64_t> Stage::Weight(const json::Value& object) const {
  return weight_.from ? weight_.from->Whole(object, weight_.value) : weight_.value;
}

std::optional<Duration> Stage::Value(const Setting<Duration>& setting, const json::Value& object,
                                     TimePoint now) {
  return setting.from ? setting.from->Delay(object, now, setting.value) : setting.value;
}

Duration Stage::Delay(const json::Value& object, TimePoint now, Random& random) const {
  const auto delay = Value(delay_, object, now);
  if (!delay) return Duration::zero();
  const auto most = Value(jitter_, object, now);
  // A bound that is lower than the delay takes its place.
  if (!most) return std::max(*delay, Duration::zero());
  if (*most <= *delay) return std::max(*most, Duration::zero());
  const auto spread = static_cast<std::uint64_t>((*most - *delay).count());
  return std::max(*delay + Duration(static_cast<std::int64_t>(random.Below(spread))), Duration::zero());
}

std::optional<ObjectPatch> Stage::FinalizerPatch(const json::Value& object) const {
  if (!changes_finalizers_) return std::nullopt;
  const std::vector<std::string> before = StringsOf(object["metadata"]["finalizers"]);
  std::vector<std::string> after = before;
  if (empties_finalizers_) after.clear();
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::erase_if(after, [&](const std::string& name) { return has(removed_finalizers_, name); });
  for (const std::string& name : added_finalizers_)
    if (!has(after, name)) after.push_back(name);
  if (after == before) return std::nullopt;
  json::Array names(after.begin(), after.end());
  const json::Value operation = after.empty() ? Operation("remove", "/metadata/finalizers", {})
                                : before.empty()
                                    ? Operation("add", "/metadata/finalizers", std::move(names))
                                    : Operation("replace", "/metadata/finalizers", std::move(names));
  return ObjectPatch{.type = PatchType::kJson, .body = json::Array{operation}};
}

Result<std::vector<ObjectPatch>> Stage::Patches(const json::Value& object,
                                                const api::TemplateFunctions& functions) const {
  std::vector<ObjectPatch> made;
  for (const StagePatch& patch : patches_) {
    FLYBALL_ASSIGN(const std::string text,
                   patch.content.Render(object, {.exact_numbers = true, .functions = &functions}));
    auto body = json::ParseYaml(text);
    if (!body) return Unexpected(BadRequest(body.error().message() + ": " + text));
    if (body->is_null()) continue;
    made.push_back({patch.subresource, patch.type, UnderRoot(std::move(*body), patch.root, patch.type)});
  }
  return made;
}

}  // namespace flyball::node
