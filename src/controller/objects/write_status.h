// WriteStatus: the status of an object has one writer, its controller, so a conflict only means that somebody
// changed the rest of the object meanwhile.
#pragma once

#include "client/client.h"
#include "controller/objects/retry.h"

namespace flyball::controllers {

// Writes `object`'s status. On a conflict the object is read afresh and the status written over that.
// NotFound if it is gone, or another has taken its name.
template <ApiObject T>
Result<T> WriteStatus(const Client& client, const T& object) {
  auto written = client.UpdateStatus(object);
  if (written || !written.error().Is(Reason::kConflict)) return written;
  return RetryOnConflict([&]() -> Result<T> {
    auto fresh = client.Get<T>(object.metadata.namespace_, object.metadata.name);
    if (!fresh) return fresh;
    if (fresh->metadata.uid != object.metadata.uid)
      return Unexpected(Error(Reason::kNotFound, "another object has taken the name"));
    fresh->status = object.status;
    return client.UpdateStatus(*fresh);
  });
}

}  // namespace flyball::controllers
