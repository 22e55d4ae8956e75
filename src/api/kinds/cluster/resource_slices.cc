// What drivers offer: slices of devices, and rules that taint devices.
#include <re2/re2.h>

#include <string>
#include <vector>

#include "api/kinds/cluster/device_checks.h"
#include "api/kinds/pod_spec/pod_spec.h"
#include "api/kinds/shared/hooks.h"
#include "api/kinds/shared/iscsi.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/rules/object_meta.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::size_t kMaxDevices = 128, kMaxDevicesWithAdvancedFeatures = 64;
constexpr std::size_t kMaxCounterSets = 8, kMaxCounters = 32, kMaxCounterConsumptions = 2;
constexpr std::size_t kMaxAttributesAndCapacities = 32, kMaxAttributeValues = 48, kMaxAttributeLength = 64;
constexpr std::size_t kMaxTaints = 16;

const re2::RE2& SemanticVersion() {
  static const re2::RE2* const pattern = new re2::RE2(
      R"((0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?)");
  return *pattern;
}

void CheckVersionValue(std::string_view version, const FieldPath& path, FieldErrors& errors) {
  if (!re2::RE2::FullMatch({version.data(), version.size()}, SemanticVersion()))
    errors.Invalid(path, version, "must be a string compatible with semver.org spec 2.0.0");
  if (version.size() > kMaxAttributeLength) errors.TooLong(path, kMaxAttributeLength);
}

void CheckAttributeUnion(const Value& attribute, const FieldPath& path, FieldErrors& errors) {
  std::string all, given;
  int count = 0;
  for (const std::string field :
       {"int", "bool", "string", "version", "ints", "bools", "strings", "versions"}) {
    all += (all.empty() ? "`" : ", `") + field + '`';
    if (!Has(attribute, field)) continue;
    given += (given.empty() ? "" : ", ") + field;
    ++count;
  }
  if (count == 0) errors.Invalid(path, "", "must specify one of: " + all);
  if (count > 1) errors.Invalid(path, "{" + given + "}", "must specify exactly one of: " + all);
}

void CheckAttribute(const Value& attribute, const FieldPath& path, FieldErrors& errors) {
  const std::string_view text = Text(attribute, "string");
  if (text.size() > kMaxAttributeLength) errors.TooLong(path.Child("string"), kMaxAttributeLength);
  if (Has(attribute, "version")) CheckVersionValue(Text(attribute, "version"), path.Child("version"), errors);
  for (std::size_t i = 0; i < attribute["versions"].size(); ++i)
    CheckVersionValue(attribute["versions"].as_array()[i].string_or({}), path.Child("versions").Index(i),
                      errors);
  CheckAttributeUnion(attribute, path, errors.declarative());
}

void CheckRequestPolicyRange(const Quantity& preset, const Quantity& capacity, const Value& range,
                             const FieldPath& path, FieldErrors& errors) {
  if (!Has(range, "min")) return errors.Required(path.Child("min"), "required when validRange is defined");
  const Quantity min = QuantityOf(range["min"]);
  if (min > capacity)
    errors.Invalid(path.Child("min"), range["min"],
                   "min is larger than capacity value: " + capacity.ToString());
  if (preset < min)
    errors.Invalid(path.Child("default"), preset.ToString(), "default is less than min: " + min.ToString());
  if (!Has(range, "max")) return;
  const Quantity max = QuantityOf(range["max"]);
  if (min > max) errors.Invalid(path.Child("max"), range["min"], "min is larger than max: " + max.ToString());
  if (max > capacity)
    errors.Invalid(path.Child("max"), range["max"],
                   "max is larger than capacity value: " + capacity.ToString());
  if (preset > max)
    errors.Invalid(path.Child("default"), preset.ToString(), "default is more than max: " + max.ToString());
}

