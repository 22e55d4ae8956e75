#include "cel/rules/rule.h"

#include <optional>

#include "cel/rules/problem.h"

namespace flyball::cel {
namespace {

std::string_view TrimBlanks(std::string_view s) {
  const std::size_t start = s.find_first_not_of(" \t\r\n\v\f");
  if (start == std::string_view::npos) return {};
  return s.substr(start, s.find_last_not_of(" \t\r\n\v\f") - start + 1);
}

CompileOptions RuleOptions(const DeclType& declaration, const Environment& environment,
                           bool optional_old_self, TypeStore& types) {
  const Type* old_self = optional_old_self ? types.Optional(declaration.type) : declaration.type;
  return {.environment = &environment,
          .variables = {{"self", declaration.type}, {"oldSelf", old_self}},
          .root = &declaration};
}

void CompileMessage(Rule& rule, const CompileOptions& options) {
  CompileResult compiled = Compile(rule.message_expression_text, options);
  if (compiled.phase == CompilePhase::kParse || compiled.phase == CompilePhase::kCheck) {
    rule.message_error = "messageExpression compilation failed: " + compiled.error;
  } else if (compiled.type_kind != TypeKind::kString) {
    rule.message_error = "messageExpression must evaluate to a string";
  } else if (!compiled.expression) {
    rule.message_error = "messageExpression instantiation failed: " + compiled.error;
  } else {
    rule.message_max_cost = compiled.cost.max;
    rule.message_expression = std::move(compiled.expression);
  }
}

void CompileOne(Rule& rule, const Schema& schema, const DeclType& declaration,
                const Environment& environment) {
  if (TrimBlanks(rule.rule).empty()) return;
  TypeStore types;
  const CompileOptions options = RuleOptions(declaration, environment, rule.optional_old_self, types);
  CompileResult compiled = Compile(rule.rule, options);
  if (compiled.phase == CompilePhase::kParse || compiled.phase == CompilePhase::kCheck) {
    rule.error = "compilation failed: " + compiled.error;
    return;
  }
  if (compiled.type_kind != TypeKind::kBool) {
    rule.error = "cel expression must evaluate to a bool";
    return;
  }
  if (!compiled.expression) {
    rule.error = "program instantiation failed: " + compiled.error;
    return;
  }
  rule.uses_old_self = compiled.expression->program().Uses(kOldSelfVariable);
  rule.max_cost = compiled.cost.max;
  rule.expression = std::move(compiled.expression);
  if (!rule.message_expression_text.empty()) CompileMessage(rule, options);
  if (!rule.field_path.empty()) NormalizeFieldPath(rule.field_path, schema, &rule.normalized_field_path);
}

std::optional<std::string> UnescapeQuoted(std::string_view s) {
  std::string out;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '\\' || i + 1 == s.size()) {
      out += s[i];
      continue;
    }
    switch (s[++i]) {
      case 'a':
        out += '\a';
        break;
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 't':
        out += '\t';
        break;
      case 'v':
        out += '\v';
        break;
      case '\'':
        out += '\'';
        break;
      case '\\':
        out += '\\';
        break;
      default:
        return std::nullopt;
    }
  }
  return out;
}

// The pieces of a field path: ".", "[", "]", names and quoted names.
class FieldPathTokens {
 public:
  explicit FieldPathTokens(std::string_view path) : rest_(path) {}
  bool Next(std::string_view* token) {
    if (rest_.empty()) return false;
    std::size_t length = 1;
    if (rest_[0] == '\'') {
      while (length < rest_.size() && !(rest_[length] == '\'' && rest_[length - 1] != '\\')) ++length;
      length = std::min(length + 1, rest_.size());
    } else if (rest_[0] != '.' && rest_[0] != '[' && rest_[0] != ']') {
      while (length < rest_.size() && rest_[length] != '.' && rest_[length] != '[' && rest_[length] != ']')
        ++length;
    }
    *token = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return true;
  }

 private:
  std::string_view rest_;
};

}  // namespace

std::string ChildPath(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}
std::string IndexPath(const std::string& path, std::size_t index) {
  return path + "[" + std::to_string(index) + "]";
}
std::string KeyPath(const std::string& path, std::string_view key) {
  return path + "[" + std::string(key) + "]";
}

std::vector<Rule> CompileRules(const json::Value& validations, const Schema& schema,
                               const DeclType& declaration, const Environment& environment) {
  std::vector<Rule> rules;
  if (!validations.is_array()) return rules;
  for (const json::Value& entry : validations.as_array()) {
    Rule& rule = rules.emplace_back();
    rule.rule = entry["rule"].string_or("");
    rule.message = entry["message"].string_or("");
    rule.message_expression_text = entry["messageExpression"].string_or("");
    rule.reason = entry["reason"].string_or("");
    rule.field_path = entry["fieldPath"].string_or("");
    rule.optional_old_self = entry["optionalOldSelf"].bool_or(false);
    rule.has_optional_old_self = entry["optionalOldSelf"].is_bool();
    CompileOne(rule, schema, declaration, environment);
  }
  return rules;
}

bool NormalizeFieldPath(std::string_view path, const Schema& schema, std::string* normalized) {
  FieldPathTokens tokens(path);
  const Schema* at = &schema;
  std::string result;
  const auto step = [&](std::string_view name) {
    if (at->has_properties) {
      at = at->FindProperty(name);
      result = ChildPath(result, name);
      return at != nullptr;
    }
    if (!at->allows_additional || !at->additional) return false;
    at = at->additional;
    result = KeyPath(result, name);
    return true;
  };
  for (std::string_view token; tokens.Next(&token);) {
    if (token == ".") {
      if (!tokens.Next(&token) || !step(token)) return false;
    } else if (token == "[") {
      if (!tokens.Next(&token) || token.size() < 2 || token.front() != '\'' || token.back() != '\'')
        return false;
      const auto name = UnescapeQuoted(token.substr(1, token.size() - 2));
      if (!name || !step(*name) || !tokens.Next(&token) || token != "]") return false;
    } else {
      return false;
    }
  }
  *normalized = std::move(result);
  return true;
}

}  // namespace flyball::cel
