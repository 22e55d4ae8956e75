#include "cel/rules/validator.h"

#include <map>
#include <optional>
#include <unordered_map>

#include "cel/text/number_text.h"
#include "json/json.h"

namespace flyball::cel {
namespace {

constexpr std::string_view kOutOfBudget =
    "validation failed due to running out of cost budget, no further validation rules will be run";
constexpr std::size_t kMaxMessageBytes = 5 * 1024;
constexpr int kMaxValidationDepth = 250;

std::string_view TrimMessage(std::string_view s) {
  const std::size_t start = s.find_first_not_of(" \t\r\n\v\f");
  if (start == std::string_view::npos) return {};
  return s.substr(start, s.find_last_not_of(" \t\r\n\v\f") - start + 1);
}

std::string RuleText(const Rule& rule) {
  return std::string(TrimMessage(rule.message.empty() ? rule.rule : rule.message));
}

bool HasRules(const json::Value& node, int depth) {
  if (!node.is_object() || depth > kMaxValidationDepth) return false;
  if (!node["x-kubernetes-validations"].empty()) return true;
  if (HasRules(node["items"], depth + 1) || HasRules(node["additionalProperties"], depth + 1)) return true;
  if (node["properties"].is_object())
    for (const auto& [name, child] : node["properties"].as_object())
      if (HasRules(child, depth + 1)) return true;
  return false;
}

// What the rules of one node see, and what becomes of their results.
class NodeEvaluation {
 public:
  NodeEvaluation(const Schema& schema, const json::Value& value, const json::Value* old,
                 const std::string& path, bool ratchets, Validator::Outcome& outcome)
      : schema_(schema), value_(value), old_(old), path_(path), ratchets_(ratchets), outcome_(outcome) {}

  std::int64_t Run(const std::vector<Rule>& rules, std::int64_t budget) {
    if (rules.empty()) return budget;
    if (budget <= 0) {
      Invalid(std::string(kOutOfBudget));
      return -1;
    }
    for (const Rule& rule : rules) {
      if (!rule.error.empty()) {
        Invalid("rule compile error: " + rule.error);
        continue;
      }
      if (!rule.expression || (rule.uses_old_self && !old_ && !rule.optional_old_self)) continue;
      budget = Evaluate(rule, budget);
      if (budget < 0) return budget;
    }
    return budget;
  }

 private:
  // Reported with the type's name for a value.
  void Invalid(std::string detail) {
    outcome_.problems.push_back(
        {.path = path_, .value = json::Value(schema_.type_name), .detail = std::move(detail)});
  }
  void Bind(FixedActivation& activation, Arena& arena, bool optional_old_self) const {
    activation.Set(kSelfVariable, FromJson(arena, value_, &schema_));
    if (optional_old_self) {
      activation.Set(kOldSelfVariable,
                     old_ ? Value::Some(arena, FromJson(arena, *old_, &schema_)) : Value::None());
    } else if (old_) {
      activation.Set(kOldSelfVariable, FromJson(arena, *old_, &schema_));
    }
  }
  std::int64_t Evaluate(const Rule& rule, std::int64_t budget) {
    Arena arena;
    FixedActivation activation;
    Bind(activation, arena, rule.optional_old_self);
    const Evaluation result = rule.expression->program().Evaluate(activation, arena);
    if (result.cost > static_cast<std::uint64_t>(budget)) {
      Invalid(std::string(kOutOfBudget));
      return -1;
    }
    budget -= static_cast<std::int64_t>(result.cost);
    if (result.value.IsError()) {
      const std::string error(result.value.error());
      if (result.cancelled) {
        Invalid("'" + error +
                "': no further validation rules will be run due to call cost exceeds limit for rule: " +
                RuleText(rule));
        return -1;
      }
      if (error.starts_with("no such overload"))
        Invalid(
            "'" + error +
            "': call arguments did not match a supported operator, function or macro signature for rule: " +
            RuleText(rule));
      else
        Invalid(error + " evaluating rule: " + RuleText(rule));
      return budget;
    }
    return result.value.IsTrue() ? budget : Report(rule, budget);
  }
  void Add(const Rule& rule, Problem problem) {
    const bool ratchet = !rule.uses_old_self && ratchets_;
    (ratchet ? outcome_.ratcheted : outcome_.problems).push_back(std::move(problem));
  }
  std::int64_t Report(const Rule& rule, std::int64_t budget) {
    std::string path = path_;
    if (!rule.normalized_field_path.empty()) path = ChildPath(path_, rule.normalized_field_path);
    std::string detail;
    if (rule.message_expression) {
      std::string fatal;
      budget = EvaluateMessage(rule, budget, &detail, &fatal);
      if (!fatal.empty()) {
        Add(rule, {.path = path, .value = json::Value(schema_.type_name), .detail = std::move(fatal)});
        return -1;
      }
    }
    if (detail.empty()) detail = rule.message.empty() ? "failed rule: " + RuleText(rule) : RuleText(rule);
    Problem problem{.path = std::move(path), .detail = std::move(detail)};
    problem.shows_value = schema_.type != SchemaType::kObject && schema_.type != SchemaType::kArray;
    if (problem.shows_value) problem.value = value_;
    if (rule.reason == "FieldValueForbidden") problem.kind = Problem::Kind::kForbidden;
    if (rule.reason == "FieldValueRequired") problem.kind = Problem::Kind::kRequired;
    if (rule.reason == "FieldValueDuplicate") problem.kind = Problem::Kind::kDuplicate;
    Add(rule, std::move(problem));
    return budget;
  }
  // `message` stays empty if the expression gives none that can be used.
  std::int64_t EvaluateMessage(const Rule& rule, std::int64_t budget, std::string* message,
                               std::string* fatal) const {
    Arena arena;
    FixedActivation activation;
    Bind(activation, arena, false);
    const Evaluation result = rule.message_expression->program().Evaluate(activation, arena);
    if (result.cost > static_cast<std::uint64_t>(budget)) {
      *fatal =
          "messageExpression evaluation failed due to running out of cost budget, no further validation "
          "rules will be run";
      return -1;
    }
    if (result.cancelled) {
      *fatal =
          "no further validation rules will be run due to call cost exceeds limit for messageExpression: " +
          QuoteGo(rule.message_expression_text);
      return -1;
    }
    if (result.value.Is(ValueKind::kString)) {
      const std::string_view text = TrimMessage(result.value.text());
      if (text.size() <= kMaxMessageBytes && text.find('\n') == std::string_view::npos) *message = text;
    }
    return budget - static_cast<std::int64_t>(result.cost);
  }

