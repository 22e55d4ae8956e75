#include <re2/re2.h>

#include <cmath>
#include <optional>
#include <string>

#include "api/custom/custom_lists.h"
#include "api/custom/custom_object.h"
#include "api/custom/rule_problems.h"
#include "api/formats/number_rules.h"
#include "api/formats/string_format.h"
#include "api/values/go_text.h"
#include "json/json.h"

namespace flyball::api {

namespace {

using json::Value;

std::string_view JsonTypeName(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kNull:
      return "null";
    case Value::Kind::kBool:
      return "boolean";
    case Value::Kind::kInt:
      return "integer";
    case Value::Kind::kDouble:
      return "number";
    case Value::Kind::kString:
      return "string";
    case Value::Kind::kArray:
      return "array";
    case Value::Kind::kObject:
      return "object";
  }
  return "";
}

std::int64_t CountRunes(std::string_view s) {
  std::int64_t n = 0;
  for (const char c : s) n += (static_cast<unsigned char>(c) & 0xC0u) != 0x80u;
  return n;
}

// 1 and 1.0 are the same number here.
bool SameValue(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number() && a.kind() != b.kind()) return a.as_double() == b.as_double();
  return a == b;
}

// Upstream converts the value to the type of the candidate first: a fraction is cut off. Null is never one.
bool IsCandidate(const Value& candidate, const Value& value) {
  if (value.is_null()) return false;
  if (candidate.is_int() && value.is_double())
    return std::trunc(value.as_double()) == static_cast<double>(candidate.as_int());
  return SameValue(candidate, value);
}

std::optional<std::int64_t> Limit(const Value& node, std::string_view keyword) {
  const auto& limit = node[keyword];
  if (limit.is_int()) return limit.as_int();
  return std::nullopt;
}

// One walk along a schema and a value. Paths are texts that grow and shrink with the walk.
class SchemaValidator {
 public:
  SchemaValidator(const CustomSchema& schema, const FieldPath& prefix, FieldErrors& errors)
      : schema_(schema), prefix_(prefix), errors_(&errors) {}

  void Validate(const Value& node, const Value& value, const Value* old) {
    // What did not change was valid, or is tolerated.
    if (old != nullptr && *old == value) return;
    ++visited_;
    CheckType(node, value);
    if (value.is_null()) return CheckEnum(node, value);
    CheckBranches(node, value, old);
    if (value.is_string()) CheckString(node, value);
    if (value.is_number()) CheckNumber(node, value);
    if (value.is_array()) CheckArray(node, value, old);
    CheckEnum(node, value);
    if (value.is_object()) CheckObject(node, value, old);
  }

 private:
  FieldPath Path() const { return name_.empty() ? prefix_ : prefix_.Child(name_); }
  std::string InBody(const std::string& rest) const { return name_ + " in body " + rest; }
  void Invalid(const Value& shown, const std::string& rest) { errors_->Invalid(Path(), shown, InBody(rest)); }

  // Runs `body` one step further down.
  template <typename Body>
  void Within(const std::string& step, Body body) {
    const std::size_t length = name_.size();
    if (!name_.empty() && !step.starts_with('[')) name_ += '.';
    name_ += step;
    body();
    name_.resize(length);
  }

  // The format, if values of the type are checked for it.
  static std::string_view FormatOf(const Value& node) {
    const bool either = node["x-kubernetes-int-or-string"].bool_or(false);
    const auto format = node["format"].string_or("");
    return IsSupportedFormat(either ? "" : node["type"].string_or(""), format) ? format : "";
  }
  // Where there is a format, a value of the wrong type is told its own format, and lists are let through.
  void CheckType(const Value& node, const Value& value) {
    const bool either = node["x-kubernetes-int-or-string"].bool_or(false);
    const auto want = either ? std::string_view("integer,string") : node["type"].string_or("");
    const auto format = FormatOf(node);
    if (want.empty() && format.empty()) return;
    if (value.is_null() && (want.empty() || node["nullable"].bool_or(false))) return;
    const auto got = JsonTypeName(value);
    const bool whole = either || want == "integer", number = whole || want == "number";
    const bool matches = want == got || (either && value.is_string()) || (number && value.is_int()) ||
                         (whole && value.is_double() && IsJsonInteger(value.as_double()));
    if (matches) return;
    if (!format.empty() && !value.is_null()) {
      const std::string_view own = value.is_int() ? "int64" : value.is_double() ? "float64" : "";
      if (!value.is_string() && !value.is_array())
        return errors_->TypeInvalid(Path(), own,
                                    InBody("must be of type " + std::string(format) + ": " + GoQuote(own)));
      if (!number) return;
    }
    errors_->TypeInvalid(Path(), got,
                         InBody("must be of type " + std::string(want) + ": \"" + std::string(got) + '"'));
  }

  void CheckEnum(const Value& node, const Value& value) {
    const auto& allowed = node["enum"];
    if (!allowed.is_array() || allowed.empty()) return;
    std::vector<std::string> texts;
    for (const auto& candidate : allowed.as_array()) {
      if (IsCandidate(candidate, value)) return;
      texts.push_back(candidate.is_string() ? std::string(candidate.as_string()) : json::Write(candidate));
    }
    errors_->NotSupported(Path(), value, std::move(texts));
  }

