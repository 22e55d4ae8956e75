#include "server/admission/pods/optional_pod_plugins.h"

#include <array>
#include <set>
#include <string>

#include "api/rules/field_error.h"
#include "api/rules/format.h"
#include "server/admission/basis/requests.h"
#include "server/config/strict_object.h"

namespace flyball::server {
namespace {

constexpr std::string_view kHostnameLabel = "kubernetes.io/hostname";
constexpr std::array<std::string_view, 3> kContainerLists = {"initContainers", "containers",
                                                             "ephemeralContainers"};

const json::Array& ElementsOf(const json::Value& list) {
  static const json::Array kNone;
  return list.is_array() ? list.as_array() : kNone;
}

class AlwaysPullImages final : public AdmissionPlugin {
 public:
  std::string_view name() const override { return "AlwaysPullImages"; }

  Task<Status> Admit(AdmissionRequest& request) override {
    if (!WritesPod(request) || !HasNewImage(request)) co_return Status();
    auto& spec = (*request.object)["spec"];
    for (const auto list : kContainerLists)
      if (auto* containers = spec.Find(list); containers && containers->is_array())
        for (auto& container : containers->as_array()) container["imagePullPolicy"] = "Always";
    if (auto* volumes = spec.Find("volumes"); volumes && volumes->is_array())
      for (auto& volume : volumes->as_array())
        if (auto* image = volume.Find("image"); image && image->is_object())
          (*image)["pullPolicy"] = "Always";
    co_return Status();
  }

  // Plugins that come later may have changed the policy.
  Task<Status> Validate(const AdmissionRequest& request) override {
    if (!WritesPod(request) || !HasNewImage(request)) co_return Status();
    std::vector<std::string> refusals;
    const auto check = [&](const json::Value& policy, const api::FieldPath& path) {
      if (policy.string_or("") == "Always") return;
      api::FieldErrors errors;
      errors.NotSupported(path, policy.string_or(""), {"Always"});
      refusals.push_back(AdmissionForbidden(request, AggregateText(errors)).message());
    };
    const auto& spec = std::as_const(*request.object)["spec"];
    const api::FieldPath root("spec");
    for (const auto list : kContainerLists)
      for (std::size_t i = 0; i < ElementsOf(spec[list]).size(); ++i)
        check(ElementsOf(spec[list])[i]["imagePullPolicy"],
              root.Child(list).Index(i).Child("imagePullPolicy"));
    for (std::size_t i = 0; i < ElementsOf(spec["volumes"]).size(); ++i)
      if (const auto& image = ElementsOf(spec["volumes"])[i]["image"]; image.is_object())
        check(image["pullPolicy"], root.Child("volumes").Index(i).Child("image").Child("pullPolicy"));
    if (refusals.empty()) co_return Status();
    co_return Unexpected(PlainError(AggregateText(refusals)));
  }

 private:
  static std::set<std::string> ImagesOf(const json::Value& pod) {
    std::set<std::string> images;
    for (const auto list : kContainerLists)
      for (const auto& container : ElementsOf(pod["spec"][list]))
        images.emplace(container["image"].string_or(""));
    return images;
  }
  static bool HasNewImage(const AdmissionRequest& request) {
    if (request.operation != AdmissionRequest::Operation::kUpdate || !request.old_object) return true;
    const auto before = ImagesOf(*request.old_object);
    for (const auto& image : ImagesOf(*request.object))
      if (!before.contains(image)) return true;
    return false;
  }
};

class ExtendedResourceToleration final : public AdmissionPlugin {
 public:
  std::string_view name() const override { return "ExtendedResourceToleration"; }

  Task<Status> Admit(AdmissionRequest& request) override {
    if (!WritesPod(request)) co_return Status();
    auto& spec = (*request.object)["spec"];
    std::set<std::string> names;
    for (const std::string_view list : {"containers", "initContainers"})
      for (const auto& container : ElementsOf(std::as_const(spec)[list]))
        Collect(container["resources"]["requests"], names);
    for (const auto& name : names) Tolerate(spec, name);
    co_return Status();
  }

 private:
  // A name that is not Kubernetes' own (upstream: IsExtendedResourceName).
  static bool IsExtended(const std::string& name) {
    return name.find('/') != std::string::npos && name.find("kubernetes.io/") == std::string::npos &&
           !name.starts_with("requests.") && api::QualifiedNameProblems("requests." + name).empty();
  }
  static void Collect(const json::Value& requests, std::set<std::string>& names) {
    if (!requests.is_object()) return;
    for (const auto& [name, quantity] : requests.as_object())
      if (IsExtended(name)) names.insert(name);
  }
  // Adds the toleration, or puts it in the place of those for the same taint (upstream:
  // AddOrUpdateTolerationInPod).
  static void Tolerate(json::Value& spec, const std::string& name) {
    const json::Value wanted = json::Object{{"key", name}, {"operator", "Exists"}, {"effect", "NoSchedule"}};
    auto& list = spec["tolerations"];
    if (!list.is_array()) list = json::Array{};
    bool found = false;
    for (auto& toleration : list.as_array()) {
      const bool same = toleration["key"] == wanted["key"] && toleration["effect"] == wanted["effect"] &&
                        toleration["operator"] == wanted["operator"] &&
                        toleration["value"].string_or("").empty();
      if (same) toleration = wanted;
      found = found || same;
    }
    if (!found) list.as_array().push_back(wanted);
  }
};

class LimitPodHardAntiAffinityTopology final : public AdmissionPlugin {
 public:
  std::string_view name() const override { return "LimitPodHardAntiAffinityTopology"; }

  Task<Status> Validate(const AdmissionRequest& request) override {
    if (!WritesPod(request)) co_return Status();
    const auto& terms = (*request.object)["spec"]["affinity"]["podAntiAffinity"]
                                         ["requiredDuringSchedulingIgnoredDuringExecution"];
    for (const auto& term : ElementsOf(terms))
      if (const auto key = term["topologyKey"].string_or(""); key != kHostnameLabel)
        co_return Unexpected(AdmissionForbidden(
            request, "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey " + std::string(key) +
                         " but only key " + std::string(kHostnameLabel) + " is allowed"));
    co_return Status();
  }
};

}  // namespace

std::unique_ptr<AdmissionPlugin> NewAlwaysPullImages() {
  return std::make_unique<AlwaysPullImages>();
}
std::unique_ptr<AdmissionPlugin> NewExtendedResourceToleration() {
  return std::make_unique<ExtendedResourceToleration>();
}
std::unique_ptr<AdmissionPlugin> NewLimitPodHardAntiAffinityTopology() {
  return std::make_unique<LimitPodHardAntiAffinityTopology>();
}

}  // namespace flyball::server
