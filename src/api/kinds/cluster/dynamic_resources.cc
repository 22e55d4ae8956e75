// Claims of devices, their templates, and classes of devices.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "api/kinds/cluster/device_checks.h"
#include "api/kinds/pod_spec/pod_spec.h"
#include "api/kinds/shared/hooks.h"
#include "api/kinds/shared/iscsi.h"
#include "api/kinds/shared/resource_names.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/rules/go_dump.h"
#include "api/rules/object_meta.h"
#include "base/values/ascii.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::string_view kResourceGroup = "resource.k8s.io";
constexpr std::size_t kMaxRequests = 32, kMaxSubRequests = 8, kMaxConstraints = 32, kMaxConfigs = 32;
constexpr std::size_t kMaxReservations = 256, kMaxResults = 32, kMaxDeviceConditions = 8;

// A request by its name, and the names of the alternatives it has.
using RequestNames = std::map<std::string_view, std::set<std::string_view>>;

RequestNames NamesOfRequests(const Value& devices) {
  RequestNames names;
  for (const Value& request : Items(devices["requests"])) {
    auto& alternatives = names[Text(request, "name")];
    for (const Value& sub : Items(request["firstAvailable"])) alternatives.insert(Text(sub, "name"));
  }
  return names;
}

bool IsRequest(const RequestNames& names, std::string_view name) {
  const std::size_t slash = name.find('/');
  const auto found = names.find(name.substr(0, slash));
  if (found == names.end()) return false;
  return slash == std::string_view::npos || found->second.contains(name.substr(slash + 1));
}

void CheckRequestRef(std::string_view name, const RequestNames& names, const FieldPath& path,
                     FieldErrors& errors) {
  constexpr std::string_view kWhat =
      "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
  const auto segments = SplitText(name, '/');
  if (segments.size() > 2) return errors.Invalid(path, name, kWhat);
  for (const std::string& segment : segments) CheckFormat("dns-label", segment, path, errors);
  if (!IsRequest(names, name)) errors.Invalid(path, name, kWhat);
}

void CheckRequestRefs(const Value& list, const RequestNames& names, const FieldPath& path,
                      FieldErrors& errors) {
  CheckSet(list, kMaxRequests, "", path, errors,
           [&](const Value& name, const FieldPath& here, FieldErrors& found) {
             CheckRequestRef(name.string_or({}), names, here, found);
           });
}

void SetRequestDefaults(Value& request) {
  if (!request.is_object()) return;
  if (Text(request, "allocationMode") == "ExactCount") SetIfZero(request, "count", 1);
}

void SetClaimDefaults(Value* devices) {
  Value* requests = devices == nullptr ? nullptr : devices->Find("requests");
  if (requests == nullptr || !requests->is_array()) return;
  for (Value& request : requests->as_array()) {
    if (Value* exactly = request.Find("exactly")) SetRequestDefaults(*exactly);
    if (Value* first = request.Find("firstAvailable"); first != nullptr && first->is_array())
      for (Value& sub : first->as_array()) SetRequestDefaults(sub);
  }
}

void SetResourceClaimDefaults(Value& object) {
  SetClaimDefaults(object.FindPath({"spec", "devices"}));
}

void SetResourceClaimTemplateDefaults(Value& object) {
  SetClaimDefaults(object.FindPath({"spec", "spec", "devices"}));
}

void CheckAllocationMode(const Value& request, const FieldPath& path, FieldErrors& errors) {
  const std::string_view mode = Text(request, "allocationMode");
  const std::int64_t count = Number(request, "count");
  if (mode == "All") {
    if (count != 0)
      errors.Invalid(path.Child("count"), count, "must not be specified when allocationMode is 'All'");
  } else if (mode == "ExactCount") {
    if (count <= 0) errors.Invalid(path.Child("count"), count, "must be greater than zero");
  } else {
    CheckOneOf(mode, {"All", "ExactCount"}, path.Child("allocationMode"), errors.declarative());
  }
}

