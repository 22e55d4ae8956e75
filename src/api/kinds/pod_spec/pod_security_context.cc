#include <algorithm>
#include <set>
#include <string>

#include "api/kinds/pod_spec/pod_spec.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/rules/go_dump.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::size_t kMaxSysctl = 253;
constexpr std::size_t kMaxProfilePath = 4095;  // PATH_MAX - 1

void CheckId(const Value& security, const char* field, const FieldPath& path, FieldErrors& errors) {
  const Value& id = security[field];
  if (!id.is_null()) AddProblems(UserIdProblems(id.int_or(0)), path.Child(field), id, errors);
}

void ValidateSeccomp(const Value& profile, const FieldPath& path, FieldErrors& errors) {
  if (profile.is_null()) return;
  const std::string_view type = Text(profile, "type");
  if (type.empty()) {
    errors.Required(path.Child("type"), "type is required when seccompProfile is set");
  } else {
    CheckOneOf(type, {"Localhost", "RuntimeDefault", "Unconfined"}, path.Child("type"), errors);
  }
  const FieldPath file = path.Child("localhostProfile");
  if (type == "Localhost") {
    if (!Has(profile, "localhostProfile"))
      return errors.Required(file, "must be set when seccomp type is Localhost");
    CheckDescendingPath(Text(profile, "localhostProfile"), file, errors);
  } else if (Has(profile, "localhostProfile")) {
    errors.Invalid(file, GoInternal("io.k8s.api.core.v1.SeccompProfile", profile),
                   "can only be set when seccomp type is Localhost");
  }
}

void ValidateLocalProfile(const Value& profile, const FieldPath& path, FieldErrors& errors) {
  constexpr std::string_view kNeeded = "must be set when AppArmor type is Localhost";
  if (!Has(profile, "localhostProfile")) return errors.Required(path, kNeeded);
  const std::string_view file = Text(profile, "localhostProfile");
  const bool padded = !file.empty() && (file.front() == ' ' || file.back() == ' ' || file.front() == '\t' ||
                                        file.back() == '\t' || file.front() == '\n' || file.back() == '\n');
  if (padded) {
    errors.Invalid(path, file, "must not be padded with whitespace");
  } else if (file.empty()) {
    errors.Required(path, kNeeded);
  }
  if (file.size() > kMaxProfilePath) errors.TooLong(path, kMaxProfilePath);
}

void ValidateAppArmor(const Value& profile, const FieldPath& path, FieldErrors& errors) {
  if (profile.is_null()) return;
  const std::string_view type = Text(profile, "type");
  if (type == "Localhost") return ValidateLocalProfile(profile, path.Child("localhostProfile"), errors);
  if (type == "RuntimeDefault" || type == "Unconfined") {
    if (Has(profile, "localhostProfile")) {
      errors.Invalid(path.Child("localhostProfile"), profile["localhostProfile"],
                     "can only be set when AppArmor type is Localhost");
    }
  } else if (type.empty()) {
    errors.Required(path.Child("type"), "type is required when appArmorProfile is set");
  } else {
    CheckOneOf(type, {"Localhost", "RuntimeDefault", "Unconfined"}, path.Child("type"), errors);
  }
}

bool IsSysctlSegment(std::string_view s) {
  const auto inner = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !s.empty() && inner(s.front()) && inner(s.back()) &&
         std::all_of(s.begin(), s.end(), [&](char c) { return inner(c) || c == '-' || c == '_'; });
}

