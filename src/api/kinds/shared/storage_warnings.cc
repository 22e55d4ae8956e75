#include "api/kinds/shared/storage_warnings.h"

#include <array>

#include "api/kinds/shared/node_labels.h"
#include "api/rules/access.h"
#include "api/values/go_text.h"

namespace flyball::api {
namespace {

using json::Value;
using Texts = std::vector<std::string>;

constexpr std::string_view kClassAnnotation = "volume.beta.kubernetes.io/storage-class";
constexpr std::string_view kMountAnnotation = "volume.beta.kubernetes.io/mount-options";

struct OldVolumeSource {
  std::string_view name, text;
};
constexpr std::array kOldVolumeSources = {
    OldVolumeSource{"photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"},
    OldVolumeSource{"scaleIO", "deprecated in v1.16, non-functional in v1.22+"},
    OldVolumeSource{"storageOS", "deprecated in v1.22, non-functional in v1.25+"},
    OldVolumeSource{"glusterfs", "deprecated in v1.25, non-functional in v1.26+"},
    OldVolumeSource{"quobyte", "deprecated in v1.22, non-functional in v1.25+"},
    OldVolumeSource{"flocker", "deprecated in v1.22, non-functional in v1.25+"},
    OldVolumeSource{"cephfs", "deprecated in v1.28, non-functional in v1.31+"},
    OldVolumeSource{"rbd", "deprecated in v1.28, non-functional in v1.31+"},
};

void WarnOfAnnotation(const Value& object, std::string_view key, std::string_view text, Texts& out) {
  if (object["metadata"]["annotations"].Find(key) == nullptr) return;
  out.push_back(FieldPath("metadata.annotations").Key(key).text() + ": " + std::string(text));
}

}  // namespace

void WarnOfFraction(const Value* quantity, const FieldPath& path, Texts& out) {
  if (quantity == nullptr || QuantityOf(*quantity).MilliValue() % 1000 == 0) return;
  out.push_back(path.text() + ": fractional byte value " + GoQuote(quantity->string_or({})) +
                " is invalid, must be an integer");
}

void WarnOfClaimSpec(const Value& spec, const FieldPath& path, Texts& out) {
  for (const char* list : {"requests", "limits"}) {
    WarnOfFraction(spec["resources"][list].Find("storage"),
                   path.Child("resources").Child(list).Key("storage"), out);
  }
}

void WarnOfPersistentVolumeClaim(const Value& object, Texts& out) {
  WarnOfAnnotation(object, kClassAnnotation,
                   "deprecated since v1.8; use \"storageClassName\" attribute instead", out);
  WarnOfClaimSpec(object["spec"], FieldPath("spec"), out);
}

void WarnOfPersistentVolume(const Value& object, Texts& out) {
  const Value& spec = object["spec"];
  const FieldPath path("spec");
  WarnOfAnnotation(object, kClassAnnotation,
                   "deprecated since v1.8; use \"storageClassName\" attribute instead", out);
  WarnOfAnnotation(object, kMountAnnotation, "deprecated since v1.31; use \"mountOptions\" attribute instead",
                   out);
  if (Text(spec, "persistentVolumeReclaimPolicy") == "Recycle") {
    out.push_back(
        "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the "
        "recommended "
        "approach is to use dynamic provisioning.");
  }
  const Value& terms = spec["nodeAffinity"]["required"]["nodeSelectorTerms"];
  const FieldPath terms_path = path.Child("nodeAffinity").Child("required").Child("nodeSelectorTerms");
  for (std::size_t i = 0; i < terms.size(); ++i) {
    WarnOfNodeSelectorTerm(terms.as_array()[i], terms_path.Index(i), out);
  }
  for (const OldVolumeSource& source : kOldVolumeSources) {
    const std::string_view field = source.name == "storageOS" ? "storageos" : source.name;
    if (Has(spec, field)) out.push_back(path.Child(source.name).text() + ": " + std::string(source.text));
  }
  WarnOfFraction(spec["capacity"].Find("storage"), path.Child("capacity").Key("storage"), out);
}

void WarnOfStorageClass(const Value& object, Texts& out) {
  const json::Array& topologies = Items(object["allowedTopologies"]);
  for (std::size_t i = 0; i < topologies.size(); ++i) {
    const json::Array& expressions = Items(topologies[i]["matchLabelExpressions"]);
    for (std::size_t j = 0; j < expressions.size(); ++j) {
      const std::string_view text = OldNodeLabelText(Text(expressions[j], "key"));
      const FieldPath path = FieldPath("allowedTopologies").Index(i).Child("matchLabelExpressions").Index(j);
      if (!text.empty()) out.push_back(path.text() + ": " + std::string(text));
    }
  }
}

}  // namespace flyball::api
