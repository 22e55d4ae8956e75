#include "controllers/admissionpolicy/expression_type_check.h"

#include <algorithm>
#include <memory>

#include "cel/policy/policy_compiler.h"
#include "cel/schema/decl_type.h"
#include "cel/schema/schema.h"

namespace flyball::controllers {
namespace {

const json::Array& ItemsOf(const json::Value& list) {
  static const json::Array kNone;
  return list.is_array() ? list.as_array() : kNone;
}

// The texts of a list, sorted; none if one of them has a wildcard.
std::vector<std::string> NamesWithoutWildcards(const json::Value& list) {
  std::vector<std::string> names;
  for (const json::Value& item : ItemsOf(list)) {
    names.emplace_back(item.string_or(""));
    if (names.back().find('*') != std::string::npos) return {};
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> PlainResources(const json::Value& list) {
  std::vector<std::string> names;
  for (const json::Value& item : ItemsOf(list))
    if (const auto name = item.string_or(""); name.find_first_of("*/") == std::string_view::npos)
      names.emplace_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

// A schema as a type. The declarations point into the tree, and that into the schema.
class DeclaredKind {
 public:
  explicit DeclaredKind(const TypedKind& kind)
      : tree_(kind.schema), types_(cel::DeclTypes::Build(tree_.root(), false, kind.kind)) {}
  const cel::Type* type() const { return types_->root() ? types_->root()->type : &cel::types::kDyn; }

 private:
  cel::SchemaTree tree_;
  std::unique_ptr<const cel::DeclTypes> types_;
};

class PolicyTypeCheck {
 public:
  PolicyTypeCheck(const json::Value& spec, const std::vector<TypedKind>& kinds, const TypedKind* params)
      : spec_(spec), kinds_(kinds) {
    for (const TypedKind& kind : kinds) declared_.push_back(std::make_unique<DeclaredKind>(kind));
    if (params) params_ = std::make_unique<DeclaredKind>(*params);
  }

  // What is wrong with the expression for any of the kinds; empty if nothing is.
  std::string Check(const std::string& expression) const {
    std::string warning;
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      const std::string issues = CheckFor(*declared_[i], expression);
      if (issues.empty()) continue;
      if (!warning.empty()) warning += "\n";
      warning += kinds_[i].ToString() + ": " + issues + "\n";
    }
    return warning;
  }

 private:
  std::string CheckFor(const DeclaredKind& kind, const std::string& expression) const {
    cel::PolicyCompiler compiler(
        cel::PolicyCompiler::Composition::kVariables,
        {.object = kind.type(), .params = params_ ? params_->type() : &cel::types::kDyn});
    const cel::PolicyCompileOptions options{
        .params = !spec_["paramKind"].is_null(), .authorizer = true, .request_resource = false};
    for (const json::Value& variable : ItemsOf(spec_["variables"]))
      compiler.CompileVariable(variable["name"].string_or(""), variable["expression"].string_or(""), options);
    return compiler.Compile(expression, options).issues;
  }

  const json::Value& spec_;
  const std::vector<TypedKind>& kinds_;
  std::vector<std::unique_ptr<DeclaredKind>> declared_;
  std::unique_ptr<DeclaredKind> params_;
};

}  // namespace

std::vector<std::vector<RuleResource>> NamedResources(const json::Value& policy) {
  std::vector<std::vector<RuleResource>> rules;
  for (const json::Value& rule : ItemsOf(policy["spec"]["matchConstraints"]["resourceRules"])) {
    auto& named = rules.emplace_back();
    for (const auto& group : NamesWithoutWildcards(rule["apiGroups"]))
      for (const auto& version : NamesWithoutWildcards(rule["apiVersions"]))
        for (const auto& resource : PlainResources(rule["resources"]))
          named.push_back({group, version, resource});
  }
  return rules;
}

json::Array CheckExpressionTypes(const json::Value& policy, const std::vector<TypedKind>& kinds,
                                 const TypedKind* params) {
  const json::Value& spec = policy["spec"];
  const PolicyTypeCheck check(spec, kinds, params);
  json::Array warnings;
  const auto& validations = ItemsOf(spec["validations"]);
  for (std::size_t i = 0; i < validations.size(); ++i)
    for (const char* member : {"expression", "messageExpression"}) {
      const std::string expression(validations[i][member].string_or(""));
      if (expression.empty()) continue;
      if (std::string warning = check.Check(expression); !warning.empty())
        warnings.push_back(json::Object{{"fieldRef", "spec.validations[" + std::to_string(i) + "]." + member},
                                        {"warning", warning}});
    }
  return warnings;
}

}  // namespace flyball::controllers