bool IsSysctlName(std::string_view name) {
  if (name.size() > kMaxSysctl) return false;
  while (true) {
    const std::size_t end = name.find_first_of("./");
    if (!IsSysctlSegment(name.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    name.remove_prefix(end + 1);
  }
}

// The namespace a sysctl belongs to, if it is one the pod may share with the host.
std::string_view SysctlNamespace(std::string name) {
  std::replace(name.begin(), name.end(), '/', '.');
  if (name.starts_with("net.")) return "net";
  if (name.starts_with("kernel.shm") || name.starts_with("kernel.msg") || name.starts_with("fs.mqueue.") ||
      name == "kernel.sem") {
    return "ipc";
  }
  return {};
}

void ValidateSysctls(const Value& sysctls, const Value& spec, const FieldPath& list, FieldErrors& errors) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < sysctls.size(); ++i) {
    const std::string_view name = Text(sysctls.as_array()[i], "name");
    const FieldPath path = list.Index(i).Child("name");
    if (name.empty()) {
      errors.Required(path);
    } else if (!IsSysctlName(name)) {
      errors.Invalid(path, name,
                     "must have at most 253 characters and match regex "
                     "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$");
    } else if (seen.contains(name)) {
      errors.Duplicate(path, name);
    }
    const std::string_view ns = SysctlNamespace(std::string(name));
    if (ns == "net" && spec["hostNetwork"].bool_or(false)) {
      errors.Invalid(path, name, "may not be specified when 'hostNetwork' is true");
    } else if (ns == "ipc" && spec["hostIPC"].bool_or(false)) {
      errors.Invalid(path, name, "may not be specified when 'hostIPC' is true");
    }
    seen.insert(name);
  }
}

void CheckOptional(const Value& security, const char* field,
                   std::initializer_list<std::string_view> supported, const FieldPath& path,
                   FieldErrors& errors) {
  if (Has(security, field)) CheckOneOf(Text(security, field), supported, path.Child(field), errors);
}

}  // namespace

void ValidateSecurityContext(const Value& security, bool host_users, const FieldPath& path,
                             FieldErrors& errors) {
  if (security.is_null()) return;
  CheckId(security, "runAsUser", path, errors);
  CheckId(security, "runAsGroup", path, errors);
  CheckOptional(security, "procMount", {"Default", "Unmasked"}, path, errors);
  if (host_users && Text(security, "procMount") == "Unmasked") {
    errors.Invalid(path.Child("procMount"), security["procMount"],
                   "`hostUsers` must be false to use `Unmasked`");
  }
  ValidateSeccomp(security["seccompProfile"], path.Child("seccompProfile"), errors);
  if (Has(security, "allowPrivilegeEscalation") && !security["allowPrivilegeEscalation"].bool_or(true)) {
    if (security["privileged"].bool_or(false)) {
      errors.Invalid(path, security,
                     "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
    }
    if (Contains(security["capabilities"]["add"], "CAP_SYS_ADMIN")) {
      errors.Invalid(path, security,
                     "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN");
    }
  }
  ValidateWindowsOptions(security["windowsOptions"], path.Child("windowsOptions"), errors);
  ValidateAppArmor(security["appArmorProfile"], path.Child("appArmorProfile"), errors);
}

void ValidatePodSecurityContext(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  const Value& security = spec["securityContext"];
  if (security.is_null()) return;
  for (const char* field : {"fsGroup", "runAsUser", "runAsGroup"}) CheckId(security, field, path, errors);
  const Value& groups = security["supplementalGroups"];
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::int64_t group = groups.as_array()[i].int_or(0);
    AddProblems(UserIdProblems(group), path.Child("supplementalGroups").Index(i), group, errors);
  }
  if (spec["shareProcessNamespace"].bool_or(false) && spec["hostPID"].bool_or(false)) {
    errors.Invalid(path.Child("shareProcessNamespace"), true,
                   "ShareProcessNamespace and HostPID cannot both be enabled");
  }
  ValidateSysctls(security["sysctls"], spec, path.Child("sysctls"), errors);
  CheckOptional(security, "fsGroupChangePolicy", {"Always", "OnRootMismatch"}, path, errors);
  ValidateSeccomp(security["seccompProfile"], path.Child("seccompProfile"), errors);
  ValidateWindowsOptions(security["windowsOptions"], path.Child("windowsOptions"), errors);
  ValidateAppArmor(security["appArmorProfile"], path.Child("appArmorProfile"), errors);
  CheckOptional(security, "supplementalGroupsPolicy", {"Merge", "Strict"}, path, errors);
  CheckOptional(security, "seLinuxChangePolicy", {"MountOption", "Recursive"}, path, errors);
}

}  // namespace flyball::api
