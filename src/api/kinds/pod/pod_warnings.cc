#include "api/kinds/pod/pod_warnings.h"

#include <array>
#include <set>

#include "api/kinds/pod_spec/pod_spec.h"
#include "api/kinds/shared/node_labels.h"
#include "api/kinds/shared/storage_warnings.h"
#include "api/rules/access.h"
#include "api/rules/field_error.h"
#include "api/values/go_text.h"

namespace flyball::api {
namespace {

using json::Value;
using Out = std::vector<std::string>;

struct Replaced {
  std::string_view name, text;
};
constexpr std::array kOldAnnotations = {
    Replaced{"scheduler.alpha.kubernetes.io/critical-pod",
             "non-functional in v1.16+; use the \"priorityClassName\" field instead"},
    Replaced{"security.alpha.kubernetes.io/sysctls",
             "non-functional in v1.11+; use the \"sysctls\" field instead"},
    Replaced{"security.alpha.kubernetes.io/unsafe-sysctls",
             "non-functional in v1.11+; use the \"sysctls\" field instead"},
};
struct OldVolume {
  std::string_view field, shown, text;
};
constexpr std::array kOldVolumes = {
    OldVolume{"photonPersistentDisk", "photonPersistentDisk",
              "deprecated in v1.11, non-functional in v1.16+"},
    OldVolume{"gitRepo", "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"},
    OldVolume{"scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"},
    OldVolume{"flocker", "flocker", "deprecated in v1.22, non-functional in v1.25+"},
    OldVolume{"storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"},
    OldVolume{"quobyte", "quobyte", "deprecated in v1.22, non-functional in v1.25+"},
    OldVolume{"glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"},
    OldVolume{"cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"},
    OldVolume{"rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"},
};
constexpr std::string_view kSeccompAnnotation = "seccomp.security.alpha.kubernetes.io/pod";
constexpr std::string_view kContainerSeccompAnnotation = "container.seccomp.security.alpha.kubernetes.io/";
constexpr std::string_view kAppArmorAnnotation = "container.apparmor.security.beta.kubernetes.io/";
constexpr const char* kRequiredTerms = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr const char* kPreferredTerms = "preferredDuringSchedulingIgnoredDuringExecution";

void WarnPodWarnings(const FieldPath& path, std::string_view text, Out& out) {
  out.push_back(path.text() + ": " + std::string(text));
}

void WarnOfNodeLabels(const Value& spec, const FieldPath& path, Out& out) {
  for (const auto& [label, value] : Entries(spec["nodeSelector"])) {
    const std::string_view text = OldNodeLabelText(label);
    if (!text.empty()) WarnPodWarnings(path.Child("nodeSelector").Key(label), text, out);
  }
  const Value& affinity = spec["affinity"]["nodeAffinity"];
  const FieldPath affinity_path = path.Child("affinity").Child("nodeAffinity");
  const json::Array& required = Items(affinity[kRequiredTerms]["nodeSelectorTerms"]);
  for (std::size_t i = 0; i < required.size(); ++i) {
    WarnOfNodeSelectorTerm(required[i],
                           affinity_path.Child(kRequiredTerms).Child("nodeSelectorTerms").Index(i), out);
  }
  const json::Array& preferred = Items(affinity[kPreferredTerms]);
  for (std::size_t i = 0; i < preferred.size(); ++i) {
    WarnOfNodeSelectorTerm(preferred[i]["preference"],
                           affinity_path.Child(kPreferredTerms).Index(i).Child("preference"), out);
  }
}

void WarnOfSpread(const Value& spread, const FieldPath& path, Out& out) {
  for (std::size_t i = 0; i < spread.size(); ++i) {
    const Value& constraint = spread.as_array()[i];
    const std::string_view key = Text(constraint, "topologyKey");
    const std::string_view text = OldNodeLabelText(key);
    if (!text.empty())
      WarnPodWarnings(path.Index(i).Child("topologyKey"), std::string(key) + " is " + std::string(text), out);
    if (!Has(constraint, "labelSelector"))
      WarnPodWarnings(path.Index(i).Child("labelSelector"), "a null labelSelector results in matching no pod",
                      out);
  }
}

void WarnOfPodAffinity(const Value& spec, const FieldPath& path, Out& out) {
  constexpr std::string_view kNoPod = "a null labelSelector results in matching no pod";
  for (const char* kind : {"podAffinity", "podAntiAffinity"}) {
    const Value& affinity = spec["affinity"][kind];
    const FieldPath here = path.Child("affinity").Child(kind);
    const json::Array& required = Items(affinity[kRequiredTerms]);
    for (std::size_t i = 0; i < required.size(); ++i) {
      if (Has(required[i], "labelSelector")) continue;
      WarnPodWarnings(here.Child(kRequiredTerms).Index(i).Child("labelSelector"), kNoPod, out);
    }
    const json::Array& preferred = Items(affinity[kPreferredTerms]);
    for (std::size_t i = 0; i < preferred.size(); ++i) {
      if (Has(preferred[i]["podAffinityTerm"], "labelSelector")) continue;
      WarnPodWarnings(here.Child(kPreferredTerms).Index(i).Child("podAffinityTerm").Child("labelSelector"),
                      kNoPod, out);
    }
  }
}

void WarnOfVolumes(const Value& volumes, const FieldPath& path, Out& out) {
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    const Value& volume = volumes.as_array()[i];
    for (const OldVolume& old : kOldVolumes) {
      if (Has(volume, old.field)) WarnPodWarnings(path.Index(i).Child(old.shown), old.text, out);
    }
    const Value& claim = volume["ephemeral"]["volumeClaimTemplate"];
    if (!claim.is_null())
      WarnOfClaimSpec(claim["spec"],
                      path.Index(i).Child("ephemeral").Child("volumeClaimTemplate").Child("spec"), out);
  }
}

void WarnOfFractions(const Value& resources, const FieldPath& path, Out& out) {
  for (const char* name : {"memory", "ephemeral-storage"}) {
    for (const char* list : {"limits", "requests"}) {
      WarnOfFraction(resources[list].Find(name), path.Child(list).Key(name), out);
    }
  }
}

// A variable may build on its earlier value: X=abc, then X=$(X)123.
bool HidesEarlier(const Value& variable) {
  const std::string reference = "$(" + std::string(Text(variable, "name")) + ")";
  const std::string_view value = Text(variable, "value");
  return Has(variable, "valueFrom") || value == reference || value.find(reference) == std::string_view::npos;
}

void WarnOfHiddenVariables(const Value& env, const FieldPath& path, Out& out) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < env.size(); ++i) {
    const Value& variable = env.as_array()[i];
    const std::string_view name = Text(variable, "name");
    if (seen.insert(name).second || !HidesEarlier(variable)) continue;
    WarnPodWarnings(
        path.Index(i),
        "hides previous definition of " + GoQuote(name) + ", which may be dropped when using apply", out);
  }
}

