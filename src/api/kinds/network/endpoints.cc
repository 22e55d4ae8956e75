#include "api/kinds/shared/hooks.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"

namespace flyball::api {
namespace {

using json::Value;

void ValidateEndpointsAddress(const Value& address, const FieldPath& path, FieldErrors& errors) {
  CheckFormat("ip", Text(address, "ip"), path.Child("ip"), errors);
  if (const std::string_view host = Text(address, "hostname"); !host.empty()) {
    CheckFormat("dns-label", host, path.Child("hostname"), errors);
  }
  if (Has(address, "nodeName")) {
    CheckFormat("dns-subdomain", Text(address, "nodeName"), path.Child("nodeName"), errors);
  }
  CheckNonSpecialIp(Text(address, "ip"), path.Child("ip"), errors);
}

void ValidateEndpointsPort(const Value& port, bool needs_name, const FieldPath& path, FieldErrors& errors) {
  const std::string_view name = Text(port, "name");
  if (needs_name && name.empty()) {
    errors.Required(path.Child("name"));
  } else if (!name.empty()) {
    CheckFormat("dns-label", name, path.Child("name"), errors);
  }
  const std::int64_t number = Number(port, "port");
  AddProblems(PortNumberProblems(number), path.Child("port"), number, errors);
  CheckProtocol(Text(port, "protocol"), path.Child("protocol"), errors);
  if (Has(port, "appProtocol")) {
    CheckFormat("qualified-name", Text(port, "appProtocol"), path.Child("appProtocol"), errors);
  }
}

void ValidateSubset(const Value& subset, const FieldPath& path, FieldErrors& errors) {
  if (subset["addresses"].size() + subset["notReadyAddresses"].size() == 0) {
    errors.Required(path, "must specify `addresses` or `notReadyAddresses`");
  }
  for (const char* list : {"addresses", "notReadyAddresses"}) {
    for (std::size_t i = 0; i < subset[list].size(); ++i) {
      ValidateEndpointsAddress(subset[list].as_array()[i], path.Child(list).Index(i), errors);
    }
  }
  const Value& ports = subset["ports"];
  for (std::size_t i = 0; i < ports.size(); ++i) {
    ValidateEndpointsPort(ports.as_array()[i], ports.size() > 1, path.Child("ports").Index(i), errors);
  }
}

void ValidateEndpoints(const Value& object, FieldErrors& errors) {
  const Value& subsets = object["subsets"];
  for (std::size_t i = 0; i < subsets.size(); ++i) {
    ValidateSubset(subsets.as_array()[i], FieldPath("subsets").Index(i), errors);
  }
}

}  // namespace

const KindHooks kEndpointsHooks = {
    .group = "",
    .kind = "Endpoints",
    .validate = ValidateEndpoints,
    .allow_create_on_update = true,
};

}  // namespace flyball::api
