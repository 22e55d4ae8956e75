#include "server/admission/pods/bound_pods.h"

#include <array>
#include <set>
#include <string>
#include <vector>

#include "api/schema/feature_gates.h"
#include "api/select/matching.h"
#include "api/types/core.h"
#include "api/usage/resource_amounts.h"
#include "server/admission/basis/requests.h"

namespace flyball::server {
namespace {

constexpr std::array<std::string_view, 2> kTopologyLabels = {"topology.kubernetes.io/zone",
                                                             "topology.kubernetes.io/region"};

class PodTopologyLabels final : public AdmissionPlugin {
 public:
  explicit PodTopologyLabels(const Catalog& catalog) : nodes_(catalog.Find("", "v1", "nodes")) {}
  std::string_view name() const override { return "PodTopologyLabels"; }

  Task<Status> Admit(AdmissionRequest& request) override {
    const bool creates = request.operation == AdmissionRequest::Operation::kCreate && request.object;
    if (!creates || !IsAboutPods(request) || !api::GateEnabled("PodTopologyLabelsAdmission"))
      co_return Status();
    const auto& object = std::as_const(*request.object);
    if (request.subresource.empty()) {
      Copy(object["spec"]["nodeName"].string_or(""), *request.object);
    } else if (request.subresource == "binding" && object["target"]["kind"].string_or("") == "Node") {
      Copy(object["target"]["name"].string_or(""), *request.object);
    }
    co_return Status();
  }

 private:
  void Copy(std::string_view node_name, json::Value& object) const {
    if (node_name.empty()) return;
    const auto node = nodes_->cache->Get(node_name);
    if (!node) return;
    for (std::size_t i = 0; i < node->label_count(); ++i)
      if (const auto [key, value] = node->label(i); key == kTopologyLabels[0] || key == kTopologyLabels[1])
        object["metadata"]["labels"][key] = value;
  }

  const ResourcePtr nodes_;
};

// Whether an update of a pod, or of the subresource, changes the spec of a pod that is on a node.
bool ChangesBoundPod(const AdmissionRequest& request) {
  return request.operation == AdmissionRequest::Operation::kUpdate && request.object && request.old_object &&
         IsAboutPods(request) && !(*request.object)["spec"]["nodeName"].string_or("").empty() &&
         !((*request.object)["metadata"]["generation"] == (*request.old_object)["metadata"]["generation"]);
}

Result<ObjectPtr> NodeOfPod(const AdmissionRequest& request, const ServedResource& nodes) {
  const std::string name((*request.object)["spec"]["nodeName"].string_or(""));
  auto node = nodes.cache->Get(name);
  if (!node) return Unexpected(AdmissionForbidden(request, "node \"" + name + "\" not found"));
  return node;
}

class PodResizeValidator final : public AdmissionPlugin {
 public:
  explicit PodResizeValidator(const Catalog& catalog) : nodes_(catalog.Find("", "v1", "nodes")) {}
  std::string_view name() const override { return "PodResizeValidator"; }

  Task<Status> Validate(const AdmissionRequest& request) override {
    if (request.subresource != "resize" || !ChangesBoundPod(request)) co_return Status();
    FLYBALL_CO_ASSIGN(const ObjectPtr node, NodeOfPod(request, *nodes_));
    const auto value = node->ToValue();
    const auto system = value["metadata"]["labels"]["kubernetes.io/os"].string_or("linux");
    if (system != "linux")
      co_return Refuse(request, "UnsupportedPlatform",
                       "pod resize is only supported on linux nodes, node \"" + std::string(node->name()) +
                           "\" is \"" + std::string(system) + "\"");
    if (const auto text = TooMuch((*request.object)["spec"], value["status"]["allocatable"]); !text.empty())
      co_return Refuse(request, "NodeCapacity", "node didn't have enough allocatable resources: " + text);
    co_return Status();
  }

