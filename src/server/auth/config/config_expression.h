// ConfigExpression: a CEL expression of the authentication or authorization configuration (upstream:
// apiserver/pkg/authentication/cel and authorization/cel).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/rules/field_error.h"
#include "base/values/result.h"
#include "cel/expression.h"
#include "json/value.h"

namespace flyball::server {

// The one variable an expression has.
enum class ExpressionScope : std::uint8_t {
  kClaims,   // claims: of a token, map(string, any)
  kUser,     // user: whom they made
  kRequest,  // request: a SubjectAccessReviewSpec
};

// Immutable; thread-safe.
class ConfigExpression {
 public:
  // Adds upstream's error at `path`, and returns null, if the text does not compile, or must be a bool and is
  // not.
  static std::shared_ptr<const ConfigExpression> Compile(const std::string& text, ExpressionScope scope,
                                                         bool must_be_bool, const api::FieldPath& path,
                                                         api::FieldErrors& errors);

  const std::string& text() const { return text_; }
  // Whether it selects this field of its variable.
  bool Selects(std::string_view field) const;

  // Each gets the variable's value. "expression '...' resulted in error: no such key: x" if evaluation fails.
  Result<bool> Holds(const json::Value& variable) const;
  // Upstream's "must return a string" if it is none.
  Result<std::string> ToText(const json::Value& variable) const;
  // A string or a list of strings, without empty ones; null is none.
  Result<std::vector<std::string>> ToTexts(const json::Value& variable) const;

 private:
  ConfigExpression(std::string text, ExpressionScope scope, std::unique_ptr<const cel::Expression> compiled)
      : text_(std::move(text)), scope_(scope), compiled_(std::move(compiled)) {}

  Result<cel::Value> Evaluate(const json::Value& variable, cel::Arena& arena) const;

  const std::string text_;
  const ExpressionScope scope_;
  const std::unique_ptr<const cel::Expression> compiled_;
};
using ConfigExpressionPtr = std::shared_ptr<const ConfigExpression>;

// Claims as expressions see them: every number is a double, as Go decodes JSON.
json::Value ClaimsForExpressions(const json::Value& claims);

}  // namespace flyball::server
