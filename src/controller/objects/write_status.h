// WriteStatus: the controller is the only writer of an object's status, so a conflict only means that someone
// has changed the rest of the object in the meantime.
#pragma once

#include "client/client.h"
#include "controller/objects/retry.h"

namespace flyball::controllers {

// Writes `object`'s status. On a conflict, reads the object again and writes the status to that version.
// Returns NotFound if the object is gone, or another object has taken its name.
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
