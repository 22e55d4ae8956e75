// Label and field selectors: which objects a list, a watch or a controller means (upstream: apimachinery
// labels and fields). Parsed once, matched many times without allocation. Values; immutable after parsing,
// so thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/schema/schema.h"
#include "base/values/result.h"
#include "json/value.h"

namespace flyball::api {

// Labels as the server keeps them beside an object: sorted by key, bytewise, keys unique.
using LabelPairs = std::span<const std::pair<std::string, std::string>>;

class LabelSelector {
 public:
  enum class Operator : std::uint8_t {
    kEquals,
    kDoubleEquals,
    kNotEquals,
    kIn,
    kNotIn,
    kExists,
    kDoesNotExist,
    kGreaterThan,
    kLessThan
  };

  struct Requirement {
    std::string key;
    Operator op = Operator::kExists;
    std::vector<std::string> values;  // sorted, unique
    std::int64_t bound = 0;           // of kGreaterThan and kLessThan

    // `value` is null when the object has no such label.
    bool Matches(const std::string_view* value) const;
  };

  // Matches everything.
  LabelSelector() = default;
  static LabelSelector Everything() { return {}; }
  static LabelSelector Nothing();

  // The form of the query parameter: "a=b,c in (d,e),!f,g>3". The empty text selects everything. BadRequest
  // with upstream's text on failure.
  static Result<LabelSelector> Parse(std::string_view text);
  // The form in objects: {matchLabels, matchExpressions}. Null selects nothing, {} everything. BadRequest on
  // unknown operators and malformed keys or values.
  static Result<LabelSelector> FromObject(const json::Value& selector);
  // Equality with every member of a plain map, as in Service.spec.selector. Null and {} select everything:
  // what an empty map means differs from kind to kind, so the caller decides that. Members are not checked.
  static LabelSelector FromMap(const json::Value& labels);

  bool Matches(LabelPairs labels) const;
  // `labels` is a metadata.labels object; anything else counts as no labels.
  bool Matches(const json::Value& labels) const;

  bool empty() const { return requirements_.empty() && !nothing_; }
  bool selects_nothing() const { return nothing_; }
  // Sorted by key.
  const std::vector<Requirement>& requirements() const { return requirements_; }
  // The one value the label must have, if the selector says so: for indexes.
  std::optional<std::string_view> RequiredValue(std::string_view key) const;
  // Canonical text; parses back to an equal selector (except Nothing, which has no text form).
  std::string ToString() const;

 private:
  std::vector<Requirement> requirements_;
  bool nothing_ = false;
};

// What the fields a kind can be selected by say of one object: index 0 is metadata.name, 1
// metadata.namespace, 2+i kind.selectable_fields[i]. Absent fields read as upstream's zero value of them: "",
// "0" or "false".
std::vector<std::string> SelectableValues(const KindInfo& kind, const json::Value& object);

// One term of a field selector, whatever the kind it is about.
struct FieldTerm {
  std::string field, value;
  bool equals = true;  // false: !=
};
// The terms of "metadata.name=x,spec.nodeName!=y" as FieldSelector::Parse reads them, without knowing the
// kind. BadRequest with upstream's text on malformed input.
Result<std::vector<FieldTerm>> ParseFieldTerms(std::string_view text);

class FieldSelector {
 public:
  struct Term : FieldTerm {
    std::size_t index = 0;  // into SelectableValues
  };

  // Matches everything.
  FieldSelector() = default;
  // "metadata.name=x,spec.nodeName!=y"; `\`, `,` and `=` in values are escaped by a backslash. BadRequest
  // with upstream's text on malformed input and on fields the kind cannot be selected by.
  static Result<FieldSelector> Parse(std::string_view text, const KindInfo& kind);
  // field=value, whatever characters the value has. BadRequest if the kind cannot be selected by the field.
  static Result<FieldSelector> Equal(std::string_view field, std::string value, const KindInfo& kind);

  // `values` as SelectableValues gave them for the same kind.
  bool Matches(std::span<const std::string> values) const;
  bool Matches(const KindInfo& kind, const json::Value& object) const;

  bool empty() const { return terms_.empty(); }
  const std::vector<Term>& terms() const { return terms_; }
  // The one value the field must have, if the selector says so (the first, if it contradicts itself).
  std::optional<std::string_view> RequiredValue(std::string_view field) const;
  std::string ToString() const;

 private:
  std::vector<Term> terms_;
};

}  // namespace flyball::api
