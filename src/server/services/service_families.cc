#include "server/services/service_families.h"

#include <string>
#include <utility>

#include "api/rules/field_error.h"

namespace flyball::server {
namespace {

constexpr char kSingle[] = "SingleStack", kPrefer[] = "PreferDualStack", kRequire[] = "RequireDualStack";

std::string_view TextAt(const json::Value& list, std::size_t i) {
  return i < list.size() ? list.as_array()[i].string_or("") : std::string_view();
}

std::string_view PolicyOf(const json::Value& service) {
  return service["spec"]["ipFamilyPolicy"].string_or("");
}

const char* FamilyOfAddress(std::string_view address) {
  return address.find(':') == std::string_view::npos ? "IPv4" : "IPv6";
}

const char* OtherFamily(std::string_view family) {
  return family == "IPv4" ? "IPv6" : "IPv4";
}

// A headless Service without a selector has addresses that others give it, of any family.
bool IsFreeOfFamilies(const json::Value& service) {
  return ClusterIpOf(service) == "None" && service["spec"]["selector"].empty();
}

void SetPolicy(json::Value& service, const json::Value& old) {
  if (!PolicyOf(service).empty()) return;
  const std::string_view before = old.is_null() ? std::string_view() : PolicyOf(old);
  service["spec"]["ipFamilyPolicy"] = !before.empty()             ? std::string(before)
                                      : IsFreeOfFamilies(service) ? kRequire
                                                                  : kSingle;
}

// To say SingleStack and nothing else gives up the second of two.
void ReleaseSecond(json::Value& spec, const json::Value& old) {
  for (const char* field : {"clusterIPs", "ipFamilies"}) {
    const json::Value* list = spec.Find(field);
    if (list && list->size() > 1 && *list == old["spec"][field])
      spec[field] = json::Array{json::Value(list->as_array()[0])};
  }
}

void CheckReduced(const json::Value& spec, const json::Value& old, api::FieldErrors& errors) {
  const auto reduced = [&](const char* field) {
    return spec[field].size() > 0 && spec[field].size() < old["spec"][field].size();
  };
  const api::FieldPath path("spec.ipFamilyPolicy");
  if (reduced("clusterIPs"))
    errors.Invalid(path, spec["ipFamilyPolicy"], "must be 'SingleStack' to release the secondary cluster IP");
  if (reduced("ipFamilies"))
    errors.Invalid(path, spec["ipFamilyPolicy"], "must be 'SingleStack' to release the secondary IP family");
}

void CheckSingle(const json::Value& spec, api::FieldErrors& errors) {
  const api::FieldPath path("spec.ipFamilyPolicy");
  const auto refuse = [&](const char* what) {
    errors.Invalid(path, spec["ipFamilyPolicy"],
                   std::string("must be 'RequireDualStack' or 'PreferDualStack' when multiple ") + what +
                       " are specified");
  };
  if (spec["clusterIPs"].size() == 2) refuse("cluster IPs");
  if (spec["ipFamilies"].size() == 2) refuse("IP families");
}

// Addresses that somebody asks for say which families.
void InferFamilies(json::Value& spec, const AddressRanges& ranges, api::FieldErrors& errors) {
  const json::Value ips = std::as_const(spec)["clusterIPs"];
  for (std::size_t i = 0; i < ips.size() && TextAt(ips, i) != "None"; ++i) {
    if (i < spec["ipFamilies"].size() || TextAt(ips, i).empty()) continue;
    const char* const family = FamilyOfAddress(TextAt(ips, i));
    if (!RangeOfFamily(ranges, family)) {
      errors.Invalid(api::FieldPath("spec.clusterIPs").Index(i), ips,
                     std::string(family) + " is not configured on this cluster");
    } else if (spec["ipFamilies"].is_array()) {
      spec["ipFamilies"].as_array().emplace_back(family);
    } else {
      spec["ipFamilies"] = json::Array{family};
    }
  }
}

void CheckConfigured(const json::Value& spec, const AddressRanges& ranges, api::FieldErrors& errors) {
  const api::FieldPath path("spec");
  if (spec["ipFamilyPolicy"].string_or("") == kRequire && ranges.size() < 2)
    errors.Invalid(path.Child("ipFamilyPolicy"), spec["ipFamilyPolicy"],
                   "this cluster is not configured for dual-stack services");
  const json::Value& families = spec["ipFamilies"];
  for (std::size_t i = 0; i < families.size(); ++i)
    if (!RangeOfFamily(ranges, TextAt(families, i)))
      errors.Invalid(path.Child("ipFamilies").Index(i), families.as_array()[i],
                     "not configured on this cluster");
}

void AddFamilies(json::Value& spec, const AddressRanges& ranges, bool may_be_two) {
  json::Value& families = spec["ipFamilies"];
  if (families.empty()) families = json::Array{ranges.front().family()};
  if (spec["ipFamilyPolicy"].string_or("") == kSingle || families.size() != 1 || !may_be_two) return;
  const char* const other = OtherFamily(TextAt(families, 0));
  families.as_array().emplace_back(other);
}

Status Refused(const json::Value& service, const api::FieldErrors& errors) {
  if (errors.empty()) return {};
  return Unexpected(errors.ToError("", "Service", service["metadata"]["name"].string_or("")));
}

}  // namespace

bool KeepsPreferredFamilies(const json::Value& service, const json::Value& old) {
  if (old.is_null() || ServiceType(old) != ServiceType(service) || ServiceType(service) == "ExternalName")
    return false;
  return PolicyOf(service) == kPrefer && (PolicyOf(old).empty() || PolicyOf(old) == kPrefer) &&
         service["spec"]["clusterIPs"] == old["spec"]["clusterIPs"] &&
         service["spec"]["ipFamilies"] == old["spec"]["ipFamilies"];
}

Status SetServiceFamilies(json::Value& service, const json::Value& old, const AddressRanges& ranges) {
  if (ServiceType(service) == "ExternalName" || KeepsPreferredFamilies(service, old)) return {};
  SetPolicy(service, old);
  json::Value& spec = service["spec"];
  const bool single = PolicyOf(service) == kSingle;
  api::FieldErrors errors;
  if (!old.is_null() && single) ReleaseSecond(spec, old);
  if (!old.is_null() && !single) CheckReduced(spec, old, errors);
  if (single) CheckSingle(spec, errors);
  InferFamilies(spec, ranges, errors);
  FLYBALL_TRY(Refused(service, errors));
  if (IsFreeOfFamilies(service)) {
    AddFamilies(spec, ranges, true);
    return {};
  }
  CheckConfigured(spec, ranges, errors);
  FLYBALL_TRY(Refused(service, errors));
  AddFamilies(spec, ranges, ranges.size() == 2);
  return {};
}

}  // namespace flyball::server
