#include "api/kinds/pod_spec/pod_label_keys.h"

#include <map>
#include <set>
#include <string_view>

#include "api/rules/access.h"
#include "api/rules/checks.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::string_view kNoSelector = "must not be specified when labelSelector is not set";
constexpr std::string_view kInSelector = "exists in both matchLabelKeys and labelSelector";

void CheckKeys(const Value& keys, const FieldPath& path, FieldErrors& errors) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    CheckFormat("qualified-name", keys.as_array()[i].string_or({}), path.Index(i), errors);
  }
}

// A pod's own keys have been added to its selector already: finding one a second time means it was there
// before.
void CheckTwiceInSelector(const Value& keys, const Value& selector, const FieldPath& path,
                          FieldErrors& errors) {
  std::map<std::string_view, std::size_t> positions;
  for (std::size_t i = 0; i < keys.size(); ++i) positions[keys.as_array()[i].string_or({})] = i;
  std::set<std::string_view> seen;
  for (const auto& [key, value] : Entries(selector["matchLabels"])) seen.insert(key);
  for (const Value& expression : Items(selector["matchExpressions"])) {
    const std::string_view key = Text(expression, "key");
    const auto position = positions.find(key);
    if (position != positions.end() && seen.contains(key)) {
      errors.Invalid(path.Index(position->second), key, kInSelector);
    }
    seen.insert(key);
  }
}

}  // namespace

void ValidateAffinityLabelKeys(const Value& term, const FieldPath& path, FieldErrors& errors) {
  const Value& selector = term["labelSelector"];
  for (const char* name : {"matchLabelKeys", "mismatchLabelKeys"}) {
    const Value& keys = term[name];
    if (keys.size() == 0) continue;
    if (selector.is_null()) {
      errors.Forbidden(path.Child(name), kNoSelector);
    } else {
      CheckKeys(keys, path.Child(name), errors);
    }
  }
  const Value& keys = term["matchLabelKeys"];
  if (!selector.is_null()) CheckTwiceInSelector(keys, selector, path, errors);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::string_view key = keys.as_array()[i].string_or({});
    if (!Contains(term["mismatchLabelKeys"], key)) continue;
    errors.Invalid(path.Child("matchLabelKeys").Index(i), key,
                   "exists in both matchLabelKeys and mismatchLabelKeys");
  }
}

void ValidateSpreadLabelKeys(const Value& constraint, const FieldPath& path, FieldErrors& errors) {
  const Value& keys = constraint["matchLabelKeys"];
  if (keys.size() == 0) return;
  const Value& selector = constraint["labelSelector"];
  if (selector.is_null()) errors.Forbidden(path, kNoSelector);
  std::set<std::string_view> selected;
  for (const auto& [key, value] : Entries(selector["matchLabels"])) selected.insert(key);
  for (const Value& expression : Items(selector["matchExpressions"]))
    selected.insert(Text(expression, "key"));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::string_view key = keys.as_array()[i].string_or({});
    CheckFormat("qualified-name", key, path.Index(i), errors);
    if (selected.contains(key)) errors.Invalid(path.Index(i), key, kInSelector);
  }
}

}  // namespace flyball::api
