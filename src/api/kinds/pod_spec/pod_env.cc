#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "api/kinds/pod_spec/pod_spec.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/schema/feature_gates.h"
#include "base/values/ascii.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::array<std::string_view, 9> kEnvFields = {
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
    "status.hostIP", "status.hostIPs",     "status.podIP", "status.podIPs"};
constexpr std::array<std::string_view, 5> kVolumeFields = {
    "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"};
constexpr std::array<std::string_view, 15> kKnownFields = {
    "metadata.annotations", "metadata.labels", "metadata.name",      "metadata.namespace",
    "metadata.uid",         "spec.nodeName",   "spec.restartPolicy", "spec.serviceAccountName",
    "spec.schedulerName",   "status.phase",    "status.hostIP",      "status.hostIPs",
    "status.podIP",         "status.podIPs",   "spec.host"};
constexpr std::array<std::string_view, 6> kResourceFields = {
    "limits.cpu",   "limits.ephemeral-storage",   "limits.memory",
    "requests.cpu", "requests.ephemeral-storage", "requests.memory"};
constexpr std::array<std::string_view, 13> kByteDivisors = {"1",   "1k",  "1M",  "1G",  "1T",  "1P", "1E",
                                                            "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"};

template <typename List>
bool In(const List& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

template <typename List>
std::vector<std::string> Strings(const List& list) {
  return {list.begin(), list.end()};
}

// "metadata.labels['key']" -> path and key; false if there is no subscript.
bool SplitSubscript(std::string_view text, std::string_view& path, std::string_view& key) {
  if (!text.ends_with("']")) return false;
  const std::size_t open = text.find("['");
  if (open == std::string_view::npos || open == 0) return false;
  path = text.substr(0, open);
  key = text.substr(open + 2, text.size() - open - 4);
  return true;
}

// Why upstream could not convert a field label; "" if it can.
std::string ConversionProblem(std::string_view version, std::string_view label) {
  if (version != "v1") return "unsupported pod version: " + std::string(version);
  std::string_view path, key;
  if (SplitSubscript(label, path, key)) {
    const bool keyed = path == "metadata.annotations" || path == "metadata.labels";
    return keyed ? "" : "field label does not support subscript: " + std::string(label);
  }
  return In(kKnownFields, label) ? "" : "field label not supported: " + std::string(label);
}

void CheckDivisor(const Value& ref, const FieldPath& path, FieldErrors& errors) {
  const Quantity divisor = QuantityOf(ref["divisor"]);
  if (divisor.IsZero()) return;
  const std::string_view resource = Text(ref, "resource");
  const std::string text = divisor.ToString();
  const bool cpu = resource.ends_with(".cpu");
  if (cpu) {
    if (text != "1m" && text != "1") {
      errors.Invalid(path, resource, "only divisor's values 1m and 1 are supported with the cpu resource");
    }
    return;
  }
  if (In(kByteDivisors, text)) return;
  const std::string_view kind = resource.ends_with(".memory")              ? "memory"
                                : resource.ends_with(".ephemeral-storage") ? "local ephemeral storage"
                                : resource.find(".hugepages-") != std::string_view::npos ? "hugepages"
                                                                                         : "";
  if (kind.empty()) return;
  errors.Invalid(path, resource,
                 "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are "
                 "supported with the " +
                     std::string(kind) + " resource");
}

void ValidateKeySelector(const Value& selector, const FieldPath& path, FieldErrors& errors) {
  CheckFormat("dns-subdomain", Text(selector, "name"), path.Child("name"), errors);
  const std::string_view key = Text(selector, "key");
  if (key.empty()) return errors.Required(path.Child("key"));
  CheckFormat("config-map-key", key, path.Child("key"), errors);
}

void ValidateFileKeySelector(const Value& selector, const FieldPath& path, FieldErrors& errors) {
  const std::string_view key = Text(selector, "key"), volume = Text(selector, "volumeName");
  if (key.empty()) {
    errors.Required(path.Child("key"));
  } else {
    CheckFormat("env-var-name", key, path.Child("key"), errors);
  }
  if (volume.empty()) {
    errors.Required(path.Child("volumeName"));
  } else {
    CheckFormat("dns-label", volume, path.Child("volumeName"), errors);
  }
  if (Text(selector, "path").empty()) return errors.Required(path.Child("path"));
  CheckNoBacksteps(Text(selector, "path"), path.Child("path"), errors);
}

void ValidateValueFrom(const Value& variable, const FieldPath& path, FieldErrors& errors) {
  const Value& from = variable["valueFrom"];
  if (from.is_null()) return;
  int sources = 0;
  if (const Value& ref = from["fieldRef"]; !ref.is_null() && ++sources) {
    ValidateObjectFieldRef(ref, false, path.Child("fieldRef"), errors);
  }
  if (const Value& ref = from["resourceFieldRef"]; !ref.is_null() && ++sources) {
    ValidateResourceFieldRef(ref, false, path.Child("resourceFieldRef"), errors);
  }
  for (const char* name : {"configMapKeyRef", "secretKeyRef"}) {
    if (const Value& ref = from[name]; !ref.is_null() && ++sources) {
      ValidateKeySelector(ref, path.Child(name), errors);
    }
  }
  if (const Value& ref = from["fileKeyRef"]; !ref.is_null() && ++sources)
    ValidateFileKeySelector(ref, path.Child("fileKeyRef"), errors);
  if (sources == 0) {
    errors.Invalid(path, "",
                   GateEnabled("EnvFiles")
                       ? "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, "
                         "`secretKeyRef` or `fileKeyRef`"
                       : "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or "
                         "`secretKeyRef`");
  } else if (!Text(variable, "value").empty()) {
    errors.Invalid(path, "", "may not be specified when `value` is not empty");
  } else if (sources > 1) {
    errors.Invalid(path, "", "may not have more than one field specified at a time");
  }
}

void ValidateEnvSource(const Value& source, const FieldPath& path, FieldErrors& errors) {
  const std::string_view name = Text(source, "name");
  if (name.empty()) return errors.Required(path.Child("name"));
  AddProblems(DnsSubdomainProblems(MaskTrailingDash(name)), path.Child("name"), name, errors);
}

}  // namespace