  void CheckString(const Value& node, const Value& value) {
    const auto text = value.as_string();
    CheckText(node, value, text);
    if (const auto format = FormatOf(node); !format.empty() && !MatchesStringFormat(format, text))
      errors_->TypeInvalid(Path(), value,
                           InBody("must be of type " + std::string(format) + ": " + GoQuote(text)));
  }

  // The first problem only.
  void CheckText(const Value& node, const Value& value, std::string_view text) {
    if (const auto max = Limit(node, "maxLength"); max && CountRunes(text) > *max)
      return errors_->TooLong(Path(), static_cast<std::size_t>(*max));
    if (const auto min = Limit(node, "minLength"); min && CountRunes(text) < *min)
      return Invalid(value, "should be at least " + std::to_string(*min) + " chars long");
    const auto pattern = node["pattern"].string_or("");
    const auto* compiled = pattern.empty() ? nullptr : schema_.Pattern(pattern);
    if (compiled != nullptr && !re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *compiled))
      Invalid(value, "should match '" + std::string(pattern) + "'");
  }

  void CheckNumber(const Value& node, const Value& value) {
    for (NumberProblem& problem : NumberProblems(node, value, name_))
      problem.at_field ? errors_->Invalid(Path(), problem.shown, problem.text) : Nowhere(problem.text);
  }

  void CheckArray(const Value& node, const Value& value, const Value* old) {
    const auto& elements = value.as_array();
    const auto count = static_cast<std::int64_t>(elements.size());
    if (const auto min = Limit(node, "minItems"); min && count < *min)
      Invalid(Value(count), "should have at least " + std::to_string(*min) + " items");
    if (const auto max = Limit(node, "maxItems"); max && count > *max)
      errors_->TooMany(Path(), elements.size(), static_cast<std::size_t>(*max));
    if (node["uniqueItems"].bool_or(false) && HasDuplicates(elements))
      Invalid("", "shouldn't contain duplicates");
    const auto& items = node["items"];
    if (!items.is_object()) return;
    const OldElements old_elements(node, old);
    for (std::size_t i = 0; i < elements.size(); ++i)
      Within('[' + std::to_string(i) + ']',
             [&] { Validate(items, elements[i], old_elements.Find(elements[i])); });
  }

  static bool HasDuplicates(const json::Array& elements) {
    for (std::size_t i = 0; i < elements.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (SameValue(elements[i], elements[j])) return true;
    return false;
  }

  // The elements of a list that is a map, as they were, by their keys.
  class OldElements {
   public:
    OldElements(const Value& node, const Value* old) : keys_(node["x-kubernetes-list-map-keys"]) {
      if (old == nullptr || !old->is_array() || !keys_.is_array() ||
          node["x-kubernetes-list-type"].string_or("") != "map")
        return;
      old_ = &old->as_array();
      for (std::size_t i = 0; i < old_->size(); ++i) {
        Value& place = places_[KeyText((*old_)[i])];
        if (place.is_null()) place = static_cast<std::int64_t>(i);  // the first counts
      }
    }
    // Null if there was none.
    const Value* Find(const Value& element) const {
      if (old_ == nullptr) return nullptr;
      const Value* place = places_.Find(KeyText(element));
      return place == nullptr ? nullptr : &(*old_)[static_cast<std::size_t>(place->as_int())];
    }

   private:
    std::string KeyText(const Value& element) const {
      json::Array key;
      for (const auto& name : keys_.as_array()) key.push_back(element[name.string_or("")]);
      return json::EqualityText(Value(std::move(key)));
    }

    const Value& keys_;
    const json::Array* old_ = nullptr;
    json::Object places_;
  };

  void CheckObject(const Value& node, const Value& value, const Value* old) {
    const auto& object = value.as_object();
    const auto count = static_cast<std::int64_t>(object.size());
    if (const auto min = Limit(node, "minProperties"); min && count < *min)
      Invalid(Value(count), "should have at least " + std::to_string(*min) + " properties");
    if (const auto max = Limit(node, "maxProperties"); max && count > *max)
      errors_->TooMany(Path(), object.size(), static_cast<std::size_t>(*max));
    const auto& properties = node["properties"];
    const auto& additional = node["additionalProperties"];
    for (const auto& member : object) {
      const std::string& name = member.first;
      const Value* child = properties.Find(name);
      if (child == nullptr && additional.is_object()) child = &additional;
      if (child == nullptr) continue;
      Within(name, [&] { Validate(*child, member.second, old != nullptr ? old->Find(name) : nullptr); });
    }
    if (const auto& required = node["required"]; required.is_array())
      for (const auto& name : required.as_array())
        if (!object.contains(name.string_or("")))
          Within(std::string(name.string_or("")), [&] { errors_->Required(Path()); });
  }

  // What one alternative finds wrong, and how far into the value it got.
  struct Attempt {
    FieldErrors errors;
    std::size_t visited = 0;
  };

  Attempt Try(const Value& node, const Value& value, const Value* old) {
    Attempt attempt;
    FieldErrors* const outer = std::exchange(errors_, &attempt.errors);
    const std::size_t before = visited_;
    Validate(node, value, old);
    attempt.visited = visited_ - before;
    errors_ = outer;
    return attempt;
  }

  // Upstream reports these without a path of their own.
  void Nowhere(const std::string& text) {
    errors_->Invalid(prefix_.text().empty() ? FieldPath("<nil>") : prefix_, "", text);
  }
  void Composite(const std::string& text) { Nowhere(GoQuote(name_) + ' ' + text); }

  void CheckBranches(const Value& node, const Value& value, const Value* old) {
    if (node["anyOf"].is_array()) CheckAnyOf(node["anyOf"].as_array(), value, old);
    if (node["oneOf"].is_array()) CheckOneOf(node["oneOf"].as_array(), value, old);
    if (node["allOf"].is_array()) CheckAllOf(node["allOf"].as_array(), value, old);
    if (node["not"].is_object() && Try(node["not"], value, nullptr).errors.empty())
      Composite("must not validate the schema (not)");
  }

  void CheckAnyOf(const json::Array& branches, const Value& value, const Value* old) {
    Attempt best;
    for (const auto& branch : branches) {
      auto attempt = Try(branch, value, old);
      if (attempt.errors.empty()) return;
      if (attempt.visited > best.visited) best = std::move(attempt);
    }
    if (branches.empty()) return;
    Composite("must validate at least one schema (anyOf)");
    errors_->Append(std::move(best.errors));
  }

  void CheckOneOf(const json::Array& branches, const Value& value, const Value* old) {
    Attempt best;
    std::size_t valid = 0;
    for (const auto& branch : branches) {
      auto attempt = Try(branch, value, old);
      if (attempt.errors.empty())
        ++valid;
      else if (attempt.visited > best.visited)
        best = std::move(attempt);
    }
    if (branches.empty() || valid == 1) return;
    const std::string found =
        valid == 0 ? "Found none valid" : "Found " + std::to_string(valid) + " valid alternatives";
    Composite("must validate one and only one schema (oneOf). " + found);
    if (valid == 0) errors_->Append(std::move(best.errors));
  }

  void CheckAllOf(const json::Array& branches, const Value& value, const Value* old) {
    std::size_t valid = 0;
    FieldErrors found;
    for (const auto& branch : branches) {
      auto attempt = Try(branch, value, old);
      valid += attempt.errors.empty();
      found.Append(std::move(attempt.errors));
    }
    if (valid == branches.size()) return;
    errors_->Append(std::move(found));
    Composite(std::string("must validate all the schemas (allOf)") + (valid == 0 ? ". None validated" : ""));
  }

  const CustomSchema& schema_;
  const FieldPath& prefix_;
  FieldErrors* errors_;
  std::string name_;  // the path below prefix_
  std::size_t visited_ = 0;
};