void CheckRequestPolicy(const Value& capacity, const FieldPath& path, FieldErrors& errors) {
  constexpr std::size_t kMaxValues = 10;
  const Value& policy = capacity["requestPolicy"];
  const Value& values = policy["validValues"];
  const bool has_range = Has(policy, "validRange");
  if (values.size() > 0 && has_range)
    return errors.Forbidden(path,
                            "exactly one policy can be specified, cannot specify \"validValues\" and "
                            "\"validRange\" at the same time");
  if (values.size() == 0 && !has_range) return;
  if (!Has(policy, "default"))
    return errors.Required(path.Child("default"), has_range ? "required when validRange is defined"
                                                            : "required when validValues is defined");
  const Quantity preset = QuantityOf(policy["default"]), most = QuantityOf(capacity["value"]);
  if (has_range)
    return CheckRequestPolicyRange(preset, most, policy["validRange"], path.Child("validRange"), errors);
  const FieldPath list = path.Child("validValues");
  if (values.size() > kMaxValues) return errors.TooMany(list, values.size(), kMaxValues);
  bool found = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Quantity value = QuantityOf(values.as_array()[i]);
    if (i > 0 && QuantityOf(values.as_array()[i - 1]) > value)
      errors.Invalid(list.Index(i), values.as_array()[i], "values must be sorted in ascending order");
    if (value > most)
      errors.Invalid(list.Index(i), values.as_array()[i],
                     "option is larger than capacity value: " + most.ToString());
    found |= value == preset;
  }
  if (!found)
    errors.Invalid(list, policy["default"], "default value is not valid according to the requestPolicy");
}

void CheckCapacity(const Value& capacity, bool shared, const FieldPath& path, FieldErrors& errors) {
  if (!Has(capacity, "requestPolicy")) return;
  if (!shared) return errors.Forbidden(path.Child("requestPolicy"), "allowMultipleAllocations must be true");
  CheckRequestPolicy(capacity, path.Child("requestPolicy"), errors);
}

void CheckCounters(const Value& counters, const FieldPath& path, FieldErrors& errors) {
  if (counters.size() == 0) return errors.declarative().Required(path);
  if (counters.size() > kMaxCounters) return errors.TooMany(path, counters.size(), kMaxCounters);
  for (const auto& [name, counter] : Entries(counters))
    CheckFormat("dns-label", name, path, errors.declarative());
}

// A set of counters (`name`) or what a device draws from one (`counterSet`).
void CheckCounterSet(const Value& set, const char* name, const FieldPath& path, FieldErrors& errors) {
  if (Text(set, name).empty()) {
    errors.declarative().Required(path.Child(name));
  } else {
    CheckFormat("dns-label", Text(set, name), path.Child(name), errors.declarative());
  }
  CheckCounters(set["counters"], path.Child("counters"), errors);
}

// Which nodes reach a slice or a device: what is given, as messages list it.
std::vector<std::string> NodeChoices(const Value& object, bool of_slice, const FieldPath& path,
                                     FieldErrors& errors) {
  std::vector<std::string> given;
  if (Has(object, "nodeName")) {
    const std::string_view name = Text(object, "nodeName");
    if (name.empty()) {
      errors.Invalid(path.Child("nodeName"), name,
                     of_slice ? "must be either unset or set to a non-empty string" : "must not be empty");
    } else {
      given.emplace_back("`nodeName`");
      CheckFormat("dns-subdomain", name, path.Child("nodeName"), errors);
    }
  }
  if (Has(object, "nodeSelector")) {
    const Value& terms = object["nodeSelector"]["nodeSelectorTerms"];
    given.emplace_back("`nodeSelector`");
    ValidateNodeSelector(object["nodeSelector"], path.Child("nodeSelector"), errors);
    if (of_slice && terms.size() != 1)
      errors.Invalid(path.Child("nodeSelector").Child("nodeSelectorTerms"), terms,
                     "must have exactly one node selector term");
  }
  for (const char* field : {"allNodes", "perDeviceNodeSelection"}) {
    if (!Has(object, field)) continue;
    if (object[field].bool_or(false)) {
      given.push_back("`" + std::string(field) + "`");
    } else {
      errors.Invalid(path.Child(field), false, "must be either unset or set to true");
    }
  }
  return given;
}

