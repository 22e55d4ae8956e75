#include "cel/rules/definition.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <set>

#include "cel/rules/rule.h"

namespace flyball::cel {
namespace {

constexpr int kMaxDefinitionDepth = 250;
constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

bool IsBlankText(std::string_view s) {
  return s.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
}
bool HasLineBreak(std::string_view s) {
  return s.find_first_of("\r\n") != std::string_view::npos;
}
std::string_view TrimText(std::string_view s) {
  if (IsBlankText(s)) return {};
  const std::size_t start = s.find_first_not_of(" \t\r\n\v\f");
  return s.substr(start, s.find_last_not_of(" \t\r\n\v\f") - start + 1);
}

std::uint64_t GuardedProduct(std::uint64_t cost, std::uint64_t cardinality) {
  return cost != 0 && kNoLimit / cost < cardinality ? kNoLimit : cost * cardinality;
}

std::string CostMessage(std::string_view what, std::uint64_t cost, std::uint64_t limit) {
  const double factor = static_cast<double>(cost) / static_cast<double>(limit);
  char text[64];
  if (factor > 100)
    std::snprintf(text, sizeof text, "more than 100x");
  else if (factor < 1.5)
    std::snprintf(text, sizeof text, "%fx", factor);
  else
    std::snprintf(text, sizeof text, "%.1fx", factor);
  return std::string(what) + " exceeds budget by factor of " + text +
         " (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, "
         "and strings are "
         "declared)";
}

void CollectRuleTexts(const json::Value& node, std::set<std::string>& texts, int depth) {
  if (depth > kMaxDefinitionDepth) return;
  if (node.is_array())
    for (const json::Value& element : node.as_array()) CollectRuleTexts(element, texts, depth + 1);
  if (!node.is_object()) return;
  for (const auto& [key, value] : node.as_object()) {
    if ((key == "rule" || key == "messageExpression") && value.is_string()) texts.emplace(value.as_string());
    CollectRuleTexts(value, texts, depth + 1);
  }
}

class DefinitionChecker {
 public:
  DefinitionChecker(const json::Value* old_schema, const Environment& environment)
      : environment_(environment) {
    if (old_schema) CollectRuleTexts(*old_schema, known_, 0);
  }

  // `cardinality`: how many such values an object can have; nothing if there is no bound.
  void Visit(const json::Value& node, const Schema& schema, const std::string& path, bool is_root,
             std::optional<std::uint64_t> cardinality, const std::string* uncorrelatable, int depth) {
    if (depth > kMaxDefinitionDepth || !node.is_object()) return;
    const std::size_t form_before = result_.form.size();
    const std::optional<std::uint64_t> inner = Inner(schema, cardinality);
    if (schema.additional)
      Visit(node["additionalProperties"], *schema.additional, ChildPath(path, "additionalProperties"), false,
            inner, uncorrelatable, depth + 1);
    for (const Schema::Property& property : schema.properties) {
      const std::string* forbidden = uncorrelatable            ? uncorrelatable
                                     : schema.correlatable_map ? nullptr
                                                               : &path;
      Visit(*property.schema->node, *property.schema, KeyPath(ChildPath(path, "properties"), property.name),
            false, inner, forbidden, depth + 1);
    }
    if (schema.items) {
      const bool correlatable = schema.list_type == ListType::kMap;
      const std::string* forbidden = uncorrelatable ? uncorrelatable : correlatable ? nullptr : &path;
      Visit(node["items"], *schema.items, ChildPath(path, "items"), false, inner, forbidden, depth + 1);
    }
    const json::Value& validations = node["x-kubernetes-validations"];
    if (!validations.is_array() || validations.empty()) return;
    const std::string base = ChildPath(path, "x-kubernetes-validations");
    CheckForm(validations, schema, base);
    if (result_.form.size() == form_before)
      CheckRules(validations, schema, base, is_root, cardinality, uncorrelatable);
  }

