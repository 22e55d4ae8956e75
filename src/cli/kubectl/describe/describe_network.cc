#include <set>

#include "cli/kubectl/describe/describe_kinds.h"
#include "cli/kubectl/describe/describe_text.h"
#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/session/resource_args.h"

namespace flyball::cli {
namespace {

const KindRef kIngressServices{"", "v1", "Service", "services", true};
const KindRef kIngressSlices{"discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", true};

// The addresses behind a port of a Service, at most three.
std::string AddressesOf(Session& session, const std::string& ns, const std::string& service,
                        const json::Value& port) {
  const auto object = session.Get(kIngressServices, ns, service);
  if (!object) return "<error: " + object.error().message() + ">";
  std::string port_name;
  for (const json::Value& own : Elements((*object)["spec"]["ports"]))
    if (own["port"] == port["number"] || own["name"] == port["name"]) port_name = TextOr(own["name"], "");
  const auto slices = ListObjects(session, kIngressSlices, ns, "kubernetes.io/service-name=" + service);
  std::string out;
  int all = 0;
  for (const json::Value& slice : slices ? *slices : std::vector<json::Value>())
    for (const json::Value& slice_port : Elements(slice["ports"])) {
      if (slice_port["name"].string_or("") != port_name) continue;
      for (const json::Value& endpoint : Elements(slice["endpoints"]))
        for (const json::Value& address : Elements(endpoint["addresses"]))
          if (++all <= 3)
            out += (out.empty() ? "" : ",") + TextOr(address, "") + ":" + TextOr(slice_port["port"], "");
    }
  return all > 3 ? out + " + " + std::to_string(all - 3) + " more..." : out;
}

// "svc:80 (10.0.0.1:8080)".
std::string BackendText(Session& session, const std::string& ns, const json::Value& backend) {
  if (!backend["service"].is_object()) {
    const json::Value& resource = backend["resource"];
    return "APIGroup: " + TextOr(resource["apiGroup"], "<none>") + ", Kind: " + TextOr(resource["kind"], "") +
           ", Name: " + TextOr(resource["name"], "");
  }
  const json::Value& port = backend["service"]["port"];
  const std::string name = TextOr(backend["service"]["name"], "");
  const std::string port_text =
      port["number"].is_int() ? TextOr(port["number"], "") : TextOr(port["name"], "");
  return name + ":" + port_text + " (" + AddressesOf(session, ns, name, port) + ")";
}

std::string TlsLines(const json::Value& entries) {
  if (entries.empty()) return {};
  std::string out = "TLS:\n";
  for (const json::Value& entry : Elements(entries)) {
    const std::string secret = TextOr(entry["secretName"], "");
    out +=
        (secret.empty() ? "  SNI routes " : "  " + secret + " terminates ") + Joined(entry["hosts"]) + "\n";
  }
  return out;
}

}  // namespace

std::string IngressText(Session& session, const json::Value& object) {
  const std::string ns = TextOr(object["metadata"]["namespace"], "");
  const json::Value& spec = object["spec"];
  std::string addresses;
  for (const json::Value& ingress : Elements(object["status"]["loadBalancer"]["ingress"]))
    addresses += (addresses.empty() ? "" : ",") + TextOr(ingress["ip"], TextOr(ingress["hostname"], ""));
  std::string out = "Name:\t" + TextOr(object["metadata"]["name"], "") + "\n" +
                    LabelLines("Labels", object["metadata"]["labels"]) + "Namespace:\t" + ns +
                    "\nAddress:\t" + addresses + "\nIngress Class:\t" +
                    TextOr(spec["ingressClassName"], "<none>") + "\nDefault backend:\t" +
                    (spec["defaultBackend"].is_object() ? BackendText(session, ns, spec["defaultBackend"])
                                                        : std::string("<default>")) +
                    "\n" + TlsLines(spec["tls"]) + "Rules:\n  Host\tPath\tBackends\n  ----\t----\t--------\n";
  bool any = false;
  for (const json::Value& rule : Elements(spec["rules"])) {
    if (!rule["http"].is_object()) continue;
    any = true;
    out += "  " + TextOr(rule["host"], "*") + "\t\n";
    for (const json::Value& path : Elements(rule["http"]["paths"]))
      out += "    \t" + TextOr(path["path"], "") + " \t" + BackendText(session, ns, path["backend"]) + "\n";
  }
  if (!any)
    out += "  *\t*\t" +
           (spec["defaultBackend"].is_object() ? BackendText(session, ns, spec["defaultBackend"])
                                               : std::string("<default>")) +
           "\n";
  return out + AnnotationLines("Annotations", object["metadata"]["annotations"]);
}

std::string EndpointsText(const json::Value& object) {
  std::string out = MetadataLines(object) + "Subsets:\n";
  for (const json::Value& subset : Elements(object["subsets"])) {
    const auto list = [&](const char* field) {
      std::string text;
      for (const json::Value& address : Elements(subset[field]))
        text += (text.empty() ? "" : ",") + TextOr(address["ip"], "");
      return text.empty() ? std::string("<none>") : text;
    };
    out +=
        "  Addresses:\t" + list("addresses") + "\n  NotReadyAddresses:\t" + list("notReadyAddresses") + "\n";
    if (!subset["ports"].empty()) out += "  Ports:\n    Name\tPort\tProtocol\n    ----\t----\t--------\n";
    for (const json::Value& port : Elements(subset["ports"]))
      out += "    " + TextOr(port["name"], "<unset>") + "\t" + TextOr(port["port"], "") + "\t" +
             TextOr(port["protocol"], "") + "\n";
    out += "\n";
  }
  return out;
}

std::string ServiceAccountText(const json::Value& object) {
  std::string out = MetadataLines(object);
  const auto names = [&](const char* title, const json::Value& list) {
    out += std::string(title) + ":\t";
    if (list.empty()) out += "<none>\n";
    bool first = true;
    for (const json::Value& item : Elements(list))
      out += (std::exchange(first, false) ? "" : "\t") + TextOr(item["name"], "") + "\n";
  };
  names("Image pull secrets", object["imagePullSecrets"]);
  if (!object["secrets"].empty()) names("Mountable secrets", object["secrets"]);
  return out;
}

std::string RoleBindingText(const json::Value& object) {
  std::string out = "Name:\t" + TextOr(object["metadata"]["name"], "") + "\n" +
                    LabelLines("Labels", object["metadata"]["labels"]) +
                    AnnotationLines("Annotations", object["metadata"]["annotations"]) + "Role:\n  Kind:\t" +
                    TextOr(object["roleRef"]["kind"], "") + "\n  Name:\t" +
                    TextOr(object["roleRef"]["name"], "") +
                    "\nSubjects:\n  Kind\tName\tNamespace\n  ----\t----\t---------\n";
  for (const json::Value& subject : Elements(object["subjects"]))
    out += "  " + TextOr(subject["kind"], "") + "\t" + TextOr(subject["name"], "") + "\t" +
           TextOr(subject["namespace"], "") + "\n";
  return out;
}

}  // namespace flyball::cli
