#include "cel/table/case_table.h"

#include <memory>
#include <optional>

#include "cel/expression.h"
#include "cel/rules/definition.h"
#include "cel/rules/validator.h"
#include "cel/table/tagged_value.h"
#include "json/json.h"

namespace flyball::cel {
namespace {

struct ErrorWords {
  std::string_view words, kind;
};
// The first match decides.
constexpr ErrorWords kErrorWords[] = {{"undeclared reference", "undeclared"},
                                      {"undefined field", "undeclared"},
                                      {"is not a message type", "undeclared"},
                                      {"no such attribute", "undeclared"},
                                      {"no matching overload", "overload"},
                                      {"no such overload", "overload"},
                                      {"expected type", "overload"},
                                      {"does not support field selection", "overload"},
                                      {"cannot be range of a comprehension", "overload"},
                                      {"expected iterable type", "overload"},
                                      {"no such key", "no-such-key"},
                                      {"division by zero", "divide-by-zero"},
                                      {"modulus by zero", "divide-by-zero"},
                                      {"overflow", "overflow"},
                                      {"cost limit exceeded", "cost"},
                                      {"index out of", "index"},
                                      {"unsupported index", "index"},
                                      {" out of range", "index"},
                                      {"cannot slice", "index"},
                                      {"conversion", "conversion"},
                                      {"cannot convert", "conversion"},
                                      {"invalid timestamp argument", "conversion"},
                                      {"invalid duration argument", "conversion"},
                                      {"unable to parse", "conversion"},
                                      {"parse error", "conversion"},
                                      {"quantities must match", "conversion"},
                                      {"number", "conversion"},
                                      {"No Major.Minor.Patch", "conversion"},
                                      {"Version string empty", "conversion"},
                                      {"unknown time zone", "conversion"},
                                      {"formatted string", "conversion"},
                                      {"is not allowed", "conversion"}};

std::string_view FirstError(std::string_view text) {
  return text.substr(0, text.find('\n'));
}
// "1:5" of "ERROR: <input>:1:5: message".
std::string_view PositionOf(std::string_view error) {
  constexpr std::string_view kPrefix = "ERROR: <input>:";
  if (!error.starts_with(kPrefix)) return {};
  error.remove_prefix(kPrefix.size());
  return error.substr(0, error.find(": "));
}

// The value at a path of a tagged value equals, whatever its opaque parts hold.
bool SameTagged(const json::Value& want, const json::Value& got) {
  if (want.is_object() && want.size() == 1 && want.as_object().begin()->first.starts_with("other:"))
    return true;
  if (want.kind() != got.kind()) return false;
  if (want.is_object()) {
    if (want.size() != got.size()) return false;
    for (const auto& [key, value] : want.as_object()) {
      const json::Value* other = got.Find(key);
      if (!other || !SameTagged(value, *other)) return false;
    }
    return true;
  }
  if (want.is_array()) {
    if (want.size() != got.size()) return false;
    for (std::size_t i = 0; i < want.size(); ++i)
      if (!SameTagged(want.as_array()[i], got.as_array()[i])) return false;
    return true;
  }
  return want == got;
}

std::string ShowValue(const Problem& problem) {
  if (!problem.shows_value) return "";
  return json::Write(problem.value) + ": ";
}
std::string_view KindText(Problem::Kind kind) {
  switch (kind) {
    case Problem::Kind::kForbidden:
      return "Forbidden: ";
    case Problem::Kind::kRequired:
      return "Required value: ";
    case Problem::Kind::kDuplicate:
      return "Duplicate value: ";
    case Problem::Kind::kNotSupported:
      return "Unsupported value: ";
    case Problem::Kind::kInternal:
      return "Internal error: ";
    default:
      return "Invalid value: ";
  }
}

// One row: its expression, compiled and run in every way the row tells of.
class CaseCheck {
 public:
  CaseCheck(const json::Value& row, const json::Value* schema) : row_(row), schema_json_(schema) {}

  std::vector<std::string> Run() {
    if (row_["mode"].string_or("") == "typed" && !FindScope()) return std::move(differences_);
    CheckExpression();
    CheckCompatibility();
    if (row_.Find("ruleErrors")) CheckRuleErrors();
    if (row_.Find("crdErrors")) CheckDefinitionErrors();
    return std::move(differences_);
  }

 private:
  void Differ(std::string_view what, std::string_view want, std::string_view got) {
    differences_.push_back(std::string(what) + ": want " + std::string(want) + ", got " + std::string(got));
  }
  bool optional_old_self() const { return row_["optionalOldSelf"].bool_or(false); }

