#include "cli/kubectl/describe/describe_kinds.h"

#include <algorithm>
#include <cctype>

#include "cli/kubectl/describe/describe_pod.h"
#include "cli/kubectl/describe/describe_text.h"
#include "cli/kubectl/describe/rule_table.h"
#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/session/resource_args.h"
#include "net/tls/pki.h"

namespace flyball::cli {
namespace {

const KindRef kEndpointSlices{"discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", true};

// The addresses behind one port, at most three.
std::string EndpointsText(const std::vector<json::Value>& slices, const json::Value& port_name) {
  std::string out;
  int shown = 0, all = 0;
  for (const json::Value& slice : slices) {
    if (!slice["ports"].is_array() || !slice["endpoints"].is_array()) continue;
    for (const json::Value& port : slice["ports"].as_array()) {
      if (port["name"].string_or("") != port_name.string_or("")) continue;
      for (const json::Value& endpoint : slice["endpoints"].as_array()) {
        if (!endpoint["conditions"]["ready"].bool_or(true) || !endpoint["addresses"].is_array()) continue;
        for (const json::Value& address : endpoint["addresses"].as_array()) {
          if (++all > 3) continue;
          ++shown;
          out += (out.empty() ? "" : ",") + TextOr(address, "") + ":" + TextOr(port["port"], "");
        }
      }
    }
  }
  return all > shown ? out + " + " + std::to_string(all - shown) + " more..." : out;
}

std::string SpacedName(const std::string& field) {
  std::string out;
  for (std::size_t i = 0; i < field.size(); ++i) {
    if (i == 0)
      out.push_back(static_cast<char>(std::toupper(static_cast<unsigned char>(field[i]))));
    else if (std::isupper(static_cast<unsigned char>(field[i])) &&
             !std::isupper(static_cast<unsigned char>(field[i - 1])))
      out += std::string(" ") + field[i];
    else
      out.push_back(field[i]);
  }
  return out == "Api Version" ? "API Version" : out == "Uid" ? "UID" : out;
}

void WriteFields(const json::Value& value, int level, std::string& out);

void WriteField(const std::string& title, const json::Value& value, int level, std::string& out) {
  const std::string indent(static_cast<std::size_t>(level) * 2, ' ');
  if (value.is_object()) {
    out += indent + title + ":\n";
    WriteFields(value, level + 1, out);
  } else if (value.is_array()) {
    out += indent + title + ":\n";
    for (const json::Value& item : value.as_array()) {
      if (item.is_object())
        WriteFields(item, level + 1, out);
      else
        out += indent + "  " + TextOr(item, "") + "\n";
    }
  } else {
    out += indent + title + ":\t" + TextOr(value, "<nil>") + "\n";
  }
}

void WriteFields(const json::Value& value, int level, std::string& out) {
  json::Object sorted = value.as_object();
  sorted.SortKeys();
  for (const auto& [key, member] : sorted) WriteField(SpacedName(key), member, level, out);
}

}  // namespace

std::string ServiceText(Session& session, const json::Value& object) {
  const json::Value& spec = object["spec"];
  std::string out = MetadataLines(object);
  std::string selector;
  if (spec["selector"].is_object())
    for (const auto& [key, value] : spec["selector"].as_object())
      selector += (selector.empty() ? "" : ",") + key + "=" + TextOr(value, "");
  out += "Selector:\t" + (selector.empty() ? "<none>" : selector) + "\nType:\t" + TextOr(spec["type"], "") +
         "\n";
  if (spec["ipFamilyPolicy"].is_string())
    out += "IP Family Policy:\t" + TextOr(spec["ipFamilyPolicy"], "") + "\n";
  out += "IP Families:\t" + (spec["ipFamilies"].empty() ? "<none>" : Joined(spec["ipFamilies"])) + "\nIP:\t" +
         TextOr(spec["clusterIP"], "") + "\nIPs:\t" +
         (spec["clusterIPs"].empty() ? "<none>" : Joined(spec["clusterIPs"])) + "\n";
  std::vector<json::Value> slices;
  if (auto found = ListObjects(session, kEndpointSlices, object["metadata"]["namespace"].string_or(""),
                               "kubernetes.io/service-name=" + TextOr(object["metadata"]["name"], "")))
    slices = std::move(*found);
  if (spec["ports"].is_array())
    for (const json::Value& port : spec["ports"].as_array()) {
      const std::string protocol(port["protocol"].string_or("TCP"));
      out += "Port:\t" + TextOr(port["name"], "<unset>") + "\t" + TextOr(port["port"], "") + "/" + protocol +
             "\nTargetPort:\t" + TextOr(port["targetPort"], "") + "/" + protocol + "\n";
      if (port["nodePort"].is_int())
        out += "NodePort:\t" + TextOr(port["name"], "<unset>") + "\t" + TextOr(port["nodePort"], "") + "/" +
               protocol + "\n";
      out += "Endpoints:\t" + EndpointsText(slices, port["name"]) + "\n";
    }
  out += "Session Affinity:\t" + TextOr(spec["sessionAffinity"], "") + "\n";
  if (spec["externalTrafficPolicy"].is_string())
    out += "External Traffic Policy:\t" + TextOr(spec["externalTrafficPolicy"], "") + "\n";
  if (spec["internalTrafficPolicy"].is_string())
    out += "Internal Traffic Policy:\t" + TextOr(spec["internalTrafficPolicy"], "") + "\n";
  return out;
}

std::string ConfigMapText(const json::Value& object) {
  std::string out = MetadataLines(object) + "\nData\n====\n";
  json::Object data = object["data"].is_object() ? object["data"].as_object() : json::Object();
  data.SortKeys();
  for (const auto& [key, value] : data) out += key + ":\n----\n" + TextOr(value, "") + "\n\n";
  out += "\nBinaryData\n====\n";
  json::Object binary = object["binaryData"].is_object() ? object["binaryData"].as_object() : json::Object();
  binary.SortKeys();
  for (const auto& [key, value] : binary) {
    const auto bytes = net::Base64Decode(value.string_or(""));
    out += key + ": " + std::to_string(bytes ? bytes->size() : 0) + " bytes\n";
  }
  return out + "\n";
}

std::string SecretText(const json::Value& object) {
  std::string out = MetadataLines(object) + "\nType:\t" + TextOr(object["type"], "") + "\n\nData\n====\n";
  json::Object data = object["data"].is_object() ? object["data"].as_object() : json::Object();
  data.SortKeys();
  for (const auto& [key, value] : data) {
    const auto bytes = net::Base64Decode(value.string_or(""));
    out += key + ":\t" + std::to_string(bytes ? bytes->size() : 0) + " bytes\n";
  }
  return out;
}

std::string RoleText(const json::Value& object) {
  std::string out = "Name:\t" + TextOr(object["metadata"]["name"], "") + "\n" +
                    LabelLines("Labels", object["metadata"]["labels"]) +
                    AnnotationLines("Annotations", object["metadata"]["annotations"]) +
                    "PolicyRule:\n  Resources\tNon-Resource URLs\tResource Names\tVerbs\n"
                    "  ---------\t-----------------\t--------------\t-----\n";
  for (const RuleRow& row : RuleRows(Elements(object["rules"])))
    out += "  " + row.resource + "\t" + row.urls + "\t" + row.names + "\t" + row.verbs + "\n";
  return out;
}

std::string GenericText(const json::Value& object) {
  std::string out = "Name:\t" + TextOr(object["metadata"]["name"], "") + "\nNamespace:\t" +
                    TextOr(object["metadata"]["namespace"], "") + "\n" +
                    LabelLines("Labels", object["metadata"]["labels"]) +
                    AnnotationLines("Annotations", object["metadata"]["annotations"]);
  json::Value rest = object;
  json::Object& metadata = rest["metadata"].as_object();
  for (const char* shown : {"name", "namespace", "labels", "annotations", "managedFields"})
    metadata.Erase(shown);
  WriteFields(rest, 0, out);
  return out;
}

Description Describe(Session& session, const json::Value& object) {
  const auto [group, version] = SplitApiVersion(object["apiVersion"].string_or(""));
  const std::string kind(object["kind"].string_or(""));
  if (group.empty()) {
    if (kind == "Pod") return {PodText(object)};
    if (kind == "Service") return {ServiceText(session, object)};
    if (kind == "Node") return {NodeText(session, object)};
    if (kind == "ConfigMap") return {ConfigMapText(object)};
    if (kind == "Secret") return {SecretText(object), false};
    if (kind == "Namespace") return {NamespaceText(session, object), false};
    if (kind == "PersistentVolumeClaim") return {ClaimText(session, object)};
    if (kind == "ServiceAccount") return {ServiceAccountText(object)};
    if (kind == "ReplicationController") return {ReplicationControllerText(session, object)};
    if (kind == "Endpoints") return {EndpointsText(object)};
    if (kind == "ResourceQuota") return {QuotaText(object), false};
    if (kind == "LimitRange") return {LimitRangeText(object), false};
  }
  if (group == "apps" && kind == "Deployment") return {DeploymentText(session, object)};
  if (group == "apps" && kind == "ReplicaSet") return {ReplicaSetText(session, object)};
  if (group == "apps" && kind == "DaemonSet") return {DaemonSetText(session, object)};
  if (group == "apps" && kind == "StatefulSet") return {StatefulSetText(session, object)};
  if (group == "batch" && kind == "Job") return {JobText(session, object)};
  if (group == "batch" && kind == "CronJob") return {CronJobText(object)};
  if (group == "networking.k8s.io" && kind == "Ingress") return {IngressText(session, object)};
  if (group == "policy" && kind == "PodDisruptionBudget") return {DisruptionBudgetText(object)};
  if (group == "rbac.authorization.k8s.io" && (kind == "Role" || kind == "ClusterRole"))
    return {RoleText(object), false};
  if (group == "rbac.authorization.k8s.io" && (kind == "RoleBinding" || kind == "ClusterRoleBinding"))
    return {RoleBindingText(object), false};
  return {GenericText(object)};
}

}  // namespace flyball::cli
