// The finalizers that keep storage from being deleted while it is used.
#pragma once

#include <string_view>
#include <utility>

#include "client/client.h"
#include "controller/objects/owner.h"

namespace flyball::controllers {

// Puts the finalizer on the object, or takes it off, unless somebody else has written the object since. By an
// update of the whole: that is what the roles of these controllers allow. An object that is gone is no error.
template <typename T>
Status SetProtected(const Client& client, T object, std::string_view finalizer, bool held) {
  const bool changed =
      held ? AddFinalizer(object.metadata, finalizer) : RemoveFinalizer(object.metadata, finalizer);
  if (!changed) return {};
  const auto written = client.Update(object);
  if (!written && !written.error().Is(Reason::kNotFound)) return Unexpected(written.error());
  return {};
}

}  // namespace flyball::controllers
