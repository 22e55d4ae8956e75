#include <set>
#include <string>

#include "api/kinds/pod_spec/pod_spec.h"
#include "api/kinds/shared/hooks.h"
#include "api/kinds/shared/resource_names.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/values/go_text.h"
#include "api/values/ip_address.h"

namespace flyball::api {
namespace {

using json::Value;

void SetNodeDefaults(Value& object) {
  Value* spec = object.Find("spec");
  if (spec != nullptr && spec->is_object()) {
    // Where both are given and differ, the single one counts.
    const Value first = Get(*spec, "podCIDRs").size() > 0 ? (*spec)["podCIDRs"].as_array()[0] : Value();
    if (Text(*spec, "podCIDR").empty()) {
      if (!first.is_null()) (*spec)["podCIDR"] = first;
    } else if (first.string_or({}) != Text(*spec, "podCIDR")) {
      (*spec)["podCIDRs"] = json::Array{Value((*spec)["podCIDR"])};
    }
  }
  Value* status = object.Find("status");
  if (status == nullptr || !status->is_object() || !Has(*status, "capacity")) return;
  if (!Has(*status, "allocatable")) (*status)["allocatable"] = Value((*status)["capacity"]);
}

void ValidateTaints(const Value& taints, const FieldPath& list, FieldErrors& errors) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (std::size_t i = 0; i < taints.size(); ++i) {
    const Value& taint = taints.as_array()[i];
    const FieldPath path = list.Index(i);
    CheckFormat("qualified-name", Text(taint, "key"), path.Child("key"), errors);
    std::string value_problems;
    for (const std::string& problem : LabelValueFormatProblems(Text(taint, "value"))) {
      value_problems += (value_problems.empty() ? "" : ";") + problem;
    }
    if (!value_problems.empty()) errors.Invalid(path.Child("value"), Text(taint, "value"), value_problems);
    ValidateTaintEffect(Text(taint, "effect"), false, path.Child("effect"), errors);
    if (seen.emplace(Text(taint, "effect"), Text(taint, "key")).second) continue;
    const Value shown = json::Object{{"Key", Text(taint, "key")},
                                     {"Value", Text(taint, "value")},
                                     {"Effect", Text(taint, "effect")},
                                     {"TimeAdded", taint["timeAdded"]}};
    errors.Add({"FieldValueDuplicate",
                "Duplicate value: " + GoValueText(shown) + ": taints must be unique by key and effect pair",
                path.text()});
  }
}

void ValidateResources(const Value& status, FieldErrors& errors) {
  for (const char* list : {"capacity", "allocatable"}) {
    for (const auto& [name, quantity] : Entries(status[list])) {
      CheckResourceQuantity(name, quantity, FieldPath("status").Child(list).Child(name), errors);
    }
  }
}

void ValidatePodCidrs(const Value& cidrs, const FieldPath& path, FieldErrors& errors) {
  for (std::size_t i = 0; i < cidrs.size(); ++i) {
    CheckFormat("cidr", cidrs.as_array()[i].string_or({}), path.Index(i), errors);
  }
  if (cidrs.size() < 2) return;
  const auto first = ParseCidr(cidrs.as_array()[0].string_or({})),
             second = ParseCidr(cidrs.as_array()[1].string_or({}));
  const bool dual = cidrs.size() == 2 && first && second && first->address.is_v4 != second->address.is_v4;
  if (!dual) errors.Invalid(path, cidrs, "may specify no more than one CIDR for each IP family");
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < cidrs.size(); ++i) {
    const std::string_view cidr = cidrs.as_array()[i].string_or({});
    if (!seen.insert(cidr).second) errors.Duplicate(path.Index(i), cidr);
  }
}

void ValidateNode(const Value& object, FieldErrors& errors) {
  const Value& spec = object["spec"];
  // Upstream says metadata where it means spec.
  ValidateTaints(spec["taints"], FieldPath("metadata.taints"), errors);
  ValidateResources(object["status"], errors);
  ValidatePodCidrs(spec["podCIDRs"], FieldPath("spec.podCIDRs"), errors);
}

void CheckNodeAddresses(const Value& addresses, FieldErrors& errors) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const Value& address = addresses.as_array()[i];
    if (seen.emplace(Text(address, "type"), Text(address, "address")).second) continue;
    errors.Duplicate(FieldPath("status.addresses").Index(i),
                     json::Object{{"Type", address["type"]}, {"Address", address["address"]}});
  }
}

void ValidateNodeUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  const Value& spec = object["spec"];
  const Value& before = old["spec"];
  CheckNodeAddresses(object["status"]["addresses"], errors);
  if (before["podCIDRs"].size() > 0 && spec["podCIDRs"] != before["podCIDRs"]) {
    errors.Forbidden(FieldPath("spec.podCIDRs"),
                     "node updates may not change podCIDR except from \"\" to valid");
  }
  if (!Text(before, "providerID").empty() && spec["providerID"] != before["providerID"]) {
    errors.Forbidden(FieldPath("spec.providerID"),
                     "node updates may not change providerID except from \"\" to valid");
  }
  if (Text(spec, "externalID") != Text(before, "externalID")) {
    errors.Forbidden(FieldPath("spec.externalID"), "may not be updated");
  }
}

void ValidateNodeStatusUpdate(const Value& object, const Value&, FieldErrors& errors) {
  ValidateResources(object["status"], errors);
  CheckNodeAddresses(object["status"]["addresses"], errors);
}

// Dynamic configuration of node agents has gone: what is there may stay.
void PrepareNodeForCreate(Value& object) {
  Remove(object["spec"], "configSource");
  if (Value* status = object.Find("status"); status != nullptr) Remove(*status, "config");
}

void PrepareNodeForUpdate(Value& object, const Value& old) {
  if (!Has(old["spec"], "configSource")) Remove(object["spec"], "configSource");
}

void WarnOfNode(const Value& object, std::vector<std::string>& out) {
  const Value& spec = object["spec"];
  if (Has(spec, "configSource")) out.push_back("spec.configSource: the feature is removed");
  if (!Text(spec, "externalID").empty())
    out.push_back("spec.externalID: this field is deprecated, and is unused by Kubernetes");
}

}  // namespace

const KindHooks kNodeHooks = {
    .group = "",
    .kind = "Node",
    .set_defaults = SetNodeDefaults,
    .prepare_for_create = PrepareNodeForCreate,
    .prepare_for_update = PrepareNodeForUpdate,
    .validate = ValidateNode,
    .validate_update = ValidateNodeUpdate,
    .validate_status_update = ValidateNodeStatusUpdate,
    .keep_status_on_create = true,
    .warnings = WarnOfNode,
    .warn_on = KindHooks::WarnOn::kUpdate,
};

}  // namespace flyball::api
