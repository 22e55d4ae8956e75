#include "controllers/storage/attributes_class_protection_controller.h"

#include <algorithm>
#include <string>
#include <vector>

#include "api/types/core.h"
#include "api/types/storage.h"
#include "controller/objects/owner.h"
#include "controllers/storage/protection.h"

namespace flyball::controllers {
namespace {

constexpr char kClassProtection[] = "kubernetes.io/vac-protection";
constexpr char kAttributesClassIndex[] = "volumeattributesclass";

// The class a claim asks for, has, and is on its way to.
std::vector<std::string> ClassesOf(const PersistentVolumeClaim& claim) {
  std::vector<std::string> names;
  if (claim.spec.volume_attributes_class_name) names.push_back(*claim.spec.volume_attributes_class_name);
  if (claim.status.current_volume_attributes_class_name)
    names.push_back(*claim.status.current_volume_attributes_class_name);
  if (claim.status.modify_volume_status)
    names.push_back(claim.status.modify_volume_status->target_volume_attributes_class_name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::erase(names, "");
  return names;
}

std::vector<std::string> ClassesOf(const PersistentVolume& volume) {
  const auto& name = volume.spec.volume_attributes_class_name;
  return name && !name->empty() ? std::vector{*name} : std::vector<std::string>{};
}

template <typename T>
std::vector<ObjectKey> ClassKeysOf(const T& object) {
  std::vector<ObjectKey> keys;
  for (const std::string& name : ClassesOf(object)) keys.push_back({"", name});
  return keys;
}

Result<Action> ReconcileAttributesClass(const VolumeAttributesClass& object, Context& ctx) {
  const bool held = HasFinalizer(object.metadata, kClassProtection);
  if (!IsDeleting(object.metadata)) {
    if (!held) FLYBALL_TRY(SetProtected(ctx.client(), object, kClassProtection, true));
    return Done();
  }
  const std::string& name = object.metadata.name;
  if (!held || !ctx.lister<PersistentVolume>().ByIndex(kAttributesClassIndex, name).empty() ||
      !ctx.lister<PersistentVolumeClaim>().ByIndex(kAttributesClassIndex, name).empty())
    return Done();
  FLYBALL_TRY(SetProtected(ctx.client(), object, kClassProtection, false));
  return Done();
}

}  // namespace

Status AddAttributesClassProtectionController(Manager& manager, int workers) {
  return manager.For<VolumeAttributesClass>()
      .Named("volumeattributesclass-protection-controller")
      .Index<PersistentVolume>(kAttributesClassIndex, [](const PersistentVolume& v) { return ClassesOf(v); })
      .Index<PersistentVolumeClaim>(kAttributesClassIndex,
                                    [](const PersistentVolumeClaim& c) { return ClassesOf(c); })
      .Watches<PersistentVolume>([](const PersistentVolume& v) { return ClassKeysOf(v); })
      .Watches<PersistentVolumeClaim>([](const PersistentVolumeClaim& c) { return ClassKeysOf(c); })
      .Workers(workers)
      .Reconcile(&ReconcileAttributesClass);
}

}  // namespace flyball::controllers
