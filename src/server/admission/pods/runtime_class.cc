#include "server/admission/pods/runtime_class.h"

#include <algorithm>

#include "api/usage/resource_amounts.h"
#include "api/values/quantity.h"
#include "server/admission/basis/requests.h"
#include "server/admission/pods/tolerations.h"

namespace flyball::server {
namespace {

// Adds the class's node selector to the pod's; the name of a key they disagree about, or "".
std::string MergeNodeSelector(json::Value& spec, const json::Value& wanted) {
  if (!wanted.is_object()) return {};
  for (const auto& [key, value] : wanted.as_object()) {
    const auto* own = spec["nodeSelector"].Find(key);
    if (own && !(*own == value)) return key;
    spec["nodeSelector"][key] = value;
  }
  return {};
}

class RuntimeClassAdmission final : public AdmissionPlugin {
 public:
  explicit RuntimeClassAdmission(const Catalog& catalog)
      : classes_(catalog.Find("node.k8s.io", "v1", "runtimeclasses")) {}
  std::string_view name() const override { return "RuntimeClass"; }

  Task<Status> Admit(AdmissionRequest& request) override {
    if (!CreatesPod(request)) co_return Status();
    auto& spec = (*request.object)["spec"];
    const std::string wanted(spec["runtimeClassName"].string_or(""));
    if (wanted.empty()) co_return Status();
    const auto object = classes_->cache->Get(wanted);
    if (!object)
      co_return Unexpected(
          AdmissionForbidden(request, "pod rejected: RuntimeClass \"" + wanted + "\" not found"));
    const auto value = object->ToValue();
    if (const auto& overhead = value["overhead"]["podFixed"]; overhead.is_object() && !spec.Find("overhead"))
      spec["overhead"] = overhead;
    const auto& scheduling = value["scheduling"];
    if (const auto key = MergeNodeSelector(spec, scheduling["nodeSelector"]); !key.empty())
      co_return Unexpected(AdmissionForbidden(
          request, "conflict: runtimeClass.scheduling.nodeSelector[" + key +
                       "] = " + std::string(scheduling["nodeSelector"][key].string_or("")) +
                       "; pod.spec.nodeSelector[" + key +
                       "] = " + std::string(spec["nodeSelector"][key].string_or(""))));
    if (const auto& wanted_tolerations = scheduling["tolerations"]; !wanted_tolerations.empty())
      spec["tolerations"] = MergeTolerations(spec["tolerations"], wanted_tolerations);
    co_return Status();
  }

  Task<Status> Validate(const AdmissionRequest& request) override {
    if (!CreatesPod(request)) co_return Status();
    const auto& spec = (*request.object)["spec"];
    const auto given = api::ResourceAmountsOf(spec["overhead"]);
    const auto object = classes_->cache->Get(spec["runtimeClassName"].string_or(""));
    const auto defined =
        object ? api::ResourceAmountsOf(object->ToValue()["overhead"]["podFixed"]) : api::ResourceAmounts{};
    if (given == defined) co_return Status();
    if (defined.empty())
      co_return Unexpected(AdmissionForbidden(
          request, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"));
    co_return Unexpected(AdmissionForbidden(
        request, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"));
  }

 private:
  const ResourcePtr classes_;
};

class PersistentVolumeClaimResize final : public AdmissionPlugin {
 public:
  explicit PersistentVolumeClaimResize(const Catalog& catalog)
      : classes_(catalog.Find("storage.k8s.io", "v1", "storageclasses")) {}
  std::string_view name() const override { return "PersistentVolumeClaimResize"; }

  Task<Status> Validate(const AdmissionRequest& request) override {
    const auto& kind = *request.resource.kind;
    if (request.operation != AdmissionRequest::Operation::kUpdate || !request.subresource.empty() ||
        !kind.group.empty() || kind.plural != "persistentvolumeclaims")
      co_return Status();
    const auto &now = *request.object, &before = *request.old_object;
    if (Size(now) <= Size(before)) co_return Status();
    if (before["status"]["phase"].string_or("") != "Bound")
      co_return Unexpected(
          AdmissionForbidden(request, "Only bound persistent volume claims can be expanded"));
    if (!MayGrow(ClassOf(now)) || ClassOf(now) != ClassOf(before))
      co_return Unexpected(AdmissionForbidden(
          request,
          "only dynamically provisioned pvc can be resized and the storageclass that provisions the "
          "pvc must support resize"));
    co_return Status();
  }

 private:
  static api::Quantity Size(const json::Value& claim) {
    const auto size = api::Quantity::Parse(claim["spec"]["resources"]["requests"]["storage"].string_or(""));
    return size ? *size : api::Quantity();
  }
  static std::string ClassOf(const json::Value& claim) {
    if (const auto* old = claim["metadata"]["annotations"].Find("volume.beta.kubernetes.io/storage-class"))
      return std::string(old->string_or(""));
    return std::string(claim["spec"]["storageClassName"].string_or(""));
  }
  bool MayGrow(const std::string& name) const {
    const auto object = name.empty() ? nullptr : classes_->cache->Get(name);
    return object && object->ToValue()["allowVolumeExpansion"].bool_or(false);
  }

  const ResourcePtr classes_;
};

}  // namespace

std::unique_ptr<AdmissionPlugin> NewRuntimeClassAdmission(const Catalog& catalog) {
  return std::make_unique<RuntimeClassAdmission>(catalog);
}
std::unique_ptr<AdmissionPlugin> NewPersistentVolumeClaimResize(const Catalog& catalog) {
  return std::make_unique<PersistentVolumeClaimResize>(catalog);
}

}  // namespace flyball::server
