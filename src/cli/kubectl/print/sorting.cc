#include "cli/kubectl/print/sorting.h"

#include <algorithm>

#include "api/select/json_path.h"
#include "api/values/quantity.h"
#include "base/values/ascii.h"
#include "cli/command/error_text.h"

namespace flyball::cli {
namespace {

// The digits at the front, without leading zeros.
std::string_view LeadingNumber(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && IsDigit(text[end])) ++end;
  return text.substr(0, end);
}

std::string_view WithoutZeros(std::string_view digits) {
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

bool FieldLess(const json::Value* a, const json::Value* b) {
  if (!a || !b) return !a && b;
  if (a->is_number() && b->is_number()) return a->as_double() < b->as_double();
  if (a->is_bool() && b->is_bool()) return !a->as_bool() && b->as_bool();
  if (!a->is_string() || !b->is_string()) return false;
  const auto left = api::Quantity::Parse(a->as_string()), right = api::Quantity::Parse(b->as_string());
  if (left && right) return *left < *right;
  return NaturalLess(a->as_string(), b->as_string());
}

// ".x", "{.x}" and "x" are the same field, which errors show as "{.x}".
std::string Relaxed(std::string path) {
  if (path.starts_with("{")) return path;
  return path.starts_with(".") ? "{" + path + "}" : "{." + path + "}";
}

}  // namespace

bool NaturalLess(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    const std::string_view left = LeadingNumber(a), right = LeadingNumber(b);
    if (!left.empty() && !right.empty()) {
      const std::string_view x = WithoutZeros(left), y = WithoutZeros(right);
      if (x != y) return x.size() != y.size() ? x.size() < y.size() : x < y;
      if (left.size() != right.size()) return left.size() < right.size();
      a.remove_prefix(left.size());
      b.remove_prefix(right.size());
      continue;
    }
    if (a[0] != b[0]) return a[0] < b[0];
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return a.size() < b.size();
}

Status SortByField(const std::string& path, std::vector<json::Value>& items,
                   const std::function<const json::Value&(const json::Value&)>& object_of) {
  const std::string field = Relaxed(path);
  FLYBALL_ASSIGN(const api::JsonPath parsed, api::JsonPath::Parse(field));
  struct Keyed {
    const json::Value* key;
    std::size_t at;
  };
  std::vector<Keyed> order;
  bool found = items.empty();
  for (std::size_t i = 0; i < items.size(); ++i) {
    order.push_back({parsed.First(object_of(items[i])), i});
    found |= order.back().key != nullptr;
  }
  if (!found)
    return Unexpected(
        LocalError("couldn't find any field with path \"" + field + "\" in the list of objects"));
  std::stable_sort(order.begin(), order.end(),
                   [](const Keyed& a, const Keyed& b) { return FieldLess(a.key, b.key); });
  std::vector<json::Value> sorted;
  sorted.reserve(items.size());
  for (const Keyed& entry : order) sorted.push_back(std::move(items[entry.at]));
  items = std::move(sorted);
  return {};
}

}  // namespace flyball::cli
