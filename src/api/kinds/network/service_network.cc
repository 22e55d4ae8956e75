// The addresses of Services as objects: IPAddress and ServiceCIDR.
#include <string>

#include "api/kinds/shared/hooks.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/rules/object_meta.h"

namespace flyball::api {
namespace {

using json::Value;

void CheckParentSegment(const Value& parent, const char* field, const FieldPath& path, FieldErrors& errors) {
  if (Text(parent, field).empty()) return errors.declarative().Required(path.Child(field));
  CheckFormat("path-segment", Text(parent, field), path.Child(field), errors);
}

void ValidateIpAddressObject(const Value& object, FieldErrors& errors) {
  const FieldPath path("spec.parentRef");
  const Value& parent = object["spec"]["parentRef"];
  if (parent.is_null()) return errors.declarative().Required(path);
  if (!Text(parent, "group").empty())
    CheckFormat("dns-subdomain", Text(parent, "group"), path.Child("group"), errors);
  CheckParentSegment(parent, "resource", path, errors);
  CheckParentSegment(parent, "name", path, errors);
  if (!Text(parent, "namespace").empty())
    CheckFormat("path-segment", Text(parent, "namespace"), path.Child("namespace"), errors);
}

void ValidateIpAddressUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  ValidateIpAddressObject(object, errors);
  if (object["spec"]["parentRef"] != old["spec"]["parentRef"])
    errors.declarative().Invalid(FieldPath("spec.parentRef"), Value(), kImmutableText);
}

bool IsVersion6(std::string_view cidr) {
  return cidr.find(':') != std::string_view::npos;
}

void ValidateServiceCidrs(const Value& object, FieldErrors& errors) {
  const FieldPath path("spec.cidrs");
  const Value& cidrs = object["spec"]["cidrs"];
  if (cidrs.size() == 0) return errors.Required(path, "at least one CIDR required");
  if (cidrs.size() > 2) return errors.Invalid(path, object["spec"], "may only hold up to 2 values");
  bool valid = true;
  for (std::size_t i = 0; i < cidrs.size(); ++i) {
    const std::string_view cidr = cidrs.as_array()[i].string_or({});
    valid = valid && CidrProblems(cidr).empty();
    CheckFormat("canonical-cidr", cidr, path.Index(i), errors);
  }
  if (valid && cidrs.size() == 2 &&
      IsVersion6(cidrs.as_array()[0].string_or({})) == IsVersion6(cidrs.as_array()[1].string_or({})))
    errors.Invalid(
        path, cidrs,
        "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64");
}

// A second family may be added; what is there stays.
void ValidateServiceCidrUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  const FieldPath path("spec.cidrs");
  const Value& now = object["spec"]["cidrs"];
  const Value& before = old["spec"]["cidrs"];
  const bool added = before.size() == 1 && now.size() == 2;
  if (!added && now.size() != before.size()) return errors.Invalid(path, now, kImmutableText);
  for (std::size_t i = 0; i < before.size(); ++i)
    if (now.as_array()[i] != before.as_array()[i])
      errors.Invalid(path.Index(i), now.as_array()[i], kImmutableText);
  if (added) ValidateServiceCidrs(object, errors);
}

}  // namespace

const KindHooks kIpAddressHooks = {
    .group = "networking.k8s.io",
    .kind = "IPAddress",
    .validate = ValidateIpAddressObject,
    .validate_update = ValidateIpAddressUpdate,
    .name_format = "canonical-ip",
    .validate_update_alone = true,
};

const KindHooks kServiceCidrHooks = {
    .group = "networking.k8s.io",
    .kind = "ServiceCIDR",
    .validate = ValidateServiceCidrs,
    .validate_update = ValidateServiceCidrUpdate,
    .validate_update_alone = true,
};

}  // namespace flyball::api
