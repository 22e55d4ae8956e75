#include "api/kinds/pod_warnings.h"

#include <array>
#include <map>
#include <set>

#include "api/field_error.h"
#include "api/go_text.h"
#include "api/kinds/access.h"
#include "api/kinds/pod_spec.h"

namespace flyball::api {
namespace {

using json::Value;
using Out = std::vector<std::string>;

struct Replaced {
  std::string_view name, text;
};
constexpr std::array kOldLabels = {
    Replaced{"beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"},
    Replaced{"beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"},
    Replaced{"failure-domain.beta.kubernetes.io/region",
             "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead"},
    Replaced{"failure-domain.beta.kubernetes.io/zone",
             "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead"},
    Replaced{"beta.kubernetes.io/instance-type",
             "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead"},
};
constexpr std::array kOldAnnotations = {
    Replaced{"scheduler.alpha.kubernetes.io/critical-pod",
             "non-functional in v1.16+; use the \"priorityClassName\" field instead"},
    Replaced{"security.alpha.kubernetes.io/sysctls",
             "non-functional in v1.11+; use the \"sysctls\" field instead"},
    Replaced{"security.alpha.kubernetes.io/unsafe-sysctls",
             "non-functional in v1.11+; use the \"sysctls\" field instead"},
};
constexpr std::array kOldVolumes = {
    Replaced{"awsElasticBlockStore", "deprecated in v1.17, non-functional in v1.27+"},
    Replaced{"gcePersistentDisk", "deprecated in v1.17, non-functional in v1.28+"},
    Replaced{"azureDisk", "deprecated in v1.19, non-functional in v1.27+"},
    Replaced{"azureFile", "deprecated in v1.21, non-functional in v1.30+"},
    Replaced{"cephfs", "deprecated in v1.28, non-functional in v1.31+"},
    Replaced{"cinder", "deprecated in v1.18, non-functional in v1.26+"},
    Replaced{"flexVolume", "deprecated in v1.23; use a CSI driver instead"},
    Replaced{"flocker", "deprecated in v1.22, non-functional in v1.25+"},
    Replaced{"gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"},
    Replaced{"glusterfs", "deprecated in v1.25, non-functional in v1.26+"},
    Replaced{"photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"},
    Replaced{"portworxVolume", "deprecated in v1.25; use a CSI driver instead"},
    Replaced{"quobyte", "deprecated in v1.22, non-functional in v1.25+"},
    Replaced{"rbd", "deprecated in v1.28, non-functional in v1.31+"},
    Replaced{"scaleIO", "deprecated in v1.16, non-functional in v1.22+"},
    Replaced{"storageos", "deprecated in v1.22, non-functional in v1.25+"},
    Replaced{"vsphereVolume", "deprecated in v1.19, non-functional in v1.27+"},
};

void WarnPodWarnings(const FieldPath& path, const std::string& text, Out& out) {
  out.push_back(path.text() + ": " + text);
}

void WarnOfLabel(std::string_view label, const FieldPath& path, Out& out) {
  for (const Replaced& old : kOldLabels) {
    if (old.name == label) WarnPodWarnings(path, std::string(old.text), out);
  }
}

void WarnOfNodeLabels(const Value& spec, const FieldPath& path, Out& out) {
  for (const auto& [label, value] : Entries(spec["nodeSelector"]))
    WarnOfLabel(label, path.Child("nodeSelector").Key(label), out);
  constexpr const char* kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  const FieldPath terms_path =
      path.Child("affinity").Child("nodeAffinity").Child(kRequired).Child("nodeSelectorTerms");
  const Value& terms = spec["affinity"]["nodeAffinity"][kRequired]["nodeSelectorTerms"];
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const Value& expressions = terms.as_array()[i]["matchExpressions"];
    for (std::size_t j = 0; j < expressions.size(); ++j) {
      WarnOfLabel(Text(expressions.as_array()[j], "key"),
                  terms_path.Index(i).Child("matchExpressions").Index(j).Child("key"), out);
    }
  }
  const Value& spread = spec["topologySpreadConstraints"];
  for (std::size_t i = 0; i < spread.size(); ++i) {
    const FieldPath here = path.Child("topologySpreadConstraints").Index(i);
    WarnOfLabel(Text(spread.as_array()[i], "topologyKey"), here.Child("topologyKey"), out);
    if (!Has(spread.as_array()[i], "labelSelector")) {
      WarnPodWarnings(here.Child("labelSelector"), "a null labelSelector results in matching no pod", out);
    }
  }
}

void WarnOfVolumes(const Value& volumes, const FieldPath& path, Out& out) {
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    for (const Replaced& old : kOldVolumes) {
      if (Has(volumes.as_array()[i], old.name))
        WarnPodWarnings(path.Index(i).Child(old.name), std::string(old.text), out);
    }
  }
}

