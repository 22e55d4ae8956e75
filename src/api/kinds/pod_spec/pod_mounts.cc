#include <set>

#include "api/kinds/pod_spec/pod_spec.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"

namespace flyball::api {
namespace {

using json::Value;

// True if some entry of the list has that text at `key`.
bool AnyHas(const Value& list, std::string_view key, std::string_view text) {
  for (const Value& item : Items(list)) {
    if (Text(item, key) == text) return true;
  }
  return false;
}

void ValidatePropagation(const Value& mount, const Value& container, const FieldPath& path,
                         FieldErrors& errors) {
  const Value& propagation = mount["mountPropagation"];
  if (propagation.is_null()) return;
  CheckOneOf(propagation.string_or({}), {"Bidirectional", "HostToContainer", "None"}, path, errors);
  const bool privileged = container["securityContext"]["privileged"].bool_or(false);
  if (propagation.string_or({}) == "Bidirectional" && !privileged) {
    errors.Forbidden(path, "Bidirectional mount propagation is available only to privileged containers");
  }
}

void ValidateRecursiveReadOnly(const Value& mount, const FieldPath& path, FieldErrors& errors) {
  const Value& recursive = mount["recursiveReadOnly"];
  if (recursive.is_null()) return;
  const std::string_view value = recursive.string_or({});
  if (value == "Disabled") return;
  if (value != "Enabled" && value != "IfPossible") {
    return CheckOneOf(value, {"Disabled", "Enabled", "IfPossible"}, path, errors);
  }
  if (!mount["readOnly"].bool_or(false))
    errors.Forbidden(path, "may only be specified when readOnly is true");
  const Value& propagation = mount["mountPropagation"];
  if (!propagation.is_null() && propagation.string_or({}) != "None") {
    errors.Forbidden(path, "may only be specified when mountPropagation is None or not specified");
  }
}

void ValidateSubPaths(const Value& mount, bool image_volume, const FieldPath& list, const FieldPath& path,
                      FieldErrors& errors) {
  const std::string_view sub_path = Text(mount, "subPath");
  const std::string_view expression = Text(mount, "subPathExpr");
  if (image_volume) {
    if (!sub_path.empty())
      errors.Invalid(path.Child("subPath"), sub_path, "not allowed in image volume sources");
    if (!expression.empty()) {
      errors.Invalid(path.Child("subPathExpr"), expression, "not allowed in image volume sources");
    }
  }
  if (!sub_path.empty()) CheckDescendingPath(sub_path, list.Child("subPath"), errors);
  if (expression.empty()) return;
  if (!sub_path.empty()) {
    errors.Invalid(path.Child("subPathExpr"), expression, "subPathExpr and subPath are mutually exclusive");
  }
  CheckDescendingPath(expression, list.Child("subPathExpr"), errors);
}

void ValidateVolumeMounts(const Value& container, const PodContext& context, const FieldPath& list,
                          FieldErrors& errors) {
  const Value& devices = container["volumeDevices"];
  std::set<std::string_view> mount_paths;
  const Value& mounts = container["volumeMounts"];
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    const Value& mount = mounts.as_array()[i];
    const FieldPath path = list.Index(i);
    const std::string_view name = Text(mount, "name");
    const std::string_view mount_path = Text(mount, "mountPath");
    if (name.empty()) errors.Required(path.Child("name"));
    const auto volume = context.volumes.find(name);
    if (volume == context.volumes.end()) errors.NotFound(path.Child("name"), name);
    if (mount_path.empty()) errors.Required(path.Child("mountPath"));
    if (!mount_paths.insert(mount_path).second)
      errors.Invalid(path.Child("mountPath"), mount_path, "must be unique");
    if (AnyHas(devices, "name", name)) {
      errors.Invalid(path.Child("name"), name, "must not already exist in volumeDevices");
    }
    if (AnyHas(devices, "devicePath", mount_path)) {
      errors.Invalid(path.Child("mountPath"), mount_path,
                     "must not already exist as a path in volumeDevices");
    }
    const bool image = volume != context.volumes.end() && Has(*volume->second, "image");
    ValidateSubPaths(mount, image, list, path, errors);
    ValidatePropagation(mount, container, list.Child("mountPropagation"), errors);
    ValidateRecursiveReadOnly(mount, list.Child("recursiveReadOnly"), errors);
  }
}

// A device needs a volume that is a claim, or makes one.
void ValidateDeviceVolume(std::string_view name, const PodContext& context, const FieldPath& path,
                          FieldErrors& errors) {
  const auto volume = context.volumes.find(name);
  if (volume == context.volumes.end()) return errors.NotFound(path, name);
  if (Has(*volume->second, "persistentVolumeClaim") || Has(*volume->second, "ephemeral")) return;
  errors.Invalid(path, name,
                 "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode");
}

void ValidateVolumeDevices(const Value& container, const PodContext& context, const FieldPath& list,
                           FieldErrors& errors) {
  const Value& mounts = container["volumeMounts"];
  const Value& devices = container["volumeDevices"];
  std::set<std::string_view> names, paths;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const Value& device = devices.as_array()[i];
    const FieldPath path = list.Index(i);
    const std::string_view name = Text(device, "name");
    const std::string_view device_path = Text(device, "devicePath");
    if (name.empty()) errors.Required(path.Child("name"));
    if (names.contains(name)) errors.Invalid(path.Child("name"), name, "must be unique");
    ValidateDeviceVolume(name, context, path.Child("name"), errors);
    if (device_path.empty()) errors.Required(path.Child("devicePath"));
    if (paths.contains(device_path)) errors.Invalid(path.Child("devicePath"), device_path, "must be unique");
    FieldErrors backsteps;
    CheckNoBacksteps(device_path, path, backsteps);
    if (!backsteps.empty()) {
      errors.Invalid(path.Child("devicePath"), device_path, "can not contain backsteps ('..')");
    } else {
      paths.insert(device_path);
    }
    if (AnyHas(mounts, "name", name)) {
      errors.Invalid(path.Child("name"), name, "must not already exist in volumeMounts");
    }
    if (AnyHas(mounts, "mountPath", device_path)) {
      errors.Invalid(path.Child("devicePath"), device_path,
                     "must not already exist as a path in volumeMounts");
    }
    if (!name.empty()) names.insert(name);
  }
}

}  // namespace

void ValidateMounts(const Value& container, const PodContext& context, const FieldPath& path,
                    FieldErrors& errors) {
  ValidateVolumeMounts(container, context, path.Child("volumeMounts"), errors);
  ValidateVolumeDevices(container, context, path.Child("volumeDevices"), errors);
}

}  // namespace flyball::api
