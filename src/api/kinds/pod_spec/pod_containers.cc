#include <set>
#include <string>

#include "api/kinds/pod_spec/pod_spec.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"

namespace flyball::api {
namespace {

using json::Value;
using Names = std::set<std::string_view>;

void ValidatePodContainersPorts(const Value& ports, const FieldPath& list, FieldErrors& errors) {
  Names names;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const Value& port = ports.as_array()[i];
    const FieldPath path = list.Index(i);
    if (const std::string_view name = Text(port, "name"); !name.empty()) {
      const Problems problems = PortNameProblems(name);
      AddProblems(problems, path.Child("name"), name, errors);
      if (problems.empty() && !names.insert(name).second) errors.Duplicate(path.Child("name"), name);
    }
    const std::int64_t number = Number(port, "containerPort");
    if (number == 0) {
      errors.Required(path.Child("containerPort"));
    } else {
      AddProblems(PortNumberProblems(number), path.Child("containerPort"), number, errors);
    }
    const std::int64_t host_port = Number(port, "hostPort");
    if (host_port != 0) AddProblems(PortNumberProblems(host_port), path.Child("hostPort"), host_port, errors);
    CheckProtocol(Text(port, "protocol"), path.Child("protocol"), errors);
  }
}

void ValidateResizePolicies(const Value& policies, const PodContext& context, const FieldPath& path,
                            FieldErrors& errors) {
  Names seen;
  for (std::size_t i = 0; i < policies.size(); ++i) {
    const Value& policy = policies.as_array()[i];
    const std::string_view resource = Text(policy, "resourceName");
    if (!seen.insert(resource).second) errors.Duplicate(path.Index(i), resource);
    RequireOneOf(resource, {"cpu", "memory"}, path, errors);
    const std::string_view restart = Text(policy, "restartPolicy");
    RequireOneOf(restart, {"NotRequired", "RestartContainer"}, path, errors);
    if (context.restart_policy == "Never" && restart != "NotRequired") {
      errors.Invalid(path, restart, "must be 'NotRequired' when `restartPolicy` is 'Never'");
    }
  }
}

// What all three kinds of containers must obey.
void ValidateCommon(const Value& container, const PodContext& context, const FieldPath& path,
                    FieldErrors& errors) {
  const std::string_view name = Text(container, "name");
  if (name.empty()) {
    errors.Required(path.Child("name"));
  } else {
    CheckFormat("dns-label", name, path.Child("name"), errors);
  }
  RequireMembers(container, {"image"}, path, errors);
  RequireOneOf(Text(container, "terminationMessagePolicy"), {"File", "FallbackToLogsOnError"},
               path.Child("terminationMessagePolicy"), errors);
  ValidatePodContainersPorts(container["ports"], path.Child("ports"), errors);
  ValidateEnv(container["env"], path.Child("env"), errors);
  ValidateEnvFrom(container["envFrom"], path.Child("envFrom"), errors);
  ValidateMounts(container, context, path, errors);
  RequireOneOf(Text(container, "imagePullPolicy"), {"Always", "IfNotPresent", "Never"},
               path.Child("imagePullPolicy"), errors);
  ValidateResourceRequirements(container["resources"], context, path.Child("resources"), errors);
  ValidateResizePolicies(container["resizePolicy"], context, path.Child("resizePolicy"), errors);
  ValidateSecurityContext(container["securityContext"], context.host_users, path.Child("securityContext"),
                          errors);
}

void ValidateRestartRule(const Value& rule, const FieldPath& path, FieldErrors& errors) {
  constexpr std::size_t kMaxExitCodes = 255;
  CheckOneOf(Text(rule, "action"), {"Restart", "RestartAllContainers"}, path.Child("action"), errors);
  const FieldPath codes = path.Child("exitCodes");
  if (!Has(rule, "exitCodes")) return errors.Required(codes, "must be specified");
  CheckOneOf(Text(rule["exitCodes"], "operator"), {"In", "NotIn"}, codes.Child("operator"), errors);
  const std::size_t count = rule["exitCodes"]["values"].size();
  if (count > kMaxExitCodes) errors.TooMany(codes.Child("values"), count, kMaxExitCodes);
}

// A container's own policy, and rules that look at how it ended (gate ContainerRestartRules).
void ValidateRestartPolicy(const Value& container, const FieldPath& path, FieldErrors& errors) {
  constexpr std::size_t kMaxRules = 20;
  const Value& rules = container["restartPolicyRules"];
  const FieldPath list = path.Child("restartPolicyRules");
  if (Has(container, "restartPolicy")) {
    CheckOneOf(Text(container, "restartPolicy"), {"Always", "Never", "OnFailure"},
               path.Child("restartPolicy"), errors);
  } else if (rules.size() > 0) {
    errors.Required(path.Child("restartPolicy"), "must specify restartPolicy when restart rules are used");
  }
  if (rules.size() > kMaxRules) errors.TooMany(list, rules.size(), kMaxRules);
  for (std::size_t i = 0; i < rules.size(); ++i)
    ValidateRestartRule(rules.as_array()[i], list.Index(i), errors);
}

// Host ports that occur twice in these containers.
void CheckHostPorts(const Value& container, std::set<std::string>& seen, const FieldPath& path,
                    FieldErrors& errors) {
  const Value& ports = container["ports"];
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const Value& port = ports.as_array()[i];
    if (Number(port, "hostPort") == 0) continue;
    const std::string key = std::string(Text(port, "protocol")) + "/" + std::string(Text(port, "hostIP")) +
                            "/" + std::to_string(Number(port, "hostPort"));
    if (!seen.insert(key).second) errors.Duplicate(path.Child("ports").Index(i).Child("hostPort"), key);
  }
}

