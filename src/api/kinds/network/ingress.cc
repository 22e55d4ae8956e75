#include <string>

#include "api/kinds/shared/hooks.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/rules/object_meta.h"
#include "api/schema/feature_gates.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr const char* kIngressClassAnnotation = "kubernetes.io/ingress.class";

void CheckHost(std::string_view host, const FieldPath& path, FieldErrors& errors) {
  CheckFormat(host.find('*') != std::string_view::npos ? "wildcard-subdomain" : "dns-subdomain", host, path,
              errors);
}

void ValidateIngressService(const Value& service, const FieldPath& backend, FieldErrors& errors) {
  const FieldPath path = backend.Child("service");
  const std::string_view name = Text(service, "name");
  const bool relaxed = GateEnabled("RelaxedServiceNameValidation");
  if (name.empty()) {
    errors.Required(path.Child("name"));
  } else {
    CheckFormat(relaxed ? "dns-label" : "dns-1035-label", name, path.Child("name"), errors);
  }
  const Value& port = service["port"];
  const std::string_view port_name = Text(port, "name");
  const std::int64_t number = Number(port, "number");
  const FieldPath here = path.Child("port");
  if (!port_name.empty() && number != 0) {
    errors.Invalid(backend, "", "cannot set both port name & port number");
  } else if (!port_name.empty()) {
    AddProblems(PortNameProblems(port_name), here.Child("name"), port_name, errors);
  } else if (number != 0) {
    AddProblems(PortNumberProblems(number), here.Child("number"), number, errors);
  } else {
    errors.Required(backend, "port name or number is required");
  }
}

void ValidateResourceRef(const Value& resource, const FieldPath& path, FieldErrors& errors) {
  if (Text(resource, "apiGroup").empty() && Has(resource, "apiGroup")) {
    errors.Required(path.Child("apiGroup"));
  } else if (Has(resource, "apiGroup")) {
    CheckFormat("dns-subdomain", Text(resource, "apiGroup"), path.Child("apiGroup"), errors);
  }
  RequireMembers(resource, {"kind", "name"}, path, errors);
  for (const char* field : {"kind", "name"})
    if (!Text(resource, field).empty())
      CheckFormat("path-segment", Text(resource, field), path.Child(field), errors);
}

void ValidateBackend(const Value& backend, const FieldPath& path, FieldErrors& errors) {
  const bool resource = Has(backend, "resource"), service = Has(backend, "service");
  if (resource && service) {
    errors.Invalid(path, "", "cannot set both resource and service backends");
  } else if (resource) {
    ValidateResourceRef(backend["resource"], path.Child("resource"), errors);
  } else if (service) {
    ValidateIngressService(backend["service"], path, errors);
  } else {
    errors.Invalid(path, "", "resource or service backend is required");
  }
}

void CheckPathText(std::string_view text, const FieldPath& path, FieldErrors& errors) {
  if (!text.starts_with('/')) errors.Invalid(path, text, "must be an absolute path");
  for (const char* part : {"//", "/./", "/../", "%2f", "%2F"}) {
    if (text.find(part) != std::string_view::npos)
      errors.Invalid(path, text, "must not contain '" + std::string(part) + "'");
  }
  for (const char* end : {"/..", "/."}) {
    if (text.ends_with(end)) errors.Invalid(path, text, "cannot end with '" + std::string(end) + "'");
  }
}

void ValidatePath(const Value& rule, const FieldPath& path, FieldErrors& errors) {
  const std::string_view text = Text(rule, "path");
  if (!Has(rule, "pathType")) {
    return errors.Required(path.Child("pathType"), "pathType must be specified");
  }
  const std::string_view type = Text(rule, "pathType");
  if (type == "Exact" || type == "Prefix") {
    CheckPathText(text, path.Child("path"), errors);
  } else if (type == "ImplementationSpecific") {
    if (!text.empty() && !text.starts_with('/'))
      errors.Invalid(path.Child("path"), text, "must be an absolute path");
  } else {
    CheckOneOf(type, {"Exact", "ImplementationSpecific", "Prefix"}, path.Child("pathType"), errors);
  }
  ValidateBackend(rule["backend"], path.Child("backend"), errors);
}

void ValidateIngressRule(const Value& rule, const FieldPath& path, FieldErrors& errors) {
  if (const std::string_view host = Text(rule, "host"); !host.empty()) {
    if (IpProblems(host).empty())
      errors.Invalid(path.Child("host"), host, "must be a DNS name, not an IP address");
    CheckHost(host, path.Child("host"), errors);
  }
  const Value& http = rule["http"];
  if (http.is_null()) return;
  const FieldPath list = path.Child("http").Child("paths");
  if (http["paths"].size() == 0) errors.Required(list);
  for (std::size_t i = 0; i < http["paths"].size(); ++i) {
    ValidatePath(http["paths"].as_array()[i], list.Index(i), errors);
  }
}