std::string BracedList(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return "{" + text + "}";
}

void CheckNodesOfDevice(const Value& device, bool per_device, const FieldPath& path, FieldErrors& errors) {
  constexpr std::string_view kOne =
      "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is "
      "set to true in the ResourceSlice spec";
  if (!per_device) {
    if (Has(device, "nodeName") || Has(device, "nodeSelector") || Has(device, "allNodes"))
      errors.Invalid(path, Value(),
                     "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` "
                     "is set to true in the ResourceSlice spec");
    return;
  }
  const auto given = NodeChoices(device, false, path, errors);
  if (given.empty()) errors.Required(path, kOne);
  if (given.size() > 1) errors.Invalid(path, BracedList(given), kOne);
}

std::size_t AttributeValues(const Value& attributes) {
  std::size_t values = 0;
  for (const auto& [name, attribute] : Entries(attributes)) {
    std::size_t listed = 0;
    for (const char* field : {"bools", "ints", "strings", "versions"}) listed += attribute[field].size();
    values += listed == 0 ? 1 : listed;
  }
  return values;
}

void CheckDevice(const Value& device, const Value& old, bool per_device, const FieldPath& path,
                 FieldErrors& errors) {
  CheckFormat("dns-label", Text(device, "name"), path.Child("name"), errors);
  const std::size_t both = device["attributes"].size() + device["capacity"].size();
  if (both > kMaxAttributesAndCapacities)
    errors.Invalid(path, static_cast<std::int64_t>(both),
                   "the total number of attributes and capacities must not exceed 32");
  if (const std::size_t values = AttributeValues(device["attributes"]); values > kMaxAttributeValues)
    errors.Invalid(path, static_cast<std::int64_t>(values),
                   "the total number of attribute values must not exceed 48");
  for (const auto& [name, attribute] : Entries(device["attributes"])) {
    CheckQualifiedDeviceName(name, path.Child("attributes"), errors);
    CheckAttribute(attribute, path.Child("attributes").Key(name), errors);
  }
  if (!old.is_object() || old["capacity"] != device["capacity"]) {
    const bool shared = device["allowMultipleAllocations"].bool_or(false);
    for (const auto& [name, capacity] : Entries(device["capacity"])) {
      CheckQualifiedDeviceName(name, path.Child("capacity"), errors);
      CheckCapacity(capacity, shared, path.Child("capacity").Key(name), errors);
    }
  }
  if (!old.is_object() || old["taints"] != device["taints"])
    CheckEach(device["taints"], kMaxTaints, path.Child("taints"), errors,
              [](const Value& taint, const FieldPath& here, FieldErrors& found) {
                CheckDeviceTaint(taint, Value(), here, found);
              });
  CheckSet(device["consumesCounters"], kMaxCounterConsumptions, "counterSet", path.Child("consumesCounters"),
           errors, [](const Value& consumed, const FieldPath& here, FieldErrors& found) {
             CheckCounterSet(consumed, "counterSet", here, found);
           });
  CheckNodesOfDevice(device, per_device, path, errors);
  CheckBindingConditions(device, path, errors);
}

const Value& FindDevice(const Value& spec, std::string_view name) {
  static const Value none;
  for (const Value& device : Items(spec["devices"]))
    if (Text(device, "name") == name) return device;
  return none;
}

std::size_t MostDevices(const Value& spec) {
  for (const Value& device : Items(spec["devices"])) {
    if (device["taints"].size() + device["consumesCounters"].size() > 0)
      return kMaxDevicesWithAdvancedFeatures;
    for (const auto& [name, attribute] : Entries(device["attributes"]))
      for (const char* field : {"bools", "ints", "strings", "versions"})
        if (Has(attribute, field)) return kMaxDevicesWithAdvancedFeatures;
  }
  return kMaxDevices;
}

