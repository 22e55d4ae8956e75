#include <algorithm>
#include <string>

#include "api/kinds/pod_spec/pod_spec.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "base/values/ascii.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::size_t kMaxCredentialSpec = 64 * 1024;
constexpr std::size_t kMaxDomain = 256;
constexpr std::size_t kMaxUser = 104;
constexpr std::string_view kNotOnWindows = "cannot be set for a windows pod";

bool IsNetBiosName(std::string_view name) {
  constexpr std::string_view kForbidden = "\\/:*?\"<>|";
  return !name.empty() && name.size() <= 15 && name[0] != '.' &&
         name.find_first_of(kForbidden) == std::string_view::npos;
}

bool IsDomainName(std::string_view name) {
  return DnsSubdomainProblems(LowerCase(name)).empty();
}

void ValidateUserName(const Value& value, const FieldPath& path, FieldErrors& errors) {
  const std::string_view name = value.string_or({});
  const auto invalid = [&](std::string_view detail) { errors.Invalid(path, value, detail); };
  if (name.empty()) return invalid("runAsUserName cannot be an empty string");
  if (std::any_of(name.begin(), name.end(), [](char c) { return (c >= 0 && c < ' ') || c == 0x7F; })) {
    return invalid("runAsUserName cannot contain control characters");
  }
  if (std::count(name.begin(), name.end(), '\\') > 1) {
    return invalid("runAsUserName cannot contain more than one backslash");
  }
  const std::size_t slash = name.find('\\');
  const bool has_domain = slash != std::string_view::npos;
  const std::string_view domain = has_domain ? name.substr(0, slash) : std::string_view();
  const std::string_view user = has_domain ? name.substr(slash + 1) : name;
  if (domain.size() >= kMaxDomain) invalid("runAsUserName's Domain length must be under 256 characters");
  if (has_domain && !IsNetBiosName(domain) && !IsDomainName(domain)) {
    invalid("runAsUserName's Domain doesn't match the NetBios nor the DNS format");
  }
  if (user.empty()) {
    invalid("runAsUserName's User cannot be empty");
  } else if (user.size() > kMaxUser) {
    invalid("runAsUserName's User length must not be longer than 104 characters");
  }
  if (!user.empty() && user.find_first_not_of(". ") == std::string_view::npos) {
    invalid("runAsUserName's User cannot contain only periods or spaces");
  }
  if (user.find_first_of("\"/\\:;|=,+*?<>@[]") != std::string_view::npos) {
    invalid("runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]");
  }
}

void ForbidSet(const Value& object, std::initializer_list<const char*> fields, const FieldPath& path,
               FieldErrors& errors) {
  for (const char* field : fields) {
    if (!IsZero(object[field]) || object[field].is_bool() || object[field].is_int()) {
      if (Has(object, field)) errors.Forbidden(path.Child(field), kNotOnWindows);
    }
  }
}

void ValidateWindowsPod(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  const Value& security = spec["securityContext"];
  const FieldPath security_path = path.Child("securityContext");
  ForbidSet(security, {"appArmorProfile", "seLinuxOptions"}, security_path, errors);
  ForbidSet(spec, {"hostUsers"}, path, errors);
  for (const char* field : {"hostPID", "hostIPC"}) {
    if (spec[field].bool_or(false)) errors.Forbidden(path.Child(field), kNotOnWindows);
  }
  ForbidSet(security, {"seccompProfile", "fsGroup", "fsGroupChangePolicy", "sysctls"}, security_path, errors);
  ForbidSet(spec, {"shareProcessNamespace"}, path, errors);
  ForbidSet(
      security,
      {"runAsUser", "runAsGroup", "supplementalGroups", "supplementalGroupsPolicy", "seLinuxChangePolicy"},
      security_path, errors);
  ForEachContainer(spec, path, [&](const Value& container, const FieldPath& here) {
    ForbidSet(
        container["securityContext"],
        {"appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem",
         "privileged", "allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup"},
        here.Child("securityContext"), errors);
  });
}

void ValidateLinuxPod(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  constexpr std::string_view kNotOnLinux = "windows options cannot be set for a linux pod";
  if (Has(spec["securityContext"], "windowsOptions")) {
    errors.Forbidden(path.Child("securityContext").Child("windowsOptions"), kNotOnLinux);
  }
  ForEachContainer(spec, path, [&](const Value& container, const FieldPath& here) {
    if (!Has(container["securityContext"], "windowsOptions")) return;
    errors.Forbidden(here.Child("securityContext").Child("windowsOptions"), kNotOnLinux);
  });
}

}  // namespace

void ValidateWindowsOptions(const Value& options, const FieldPath& path, FieldErrors& errors) {
  if (options.is_null()) return;
  if (Has(options, "gmsaCredentialSpecName")) {
    CheckFormat("dns-subdomain", Text(options, "gmsaCredentialSpecName"),
                path.Child("gmsaCredentialSpecName"), errors);
  }
  if (const Value& spec = options["gmsaCredentialSpec"]; !spec.is_null()) {
    const std::size_t size = spec.string_or({}).size();
    if (size == 0) {
      errors.Invalid(path.Child("gmsaCredentialSpec"), spec, "gmsaCredentialSpec cannot be an empty string");
    } else if (size > kMaxCredentialSpec) {
      errors.Invalid(path.Child("gmsaCredentialSpec"), spec, "gmsaCredentialSpec size must be under 64 KiB");
    }
  }
  if (Has(options, "runAsUserName")) {
    ValidateUserName(options["runAsUserName"], path.Child("runAsUserName"), errors);
  }
}

void ValidateHostProcess(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  const Value& pod = spec["securityContext"]["windowsOptions"]["hostProcess"];
  int containers = 0, host_processes = 0;
  ForEachContainer(spec, path, [&](const Value& container, const FieldPath& here) {
    ++containers;
    const Value& own = container["securityContext"]["windowsOptions"]["hostProcess"];
    if (!pod.is_null() && !own.is_null() && pod != own) {
      errors.Invalid(here.Child("securityContext").Child("windowsOptions").Child("hostProcess"), own,
                     std::string("pod hostProcess value must be identical if both are specified, was ") +
                         (pod.bool_or(false) ? "true" : "false"));
    }
    host_processes += (own.is_null() ? pod : own).bool_or(false);
  });
  if (host_processes == 0) return;
  if (host_processes != containers) {
    errors.Invalid(
        path, "",
        "If pod contains any hostProcess containers then all containers must be HostProcess containers");
  }
  if (!spec["hostNetwork"].bool_or(false)) {
    errors.Invalid(path.Child("hostNetwork"), false,
                   "hostNetwork must be true if pod contains any hostProcess containers");
  }
}

void ValidateOperatingSystem(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  if (!Has(spec, "os")) return;
  const std::string_view name = Text(spec["os"], "name");
  if (name.empty()) return errors.Required(path.Child("os").Child("name"));
  if (name == "linux") return ValidateLinuxPod(spec, path, errors);
  if (name == "windows") return ValidateWindowsPod(spec, path, errors);
  CheckOneOf(name, {"linux", "windows"}, path.Child("os"), errors);
}

}  // namespace flyball::api