// What an exact request and each alternative of a prioritized list have in common.
void CheckDeviceRequestBody(const Value& request, const FieldPath& path, FieldErrors& errors) {
  const std::string_view name = Text(request, "deviceClassName");
  if (name.empty()) {
    errors.Required(path.Child("deviceClassName"));
  } else {
    CheckFormat("dns-subdomain", name, path.Child("deviceClassName"), errors);
  }
  CheckDeviceSelectors(request["selectors"], path.Child("selectors"), errors);
  CheckAllocationMode(request, path, errors);
  CheckDeviceTolerations(request["tolerations"], path.Child("tolerations"), errors);
}

void CheckDeviceRequest(const Value& request, const FieldPath& path, FieldErrors& errors) {
  CheckFormat("dns-label", Text(request, "name"), path.Child("name"), errors);
  const bool exactly = Has(request, "exactly"), first = request["firstAvailable"].size() > 0;
  if (!exactly && !first)
    return errors.Required(path, "exactly one of `exactly` or `firstAvailable` is required");
  if (exactly && first)
    return errors.Invalid(
        path, Value(),
        "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set");
  if (exactly) return CheckDeviceRequestBody(request["exactly"], path.Child("exactly"), errors);
  CheckSet(request["firstAvailable"], kMaxSubRequests, "name", path.Child("firstAvailable"), errors,
           [](const Value& sub, const FieldPath& here, FieldErrors& found) {
             CheckFormat("dns-label", Text(sub, "name"), here.Child("name"), found);
             CheckDeviceRequestBody(sub, here, found);
           });
}

void CheckDeviceConstraint(const Value& constraint, const RequestNames& names, const FieldPath& path,
                           FieldErrors& errors) {
  CheckRequestRefs(constraint["requests"], names, path.Child("requests"), errors);
  bool any = false;
  for (const char* field : {"matchAttribute", "distinctAttribute"}) {
    if (!Has(constraint, field)) continue;
    FieldErrors found;
    CheckFullyQualifiedDeviceName(Text(constraint, field), path.Child(field), found);
    errors.declarative().Append(std::move(found));
    any = true;
  }
  if (any) return;
  errors.Required(path,
                  "exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but multiple "
                  "fields are set");
}

void CheckDeviceClaim(const Value& devices, const FieldPath& path, FieldErrors& errors) {
  const RequestNames names = NamesOfRequests(devices);
  CheckSet(devices["requests"], kMaxRequests, "name", path.Child("requests"), errors, CheckDeviceRequest);
  CheckEach(devices["constraints"], kMaxConstraints, path.Child("constraints"), errors,
            [&](const Value& constraint, const FieldPath& here, FieldErrors& found) {
              CheckDeviceConstraint(constraint, names, here, found);
            });
  CheckEach(devices["config"], kMaxConfigs, path.Child("config"), errors,
            [&](const Value& config, const FieldPath& here, FieldErrors& found) {
              CheckRequestRefs(config["requests"], names, here.Child("requests"), found);
              CheckDeviceConfiguration(config, here, found);
            });
}

void ValidateResourceClaim(const Value& object, FieldErrors& errors) {
  CheckDeviceClaim(object["spec"]["devices"], FieldPath("spec.devices"), errors);
}

// The spec does not change, so that is all there is to say about it.
void ValidateResourceClaimUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  if (object["spec"] != old["spec"]) errors.declarative().Invalid(FieldPath("spec"), Value(), kImmutableText);
}

void ValidateResourceClaimTemplate(const Value& object, FieldErrors& errors) {
  const Value& metadata = object["spec"]["metadata"];
  ValidateLabels(metadata["labels"], FieldPath("spec.metadata.labels"), errors);
  ValidateAnnotations(metadata["annotations"], FieldPath("spec.metadata.annotations"), errors);
  CheckDeviceClaim(object["spec"]["spec"]["devices"], FieldPath("spec.spec.devices"), errors);
}

void ValidateResourceClaimTemplateUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  if (object["spec"] == old["spec"]) return;
  errors.Invalid(FieldPath("spec"),
                 GoInternal("io.k8s.api.resource.v1.ResourceClaimTemplateSpec", object["spec"]),
                 kImmutableText);
  ValidateResourceClaimTemplate(object, errors);
}

