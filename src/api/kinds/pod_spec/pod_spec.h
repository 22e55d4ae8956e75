// What a pod's spec must obey, in a Pod and in the templates of workloads (upstream: core validation). The
// parts are in the files pod_*.cc; each function appends its errors in upstream's order.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "api/rules/field_error.h"
#include "json/value.h"

namespace flyball::api {

// The volumes that passed, by name: what mounts may refer to.
using VolumesByName = std::unordered_map<std::string_view, const json::Value*>;

// What the rules of a part need to know of the whole.
struct PodContext {
  bool is_pod = false;             // a Pod's own spec, not a template's
  std::string_view pod_name = {};  // "" in templates
  std::string_view restart_policy = {};
  const json::Value* grace_seconds = nullptr;
  bool host_users = true;
  VolumesByName volumes = {};
  std::set<std::string_view> claim_names = {};
};

void ValidatePodSpec(const json::Value& spec, PodContext context, const FieldPath& path, FieldErrors& errors);
// metadata and spec of a workload's template.
void ValidatePodTemplateSpec(const json::Value& pod_template, const FieldPath& path, FieldErrors& errors);
void ValidatePodAnnotations(const json::Value& annotations, const json::Value& spec, const FieldPath& path,
                            FieldErrors& errors);

// pod_volumes.cc: checks every volume and fills context.volumes.
void ValidateVolumes(const json::Value& volumes, PodContext& context, const FieldPath& path,
                     FieldErrors& errors);
// pod_volume_sources.cc: the kinds of volumes. `volume` holds exactly the source at `name`.
void ValidateVolumeSource(std::string_view name, const json::Value& source, const FieldPath& path,
                          FieldErrors& errors);
// pod_projected.cc
void ValidateProjectedVolume(const json::Value& projected, const FieldPath& path, FieldErrors& errors);
void ValidateDownwardFile(const json::Value& file, const FieldPath& path, FieldErrors& errors);
void ValidateKeyToPath(const json::Value& item, const FieldPath& path, FieldErrors& errors);
void CheckFileMode(const json::Value& mode, const FieldPath& path, FieldErrors& errors);

// pod_containers.cc
void ValidateContainers(const json::Value& spec, const PodContext& context, const FieldPath& path,
                        FieldErrors& errors);
// pod_env.cc
void ValidateEnv(const json::Value& env, const FieldPath& path, FieldErrors& errors);
void ValidateEnvFrom(const json::Value& env_from, const FieldPath& path, FieldErrors& errors);
// The fields a pod may tell about itself, in variables and in files.
void ValidateObjectFieldRef(const json::Value& ref, bool in_volume, const FieldPath& path,
                            FieldErrors& errors);
void ValidateResourceFieldRef(const json::Value& ref, bool in_volume, const FieldPath& path,
                              FieldErrors& errors);
// pod_probes.cc
void ValidateProbes(const json::Value& container, const PodContext& context, const FieldPath& path,
                    FieldErrors& errors);
void ValidateLifecycle(const json::Value& lifecycle, const PodContext& context, const FieldPath& path,
                       FieldErrors& errors);
// pod_mounts.cc
void ValidateMounts(const json::Value& container, const PodContext& context, const FieldPath& path,
                    FieldErrors& errors);
// pod_resources.cc
void ValidateResourceRequirements(const json::Value& resources, const PodContext& context,
                                  const FieldPath& path, FieldErrors& errors);
void ValidatePodResources(const json::Value& spec, const PodContext& context, const FieldPath& path,
                          FieldErrors& errors);
// pod_security.cc
void ValidateSecurityContext(const json::Value& security, bool host_users, const FieldPath& path,
                             FieldErrors& errors);
void ValidatePodSecurityContext(const json::Value& spec, const FieldPath& path, FieldErrors& errors);
// pod_windows.cc: rules of the operating system, and Windows' own.
void ValidateWindowsOptions(const json::Value& options, const FieldPath& path, FieldErrors& errors);
void ValidateHostProcess(const json::Value& spec, const FieldPath& path, FieldErrors& errors);
void ValidateOperatingSystem(const json::Value& spec, const FieldPath& path, FieldErrors& errors);
// pod_affinity.cc
void ValidateAffinity(const json::Value& affinity, const FieldPath& path, FieldErrors& errors);
void ValidateNodeSelector(const json::Value& selector, const FieldPath& path, FieldErrors& errors);
// pod_scheduling.cc
void ValidateTolerations(const json::Value& tolerations, const FieldPath& path, FieldErrors& errors);
void ValidateTaintEffect(std::string_view effect, bool allow_empty, const FieldPath& path,
                         FieldErrors& errors);
void ValidateTopologySpread(const json::Value& constraints, const FieldPath& path, FieldErrors& errors);

// Calls visit(container, path) for every init, regular and ephemeral container, in upstream's order.
template <typename Visit>
void ForEachContainer(const json::Value& spec, const FieldPath& path, Visit visit) {
  for (const char* list : {"initContainers", "containers", "ephemeralContainers"}) {
    const json::Value& containers = spec[list];
    for (std::size_t i = 0; i < containers.size(); ++i) {
      visit(containers.as_array()[i], path.Child(list).Index(i));
    }
  }
}

}  // namespace flyball::api