// Items whose `member` an earlier one has already: "path[i].member: duplicate member "x"".
void WarnOfDuplicates(const Value& list, const char* member, const FieldPath& path, Out& out) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string_view value = Text(list.as_array()[i], member);
    if (seen.insert(value).second) continue;
    WarnPodWarnings(path.Index(i).Child(member), "duplicate " + std::string(member) + " " + GoQuote(value),
                    out);
  }
}

void WarnOfPullSecrets(const Value& secrets, const FieldPath& path, Out& out) {
  WarnOfDuplicates(secrets, "name", path, out);
  for (std::size_t i = 0; i < secrets.size(); ++i) {
    if (Text(secrets.as_array()[i], "name").empty())
      WarnPodWarnings(path.Index(i).Child("name"), "invalid empty name \"\"", out);
  }
}

void WarnOfAnnotations(const Value& pod, const std::string& prefix, Out& out) {
  const Value& annotations = pod["metadata"]["annotations"];
  const FieldPath path(prefix + "metadata.annotations");
  for (const Replaced& old : kOldAnnotations) {
    if (annotations.Find(old.name) != nullptr) WarnPodWarnings(path.Key(old.name), old.text, out);
  }
}

constexpr std::string_view kUseSeccompField =
    "non-functional in v1.27+; use the \"seccompProfile\" field instead";