 private:
  static Status Refuse(const AdmissionRequest& request, const char* cause, const std::string& text) {
    auto error = AdmissionForbidden(request, text);
    auto details = error.details();
    details.causes.push_back({cause, "", ""});
    return Unexpected(error.WithDetails(std::move(details)));
  }

  // "cpu, requested: 9000, allocatable: 4000; memory, ...", or "".
  static std::string TooMuch(const json::Value& spec, const json::Value& allocatable) {
    auto asked = api::PodResources(spec, "requests", api::PodOverhead::kIncluded);
    auto given = api::ResourceAmountsOf(allocatable);
    std::string text;
    const auto add = [&](std::string_view name, std::int64_t wanted, std::int64_t there) {
      text += (text.empty() ? "" : "; ") + std::string(name) + ", requested: " + std::to_string(wanted) +
              ", allocatable: " + std::to_string(there);
    };
    if (asked["cpu"] > given["cpu"]) add("cpu", asked["cpu"].MilliValue(), given["cpu"].MilliValue());
    if (asked["memory"] > given["memory"]) add("memory", asked["memory"].Value(), given["memory"].Value());
    return text;
  }

  const ResourcePtr nodes_;
};

bool IsSidecar(const json::Value& container) {
  return container["restartPolicy"].string_or("") == "Always";
}

bool ResizesInitContainer(const json::Value& now, const json::Value& before) {
  const auto &new_list = now["initContainers"], &old_list = before["initContainers"];
  if (!new_list.is_array() || !old_list.is_array()) return false;
  for (std::size_t i = 0; i < old_list.as_array().size() && i < new_list.as_array().size(); ++i)
    if (!IsSidecar(old_list.as_array()[i]) &&
        !(old_list.as_array()[i]["resources"] == new_list.as_array()[i]["resources"]))
      return true;
  return false;
}

bool ResizesMemoryVolume(const json::Value& now, const json::Value& before) {
  const auto &new_list = now["volumes"], &old_list = before["volumes"];
  if (!new_list.is_array() || !old_list.is_array() ||
      new_list.as_array().size() != old_list.as_array().size())
    return false;
  for (std::size_t i = 0; i < new_list.as_array().size(); ++i) {
    const auto &volume = new_list.as_array()[i], &old_volume = old_list.as_array()[i];
    const auto &size = volume["emptyDir"]["sizeLimit"], &old_size = old_volume["emptyDir"]["sizeLimit"];
    if (volume["name"] == old_volume["name"] && volume["emptyDir"]["medium"].string_or("") == "Memory" &&
        !size.is_null() && !old_size.is_null() && !(size == old_size))
      return true;
  }
  return false;
}

// What a node must declare for the change, sorted.
std::set<std::string> FeaturesOfChange(const json::Value& now, const json::Value& before) {
  std::set<std::string> features;
  if (!(now["resources"] == before["resources"])) features.insert("InPlacePodLevelResourcesVerticalScaling");
  if (ResizesInitContainer(now, before)) features.insert("InPlacePodVerticalScalingInitContainers");
  if (ResizesMemoryVolume(now, before)) features.insert("InPlacePodVerticalScalingMemoryBackedVolumes");
  return features;
}

bool Declares(const json::Value& node, std::string_view feature) {
  if (const auto& declared = node["status"]["declaredFeatures"]; declared.is_array())
    for (const auto& name : declared.as_array())
      if (name.string_or("") == feature) return true;
  return false;
}

class NodeDeclaredFeatureValidator final : public AdmissionPlugin {
 public:
  explicit NodeDeclaredFeatureValidator(const Catalog& catalog) : nodes_(catalog.Find("", "v1", "nodes")) {}
  std::string_view name() const override { return "NodeDeclaredFeatureValidator"; }