// Which device it is, with its share where it is shared.
struct DeviceId {
  std::string_view driver, pool, device, share;
  auto operator<=>(const DeviceId&) const = default;
};

DeviceId DeviceIdOf(const Value& device) {
  return {Text(device, "driver"), Text(device, "pool"), Text(device, "device"), Text(device, "shareID")};
}

// What drivers say of devices that are no longer allocated goes with the allocation.
void DropDeallocatedDevices(Value& object, const Value& old) {
  Value* devices = object.FindPath({"status", "devices"});
  if (devices == nullptr || !devices->is_array()) return;
  std::set<DeviceId> gone;
  for (const Value& result : Items(old["status"]["allocation"]["devices"]["results"]))
    gone.insert(DeviceIdOf(result));
  const Value allocation = Get(Get(object, "status"), "allocation");
  for (const Value& result : Items(allocation["devices"]["results"])) gone.erase(DeviceIdOf(result));
  std::erase_if(devices->as_array(), [&](const Value& device) { return gone.contains(DeviceIdOf(device)); });
  if (devices->size() == 0) Remove(object["status"], "devices");
}

void CheckDeviceStatus(const Value& device, const std::set<DeviceId>& allocated, const FieldPath& path,
                       FieldErrors& errors) {
  ValidateCsiDriverName(Text(device, "driver"), path.Child("driver"), errors);
  CheckPoolName(Text(device, "pool"), path.Child("pool"), errors);
  CheckFormat("dns-label", Text(device, "device"), path.Child("device"), errors);
  const DeviceId id = DeviceIdOf(device);
  if (!allocated.contains(id))
    errors.Invalid(
        path,
        json::Object{{"Driver", id.driver}, {"Pool", id.pool}, {"Device", id.device}, {"ShareID", id.share}},
        "must be an allocated device in the claim");
  if (device["conditions"].size() > kMaxDeviceConditions)
    errors.TooMany(path.Child("conditions"), device["conditions"].size(), kMaxDeviceConditions);
}

void CheckReservation(const Value& reference, const FieldPath& path, FieldErrors& errors) {
  for (const char* field : {"resource", "name", "uid"})
    if (Text(reference, field).empty()) errors.Required(path.Child(field));
}

void CheckAllocationResult(const Value& result, const RequestNames& names, const FieldPath& path,
                           FieldErrors& errors) {
  CheckRequestRef(Text(result, "request"), names, path.Child("request"), errors);
  FieldErrors declared;
  ValidateCsiDriverName(Text(result, "driver"), path.Child("driver"), declared);
  CheckPoolName(Text(result, "pool"), path.Child("pool"), declared);
  errors.declarative().Append(std::move(declared));
  CheckFormat("dns-label", Text(result, "device"), path.Child("device"), errors);
  CheckBindingConditions(result, path, errors);
  CheckDeviceTolerations(result["tolerations"], path.Child("tolerations"), errors);
}

void CheckAllocation(const Value& allocation, const RequestNames& names, const FieldPath& path,
                     FieldErrors& errors) {
  const FieldPath devices = path.Child("devices");
  CheckEach(allocation["devices"]["results"], kMaxResults, devices.Child("results"), errors,
            [&](const Value& result, const FieldPath& here, FieldErrors& found) {
              CheckAllocationResult(result, names, here, found);
            });
  CheckEach(allocation["devices"]["config"], 2 * kMaxConfigs, devices.Child("config"), errors,
            [&](const Value& config, const FieldPath& here, FieldErrors& found) {
              RequireOneOf(Text(config, "source"), {"FromClaim", "FromClass"}, here.Child("source"),
                           found.declarative());
              CheckRequestRefs(config["requests"], names, here.Child("requests"), found);
              CheckDeviceConfiguration(config, here, found);
            });
  if (Has(allocation, "nodeSelector"))
    ValidateNodeSelector(allocation["nodeSelector"], path.Child("nodeSelector"), errors);
}