// Annotations that fields have replaced, for the pod and for each container.
void WarnOfProfiles(const Value& pod, const Value& container, const FieldPath& path, bool is_template,
                    Out& out) {
  const Value& annotations = pod["metadata"]["annotations"];
  const std::string name(Text(container, "name"));
  const std::string seccomp = std::string(kContainerSeccompAnnotation) + name;
  if (!Has(container["securityContext"], "seccompProfile") && annotations.Find(seccomp) != nullptr)
    WarnPodWarnings(path.Key(seccomp), kUseSeccompField, out);
  const Value& whole = pod["spec"]["securityContext"]["appArmorProfile"];
  const Value& own = container["securityContext"]["appArmorProfile"];
  // A pod's own field comes of its annotation when the pod is created.
  const bool says_more = is_template ? own.is_null() && whole.is_null() : whole.is_null() || own != whole;
  const std::string app_armor = std::string(kAppArmorAnnotation) + name;
  if (says_more && annotations.Find(app_armor) != nullptr)
    WarnPodWarnings(path.Key(app_armor), "deprecated since v1.30; use the \"appArmorProfile\" field instead",
                    out);
}

void WarnOfContainers(const Value& pod, const std::string& prefix, const FieldPath& path, Out& out) {
  const FieldPath annotations(prefix + "metadata.annotations");
  ForEachContainer(pod["spec"], path, [&](const Value& container, const FieldPath& here) {
    WarnOfProfiles(pod, container, annotations, !prefix.empty(), out);
    WarnOfFractions(container["resources"], here.Child("resources"), out);
    WarnOfHiddenVariables(container["env"], here.Child("env"), out);
  });
}

}  // namespace

void WarnOfPodSpec(const Value& pod, const std::string& prefix, Out& out) {
  const Value& spec = pod["spec"];
  const FieldPath path(prefix + "spec");
  WarnOfNodeLabels(spec, path, out);
  WarnOfSpread(spec["topologySpreadConstraints"], path.Child("topologySpreadConstraints"), out);
  WarnOfAnnotations(pod, prefix, out);
  WarnOfVolumes(spec["volumes"], path.Child("volumes"), out);
  WarnOfDuplicates(spec["hostAliases"], "ip", path.Child("hostAliases"), out);
  WarnOfPullSecrets(spec["imagePullSecrets"], path.Child("imagePullSecrets"), out);
  for (const char* name : {"memory", "ephemeral-storage"})
    WarnOfFraction(spec["overhead"].Find(name), path.Child("overhead").Key(name), out);
  if (!Has(spec["securityContext"], "seccompProfile") &&
      pod["metadata"]["annotations"].Find(kSeccompAnnotation) != nullptr)
    WarnPodWarnings(FieldPath(prefix + "metadata.annotations").Key(kSeccompAnnotation), kUseSeccompField,
                    out);
  WarnOfContainers(pod, prefix, path, out);
  WarnOfPorts(spec, path, out);
  const Value& grace = spec["terminationGracePeriodSeconds"];
  if (grace.int_or(0) < 0) {
    WarnPodWarnings(path.Child("terminationGracePeriodSeconds"),
                    "must be >= 0; negative values are invalid and will be treated as 1", out);
  }
  WarnOfPodAffinity(spec, path, out);
}

void WarnOfTemplate(const Value& object, Out& out) {
  WarnOfPodSpec(object["spec"]["template"], "spec.template.", out);
}

void WarnOfPod(const Value& object, Out& out) {
  WarnOfPodSpec(object, "", out);
}

}  // namespace flyball::api