  bool FindScope() {
    if (!schema_json_) {
      differences_.emplace_back("a typed row needs a schema");
      return false;
    }
    tree_ = std::make_unique<SchemaTree>(*schema_json_);
    scope_ = &tree_->root();
    std::string_view rest = row_["scope"].string_or("");
    is_root_ = rest.empty();
    while (scope_ && !rest.empty()) {
      const std::string_view step = rest.substr(0, rest.find('/'));
      rest.remove_prefix(std::min(rest.size(), step.size() + 1));
      if (step == "@items")
        scope_ = scope_->items;
      else if (step == "@values")
        scope_ = scope_->additional;
      else
        scope_ = scope_->FindProperty(step);
    }
    if (!scope_) {
      differences_.emplace_back("the schema has no such scope");
      return false;
    }
    declarations_ = DeclTypes::Build(*scope_, is_root_ || scope_->embedded, "selfType");
    self_schema_ = (is_root_ || scope_->embedded) && scope_->with_meta ? scope_->with_meta : scope_;
    return true;
  }
  CompileOptions Options(const Environment& environment) {
    const Type* self = declarations_ ? declarations_->root()->type : &types::kDyn;
    const Type* old_self = optional_old_self() ? types_.Optional(self) : self;
    return {.environment = &environment,
            .variables = {{"self", self}, {"oldSelf", old_self}},
            .root = declarations_ ? declarations_->root() : nullptr};
  }
  void CheckExpression() {
    const CompileResult compiled =
        Compile(row_["expr"].string_or(""), Options(Environment::ForVersion(kNewestVersion)));
    const std::string_view want_phase = row_["errorPhase"].string_or("");
    static constexpr std::string_view kPhases[] = {"parse", "check", "program", ""};
    const std::string_view phase = kPhases[static_cast<int>(compiled.phase)];
    if (!phase.empty()) {
      if (phase != want_phase)
        return Differ("errorPhase", want_phase, std::string(phase) + " (" + compiled.error + ")");
      const std::string error = compiled.phase == CompilePhase::kProgram
                                    ? "program instantiation failed: " + compiled.error
                                    : compiled.error;
      CheckError(row_["compileError"].string_or(""), error, phase == "parse");
    }
    if (phase.empty() || phase == "program") CheckStatics(compiled);
    if (compiled.expression) Evaluate(*compiled.expression, want_phase);
  }
  void CheckStatics(const CompileResult& compiled) {
    if (row_["type"].string_or("") != compiled.type_text)
      Differ("type", row_["type"].string_or(""), compiled.type_text);
    const std::string min = std::to_string(compiled.cost.min), max = std::to_string(compiled.cost.max);
    if (row_["staticCostMin"].string_or("") != min)
      Differ("staticCostMin", row_["staticCostMin"].string_or(""), min);
    if (row_["staticCost"].string_or("") != max) Differ("staticCost", row_["staticCost"].string_or(""), max);
    json::Array overloads;
    for (const std::string& id : compiled.overloads) overloads.emplace_back(id);
    const json::Value got(std::move(overloads));
    const json::Value want = row_["overloads"].is_array() ? row_["overloads"] : json::Value(json::Array());
    if (!(want == got)) Differ("overloads", json::Write(want), json::Write(got));
  }
  // The same text, or the same kind of mistake; of the parser's words only the place counts.
  void CheckError(std::string_view want, std::string_view got, bool parse) {
    if (FirstError(want) == FirstError(got)) return;
    const std::string_view kind = ClassifyError(FirstError(got), parse);
    if (kind != row_["errorClass"].string_or(""))
      Differ("errorClass", row_["errorClass"].string_or(""),
             std::string(kind) + " (" + std::string(got) + ")");
    if (PositionOf(want) != PositionOf(got)) Differ("error", want, got);
  }
  void Evaluate(const Expression& expression, std::string_view want_phase) {
    Arena arena;
    FixedActivation activation;
    if (const json::Value* self = row_.Find("self")) activation.Set(0, FromJson(arena, *self, self_schema_));
    const json::Value* old = row_.Find("oldSelf");
    if (optional_old_self())
      activation.Set(1, old ? Value::Some(arena, FromJson(arena, *old, self_schema_)) : Value::None());
    else if (old)
      activation.Set(1, FromJson(arena, *old, self_schema_));
    const Evaluation result = expression.program().Evaluate(activation, arena);
    if (row_["runtimeCost"].is_int() &&
        static_cast<std::uint64_t>(row_["runtimeCost"].as_int()) != result.cost)
      Differ("runtimeCost", std::to_string(row_["runtimeCost"].as_int()), std::to_string(result.cost));
    if (result.value.IsError()) {
      if (want_phase != "eval") return Differ("value", json::Write(row_["value"]), result.value.error());
      return CheckError(row_["evalError"].string_or(""), result.value.error(), false);
    }
    const json::Value got = TaggedValue(arena, result.value);
    if (!want_phase.empty()) return Differ("errorPhase", want_phase, json::Write(got));
    if (!SameTagged(row_["value"], got)) Differ("value", json::Write(row_["value"]), json::Write(got));
  }
  void CheckCompatibility() {
    if (row_["errorPhase"].string_or("") == "parse" || row_["errorPhase"].string_or("") == "check") return;
    const CompileResult compiled =
        Compile(row_["expr"].string_or(""), Options(Environment::ForVersion(kDefaultCompatibilityVersion)));
    const bool refused = compiled.phase == CompilePhase::kParse || compiled.phase == CompilePhase::kCheck;
    const std::string_view want = row_["compat136Error"].string_or("");
    if (want != (refused ? std::string_view(compiled.error) : std::string_view()))
      Differ("compat136Error", want, compiled.error);
  }

