// The finalizer kubernetes.io/vac-protection: a VolumeAttributesClass stays while a volume or a claim names
// it (upstream: volumeattributesclass-protection-controller).
#pragma once

#include "controller/manager.h"

namespace flyball::controllers {

Status AddAttributesClassProtectionController(Manager& manager, int workers);

}  // namespace flyball::controllers