void WarnOfFractions(const Value& resources, const FieldPath& path, Out& out) {
  for (const char* list : {"limits", "requests"}) {
    for (const char* name : {"memory", "ephemeral-storage"}) {
      const Value* quantity = resources[list].Find(name);
      if (quantity == nullptr || QuantityOf(*quantity).MilliValue() % 1000 == 0) continue;
      WarnPodWarnings(
          path.Child(list).Key(name),
          "fractional byte value " + GoQuote(quantity->string_or({})) + " is invalid, must be an integer",
          out);
    }
  }
}

void WarnOfHiddenVariables(const Value& env, const FieldPath& path, Out& out) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < env.size(); ++i) {
    const std::string_view name = Text(env.as_array()[i], "name");
    if (seen.insert(name).second) continue;
    WarnPodWarnings(
        path.Index(i),
        "hides previous definition of " + GoQuote(name) + ", which may be dropped when using apply", out);
  }
}

void WarnOfDuplicatePorts(const Value& containers, const FieldPath& list, Out& out) {
  std::map<std::string, std::string> seen;
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const Value& ports = containers.as_array()[i]["ports"];
    for (std::size_t j = 0; j < ports.size(); ++j) {
      const Value& port = ports.as_array()[j];
      const FieldPath path = list.Index(i).Child("ports").Index(j);
      const std::string key =
          std::to_string(Number(port, "containerPort")) + "/" + std::string(Text(port, "protocol")) + "/" +
          std::to_string(Number(port, "hostPort")) + "/" + std::string(Text(port, "hostIP"));
      const auto [first, added] = seen.emplace(key, path.text());
      if (!added) WarnPodWarnings(path, "duplicate port definition with " + first->second, out);
    }
  }
}

void WarnOfHostAliases(const Value& aliases, const FieldPath& path, Out& out) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < aliases.size(); ++i) {
    const std::string_view ip = Text(aliases.as_array()[i], "ip");
    if (!seen.insert(ip).second)
      WarnPodWarnings(path.Index(i).Child("ip"), "duplicate ip " + GoQuote(ip), out);
  }
}

}  // namespace

void WarnOfPodSpec(const Value& pod, const std::string& prefix, Out& out) {
  const Value& spec = pod["spec"];
  const FieldPath path(prefix + "spec");
  WarnOfNodeLabels(spec, path, out);
  for (const auto& [key, value] : Entries(pod["metadata"]["annotations"])) {
    for (const Replaced& old : kOldAnnotations) {
      if (old.name == key)
        WarnPodWarnings(FieldPath(prefix + "metadata.annotations").Key(key), std::string(old.text), out);
    }
  }
  WarnOfVolumes(spec["volumes"], path.Child("volumes"), out);
  WarnOfHostAliases(spec["hostAliases"], path.Child("hostAliases"), out);
  const Value& secrets = spec["imagePullSecrets"];
  for (std::size_t i = 0; i < secrets.size(); ++i) {
    if (Text(secrets.as_array()[i], "name").empty()) {
      WarnPodWarnings(path.Child("imagePullSecrets").Index(i).Child("name"), "invalid empty name \"\"", out);
    }
  }
  ForEachContainer(spec, path, [&](const Value& container, const FieldPath& here) {
    WarnOfFractions(container["resources"], here.Child("resources"), out);
    WarnOfHiddenVariables(container["env"], here.Child("env"), out);
  });
  WarnOfDuplicatePorts(spec["containers"], path.Child("containers"), out);
  const Value& grace = spec["terminationGracePeriodSeconds"];
  if (grace.int_or(0) < 0) {
    WarnPodWarnings(path.Child("terminationGracePeriodSeconds"),
                    "must be >= 0; negative values are invalid and will be treated as 1", out);
  }
}

void WarnOfTemplate(const Value& object, Out& out) {
  WarnOfPodSpec(object["spec"]["template"], "spec.template.", out);
}

void WarnOfPod(const Value& object, Out& out) {
  WarnOfPodSpec(object, "", out);
}

}  // namespace flyball::api