  // A list of rules with the row's alone.
  json::Value RuleList() const {
    json::Value rule = json::Object{{"rule", row_["expr"]}};
    if (row_.Find("optionalOldSelf")) rule["optionalOldSelf"] = row_["optionalOldSelf"];
    return json::Array{std::move(rule)};
  }
  void CheckList(std::string_view what, const std::vector<std::string>& got) {
    json::Array texts;
    for (const std::string& text : got) texts.emplace_back(text);
    const json::Value& want = row_[what];
    bool same = want.size() == got.size();
    for (std::size_t i = 0; same && i < got.size(); ++i)
      same = SameMessage(want.as_array()[i].string_or(""), got[i]);
    if (!same) Differ(what, json::Write(want), json::Write(json::Value(std::move(texts))));
  }
  // Messages of the parser are compared by their place.
  bool SameMessage(std::string_view want, std::string_view got) const {
    if (want == got) return true;
    const std::size_t a = want.find("ERROR: <input>:"), b = got.find("ERROR: <input>:");
    if (row_["errorPhase"].string_or("") != "parse" || a == std::string_view::npos ||
        b == std::string_view::npos)
      return false;
    return want.substr(0, a) == got.substr(0, b) && PositionOf(want.substr(a)) == PositionOf(got.substr(b));
  }
  void CheckRuleErrors() {
    const json::Value list = RuleList();
    const std::vector<Rule> rules =
        CompileRules(list, *scope_, *declarations_->root(), Environment::Stored());
    Validator::Outcome outcome;
    static const json::Value kNone;
    const json::Value& self = row_.Find("self") ? row_["self"] : kNone;
    if (!self.is_null())
      EvaluateRules(rules, *self_schema_, self, row_.Find("oldSelf"), "root", false, kObjectCostBudget,
                    outcome);
    std::vector<std::string> texts;
    for (const Problem& problem : outcome.problems)
      texts.push_back(problem.path + ": " + std::string(KindText(problem.kind)) + ShowValue(problem) +
                      problem.detail);
    CheckList("ruleErrors", texts);
  }
  void CheckDefinitionErrors() {
    constexpr std::string_view kRoot = "spec.versions[0].schema.openAPIV3Schema";
    json::Value schema = *schema_json_;
    json::Value* at = &schema;
    std::string_view rest = row_["scope"].string_or("");
    while (!rest.empty()) {
      const std::string_view step = rest.substr(0, rest.find('/'));
      rest.remove_prefix(std::min(rest.size(), step.size() + 1));
      if (step == "@items")
        at = &(*at)["items"];
      else if (step == "@values")
        at = &(*at)["additionalProperties"];
      else
        at = &(*at)["properties"][step];
    }
    (*at)["x-kubernetes-validations"] = RuleList();
    const DefinitionProblems problems = CheckDefinitionRules(schema, std::string(kRoot), nullptr);
    std::vector<std::string> texts;
    for (const auto* list : {&problems.form, &problems.rules})
      for (const Problem& problem : *list) {
        // The line about the whole schema is not in the tables.
        if (problem.path == kRoot) continue;
        texts.push_back(problem.path.substr(kRoot.size() + 1) + ": " + std::string(KindText(problem.kind)) +
                        problem.detail);
      }
    CheckList("crdErrors", texts);
  }

  const json::Value& row_;
  const json::Value* schema_json_;
  std::vector<std::string> differences_;
  std::unique_ptr<const SchemaTree> tree_;
  std::unique_ptr<const DeclTypes> declarations_;
  TypeStore types_;
  const Schema* scope_ = nullptr;
  const Schema* self_schema_ = nullptr;
  bool is_root_ = false;
};

}  // namespace

std::string_view ClassifyError(std::string_view message, bool parse_error) {
  if (parse_error) return "syntax";
  for (const ErrorWords& entry : kErrorWords)
    if (message.find(entry.words) != std::string_view::npos) return entry.kind;
  return "other";
}

std::vector<std::string> CheckCase(const json::Value& row, const json::Value* schema) {
  return CaseCheck(row, schema).Run();
}

}  // namespace flyball::cel
