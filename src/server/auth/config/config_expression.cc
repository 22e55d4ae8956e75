#include "server/auth/config/config_expression.h"

#include <deque>

namespace flyball::server {
namespace {

// The types of the three variables. Built once, and for ever: expressions point into them.
class VariableTypes {
 public:
  static const VariableTypes& Get() {
    static const auto* types = new VariableTypes;
    return *types;
  }

  cel::VariableDecl Declare(ExpressionScope scope) const {
    switch (scope) {
      case ExpressionScope::kClaims:
        return {"claims", claims_};
      case ExpressionScope::kUser:
        return {"user", user_};
      case ExpressionScope::kRequest:
        break;
    }
    return {"request", request_};
  }

 private:
  using Fields = std::vector<std::pair<const char*, const cel::Type*>>;

  VariableTypes() {
    const cel::Type* text = &cel::types::kString;
    const cel::Type* texts = store_.List(text);
    const cel::Type* extra = store_.Map(text, texts);
    claims_ = store_.Map(text, &cel::types::kAny);
    user_ = Object("kubernetes.UserInfo",
                   {{"username", text}, {"uid", text}, {"groups", texts}, {"extra", extra}});
    const cel::Type* requirement =
        Object("kubernetes.SelectorRequirement", {{"key", text}, {"operator", text}, {"values", texts}});
    const Fields selector = {{"rawSelector", text}, {"requirements", store_.List(requirement)}};
    const cel::Type* resource =
        Object("kubernetes.ResourceAttributes",
               {{"namespace", text},
                {"verb", text},
                {"group", text},
                {"version", text},
                {"resource", text},
                {"subresource", text},
                {"name", text},
                {"fieldSelector", Object("kubernetes.FieldSelectorAttributes", selector)},
                {"labelSelector", Object("kubernetes.LabelSelectorAttributes", selector)}});
    const cel::Type* path = Object("kubernetes.NonResourceAttributes", {{"path", text}, {"verb", text}});
    request_ = Object("kubernetes.SubjectAccessReviewSpec", {{"resourceAttributes", resource},
                                                             {"nonResourceAttributes", path},
                                                             {"user", text},
                                                             {"groups", texts},
                                                             {"extra", extra},
                                                             {"uid", text}});
  }

  const cel::Type* Object(const char* name, const Fields& fields) {
    cel::ObjectDecl& object = objects_.emplace_back();
    for (const auto& [field, type] : fields) {
      cel::DeclType& declared = declared_.emplace_back();
      declared.type = type;
      object.Add({field, &declared});
    }
    object.Sort();
    return store_.Struct(name, &object);
  }

  cel::TypeStore store_;
  std::deque<cel::ObjectDecl> objects_;
  std::deque<cel::DeclType> declared_;
  const cel::Type *claims_ = nullptr, *user_ = nullptr, *request_ = nullptr;
};

Unexpected NotTexts() {
  return Unexpected(BadRequest("expression must return a string or a list of strings"));
}

}  // namespace

std::shared_ptr<const ConfigExpression> ConfigExpression::Compile(const std::string& text,
                                                                  ExpressionScope scope, bool must_be_bool,
                                                                  const api::FieldPath& path,
                                                                  api::FieldErrors& errors) {
  cel::CompileResult compiled = cel::Compile(
      text, {.environment = &cel::Environment::Stored(), .variables = {VariableTypes::Get().Declare(scope)}});
  if (compiled.phase == cel::CompilePhase::kParse || compiled.phase == cel::CompilePhase::kCheck) {
    errors.Invalid(path, text, "compilation failed: " + compiled.error);
  } else if (must_be_bool && compiled.type_text != "bool") {
    errors.Invalid(path, text,
                   scope == ExpressionScope::kRequest ? "must evaluate to bool but got " + compiled.type_text
                                                      : "must evaluate to bool");
  } else if (!compiled.expression) {
    errors.Internal(path, "program instantiation failed: " + compiled.error);
  } else {
    return ConfigExpressionPtr(new ConfigExpression(text, scope, std::move(compiled.expression)));
  }
  return nullptr;
}

bool ConfigExpression::Selects(std::string_view field) const {
  const std::string variable = VariableTypes::Get().Declare(scope_).name;
  return cel::SelectsField(text_, cel::Environment::Stored(), variable, field);
}

Result<cel::Value> ConfigExpression::Evaluate(const json::Value& variable, cel::Arena& arena) const {
  cel::FixedActivation activation;
  activation.Set(0, scope_ == ExpressionScope::kRequest ? cel::FromJson(arena, variable, nullptr)
                                                        : cel::Value::EscapedJson(variable));
  const cel::Evaluation result = compiled_->program().Evaluate(activation, arena);
  if (!result.cancelled && !result.value.IsError()) return result.value;
  const std::string why = result.cancelled ? "operation cancelled: actual cost limit exceeded"
                                           : std::string(result.value.error());
  return Unexpected(BadRequest("expression '" + text_ + "' resulted in error: " + why));
}

Result<bool> ConfigExpression::Holds(const json::Value& variable) const {
  cel::Arena arena;
  FLYBALL_ASSIGN(const cel::Value value, Evaluate(variable, arena));
  if (!value.Is(cel::ValueKind::kBool))
    return Unexpected(BadRequest("validation expression must return a boolean"));
  return value.as_bool();
}

Result<std::string> ConfigExpression::ToText(const json::Value& variable) const {
  cel::Arena arena;
  FLYBALL_ASSIGN(const cel::Value value, Evaluate(variable, arena));
  if (!value.Is(cel::ValueKind::kString))
    return Unexpected(BadRequest("claim expression must return a string"));
  return std::string(value.text());
}

Result<std::vector<std::string>> ConfigExpression::ToTexts(const json::Value& variable) const {
  cel::Arena arena;
  FLYBALL_ASSIGN(const cel::Value value, Evaluate(variable, arena));
  std::vector<std::string> texts;
  if (value.Is(cel::ValueKind::kNull)) return texts;
  if (value.Is(cel::ValueKind::kString)) {
    if (!value.text().empty()) texts.emplace_back(value.text());
    return texts;
  }
  if (!value.Is(cel::ValueKind::kList)) return NotTexts();
  for (std::size_t i = 0; i < cel::ListSize(value); ++i) {
    const cel::Value element = cel::ListElement(arena, value, i);
    if (!element.Is(cel::ValueKind::kString)) return NotTexts();
    if (!element.text().empty()) texts.emplace_back(element.text());
  }
  return texts;
}

json::Value ClaimsForExpressions(const json::Value& claims) {
  if (claims.is_int()) return static_cast<double>(claims.as_int());
  if (claims.is_array()) {
    json::Array out;
    for (const auto& item : claims.as_array()) out.push_back(ClaimsForExpressions(item));
    return out;
  }
  if (!claims.is_object()) return claims;
  json::Object out;
  for (const auto& [name, value] : claims.as_object()) out.Set(name, ClaimsForExpressions(value));
  return out;
}

}  // namespace flyball::server
