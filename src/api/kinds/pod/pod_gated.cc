#include "api/kinds/pod/pod_gated.h"

#include <algorithm>

#include "api/rules/access.h"
#include "api/rules/format.h"

namespace flyball::api {
namespace {

using json::Value;

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

}  // namespace flyball::api