  const Schema& schema_;
  const json::Value& value_;
  const json::Value* old_;
  const std::string& path_;
  bool ratchets_;
  Validator::Outcome& outcome_;
};

}  // namespace

std::int64_t EvaluateRules(const std::vector<Rule>& rules, const Schema& self_schema,
                           const json::Value& value, const json::Value* old, const std::string& path,
                           bool ratchets, std::int64_t budget, Validator::Outcome& outcome) {
  return NodeEvaluation(self_schema, value, old, path, ratchets, outcome).Run(rules, budget);
}

struct Validator::Node {
  const Schema* schema = nullptr;       // the structure
  const Schema* self_schema = nullptr;  // the same with what every resource has, at its root
  std::unique_ptr<const DeclTypes> declarations;
  std::vector<Rule> rules;
  std::string compile_error;
  std::unique_ptr<const Node> items, additional;
  std::map<std::string, std::unique_ptr<const Node>, std::less<>> properties;
  std::vector<std::unique_ptr<const Node>> all_of;

  bool empty() const {
    return rules.empty() && compile_error.empty() && !items && !additional && properties.empty() &&
           all_of.empty();
  }
};

class Validator::Builder {
 public:
  // `validation` holds the rules, `schema` the structure they apply to.
  static std::unique_ptr<const Node> Build(const json::Value& validation, const Schema& schema, bool is_root,
                                           int depth) {
    if (depth > kMaxValidationDepth || !validation.is_object()) return nullptr;
    auto node = std::make_unique<Node>();
    node->schema = &schema;
    node->self_schema = (is_root || schema.embedded) && schema.with_meta ? schema.with_meta : &schema;
    const json::Value& validations = validation["x-kubernetes-validations"];
    if (!validations.empty()) {
      node->declarations = DeclTypes::Build(schema, is_root || schema.embedded, "selfType");
      if (node->declarations->root())
        node->rules = CompileRules(validations, schema, *node->declarations->root(), Environment::Stored());
      else
        node->compile_error = "failed to convert to declType for CEL validation rules";
    }
    if (schema.items) node->items = Build(validation["items"], *schema.items, false, depth + 1);
    if (schema.additional)
      node->additional = Build(validation["additionalProperties"], *schema.additional, false, depth + 1);
    if (validation["properties"].is_object())
      for (const auto& [name, child] : validation["properties"].as_object())
        if (const Schema* property = schema.FindProperty(name))
          if (auto built = Build(child, *property, false, depth + 1))
            node->properties.emplace(name, std::move(built));
    if (validation["allOf"].is_array())
      for (const json::Value& part : validation["allOf"].as_array())
        if (auto built = Build(part, schema, is_root, depth + 1)) node->all_of.push_back(std::move(built));
    if (node->empty()) return nullptr;
    return node;
  }
};

// One walk over an object and its old version.
class Validator::Run {
 public:
  Run(Outcome& outcome, std::int64_t budget) : outcome_(outcome), budget_(budget) {}

  // What the value is compared with to tell whether it changed (upstream: CorrelatedObject).
  struct Correlation {
    const json::Value* value = nullptr;
    const json::Value* old = nullptr;
    bool known = false;
    bool Unchanged() const { return known && value && old && *value == *old; }
  };