  DefinitionProblems Finish(const std::string& path) {
    if (total_ > kDefinitionCostLimit) {
      for (const auto& [cost, rule_path] : expensive_)
        Forbid(rule_path,
               "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema");
      Forbid(path,
             CostMessage("x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema",
                         total_, kDefinitionCostLimit));
    }
    return std::move(result_);
  }

 private:
  static std::optional<std::uint64_t> Inner(const Schema& schema, std::optional<std::uint64_t> cardinality) {
    if (!cardinality) return std::nullopt;
    std::optional<std::int64_t> limit = 1;
    if (schema.type == SchemaType::kObject && schema.allows_additional) limit = schema.max_properties;
    if (schema.type == SchemaType::kArray) limit = schema.max_items;
    if (!limit) return std::nullopt;
    return GuardedProduct(*cardinality, static_cast<std::uint64_t>(std::max<std::int64_t>(*limit, 0)));
  }
  void Forbid(std::string path, std::string detail) {
    result_.rules.push_back({.kind = Problem::Kind::kForbidden,
                             .path = std::move(path),
                             .shows_value = false,
                             .detail = std::move(detail)});
  }
  void AddForm(Problem::Kind kind, std::string path, json::Value value, std::string detail) {
    result_.form.push_back(
        {.kind = kind, .path = std::move(path), .value = std::move(value), .detail = std::move(detail)});
  }
  void CheckForm(const json::Value& validations, const Schema& schema, const std::string& base) {
    using K = Problem::Kind;
    for (std::size_t i = 0; i < validations.as_array().size(); ++i) {
      const json::Value& rule = validations.as_array()[i];
      const std::string path = IndexPath(base, i);
      const std::string_view text = rule["rule"].string_or(""), message = rule["message"].string_or("");
      if (IsBlankText(text))
        AddForm(K::kRequired, ChildPath(path, "rule"), {}, "rule is not specified");
      else if (!message.empty() && IsBlankText(message))
        AddForm(K::kInvalid, ChildPath(path, "message"), json::Value(message),
                "must be non-empty if specified");
      else if (HasLineBreak(TrimText(message)))
        AddForm(K::kInvalid, ChildPath(path, "message"), json::Value(message),
                "must not contain line breaks");
      else if (HasLineBreak(TrimText(text)) && IsBlankText(message))
        AddForm(K::kRequired, ChildPath(path, "message"), {},
                "message must be specified if rule contains line breaks");
      const std::string_view expression = rule["messageExpression"].string_or("");
      if (!expression.empty() && IsBlankText(expression))
        AddForm(K::kRequired, ChildPath(path, "messageExpression"), {},
                "messageExpression must be non-empty if specified");
      CheckReason(rule, path);
      CheckFieldPath(rule, path, schema);
    }
  }
  void CheckReason(const json::Value& rule, const std::string& path) {
    static const std::vector<std::string> kReasons = {"FieldValueDuplicate", "FieldValueForbidden",
                                                      "FieldValueInvalid", "FieldValueRequired"};
    if (!rule["reason"].is_string()) return;
    const std::string reason(rule["reason"].as_string());
    if (std::find(kReasons.begin(), kReasons.end(), reason) != kReasons.end()) return;
    AddForm(Problem::Kind::kNotSupported, ChildPath(path, "reason"), json::Value(reason), "");
    result_.form.back().supported = kReasons;
  }
  void CheckFieldPath(const json::Value& rule, const std::string& path, const Schema& schema) {
    const std::string_view field = rule["fieldPath"].string_or("");
    if (field.empty()) return;
    const auto invalid = [&](std::string_view detail) {
      AddForm(Problem::Kind::kInvalid, ChildPath(path, "fieldPath"), json::Value(field), std::string(detail));
    };
    if (IsBlankText(field)) invalid("must be non-empty if specified");
    if (HasLineBreak(field)) invalid("must not contain line breaks");
    std::string normalized;
    if (!NormalizeFieldPath(field, schema, &normalized)) invalid("must be a valid path");
  }
  // Rules that are stored already may use what new ones may not yet.
  const Environment& EnvironmentFor(const json::Value& validations) const {
    for (const json::Value& rule : validations.as_array())
      if (!known_.contains(std::string(rule["rule"].string_or("")))) return environment_;
    return Environment::Stored();
  }
  void CheckRules(const json::Value& validations, const Schema& schema, const std::string& base, bool is_root,
                  std::optional<std::uint64_t> cardinality, const std::string* uncorrelatable) {
    const auto declarations = DeclTypes::Build(schema, is_root || schema.embedded, "selfType");
    if (!declarations->root()) {
      result_.rules.push_back(
          {.kind = Problem::Kind::kInternal,
           .path = base,
           .shows_value = false,
           .detail = "internal error: failed to construct type information for "
                     "x-kubernetes-validations rules: unable to convert structural schema to CEL "
                     "declarations"});
      return;
    }
    const DeclType& root = *declarations->root();
    const auto most = static_cast<std::uint64_t>(kMaxRequestBytes / (root.min_serialized_size + 1));
    const std::vector<Rule> rules = CompileRules(validations, schema, root, EnvironmentFor(validations));
    for (std::size_t i = 0; i < rules.size(); ++i)
      CheckRule(rules[i], validations.as_array()[i], IndexPath(base, i), cardinality.value_or(most),
                uncorrelatable);
  }
  void CheckRule(const Rule& rule, const json::Value& entry, const std::string& path,
                 std::uint64_t cardinality, const std::string* uncorrelatable) {
    const auto invalid = [&](std::string_view field, const json::Value& value, std::string detail) {
      result_.rules.push_back({.path = ChildPath(path, field), .value = value, .detail = std::move(detail)});
    };
    CheckCost("estimated rule cost", ChildPath(path, "rule"), GuardedProduct(rule.max_cost, cardinality));
    if (!rule.error.empty()) invalid("rule", entry, rule.error);
    if (!rule.message_error.empty())
      invalid("messageExpression", entry, rule.message_error);
    else if (rule.message_expression)
      CheckCost("estimated messageExpression cost", ChildPath(path, "messageExpression"),
                rule.message_max_cost);
    if (rule.uses_old_self) {
      if (uncorrelatable)
        invalid(
            "rule", json::Value(rule.rule),
            "oldSelf cannot be used on the uncorrelatable portion of the schema within " + *uncorrelatable);
    } else if (rule.has_optional_old_self) {
      invalid("optionalOldSelf", json::Value(rule.optional_old_self),
              "may not be set if oldSelf is not used in rule");
    }
  }
  void CheckCost(std::string_view what, const std::string& path, std::uint64_t cost) {
    if (cost > kRuleCostLimit) Forbid(path, CostMessage(what, cost, kRuleCostLimit));
    total_ = kNoLimit - total_ < cost ? kNoLimit : total_ + cost;
    // Only what contributes a hundredth is named, and the four most expensive.
    if (cost < kDefinitionCostLimit / 100) return;
    expensive_.emplace_back(cost, path);
    std::stable_sort(expensive_.begin(), expensive_.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    if (expensive_.size() > 4) expensive_.resize(4);
  }

  const Environment& environment_;
  std::set<std::string> known_;
  DefinitionProblems result_;
  std::uint64_t total_ = 0;
  std::vector<std::pair<std::uint64_t, std::string>> expensive_;
};

}  // namespace

DefinitionProblems CheckDefinitionRules(const json::Value& schema, const std::string& path,
                                        const json::Value* old_schema, const Environment& environment) {
  const SchemaTree tree(schema);
  DefinitionChecker checker(old_schema, environment);
  checker.Visit(schema, tree.root(), path, true, 1, nullptr, 0);
  return checker.Finish(path);
}

}  // namespace flyball::cel