void ValidateRunning(const Value& container, const PodContext& context, const FieldPath& path,
                     FieldErrors& errors) {
  if (Has(container, "lifecycle")) {
    ValidateLifecycle(container["lifecycle"], context, path.Child("lifecycle"), errors);
  }
  ValidateProbes(container, context, path, errors);
}

void ValidateRegular(const Value& containers, const PodContext& context, const FieldPath& list, Names& names,
                     FieldErrors& errors) {
  if (containers.size() == 0) return errors.Required(list);
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const Value& container = containers.as_array()[i];
    const FieldPath path = list.Index(i);
    ValidateCommon(container, context, path, errors);
    const std::string_view name = Text(container, "name");
    if (!names.insert(name).second) errors.Duplicate(path.Child("name"), name);
    ValidateRunning(container, context, path, errors);
    ValidateRestartPolicy(container, path, errors);
  }
  std::set<std::string> host_ports;
  for (std::size_t i = 0; i < containers.size(); ++i) {
    CheckHostPorts(containers.as_array()[i], host_ports, list.Index(i), errors);
  }
}

void ValidateInit(const Value& containers, const PodContext& context, const FieldPath& list, Names& names,
                  FieldErrors& errors) {
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const Value& container = containers.as_array()[i];
    const FieldPath path = list.Index(i);
    ValidateCommon(container, context, path, errors);
    ValidateRestartPolicy(container, path, errors);
    const std::string_view name = Text(container, "name");
    if (names.contains(name)) errors.Duplicate(path.Child("name"), name);
    if (!name.empty()) names.insert(name);
    std::set<std::string> host_ports;
    CheckHostPorts(container, host_ports, list.Index(0), errors);
    if (Text(container, "restartPolicy") == "Always") {
      ValidateRunning(container, context, path, errors);
      continue;
    }
    for (const char* field : {"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"}) {
      if (!Has(container, field)) continue;
      errors.Forbidden(path.Child(field), "may not be set for init containers without restartPolicy=Always");
    }
  }
}

void ValidateEphemeral(const Value& containers, const PodContext& context, const FieldPath& list,
                       Names& names, FieldErrors& errors) {
  constexpr std::string_view kNotHere = "cannot be set for an Ephemeral Container";
  const Names targets = names;
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const Value& container = containers.as_array()[i];
    const FieldPath path = list.Index(i);
    ValidateCommon(container, context, path, errors);
    const std::string_view name = Text(container, "name");
    if (!names.insert(name).second) errors.Duplicate(path.Child("name"), name);
    const std::string_view target = Text(container, "targetContainerName");
    if (!target.empty() && !targets.contains(target))
      errors.NotFound(path.Child("targetContainerName"), target);
    for (const char* field :
         {"ports", "resources", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle"}) {
      if (!IsZero(container[field])) errors.Forbidden(path.Child(field), kNotHere);
    }
    const Value& mounts = container["volumeMounts"];
    for (std::size_t j = 0; j < mounts.size(); ++j) {
      for (const char* field : {"subPath", "subPathExpr"}) {
        if (Text(mounts.as_array()[j], field).empty()) continue;
        errors.Forbidden(path.Child("volumeMounts").Index(j).Child(field), kNotHere);
      }
    }
  }
}

}  // namespace

void ValidateContainers(const Value& spec, const PodContext& context, const FieldPath& path,
                        FieldErrors& errors) {
  Names names;
  ValidateRegular(spec["containers"], context, path.Child("containers"), names, errors);
  ValidateInit(spec["initContainers"], context, path.Child("initContainers"), names, errors);
  ValidateEphemeral(spec["ephemeralContainers"], context, path.Child("ephemeralContainers"), names, errors);
}

}  // namespace flyball::api
