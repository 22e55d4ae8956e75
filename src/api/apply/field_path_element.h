// PathElement: one step from a value to a value inside it, as field sets see it (upstream:
// structured-merge-diff fieldpath.PathElement): a named member, a list item told by its key fields, an item
// of a list that is a set, or a position.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "api/apply/element_text.h"
#include "base/values/result.h"
#include "json/value.h"

namespace flyball::api {

// A value, kept as the text fieldsV1 shows after its tag. Thread-compatible.
class PathElement {
 public:
  // In the order fieldsV1 sorts them.
  enum class Kind : std::uint8_t { kField, kKey, kValue, kIndex };
  using KeyField = std::pair<std::string_view, const json::Value*>;

  static PathElement Field(std::string_view name) { return {Kind::kField, ElementText(name)}; }
  // For a name that lives for ever, as those in the tables of built-in types do.
  static PathElement StaticField(std::string_view name) { return {Kind::kField, ElementText::Static(name)}; }
  // Requires: not empty; sorted by name.
  static PathElement Key(std::span<const KeyField> fields);
  static PathElement Value(const json::Value& value);
  static PathElement Index(std::int64_t index);

  // From a member name of fieldsV1: "f:replicas", `k:{"name":"a"}`, `v:"x"`, "i:0". Nothing if the tag is not
  // known, which a reader skips; an error if what follows the tag is malformed.
  static Result<std::optional<PathElement>> Decode(std::string_view encoded);
  void AppendEncoded(std::string& out) const;

  Kind kind() const { return kind_; }
  // The member's name, the canonical JSON of the key or value, or the number.
  std::string_view text() const { return text_.view(); }
  // ".replicas", `[name="a"]`, `[="x"]`, "[0]": how messages show it.
  std::string ToString() const;

  bool operator==(const PathElement& other) const { return kind_ == other.kind_ && text() == other.text(); }
  std::strong_ordering operator<=>(const PathElement& other) const;

 private:
  PathElement(Kind kind, ElementText text) : text_(std::move(text)), kind_(kind) {}

  ElementText text_;
  Kind kind_;
};

// All of them after each other: `.spec.containers[name="a"].image`.
std::string PathText(std::span<const PathElement> path);

}  // namespace flyball::api
