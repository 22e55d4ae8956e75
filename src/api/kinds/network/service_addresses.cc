#include "api/kinds/network/service_addresses.h"

#include <set>
#include <string>

#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::string_view kFixed = "may not change once set";

std::string_view At(const Value& list, std::size_t i) {
  return i < list.size() ? list.as_array()[i].string_or({}) : std::string_view();
}

void CheckFirstMatches(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  const std::string_view ip = Text(spec, "clusterIP");
  const Value& ips = spec["clusterIPs"];
  if (ip.empty()) {
    if (ips.size() > 0) errors.Invalid(path, ips, "must be empty when `clusterIP` is not specified");
  } else if (ips.size() == 0) {
    errors.Required(path);
  } else if (At(ips, 0) != ip) {
    errors.Invalid(path, ips, "first value must match `clusterIP`");
  }
}

void CheckFamilies(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  std::set<std::string_view> seen;
  const Value& families = spec["ipFamilies"];
  for (std::size_t i = 0; i < families.size(); ++i) {
    const std::string_view family = At(families, i);
    CheckOneOf(family, {"IPv4", "IPv6"}, path.Child("ipFamilies").Index(i), errors);
    if (!seen.insert(family).second) errors.Duplicate(path.Child("ipFamilies").Index(i), family);
  }
  if (Has(spec, "ipFamilyPolicy")) {
    CheckOneOf(Text(spec, "ipFamilyPolicy"), {"PreferDualStack", "RequireDualStack", "SingleStack"},
               path.Child("ipFamilyPolicy"), errors);
  }
}

// False if some address is no address, so that comparing further would only confuse.
bool CheckServiceAddressesAddresses(const Value& ips, const FieldPath& path, FieldErrors& errors) {
  bool valid = true;
  for (std::size_t i = 0; i < ips.size(); ++i) {
    const std::string_view ip = At(ips, i);
    if (i == 0 && ip == "None") {
      if (ips.size() > 1) errors.Invalid(path, ips, "'None' must be the first and only value");
      valid = valid && ips.size() == 1;
      continue;
    }
    const Problems problems = FormatProblems("ip", ip);
    AddProblems(problems, path.Index(i), ip, errors);
    valid = valid && problems.empty();
  }
  if (ips.size() > 2) errors.Invalid(path, ips, "may only hold up to 2 values");
  return valid;
}

void CheckAddressFamilies(const Value& ips, const Value& families, const FieldPath& path,
                          FieldErrors& errors) {
  for (std::size_t i = 0; i < ips.size() && i < families.size(); ++i) {
    const std::string_view family = At(families, i);
    const bool wrong = (family == "IPv4" && IsIpv6(At(ips, i))) || (family == "IPv6" && !IsIpv6(At(ips, i)));
    if (!wrong) continue;
    errors.Invalid(path.Index(i), At(ips, i),
                   "expected an " + std::string(family) + " value as indicated by `ipFamilies[" +
                       std::to_string(i) + "]`");
  }
}

// One list before and after: the first entry is fixed, the second may come and go.
void CheckListUpdate(const Value& now, const Value& old, const Value& spec, std::string_view what,
                     const FieldPath& path, FieldErrors& errors) {
  if (now.size() == old.size()) {
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (At(now, i) == At(old, i)) continue;
      errors.Invalid(path.Index(what == "clusterIP" ? i : 0), now, kFixed);
    }
    return;
  }
  if (now.size() < old.size() && now.size() == 0) {
    errors.Invalid(path.Index(0), now.is_null() ? Value(json::Array{}) : now,
                   "primary " + std::string(what) + " can not be unset");
  }
  if (now.size() > 0 && old.size() > 0 && At(now, 0) != At(old, 0))
    errors.Invalid(path.Index(0), now, kFixed);
  if (now.size() == 1 && old.size() > 1 && Text(spec, "ipFamilyPolicy") != "SingleStack") {
    errors.Invalid(FieldPath("spec.ipFamilyPolicy"), spec["ipFamilyPolicy"],
                   "must be set to 'SingleStack' when releasing the secondary " + std::string(what));
  }
}

}  // namespace

bool IsHeadless(const Value& spec) {
  return spec["clusterIPs"].size() == 1 && At(spec["clusterIPs"], 0) == "None";
}

void ValidateClusterIps(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  if (Text(spec, "type") == "ExternalName") return;
  const FieldPath list = path.Child("clusterIPs");
  const Value& ips = spec["clusterIPs"];
  CheckFirstMatches(spec, list, errors);
  CheckFamilies(spec, path, errors);
  if (!CheckServiceAddressesAddresses(ips, list, errors)) return;
  if (ips.size() > 1 && IsIpv4(At(ips, 0)) == IsIpv4(At(ips, 1))) {
    errors.Invalid(list, ips, "may specify no more than one IP for each IP family");
  }
  if (!IsHeadless(spec)) CheckAddressFamilies(ips, spec["ipFamilies"], list, errors);
}

void ValidateClusterIpsUpdate(const Value& spec, const Value& old, FieldErrors& errors) {
  if (Text(spec, "type") == "ExternalName" || Text(old, "type") == "ExternalName") return;
  const bool headless = IsHeadless(spec), was_headless = IsHeadless(old);
  if (!(headless && was_headless)) {
    CheckListUpdate(spec["clusterIPs"], old["clusterIPs"], spec, "clusterIP", FieldPath("spec.clusterIPs"),
                    errors);
  }
  if (headless || was_headless) return;
  CheckListUpdate(spec["ipFamilies"], old["ipFamilies"], spec, "ipFamily", FieldPath("spec.ipFamilies"),
                  errors);
}

}  // namespace flyball::api
