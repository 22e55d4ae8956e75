#include <string>

#include "api/kinds/shared/hooks.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/rules/object_meta.h"
#include "api/values/ip_address.h"

namespace flyball::api {
namespace {

using json::Value;

void SetNetworkPolicyDefaults(Value& object) {
  Value* spec = object.Find("spec");
  if (spec == nullptr || !spec->is_object() || Get(*spec, "policyTypes").size() > 0) return;
  json::Array types{"Ingress"};
  if (Get(*spec, "egress").size() > 0) types.emplace_back("Egress");
  (*spec)["policyTypes"] = std::move(types);
}

void ValidateNetworkPolicyPort(const Value& port, const FieldPath& path, FieldErrors& errors) {
  if (Has(port, "protocol")) {
    CheckOneOf(Text(port, "protocol"), {"SCTP", "TCP", "UDP"}, path.Child("protocol"), errors);
  }
  const Value& number = port["port"];
  const Value& end = port["endPort"];
  if (number.is_null()) {
    if (!end.is_null()) errors.Required(path.Child("port"), "must be specified when `endPort` is specified");
    return;
  }
  if (number.is_string()) {
    AddProblems(PortNameProblems(number.as_string()), path.Child("port"), number, errors);
    if (!end.is_null())
      errors.Invalid(path.Child("endPort"), end, "may not be specified when `port` is non-numeric");
    return;
  }
  AddProblems(PortNumberProblems(number.int_or(0)), path.Child("port"), number, errors);
  if (end.is_null()) return;
  AddProblems(PortNumberProblems(end.int_or(0)), path.Child("endPort"), end, errors);
  if (end.int_or(0) < number.int_or(0)) {
    errors.Invalid(path.Child("endPort"), end, "must be greater than or equal to `port`");
  }
}

void ValidateBlock(const Value& block, const FieldPath& path, FieldErrors& errors) {
  const std::string_view text = Text(block, "cidr");
  if (text.empty()) return errors.Required(path.Child("cidr"));
  CheckFormat("cidr", text, path.Child("cidr"), errors);
  const auto whole = ParseCidr(text);
  const Value& exceptions = block["except"];
  for (std::size_t i = 0; i < exceptions.size(); ++i) {
    const FieldPath here = path.Child("except").Index(i);
    const std::string_view exception = exceptions.as_array()[i].string_or({});
    CheckFormat("cidr", exception, here, errors);
    const auto part = ParseCidr(exception);
    if (!whole || !part) continue;
    const bool inside = whole->Contains(part->Network()) && whole->prefix < part->prefix;
    if (!inside) errors.Invalid(here, exception, "must be a strict subset of `cidr`");
  }
}

void ValidatePeer(const Value& peer, const FieldPath& path, FieldErrors& errors) {
  int given = 0;
  for (const char* selector : {"podSelector", "namespaceSelector"}) {
    if (!Has(peer, selector)) continue;
    ++given;
    ValidateLabelSelector(peer[selector], path.Child(selector), errors);
  }
  if (Has(peer, "ipBlock")) ValidateBlock(peer["ipBlock"], path.Child("ipBlock"), errors);
  if (given == 0 && !Has(peer, "ipBlock")) {
    errors.Required(path, "must specify a peer");
  } else if (given > 0 && Has(peer, "ipBlock")) {
    errors.Forbidden(path, "may not specify both ipBlock and another peer");
  }
}

void ValidateNetworkPolicyRules(const Value& rules, const char* peers, const FieldPath& list,
                                FieldErrors& errors) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const Value& rule = rules.as_array()[i];
    for (std::size_t j = 0; j < rule["ports"].size(); ++j) {
      ValidateNetworkPolicyPort(rule["ports"].as_array()[j], list.Index(i).Child("ports").Index(j), errors);
    }
    for (std::size_t j = 0; j < rule[peers].size(); ++j) {
      ValidatePeer(rule[peers].as_array()[j], list.Index(i).Child(peers).Index(j), errors);
    }
  }
}

void ValidateNetworkPolicy(const Value& object, FieldErrors& errors) {
  const FieldPath path("spec");
  const Value& spec = object["spec"];
  ValidateLabelSelector(spec["podSelector"], path.Child("podSelector"), errors);
  ValidateNetworkPolicyRules(spec["ingress"], "from", path.Child("ingress"), errors);
  ValidateNetworkPolicyRules(spec["egress"], "to", path.Child("egress"), errors);
  const Value& types = spec["policyTypes"];
  if (types.size() > 2)
    return errors.Invalid(path.Child("policyTypes"), types, "may not specify more than two policyTypes");
  for (std::size_t i = 0; i < types.size(); ++i) {
    CheckOneOf(types.as_array()[i].string_or({}), {"Ingress", "Egress"}, path.Child("policyTypes").Index(i),
               errors);
  }
}

}  // namespace

const KindHooks kNetworkPolicyHooks = {
    .group = "networking.k8s.io",
    .kind = "NetworkPolicy",
    .set_defaults = SetNetworkPolicyDefaults,
    .validate = ValidateNetworkPolicy,
    .generation = true,
};

}  // namespace flyball::api