void ValidateTls(const Value& tls, const FieldPath& list, FieldErrors& errors) {
  for (std::size_t i = 0; i < tls.size(); ++i) {
    const Value& hosts = tls.as_array()[i]["hosts"];
    for (std::size_t j = 0; j < hosts.size(); ++j) {
      CheckHost(hosts.as_array()[j].string_or({}), list.Index(i).Child("hosts").Index(j), errors);
    }
    if (const std::string_view name = Text(tls.as_array()[i], "secretName"); !name.empty()) {
      CheckFormat("dns-subdomain", name, list.Index(i).Child("secretName"), errors);
    }
  }
}

void ValidateIngress(const Value& object, FieldErrors& errors) {
  const FieldPath path("spec");
  const Value& spec = object["spec"];
  if (spec["rules"].size() == 0 && !Has(spec, "defaultBackend")) {
    errors.Invalid(path, spec["rules"], "either `defaultBackend` or `rules` must be specified");
  }
  if (Has(spec, "defaultBackend"))
    ValidateBackend(spec["defaultBackend"], path.Child("defaultBackend"), errors);
  for (std::size_t i = 0; i < spec["rules"].size(); ++i) {
    ValidateIngressRule(spec["rules"].as_array()[i], path.Child("rules").Index(i), errors);
  }
  ValidateTls(spec["tls"], path.Child("tls"), errors);
  if (Has(spec, "ingressClassName")) {
    CheckFormat("dns-subdomain", Text(spec, "ingressClassName"), path.Child("ingressClassName"), errors);
  }
  const Value& annotations = object["metadata"]["annotations"];
  const bool created = IsZero(object["metadata"]["resourceVersion"]);
  if (created && Has(annotations, kIngressClassAnnotation) && Has(spec, "ingressClassName")) {
    errors.Invalid(FieldPath("metadata.annotations").Child(kIngressClassAnnotation),
                   Text(annotations, kIngressClassAnnotation),
                   "can not be set when the class field is also set");
  }
}

void ValidateIngressStatusUpdate(const Value& object, const Value&, FieldErrors& errors) {
  const FieldPath list("status.loadBalancer.ingress");
  const Value& points = object["status"]["loadBalancer"]["ingress"];
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Value& point = points.as_array()[i];
    if (const std::string_view ip = Text(point, "ip"); !ip.empty())
      CheckFormat("ip", ip, list.Index(i).Child("ip"), errors);
    const std::string_view host = Text(point, "hostname");
    if (host.empty()) continue;
    CheckFormat("dns-subdomain", host, list.Index(i).Child("hostname"), errors);
    if (IpProblems(host).empty()) {
      errors.Invalid(list.Index(i).Child("hostname"), host, "must be a DNS name, not an IP address");
    }
  }
}

void ValidateClass(const Value& object, FieldErrors& errors) {
  const FieldPath path("spec");
  const Value& spec = object["spec"];
  const std::string_view controller = Text(spec, "controller");
  constexpr std::size_t kMaxController = 250;
  if (controller.empty()) {
    errors.Required(path.Child("controller"));
  } else {
    const std::size_t slash = controller.find('/');
    if (slash == std::string_view::npos || slash == 0 || slash + 1 == controller.size()) {
      errors.Invalid(path.Child("controller"), controller,
                     "must be a domain-prefixed path (such as \"acme.io/foo\")");
    }
    if (controller.size() > kMaxController) errors.TooLong(path.Child("controller"), kMaxController);
  }
  const Value& parameters = spec["parameters"];
  if (parameters.is_null()) return;
  ValidateResourceRef(parameters, path.Child("parameters"), errors);
  const std::string_view scope = Text(parameters, "scope");
  RequireOneOf(scope, {"Cluster", "Namespace"}, path.Child("parameters").Child("scope"), errors);
  const FieldPath ns = path.Child("parameters").Child("namespace");
  if (scope == "Namespace" && Text(parameters, "namespace").empty()) {
    errors.Required(ns, "`parameters.scope` is set to 'Namespace'");
  } else if (scope == "Cluster" && Has(parameters, "namespace")) {
    errors.Forbidden(ns, "`parameters.scope` is set to 'Cluster'");
  }
}

void ValidateClassUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  ValidateUnchanged(object["spec"]["controller"], old["spec"]["controller"], FieldPath("spec.controller"),
                    errors);
}

void WarnOfIngress(const Value& object, std::vector<std::string>& out) {
  if (object["metadata"]["annotations"].Find("kubernetes.io/ingress.class") == nullptr) return;
  out.push_back(
      "annotation \"kubernetes.io/ingress.class\" is deprecated, please use 'spec.ingressClassName' instead");
}

}  // namespace

const KindHooks kIngressHooks = {
    .group = "networking.k8s.io",
    .kind = "Ingress",
    .validate = ValidateIngress,
    .validate_status_update = ValidateIngressStatusUpdate,
    .generation = true,
    .warnings = WarnOfIngress,
    .warn_on = KindHooks::WarnOn::kCreate,
};

const KindHooks kIngressClassHooks = {
    .group = "networking.k8s.io",
    .kind = "IngressClass",
    .validate = ValidateClass,
    .validate_update = ValidateClassUpdate,
    .generation = true,
};

}  // namespace flyball::api