  Task<Status> Validate(const AdmissionRequest& request) override {
    if (!api::GateEnabled("NodeDeclaredFeatures")) co_return Status();
    if (request.subresource.empty() || request.subresource == "resize")
      if (ChangesBoundPod(request)) co_return CheckPod(request);
    if (Writes(request) && IsAbout(request, "resource.k8s.io", "resourceslices") &&
        api::GateEnabled(kNodeResources))
      co_return CheckSlice(request);
    co_return Status();
  }

 private:
  static constexpr std::string_view kNodeResources = "DRANodeAllocatableResources";

  Status CheckPod(const AdmissionRequest& request) const {
    const auto wanted = FeaturesOfChange((*request.object)["spec"], (*request.old_object)["spec"]);
    if (wanted.empty()) return {};
    FLYBALL_ASSIGN(const ObjectPtr node, NodeOfPod(request, *nodes_));
    const auto value = node->ToValue();
    std::string missing;
    for (const auto& feature : wanted)
      if (!Declares(value, feature)) missing += (missing.empty() ? "" : ", ") + feature;
    if (missing.empty()) return {};
    return Unexpected(AdmissionForbidden(request, "pod update requires features " + missing +
                                                      " which are not available on node \"" +
                                                      std::string(node->name()) + "\""));
  }

  Status CheckSlice(const AdmissionRequest& request) const {
    const auto& spec = (*request.object)["spec"];
    if (!spec["devices"].is_array()) return {};
    const bool each = spec["perDeviceNodeSelection"].bool_or(false);
    for (const auto& device : spec["devices"].as_array())
      if (!device["nodeAllocatableResources"].empty())
        FLYBALL_TRY(CheckDevice(request, device, each ? device : spec));
    return {};
  }

  // `where` says on which nodes the device is.
  Status CheckDevice(const AdmissionRequest& request, const json::Value& device,
                     const json::Value& where) const {
    const std::string name(device["name"].string_or("")), node_name(where["nodeName"].string_or(""));
    if (!node_name.empty()) {
      const auto node = nodes_->cache->Get(node_name);
      if (!node)
        return Unexpected(
            AdmissionForbidden(request, "node \"" + node_name + "\" not found for device \"" + name + "\""));
      return CheckNode(request, node->ToValue());
    }
    const bool all = where["nodeSelector"].is_null() && where["allNodes"].bool_or(false);
    if (where["nodeSelector"].is_null() && !all)
      return Unexpected(AdmissionForbidden(
          request, "device \"" + name +
                       "\" in ResourceSlice has NodeAllocatableResources but does not map to any nodes"));
    for (const auto& object : nodes_->cache->List({}).objects) {
      const auto node = object->ToValue();
      if (all || Selects(where["nodeSelector"], node)) FLYBALL_TRY(CheckNode(request, node));
    }
    return {};
  }

  static bool Selects(const json::Value& selector, const json::Value& node) {
    Node typed;
    NodeSelector wanted;
    if (!FromJson(node, &typed) || !FromJson(selector, &wanted)) return false;
    for (const auto& term : wanted.node_selector_terms)
      if (Matches(term, typed)) return true;
    return false;
  }

  static Status CheckNode(const AdmissionRequest& request, const json::Value& node) {
    if (Declares(node, kNodeResources)) return {};
    return Unexpected(
        AdmissionForbidden(request, "node \"" + std::string(node["metadata"]["name"].string_or("")) +
                                        "\" does not support " + std::string(kNodeResources) + " feature"));
  }

  const ResourcePtr nodes_;
};

}  // namespace

std::unique_ptr<AdmissionPlugin> NewPodTopologyLabels(const Catalog& catalog) {
  return std::make_unique<PodTopologyLabels>(catalog);
}
std::unique_ptr<AdmissionPlugin> NewPodResizeValidator(const Catalog& catalog) {
  return std::make_unique<PodResizeValidator>(catalog);
}
std::unique_ptr<AdmissionPlugin> NewNodeDeclaredFeatureValidator(const Catalog& catalog) {
  return std::make_unique<NodeDeclaredFeatureValidator>(catalog);
}

}  // namespace flyball::server
