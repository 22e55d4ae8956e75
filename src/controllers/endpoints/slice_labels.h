// Whose an EndpointSlice is: labels say which Service it is of and who keeps it.
#pragma once

#include <string_view>
#include <vector>

#include "api/types/discovery.h"
#include "controller/worker/controller.h"

namespace flyball::controllers {

inline constexpr char kServiceName[] = "kubernetes.io/service-name";
inline constexpr char kSliceManagedBy[] = "endpointslice.kubernetes.io/managed-by";

// The Service of a slice that `manager` keeps; nothing for slices of others.
std::vector<ObjectKey> ServiceOf(const EndpointSlice& slice, std::string_view manager);

// By Service, of the slices that `manager` keeps: values for an index.
std::vector<std::string> ServiceIndexOf(const EndpointSlice& slice, std::string_view manager);

}  // namespace flyball::controllers