void CheckSliceNodes(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  constexpr const char* kOne =
      "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
  const auto given = NodeChoices(spec, true, path, errors);
  if (given.empty()) errors.Required(path, kOne);
  if (given.size() > 1)
    errors.Invalid(path, BracedList(given), std::string(kOne) + ", but multiple fields are set");
}

void CheckPool(const Value& pool, const FieldPath& path, FieldErrors& errors) {
  CheckPoolName(Text(pool, "name"), path.Child("name"), errors);
  if (Number(pool, "resourceSliceCount") <= 0)
    errors.Invalid(path.Child("resourceSliceCount"), Number(pool, "resourceSliceCount"),
                   "must be greater than zero");
  if (Number(pool, "generation") < 0)
    errors.Invalid(path.Child("generation"), Number(pool, "generation"),
                   "must be greater than or equal to zero");
}

void CheckSlice(const Value& object, const Value& old, FieldErrors& errors) {
  const FieldPath path("spec");
  const Value& spec = object["spec"];
  const Value& before = old["spec"];
  ValidateCsiDriverName(Text(spec, "driver"), path.Child("driver"), errors);
  CheckPool(spec["pool"], path.Child("pool"), errors);
  if (before.is_object()) {
    ValidateUnchanged(spec["pool"]["name"], before["pool"]["name"], path.Child("pool").Child("name"), errors);
    for (const char* field : {"driver", "nodeName"})
      ValidateUnchanged(spec[field], before[field], path.Child(field), errors);
  }
  CheckSliceNodes(spec, path, errors);
  if (Has(spec, "sharedCounters") && Has(spec, "devices"))
    errors.Invalid(path, "", "only one of `sharedCounters` or `devices` is allowed");
  const bool per_device = spec["perDeviceNodeSelection"].bool_or(false);
  CheckSet(spec["devices"], MostDevices(spec), "name", path.Child("devices"), errors,
           [&](const Value& device, const FieldPath& here, FieldErrors& found) {
             CheckDevice(device, FindDevice(before, Text(device, "name")), per_device, here, found);
           });
  CheckSet(spec["sharedCounters"], kMaxCounterSets, "name", path.Child("sharedCounters"), errors,
           [](const Value& set, const FieldPath& here, FieldErrors& found) {
             CheckCounterSet(set, "name", here, found);
           });
}

void ValidateResourceSlice(const Value& object, FieldErrors& errors) {
  CheckSlice(object, Value(), errors);
}

void CheckTaintRule(const Value& object, const Value& old, FieldErrors& errors) {
  const FieldPath path("spec");
  const Value& selector = object["spec"]["deviceSelector"];
  const FieldPath here = path.Child("deviceSelector");
  if (Has(selector, "driver")) ValidateCsiDriverName(Text(selector, "driver"), here.Child("driver"), errors);
  if (Has(selector, "pool")) CheckPoolName(Text(selector, "pool"), here.Child("pool"), errors);
  if (Has(selector, "device"))
    CheckFormat("dns-label", Text(selector, "device"), here.Child("device"), errors);
  CheckDeviceTaint(object["spec"]["taint"], old["spec"]["taint"], path.Child("taint"), errors);
}

void ValidateDeviceTaintRule(const Value& object, FieldErrors& errors) {
  CheckTaintRule(object, Value(), errors);
}

}  // namespace

const KindHooks kResourceSliceHooks = {
    .group = "resource.k8s.io",
    .kind = "ResourceSlice",
    .validate = ValidateResourceSlice,
    .validate_update = CheckSlice,
    .validate_update_alone = true,
    .generation = true,
    .return_deleted_object = true,
};

const KindHooks kDeviceTaintRuleHooks = {
    .group = "resource.k8s.io",
    .kind = "DeviceTaintRule",
    .validate = ValidateDeviceTaintRule,
    .validate_update = CheckTaintRule,
    .validate_update_alone = true,
    .status_keeps_metadata = true,
    .generation = true,
    .allow_unconditional_update = false,
};

}  // namespace flyball::api
