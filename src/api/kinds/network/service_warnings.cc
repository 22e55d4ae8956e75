#include "api/kinds/network/service.h"
#include "api/rules/access.h"

namespace flyball::api {

void WarnOfService(const json::Value& object, std::vector<std::string>& out) {
  const json::Value& spec = object["spec"];
  const bool external = Text(spec, "type") == "ExternalName";
  if (object["metadata"]["annotations"].Find("service.kubernetes.io/topology-aware-hints") != nullptr) {
    out.push_back(
        "annotation service.kubernetes.io/topology-aware-hints is deprecated, please use "
        "service.kubernetes.io/topology-mode instead");
  }
  if (Text(spec, "type") == "ClusterIP" && Text(spec, "clusterIP") == "None") {
    if (!Text(spec, "loadBalancerIP").empty())
      out.push_back("spec.loadBalancerIP is ignored for headless services");
    if (spec["externalIPs"].size() > 0) out.push_back("spec.externalIPs is ignored for headless services");
    if (Text(spec, "sessionAffinity") != "None")
      out.push_back("spec.SessionAffinity is ignored for headless services");
  }
  if (external && spec["externalIPs"].size() > 0)
    out.push_back("spec.externalIPs is ignored when spec.type is \"ExternalName\"");
  if (!external && !Text(spec, "externalName").empty())
    out.push_back("spec.externalName is ignored when spec.type is not \"ExternalName\"");
}

}  // namespace flyball::api
