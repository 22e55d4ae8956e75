#include <set>

#include "api/kinds/shared/hooks.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/rules/object_meta.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::size_t kMaxEndpoints = 1000;
constexpr std::size_t kMaxAddresses = 100;
constexpr std::size_t kMaxPorts = 20000;
constexpr std::size_t kMaxTopology = 16;
constexpr std::size_t kMaxZoneHints = 8;

void ValidateEndpointSliceAddress(std::string_view address, std::string_view type, const FieldPath& list,
                                  std::size_t i, FieldErrors& errors) {
  if (type == "IPv4") {
    if (!IsIpv4(address)) errors.Invalid(list, address, "must be an IPv4 address");
    CheckNonSpecialIp(address, list.Index(i), errors);
  } else if (type == "IPv6") {
    if (!IsIpv6(address)) errors.Invalid(list, address, "must be an IPv6 address");
    CheckNonSpecialIp(address, list.Index(i), errors);
  } else if (type == "FQDN") {
    ValidateFullyQualifiedDomain(address, list.Index(i), errors);
  }
}

void ValidateHints(const Value& hints, const FieldPath& path, FieldErrors& errors) {
  const FieldPath list = path.Child("forZones");
  const Value& zones = hints["forZones"];
  if (zones.size() > kMaxZoneHints) return errors.TooMany(list, zones.size(), kMaxZoneHints);
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < zones.size(); ++i) {
    const std::string_view zone = Text(zones.as_array()[i], "name");
    CheckFormat("label-value", zone, list.Index(i).Child("name"), errors);
    if (!seen.insert(zone).second) errors.Duplicate(list.Index(i).Child("name"), zone);
  }
}

void ValidateEndpoint(const Value& endpoint, std::string_view type, const FieldPath& path,
                      FieldErrors& errors) {
  const Value& addresses = endpoint["addresses"];
  const FieldPath list = path.Child("addresses");
  if (addresses.size() == 0) {
    errors.Required(list, "must contain at least 1 address");
  } else if (addresses.size() > kMaxAddresses) {
    errors.TooMany(list, addresses.size(), kMaxAddresses);
  }
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    ValidateEndpointSliceAddress(addresses.as_array()[i].string_or({}), type, list, i, errors);
  }
  if (Has(endpoint, "nodeName")) {
    CheckFormat("dns-subdomain", Text(endpoint, "nodeName"), path.Child("nodeName"), errors);
  }
  const Value& topology = endpoint["deprecatedTopology"];
  if (topology.size() > kMaxTopology)
    errors.TooMany(path.Child("deprecatedTopology"), topology.size(), kMaxTopology);
  ValidateLabels(topology, path.Child("deprecatedTopology"), errors);
  if (Has(endpoint, "hostname"))
    CheckFormat("dns-label", Text(endpoint, "hostname"), path.Child("hostname"), errors);
  if (Has(endpoint, "hints")) ValidateHints(endpoint["hints"], path.Child("hints"), errors);
}

void ValidateEndpointSlicePorts(const Value& ports, const FieldPath& list, FieldErrors& errors) {
  if (ports.size() > kMaxPorts) return errors.TooMany(list, ports.size(), kMaxPorts);
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const Value& port = ports.as_array()[i];
    const FieldPath path = list.Index(i);
    const std::string_view name = Text(port, "name");
    if (!name.empty()) CheckFormat("dns-label", name, path.Child("name"), errors);
    if (!names.insert(name).second) errors.Duplicate(path.Child("name"), name);
    if (Has(port, "port")) {
      AddProblems(PortNumberProblems(Number(port, "port")), path.Child("port"), port["port"], errors);
    }
    if (!Has(port, "protocol")) {
      errors.Required(path.Child("protocol"));
    } else {
      CheckOneOf(Text(port, "protocol"), {"SCTP", "TCP", "UDP"}, path.Child("protocol"), errors);
    }
    if (Has(port, "appProtocol")) {
      CheckFormat("qualified-name", Text(port, "appProtocol"), path.Child("appProtocol"), errors);
    }
  }
}

void ValidateEndpointSlice(const Value& object, FieldErrors& errors) {
  const std::string_view type = Text(object, "addressType");
  RequireOneOf(type, {"FQDN", "IPv4", "IPv6"}, FieldPath("addressType"), errors);
  const Value& endpoints = object["endpoints"];
  const FieldPath list("endpoints");
  if (endpoints.size() > kMaxEndpoints) {
    errors.TooMany(list, endpoints.size(), kMaxEndpoints);
  } else {
    for (std::size_t i = 0; i < endpoints.size(); ++i) {
      ValidateEndpoint(endpoints.as_array()[i], type, list.Index(i), errors);
    }
  }
  ValidateEndpointSlicePorts(object["ports"], FieldPath("ports"), errors);
}

// A field of the beta version.
void DropTopology(Value& object) {
  Value* endpoints = object.Find("endpoints");
  if (endpoints == nullptr || !endpoints->is_array()) return;
  for (Value& endpoint : endpoints->as_array()) Remove(endpoint, "deprecatedTopology");
}

// A change of its labels is one of what it says: they tell whose it is.
void PrepareEndpointSliceUpdate(Value& object, const Value& old) {
  if (Get(object, "endpoints") != old["endpoints"]) DropTopology(object);
  const Value& before = old["metadata"];
  if (Get(Get(object, "metadata"), "labels") == before["labels"]) return;
  object["metadata"]["generation"] = Number(before, "generation") + 1;
}

void ValidateEndpointSliceUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  ValidateUnchanged(object["addressType"], old["addressType"], FieldPath("addressType"), errors);
}

}  // namespace

const KindHooks kEndpointSliceHooks = {
    .group = "discovery.k8s.io",
    .kind = "EndpointSlice",
    .prepare_for_create = DropTopology,
    .prepare_for_update = PrepareEndpointSliceUpdate,
    .validate = ValidateEndpointSlice,
    .validate_update = ValidateEndpointSliceUpdate,
    .generation = true,
};

}  // namespace flyball::api
