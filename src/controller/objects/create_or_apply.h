// CreateOrApply: makes the server's object what it should be, with one request at most when the cache says
// that it already is.
#pragma once

#include "client/client.h"
#include "informer/shared_informer.h"
#include "json/value.h"

namespace flyball {

enum class ApplyOutcome { kUnchanged, kCreated, kApplied };

// True if every member that `want` has is equal in `have`; lists must be equal element by element.
bool Covers(const json::Value& have, const json::Value& want);

// If the cached object already says everything `want` says, nothing is sent. Else server-side apply, which
// creates or changes.
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