  void Visit(const Node& node, const json::Value& value, const json::Value* old, const std::string& path,
             const Correlation& current, const Correlation& parent) {
    if (value.is_null()) return;
    if (!node.compile_error.empty()) {
      outcome_.problems.push_back({.path = path,
                                   .value = json::Value(node.schema->type_name),
                                   .detail = "rule compiler initialization error: " + node.compile_error});
    } else {
      const json::Value* old_value = old && !old->is_null() ? old : nullptr;
      const bool ratchets = current.known ? current.Unchanged() : parent.Unchanged();
      budget_ =
          EvaluateRules(node.rules, *node.self_schema, value, old_value, path, ratchets, budget_, outcome_);
    }
    if (budget_ < 0) return;
    for (const auto& part : node.all_of) {
      Visit(*part, value, old, path, {}, parent);
      if (budget_ < 0) return;
    }
    if (value.is_array()) VisitArray(node, value.as_array(), old, path, current);
    if (value.is_object()) VisitObject(node, value.as_object(), old, path, current, parent);
  }
  std::int64_t remaining() const { return budget_; }

 private:
  void VisitObject(const Node& node, const json::Object& object, const json::Value* old,
                   const std::string& path, const Correlation& current, const Correlation& parent) {
    if (!node.additional && node.properties.empty()) return;
    const json::Value* old_object = old && old->is_object() && node.schema->correlatable_map ? old : nullptr;
    for (const auto& [key, value] : object) {
      const json::Value* old_value = old_object ? old_object->Find(key) : nullptr;
      Correlation child = current, child_parent = parent;
      if (current.known) {
        child = {&value, current.old ? current.old->Find(key) : nullptr, true};
        child.known = child.old != nullptr;
        child_parent = current;
        if (path.empty() && (key == "apiVersion" || key == "kind")) child = child_parent = {};
      }
      if (node.additional) Visit(*node.additional, value, old_value, KeyPath(path, key), child, child_parent);
      if (budget_ < 0) return;
      const auto it = node.properties.find(key);
      if (it != node.properties.end())
        Visit(*it->second, value, old_value, ChildPath(path, key), child, child_parent);
      if (budget_ < 0) return;
    }
  }
  // What tells an element of a list-map apart.
  static std::optional<std::string> ElementKey(const Schema& list, const json::Value& element) {
    std::string key;
    for (const std::string& name : list.map_keys) {
      const json::Value* part = element.Find(name);
      if (!part || part->is_null() || part->is_array() || part->is_object()) return std::nullopt;
      key += json::Write(*part) + '\n';
    }
    return key;
  }
  void VisitArray(const Node& node, const json::Array& array, const json::Value* old, const std::string& path,
                  const Correlation& current) {
    if (!node.items) return;
    const Schema& list = *node.schema;
    std::unordered_map<std::string, const json::Value*> old_items;
    if (list.list_type == ListType::kMap && !list.map_keys.empty() && old && old->is_array())
      for (const json::Value& item : old->as_array())
        if (auto key = ElementKey(list, item)) old_items.emplace(std::move(*key), &item);
    for (std::size_t i = 0; i < array.size(); ++i) {
      const json::Value* old_value = nullptr;
      if (!old_items.empty())
        if (const auto key = ElementKey(list, array[i]))
          if (const auto it = old_items.find(*key); it != old_items.end()) old_value = it->second;
      Correlation child;
      if (current.known && old_value) child = {&array[i], old_value, true};
      Visit(*node.items, array[i], old_value, IndexPath(path, i), child, current);
      if (budget_ < 0) return;
    }
  }

  Outcome& outcome_;
  std::int64_t budget_;
};

Validator::Validator() = default;
Validator::~Validator() = default;

std::unique_ptr<const Validator> Validator::Build(const json::Value& schema, bool is_root) {
  if (!HasRules(schema, 0)) return nullptr;
  std::unique_ptr<Validator> validator(new Validator);
  validator->tree_ = std::make_unique<SchemaTree>(schema);
  validator->root_ = Builder::Build(schema, validator->tree_->root(), is_root, 0);
  if (!validator->root_) return nullptr;
  return validator;
}

Validator::Outcome Validator::Validate(const json::Value& object, const json::Value* old,
                                       std::int64_t budget) const {
  Outcome outcome;
  Run run(outcome, budget);
  Run::Correlation current;
  if (old) current = {&object, old, true};
  run.Visit(*root_, object, old, "", current, {});
  outcome.remaining = run.remaining();
  return outcome;
}

Validator::Outcome Validator::ValidateDefault(const json::Value& value, const std::string& path,
                                              std::int64_t budget) const {
  Outcome outcome;
  std::int64_t remaining = budget;
  for (const json::Value* old : {&value, static_cast<const json::Value*>(nullptr)}) {
    Run run(outcome, budget);
    run.Visit(*root_, value, old, path, {}, {});
    remaining = std::min(remaining, run.remaining());
    if (!outcome.problems.empty()) break;
  }
  outcome.remaining = remaining;
  return outcome;
}

}  // namespace flyball::cel