void CheckReservedWhileDeleting(const Value& status, const Value& old, const FieldPath& path,
                                FieldErrors& errors) {
  const json::Array& before = Items(old["reservedFor"]);
  for (const Value& reference : Items(status["reservedFor"])) {
    if (std::find(before.begin(), before.end(), reference) != before.end()) continue;
    return errors.Forbidden(path,
                            "new entries may not be added while `deallocationRequested` or "
                            "`deletionTimestamp` are set");
  }
}

void ValidateResourceClaimStatusUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  const FieldPath path("status");
  const Value& status = object["status"];
  const Value& allocation = status["allocation"];
  CheckSet(status["reservedFor"], kMaxReservations, "uid", path.Child("reservedFor"), errors,
           CheckReservation);
  std::set<DeviceId> allocated;
  for (const Value& result : Items(allocation["devices"]["results"])) allocated.insert(DeviceIdOf(result));
  std::set<DeviceId> seen;
  const json::Array& devices = Items(status["devices"]);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    CheckDeviceStatus(devices[i], allocated, path.Child("devices").Index(i), errors);
    if (!seen.insert(DeviceIdOf(devices[i])).second)
      errors.declarative().Duplicate(path.Child("devices").Index(i), devices[i]);
  }
  if (status["reservedFor"].size() > 0) {
    if (allocation.is_null()) {
      errors.Forbidden(path.Child("reservedFor"), "may not be specified when `allocated` is not set");
    } else if (Has(object["metadata"], "deletionTimestamp")) {
      CheckReservedWhileDeleting(status, old["status"], path.Child("reservedFor"), errors);
    }
  }
  const Value& before = old["status"]["allocation"];
  if (allocation.is_null() || allocation == before) return;
  if (!before.is_null())
    return errors.declarative().Invalid(path.Child("allocation"), allocation, kImmutableText);
  CheckAllocation(allocation, NamesOfRequests(object["spec"]["devices"]), path.Child("allocation"), errors);
}

void ValidateDeviceClassUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  const FieldPath path("spec");
  const Value& spec = object["spec"];
  CheckDeviceSelectors(spec["selectors"], path.Child("selectors"), errors, old["spec"]["selectors"]);
  CheckEach(spec["config"], kMaxConfigs, path.Child("config"), errors, CheckDeviceConfiguration);
  if (Has(spec, "extendedResourceName") && !IsExtendedResource(Text(spec, "extendedResourceName")))
    errors.declarative().Invalid(path.Child("extendedResourceName"), spec["extendedResourceName"],
                                 "must be a valid extended resource name");
}

void ValidateDeviceClass(const Value& object, FieldErrors& errors) {
  ValidateDeviceClassUpdate(object, Value(), errors);
}

}  // namespace

const KindHooks kDeviceClassHooks = {
    .group = kResourceGroup,
    .kind = "DeviceClass",
    .validate = ValidateDeviceClass,
    .validate_update = ValidateDeviceClassUpdate,
    .validate_update_alone = true,
    .generation = true,
    .return_deleted_object = true,
};

const KindHooks kResourceClaimHooks = {
    .group = kResourceGroup,
    .kind = "ResourceClaim",
    .set_defaults = SetResourceClaimDefaults,
    .prepare_for_status_update = DropDeallocatedDevices,
    .validate = ValidateResourceClaim,
    .validate_update = ValidateResourceClaimUpdate,
    .validate_status_update = ValidateResourceClaimStatusUpdate,
    .validate_update_alone = true,
    .status_keeps_metadata = true,
    .return_deleted_object = true,
};

const KindHooks kResourceClaimTemplateHooks = {
    .group = kResourceGroup,
    .kind = "ResourceClaimTemplate",
    .set_defaults = SetResourceClaimTemplateDefaults,
    .validate = ValidateResourceClaimTemplate,
    .validate_update = ValidateResourceClaimTemplateUpdate,
    .validate_update_alone = true,
    .return_deleted_object = true,
};

}  // namespace flyball::api
