#include "server/admission/optional_plugins.h"

#include <set>
#include <string>

#include "server/admission/pod_admission.h"

namespace flyball::server {
namespace {

constexpr std::string_view kHostnameLabel = "kubernetes.io/hostname";

class AlwaysAdmit final : public AdmissionPlugin {
 public:
  std::string_view name() const override { return "AlwaysAdmit"; }
};

class AlwaysDeny final : public AdmissionPlugin {
 public:
  std::string_view name() const override { return "AlwaysDeny"; }
  Task<Status> Admit(AdmissionRequest& request) override { co_return Refuse(request); }
  Task<Status> Validate(const AdmissionRequest& request) override { co_return Refuse(request); }

 private:
  static Status Refuse(const AdmissionRequest& request) {
    return Unexpected(AdmissionForbidden(request, "admission control is denying all modifications"));
  }
};

class AlwaysPullImages final : public AdmissionPlugin {
 public:
  std::string_view name() const override { return "AlwaysPullImages"; }

  Task<Status> Admit(AdmissionRequest& request) override {
    if (!CreatesPod(request)) co_return Status();
    for (const std::string_view list : {"containers", "initContainers"}) {
      auto* containers = (*request.object)["spec"].Find(list);
      if (!containers || !containers->is_array()) continue;
      for (auto& container : containers->as_array()) container["imagePullPolicy"] = "Always";
    }
    co_return Status();
  }
};

class ExtendedResourceToleration final : public AdmissionPlugin {
 public:
  std::string_view name() const override { return "ExtendedResourceToleration"; }

  Task<Status> Admit(AdmissionRequest& request) override {
    if (!CreatesPod(request)) co_return Status();
    auto& spec = (*request.object)["spec"];
    std::set<std::string> names;
    for (const std::string_view list : {"containers", "initContainers"})
      if (const auto* containers = spec.Find(list); containers && containers->is_array())
        for (const auto& container : containers->as_array())
          Collect(container["resources"]["requests"], names);
    for (const auto& name : names) Tolerate(spec, name);
    co_return Status();
  }

 private:
  static void Collect(const json::Value& requests, std::set<std::string>& names) {
    if (!requests.is_object()) return;
    for (const auto& [name, quantity] : requests.as_object())
      if (name.find('/') != std::string::npos && name.find("kubernetes.io/") == std::string::npos)
        names.insert(name);
  }
  static void Tolerate(json::Value& spec, const std::string& name) {
    auto& list = spec["tolerations"];
    if (!list.is_array()) list = json::Array{};
    for (const auto& toleration : list.as_array())
      if (toleration["key"].string_or("") == name && toleration["operator"].string_or("") == "Exists" &&
          toleration["effect"].string_or("").empty())
        return;
    list.as_array().push_back(json::Object{{"key", name}, {"operator", "Exists"}});
  }
};

class DenyServiceExternalIPs final : public AdmissionPlugin {
 public:
  std::string_view name() const override { return "DenyServiceExternalIPs"; }

  Task<Status> Validate(const AdmissionRequest& request) override {
    const auto& kind = *request.resource.kind;
    if (!request.object || !kind.group.empty() || kind.plural != "services" || !request.subresource.empty())
      co_return Status();
    std::set<std::string> before;
    if (request.old_object) Collect((*request.old_object)["spec"]["externalIPs"], before);
    std::set<std::string> now;
    Collect((*request.object)["spec"]["externalIPs"], now);
    for (const auto& ip : now)
      if (!before.contains(ip))
        co_return Unexpected(
            AdmissionForbidden(request, "Use of external IPs is denied by admission control."));
    co_return Status();
  }

 private:
  static void Collect(const json::Value& list, std::set<std::string>& out) {
    if (!list.is_array()) return;
    for (const auto& item : list.as_array()) out.emplace(item.string_or(""));
  }
};

class LimitPodHardAntiAffinityTopology final : public AdmissionPlugin {
 public:
  std::string_view name() const override { return "LimitPodHardAntiAffinityTopology"; }

  Task<Status> Validate(const AdmissionRequest& request) override {
    if (!CreatesPod(request)) co_return Status();
    const auto& terms = (*request.object)["spec"]["affinity"]["podAntiAffinity"]
                                         ["requiredDuringSchedulingIgnoredDuringExecution"];
    if (!terms.is_array()) co_return Status();
    for (const auto& term : terms.as_array())
      if (const auto key = term["topologyKey"].string_or(""); key != kHostnameLabel)
        co_return Unexpected(AdmissionForbidden(
            request, "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey " + std::string(key) +
                         " but only key " + std::string(kHostnameLabel) + " is allowed"));
    co_return Status();
  }
};

}  // namespace

std::unique_ptr<AdmissionPlugin> NewAlwaysAdmit() {
  return std::make_unique<AlwaysAdmit>();
}
std::unique_ptr<AdmissionPlugin> NewAlwaysDeny() {
  return std::make_unique<AlwaysDeny>();
}
std::unique_ptr<AdmissionPlugin> NewAlwaysPullImages() {
  return std::make_unique<AlwaysPullImages>();
}
std::unique_ptr<AdmissionPlugin> NewExtendedResourceToleration() {
  return std::make_unique<ExtendedResourceToleration>();
}
std::unique_ptr<AdmissionPlugin> NewDenyServiceExternalIPs() {
  return std::make_unique<DenyServiceExternalIPs>();
}
std::unique_ptr<AdmissionPlugin> NewLimitPodHardAntiAffinityTopology() {
  return std::make_unique<LimitPodHardAntiAffinityTopology>();
}

}  // namespace flyball::server
