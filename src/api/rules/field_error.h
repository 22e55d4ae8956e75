// Field errors: what is wrong with an object, where, in the words Kubernetes uses (upstream: apimachinery
// util/validation/field). A list of them becomes one Invalid (422) Error with a cause each.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/error.h"
#include "json/value.h"

namespace flyball::api {

// "spec.containers[0].name", built from the root down. A value; copying is cheap enough for error paths.
class FieldPath {
 public:
  FieldPath() = default;
  explicit FieldPath(std::string root) : text_(std::move(root)) {}
  FieldPath Child(std::string_view name) const;  // a.name
  FieldPath Index(std::size_t i) const;          // a[3]
  FieldPath Key(std::string_view key) const;     // a[key]
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Bounded: beyond a hundred errors, or very long ones, the rest is only counted. Thread-compatible.
class FieldErrors {
 public:
  // Each appends one error. `value` is shown as Go's %v of the bad value: strings quoted, numbers plain,
  // objects JSON.
  void Required(const FieldPath& path, std::string_view detail = {});
  void Invalid(const FieldPath& path, const json::Value& value, std::string_view detail);
  // The value is not shown (upstream: OmitValueType).
  void InvalidOmitted(const FieldPath& path, std::string_view detail);
  void TypeInvalid(const FieldPath& path, const json::Value& value, std::string_view detail);
  void NotSupported(const FieldPath& path, const json::Value& value, std::vector<std::string> supported);
  void Duplicate(const FieldPath& path, const json::Value& value);
  void NotFound(const FieldPath& path, const json::Value& value);
  void Forbidden(const FieldPath& path, std::string_view detail);
  void TooLong(const FieldPath& path, std::size_t max_length);  // "may not be more than N bytes"
  void TooMany(const FieldPath& path, std::size_t actual, std::size_t max_items);
  void Internal(const FieldPath& path, std::string_view detail);
  void Add(Cause cause);
  void Append(FieldErrors other);

  // Where errors go that upstream's declarative validation finds: they follow all others.
  FieldErrors& declarative();

  bool empty() const { return causes_.empty() && (declarative_.empty() || declarative_.front().empty()); }
  std::vector<Cause> causes() const;

  // `Deployment.apps "x" is invalid: spec.replicas: Invalid value: -1: must be ...` (several: in brackets,
  // duplicates once; "and N more" for those left out). Requires !empty().
  Error ToError(std::string_view group, std::string_view kind, std::string_view name) const;

 private:
  // Whether one more is only counted; counts it.
  bool IsFull();

  std::vector<Cause> causes_;
  std::size_t bytes_ = 0, left_out_ = 0;
  std::vector<FieldErrors> declarative_;  // none or one
};

}  // namespace flyball::api