void ValidateObjectFieldRef(const Value& ref, bool in_volume, const FieldPath& path, FieldErrors& errors) {
  const std::string_view version = Text(ref, "apiVersion");
  const std::string_view label = Text(ref, "fieldPath");
  if (version.empty()) return errors.Required(path.Child("apiVersion"));
  if (label.empty()) return errors.Required(path.Child("fieldPath"));
  if (const std::string problem = ConversionProblem(version, label); !problem.empty()) {
    return errors.Invalid(path.Child("fieldPath"), label, "error converting fieldPath: " + problem);
  }
  std::string_view field, key;
  if (SplitSubscript(label, field, key)) {
    const std::string name = field == "metadata.annotations" ? LowerCase(key) : std::string(key);
    return CheckFormat("qualified-name", name, path, errors);
  }
  const std::vector<std::string> supported = in_volume ? Strings(kVolumeFields) : Strings(kEnvFields);
  if (!In(supported, label)) errors.NotSupported(path.Child("fieldPath"), label, supported);
}

void ValidateResourceFieldRef(const Value& ref, bool in_volume, const FieldPath& path, FieldErrors& errors) {
  const std::string_view resource = Text(ref, "resource");
  if (in_volume && Text(ref, "containerName").empty()) {
    errors.Required(path.Child("containerName"));
  } else if (resource.empty()) {
    errors.Required(path.Child("resource"));
  } else if (!In(kResourceFields, resource) && !resource.starts_with("requests.hugepages-") &&
             !resource.starts_with("limits.hugepages-")) {
    errors.NotSupported(path.Child("resource"), resource, Strings(kResourceFields));
  }
  CheckDivisor(ref, path.Child("divisor"), errors);
}

void ValidateEnv(const Value& env, const FieldPath& path, FieldErrors& errors) {
  for (std::size_t i = 0; i < env.size(); ++i) {
    const Value& variable = env.as_array()[i];
    const FieldPath here = path.Index(i);
    const std::string_view name = Text(variable, "name");
    if (name.empty()) {
      errors.Required(here.Child("name"));
    } else {
      CheckFormat("env-var-name", name, here.Child("name"), errors);
    }
    ValidateValueFrom(variable, here.Child("valueFrom"), errors);
  }
}

void ValidateEnvFrom(const Value& env_from, const FieldPath& path, FieldErrors& errors) {
  for (std::size_t i = 0; i < env_from.size(); ++i) {
    const Value& source = env_from.as_array()[i];
    const FieldPath here = path.Index(i);
    if (const std::string_view prefix = Text(source, "prefix"); !prefix.empty()) {
      CheckFormat("env-var-name", prefix, here.Child("prefix"), errors);
    }
    int sources = 0;
    for (const char* name : {"configMapRef", "secretRef"}) {
      if (!Has(source, name)) continue;
      ++sources;
      ValidateEnvSource(source[name], here.Child(name), errors);
    }
    if (sources == 0) errors.Invalid(path, "", "must specify one of: `configMapRef` or `secretRef`");
    if (sources > 1) errors.Invalid(path, "", "may not have more than one field specified at a time");
  }
}

}  // namespace flyball::api
