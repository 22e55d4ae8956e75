#include "api/kinds/pod_spec/pod_spec.h"

#include <algorithm>
#include <limits>
#include <string>

#include "api/kinds/pod_spec/pod_annotations.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/rules/object_meta.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::size_t kMaxNameservers = 3;
constexpr std::size_t kMaxSearches = 32;
constexpr std::size_t kMaxSearchBytes = 2048;

void ValidateResourceClaim(const Value& claim, std::set<std::string_view>& names, const FieldPath& path,
                           FieldErrors& errors) {
  const std::string_view name = Text(claim, "name");
  if (name.empty()) {
    errors.Required(path.Child("name"));
  } else if (!names.insert(name).second) {
    errors.Duplicate(path.Child("name"), name);
  } else {
    CheckFormat("dns-label", name, path.Child("name"), errors);
  }
  const bool by_name = Has(claim, "resourceClaimName"), by_template = Has(claim, "resourceClaimTemplateName");
  if (by_name && by_template) {
    errors.Invalid(path, claim,
                   "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified");
  }
  if (!by_name && !by_template) {
    errors.Invalid(path, claim, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`");
  }
  for (const char* field : {"resourceClaimName", "resourceClaimTemplateName"}) {
    if (Has(claim, field)) CheckFormat("dns-subdomain", Text(claim, field), path.Child(field), errors);
  }
}

void ValidateHostPorts(const Value& spec, bool is_pod, const FieldPath& path, FieldErrors& errors) {
  if (!spec["hostNetwork"].bool_or(false)) return;
  const Value& containers = spec["containers"];
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const Value& ports = containers.as_array()[i]["ports"];
    for (std::size_t j = 0; j < ports.size(); ++j) {
      const std::int64_t host = Number(ports.as_array()[j], "hostPort");
      if ((!is_pod && host == 0) || host == Number(ports.as_array()[j], "containerPort")) continue;
      errors.Invalid(path.Child("containers").Index(i).Child("ports").Index(j).Child("hostPort"), host,
                     "must match `containerPort` when `hostNetwork` is true");
    }
  }
}

// A DNS label, which may begin with an underscore and hold more of them.
bool IsSearchLabel(std::string_view label) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (label.starts_with('_')) label.remove_prefix(1);
  if (label.empty() || !plain(label.front()) || !plain(label.back())) return false;
  return std::ranges::all_of(label, [&](char c) { return plain(c) || c == '-' || c == '_'; });
}

Problems DnsSearchProblems(std::string_view search) {
  constexpr std::size_t kMaxSearch = 253;
  Problems problems;
  if (search.size() > kMaxSearch) problems.push_back(MaxLengthText(kMaxSearch));
  for (std::string_view rest = search;;) {
    const std::size_t dot = rest.find('.');
    if (!IsSearchLabel(rest.substr(0, dot))) {
      problems.emplace_back(
          "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or "
          "'.', and must "
          "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
          "'_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')");
      return problems;
    }
    if (dot == std::string_view::npos) return problems;
    rest.remove_prefix(dot + 1);
  }
}

void ValidateSearches(const Value& searches, const FieldPath& path, FieldErrors& errors) {
  if (searches.size() > kMaxSearches)
    errors.Invalid(path, searches, "must not have more than 32 search paths");
  std::size_t bytes = searches.size() > 0 ? searches.size() - 1 : 0;
  for (const Value& search : Items(searches)) bytes += search.string_or({}).size();
  if (bytes > kMaxSearchBytes) {
    errors.Invalid(path, searches,
                   "must not have more than 2048 characters (including spaces) in the search list");
  }
  for (std::size_t i = 0; i < searches.size(); ++i) {
    std::string_view search = searches.as_array()[i].string_or({});
    if (search == ".") continue;
    if (search.ends_with('.')) search.remove_suffix(1);
    AddProblems(DnsSearchProblems(search), path.Index(i), search, errors);
  }
}

void ValidateDnsConfig(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  const Value& config = spec["dnsConfig"];
  const Value& servers = config["nameservers"];
  if (Text(spec, "dnsPolicy") == "None") {
    if (config.is_null()) return errors.Required(path, "must provide `dnsConfig` when `dnsPolicy` is None");
    if (servers.size() == 0) {
      return errors.Required(path.Child("nameservers"),
                             "must provide at least one DNS nameserver when `dnsPolicy` is None");
    }
  }
  if (servers.size() > kMaxNameservers) {
    errors.Invalid(path.Child("nameservers"), servers, "must not have more than 3 nameservers");
  }
  for (std::size_t i = 0; i < servers.size(); ++i) {
    CheckFormat("ip", servers.as_array()[i].string_or({}), path.Child("nameservers").Index(i), errors);
  }
  ValidateSearches(config["searches"], path.Child("searches"), errors);
  const Value& options = config["options"];
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (Text(options.as_array()[i], "name").empty()) {
      errors.Required(path.Child("options").Index(i), "must not be empty");
    }
  }
}

void ValidateGates(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  const Value& readiness = spec["readinessGates"];
  for (std::size_t i = 0; i < readiness.size(); ++i) {
    CheckFormat("qualified-name", Text(readiness.as_array()[i], "conditionType"),
                path.Child("readinessGates").Index(i).Child("conditionType"), errors);
  }
  std::set<std::string_view> seen;
  const Value& scheduling = spec["schedulingGates"];
  for (std::size_t i = 0; i < scheduling.size(); ++i) {
    const std::string_view name = Text(scheduling.as_array()[i], "name");
    const FieldPath here = path.Child("schedulingGates").Index(i);
    CheckFormat("qualified-name", name, here, errors);
    if (!seen.insert(name).second) errors.Duplicate(here, name);
  }
}

void ValidateHostUsers(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  constexpr std::string_view kNotShared = "when `hostUsers` is false";
  if (spec["hostUsers"].bool_or(true)) return;
  if (spec["hostNetwork"].bool_or(false)) errors.Forbidden(path.Child("hostNetwork"), kNotShared);
  if (spec["hostPID"].bool_or(false)) errors.Forbidden(path.Child("HostPID"), kNotShared);
  if (spec["hostIPC"].bool_or(false)) errors.Forbidden(path.Child("HostIPC"), kNotShared);
}

void ValidateHostnameOverride(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  constexpr std::size_t kLongest = 64;  // Linux takes no longer host names
  if (!Has(spec, "hostnameOverride")) return;
  const FieldPath here = path.Child("hostnameOverride");
  const std::string_view name = Text(spec, "hostnameOverride");
  if (spec["setHostnameAsFQDN"].bool_or(false))
    errors.Forbidden(here, "may not be specified when setHostnameAsFQDN is true");
  if (spec["hostNetwork"].bool_or(false))
    errors.Forbidden(here, "may not be specified when hostNetwork is true");
  if (name.size() > kLongest) errors.TooLong(here, kLongest);
  CheckFormat("dns-subdomain", name, here, errors);
}

// Variables that are read from a file: the file is in a volume that the pod's own containers fill.
void ValidateEnvFiles(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  for (const char* list : {"initContainers", "containers"}) {
    const json::Array& containers = Items(spec[list]);
    for (std::size_t i = 0; i < containers.size(); ++i) {
      const json::Array& env = Items(containers[i]["env"]);
      for (std::size_t j = 0; j < env.size(); ++j) {
        const Value& ref = env[j]["valueFrom"]["fileKeyRef"];
        if (!ref.is_object()) continue;
        const Value* volume = nullptr;
        for (const Value& one : Items(spec["volumes"]))
          if (one["name"] == ref["volumeName"]) volume = &one;
        const FieldPath here = path.Child(list)
                                   .Index(i)
                                   .Child("env")
                                   .Index(j)
                                   .Child("valueFrom")
                                   .Child("fileKeyRef")
                                   .Child("volumeName");
        if (volume == nullptr) {
          errors.NotFound(here, ref["volumeName"]);
        } else if (!Has(*volume, "emptyDir")) {
          errors.Invalid(here, ref["volumeName"], "referenced volume must be of type emptyDir");
        }
      }
    }
  }
}

void ValidateHostAliases(const Value& aliases, const FieldPath& path, FieldErrors& errors) {
  for (std::size_t i = 0; i < aliases.size(); ++i) {
    const Value& alias = aliases.as_array()[i];
    CheckFormat("ip", Text(alias, "ip"), path.Index(i).Child("ip"), errors);
    const Value& names = alias["hostnames"];
    for (std::size_t j = 0; j < names.size(); ++j) {
      CheckFormat("dns-subdomain", names.as_array()[j].string_or({}),
                  path.Index(i).Child("hostnames").Index(j), errors);
    }
  }
}

struct NameField {
  const char* field;
  std::string_view format;
};

void ValidatePodSpecNames(const Value& spec, std::initializer_list<NameField> fields, const FieldPath& path,
                          FieldErrors& errors) {
  for (const NameField& name : fields) {
    if (const std::string_view text = Text(spec, name.field); !text.empty()) {
      CheckFormat(name.format, text, path.Child(name.field), errors);
    }
  }
}

void ValidatePodSpecDeadline(const Value& deadline, const FieldPath& path, FieldErrors& errors) {
  if (deadline.is_null()) return;
  AddProblems(RangeProblems(deadline.int_or(0), 1, std::numeric_limits<std::int32_t>::max()), path, deadline,
              errors);
}

// The scalar fields behind everything else.
void ValidateRest(const Value& spec, const PodContext& context, const FieldPath& path, FieldErrors& errors) {
  ValidatePodSpecNames(spec, {{"serviceAccountName", "dns-subdomain"}, {"nodeName", "dns-subdomain"}}, path,
                       errors);
  ValidatePodSpecDeadline(spec["activeDeadlineSeconds"], path.Child("activeDeadlineSeconds"), errors);
  ValidatePodSpecNames(spec, {{"hostname", "dns-label"}, {"subdomain", "dns-label"}}, path, errors);
  ValidateTolerations(spec["tolerations"], path.Child("tolerations"), errors);
  ValidateHostAliases(spec["hostAliases"], path.Child("hostAliases"), errors);
  ValidatePodSpecNames(spec, {{"priorityClassName", "dns-subdomain"}}, path, errors);
  if (Has(spec, "runtimeClassName")) {
    CheckFormat("dns-subdomain", Text(spec, "runtimeClassName"), path.Child("runtimeClassName"), errors);
  }
  if (Has(spec, "preemptionPolicy")) {
    RequireOneOf(Text(spec, "preemptionPolicy"), {"PreemptLowerPriority", "Never"},
                 path.Child("preemptionPolicy"), errors);
  }
  if (Has(spec, "overhead")) {
    const Value overhead = json::Object{{"limits", spec["overhead"]}};
    ValidateResourceRequirements(overhead, context, path.Child("overhead"), errors);
  }
  ValidateOperatingSystem(spec, path, errors);
}

void ReadContext(const Value& spec, PodContext& context) {
  context.restart_policy = Text(spec, "restartPolicy");
  context.grace_seconds = spec.Find("terminationGracePeriodSeconds");
  context.host_users = spec["hostUsers"].bool_or(true);
}

}  // namespace

void ValidatePodSpec(const Value& spec, PodContext context, const FieldPath& path, FieldErrors& errors) {
  ReadContext(spec, context);
  if (context.grace_seconds == nullptr) errors.Required(path.Child("terminationGracePeriodSeconds"));
  ValidateVolumes(spec["volumes"], context, path.Child("volumes"), errors);
  const Value& claims = spec["resourceClaims"];
  for (std::size_t i = 0; i < claims.size(); ++i) {
    ValidateResourceClaim(claims.as_array()[i], context.claim_names, path.Child("resourceClaims").Index(i),
                          errors);
  }
  ValidateContainers(spec, context, path, errors);
  ValidatePodResources(spec, context, path.Child("resources"), errors);
  ValidateHostPorts(spec, context.is_pod, path, errors);
  RequireOneOf(Text(spec, "restartPolicy"), {"Always", "OnFailure", "Never"}, path.Child("restartPolicy"),
               errors);
  RequireOneOf(Text(spec, "dnsPolicy"), {"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"},
               path.Child("dnsPolicy"), errors);
  ValidateLabels(spec["nodeSelector"], path.Child("nodeSelector"), errors);
  ValidatePodSecurityContext(spec, path.Child("securityContext"), errors);
  ValidateAffinity(spec["affinity"], path.Child("affinity"), errors);
  ValidateDnsConfig(spec, path.Child("dnsConfig"), errors);
  ValidateGates(spec, path, errors);
  ValidateTopologySpread(spec["topologySpreadConstraints"], path.Child("topologySpreadConstraints"), errors);
  ValidateHostProcess(spec, path, errors);
  ValidateHostUsers(spec, path, errors);
  ValidateHostnameOverride(spec, path, errors);
  ValidateRest(spec, context, path, errors);
  ValidateEnvFiles(spec, path, errors);
}

void ValidatePodTemplateSpec(const Value& pod_template, const FieldPath& path, FieldErrors& errors) {
  const Value& metadata = pod_template["metadata"];
  const Value& spec = pod_template["spec"];
  ValidateLabels(metadata["labels"], path.Child("labels"), errors);
  ValidateAnnotations(metadata["annotations"], path.Child("annotations"), errors);
  ValidatePodAnnotations(metadata["annotations"], spec, path.Child("annotations"), errors);
  ValidatePodSpec(spec, {}, path.Child("spec"), errors);
  ValidateProfileAnnotations(metadata["annotations"], spec, path.Child("spec"), errors);
  if (spec["ephemeralContainers"].size() > 0) {
    errors.Forbidden(path.Child("spec").Child("ephemeralContainers"),
                     "ephemeral containers not allowed in pod template");
  }
}

}  // namespace flyball::api
