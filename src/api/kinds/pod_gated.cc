#include "api/kinds/pod_gated.h"

#include <algorithm>
#include <vector>

#include "api/format.h"
#include "api/kinds/access.h"
#include "json/json.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::size_t kContextLines = 3;
constexpr const char* kRequired = "requiredDuringSchedulingIgnoredDuringExecution";

void CheckSelectorAdditions(const Value& selector, const Value& old, const FieldPath& path,
                            FieldErrors& errors) {
  for (const auto& [key, value] : Entries(old)) {
    const Value* now = selector.Find(key);
    if (now != nullptr && *now == value) continue;
    return errors.Invalid(path, selector,
                          "only additions to spec.nodeSelector are allowed (no mutations or deletions)");
  }
}

void CheckAffinityAdditions(const Value& affinity, const Value& old, const FieldPath& path,
                            FieldErrors& errors) {
  const Value& old_terms = old[kRequired]["nodeSelectorTerms"];
  if (old_terms.size() == 0) return;
  const Value& terms = affinity[kRequired]["nodeSelectorTerms"];
  const FieldPath list = path.Child(kRequired).Child("nodeSelectorTerms");
  if (terms.size() != old_terms.size()) {
    return errors.Invalid(list, terms,
                          "no additions/deletions to non-empty NodeSelectorTerms list are allowed");
  }
  for (std::size_t i = 0; i < terms.size(); ++i) {
    for (const char* kind : {"matchExpressions", "matchFields"}) {
      for (const Value& before : Items(old_terms.as_array()[i][kind])) {
        const json::Array& now = Items(terms.as_array()[i][kind]);
        if (std::find(now.begin(), now.end(), before) != now.end()) continue;
        return errors.Invalid(list.Index(i), terms.as_array()[i],
                              "only additions are allowed (no mutations or deletions)");
      }
    }
  }
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace

void AllowGatedChanges(Value& spec, const Value& old, const FieldPath& path, FieldErrors& errors) {
  if (Get(spec, "nodeSelector") != old["nodeSelector"]) {
    CheckSelectorAdditions(Get(spec, "nodeSelector"), old["nodeSelector"], path.Child("nodeSelector"),
                           errors);
    if (Has(old, "nodeSelector")) {
      spec["nodeSelector"] = old["nodeSelector"];
    } else {
      Remove(spec, "nodeSelector");
    }
  }
  const Value affinity = Get(Get(spec, "affinity"), "nodeAffinity");
  const Value& old_affinity = old["affinity"]["nodeAffinity"];
  if (affinity == old_affinity) return;
  CheckAffinityAdditions(affinity, old_affinity, path.Child("affinity").Child("nodeAffinity"), errors);
  if (!old_affinity.is_null()) {
    spec["affinity"]["nodeAffinity"] = old_affinity;
  } else if (Value* whole = spec.Find("affinity"); whole != nullptr && whole->is_object()) {
    Remove(*whole, "nodeAffinity");
    if (whole->size() == 0 && !Has(old, "affinity")) Remove(spec, "affinity");
  }
}

std::string SpecDifference(const Value& old, const Value& now) {
  const std::vector<std::string> a = Lines(json::WritePretty(old, 2)), b = Lines(json::WritePretty(now, 2));
  std::size_t head = 0, tail = 0;
  while (head < a.size() && head < b.size() && a[head] == b[head]) ++head;
  while (tail < a.size() - head && tail < b.size() - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail])
    ++tail;
  const std::size_t begin = head > kContextLines ? head - kContextLines : 0;
  const std::size_t after = std::min(tail, kContextLines);
  const auto range = [&](std::size_t size) {
    return std::to_string(begin + 1) + "," + std::to_string(size - tail + after - begin);
  };
  std::string out = "@@ -" + range(a.size()) + " +" + range(b.size()) + " @@\n";
  for (std::size_t i = begin; i < head; ++i) out += " " + a[i] + "\n";
  for (std::size_t i = head; i < a.size() - tail; ++i) out += "-" + a[i] + "\n";
  for (std::size_t i = head; i < b.size() - tail; ++i) out += "+" + b[i] + "\n";
  for (std::size_t i = a.size() - tail; i < a.size() - tail + after; ++i) out += " " + a[i] + "\n";
  return out;
}

}  // namespace flyball::api
