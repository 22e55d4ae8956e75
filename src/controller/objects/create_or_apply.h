// CreateOrApply: makes the server's object match the desired one. It sends no request if the cached object
// already has every desired value. Lists are compared element by element, so a list whose elements the server
// completes with defaults never matches, and the object is applied each time.
#pragma once

#include "client/client.h"
#include "informer/shared_informer.h"
#include "json/value.h"

namespace flyball {

enum class ApplyOutcome { kUnchanged, kCreated, kApplied };

// Returns true if every member of `want` is equal in `have`; lists must be equal element by element.
bool Covers(const json::Value& have, const json::Value& want);

// Sends nothing if the cached object covers `want`. Otherwise uses server-side apply, which creates or
// changes the object.
template <ApiObject T>
Result<ApplyOutcome> CreateOrApply(const Client& client, const Lister<T>& cache, const T& want,
                                   const ApplyParams& params) {
  const auto have = cache.Get(want.metadata.namespace_, want.metadata.name);
  if (have && Covers(ToJson(*have), ToJson(want))) return ApplyOutcome::kUnchanged;
  const auto applied = client.Apply(want, params);
  if (!applied) return Unexpected(applied.error());
  return have ? ApplyOutcome::kApplied : ApplyOutcome::kCreated;
}

}  // namespace flyball
