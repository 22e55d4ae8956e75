// The labels of an EndpointSlice that name its Service and its manager.
#pragma once

#include <string_view>
#include <vector>

#include "api/types/discovery.h"
#include "controller/worker/controller.h"

namespace flyball::controllers {

inline constexpr char kServiceName[] = "kubernetes.io/service-name";
inline constexpr char kSliceManagedBy[] = "endpointslice.kubernetes.io/managed-by";

// The Service of a slice that `manager` maintains; nothing for other slices.
std::vector<ObjectKey> ServiceOf(const EndpointSlice& slice, std::string_view manager);

// Index function: the Service of the slices that `manager` maintains.
std::vector<std::string> ServiceIndexOf(const EndpointSlice& slice, std::string_view manager);

}  // namespace flyball::controllers
