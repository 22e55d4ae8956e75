// Kinds of resource.k8s.io that count the changes of their spec.
#include "api/kinds/shared/hooks.h"

namespace flyball::api {

const KindHooks kDeviceClassHooks = {.group = "resource.k8s.io", .kind = "DeviceClass", .generation = true};

const KindHooks kResourceSliceHooks = {
    .group = "resource.k8s.io", .kind = "ResourceSlice", .generation = true};

}  // namespace flyball::api
