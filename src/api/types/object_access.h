// MetaView and OwnerView: the parts of an object's metadata that machinery needs, whatever the C++ type of
// the object.
#pragma once

#include <optional>
#include <string_view>

#include "api/types/kind_traits.h"

namespace flyball {

// Views into the object it was read from.
struct MetaView {
  std::string_view ns, name, uid, resource_version;
  bool deleting = false;  // deletionTimestamp is set
};
struct OwnerView {
  std::string_view api_version, kind, name, uid;
};

namespace access_internal {

// Whether an optional, a moment or a text says something.
template <typename T>
bool IsSet(const T& value) {
  if constexpr (requires { value.has_value(); })
    return value.has_value();
  else if constexpr (requires { value.IsZero(); })
    return !value.IsZero();
  else
    return !value.empty();
}
inline bool IsTrue(bool value) {
  return value;
}
inline bool IsTrue(const std::optional<bool>& value) {
  return value.value_or(false);
}

}  // namespace access_internal

template <ApiObject T>
MetaView MetaOf(const T& object) {
  const auto& meta = object.metadata;
  return {meta.namespace_, meta.name, meta.uid, meta.resource_version,
          access_internal::IsSet(meta.deletion_timestamp)};
}

// The owner that controls the object (upstream: GetControllerOf), if there is one.
template <ApiObject T>
std::optional<OwnerView> ControllerOf(const T& object) {
  for (const auto& owner : object.metadata.owner_references)
    if (access_internal::IsTrue(owner.controller))
      return OwnerView{owner.api_version, owner.kind, owner.name, owner.uid};
  return std::nullopt;
}

}  // namespace flyball