// Errors after which upstream does not run CEL rules.
bool BlocksRules(const Cause& cause) {
  return cause.reason == "FieldValueRequired" || cause.reason == "FieldValueNotSupported" ||
         cause.reason == "FieldValueTooLong" || cause.reason == "FieldValueTooMany" ||
         cause.reason == "FieldValueTypeInvalid";
}

// True if there is one.
bool NoteUncheckedRules(FieldErrors& errors) {
  for (const auto& cause : errors.causes()) {
    if (!BlocksRules(cause)) continue;
    errors.Invalid(FieldPath("<nil>"), Value(),
                   "some validation rules were not checked because the object was invalid; "
                   "correct the existing errors to complete validation");
    return true;
  }
  return false;
}

void CheckRules(const CustomSchema& schema, const Value& object, const Value* old, FieldErrors& errors,
                std::vector<std::string>* warnings) {
  const cel::Validator* rules = schema.rules();
  if (!rules) return;
  const cel::Validator::Outcome outcome = rules->Validate(object, old);
  AddRuleProblems(outcome.problems, errors);
  if (!warnings) return;
  for (const cel::Problem& problem : outcome.ratcheted) warnings->push_back(RuleProblemText(problem));
}

}  // namespace

void ValidateAgainstSchema(const CustomSchema& schema, const Value& node, const Value& value,
                           const FieldPath& prefix, FieldErrors& errors) {
  SchemaValidator(schema, prefix, errors).Validate(node, value, nullptr);
}

void ValidateCustomObject(const CustomSchema& schema, const Value& object, FieldErrors& errors,
                          const Value* old, std::vector<std::string>* warnings) {
  FieldErrors found;
  const FieldPath root;
  SchemaValidator(schema, root, found).Validate(schema.schema(), object, old);
  ValidateCustomStructure(schema, object, old, found);
  if (schema.uses_cel() && !NoteUncheckedRules(found)) CheckRules(schema, object, old, found, warnings);
  errors.Append(std::move(found));
}

}  // namespace flyball::api
