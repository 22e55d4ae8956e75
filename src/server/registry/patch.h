// PATCH: the four ways to say what should change.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/schema/schema.h"
#include "base/values/result.h"
#include "json/value.h"
#include "server/registry/field_manager.h"
#include "server/request/request_scope.h"

namespace flyball::server {

enum class PatchType : std::uint8_t { kJson, kMerge, kStrategicMerge, kApply };

struct Patch {
  PatchType type = PatchType::kJson;
  json::Value value;
  std::vector<std::string> duplicates;     // of an apply, as go-yaml names them; paths otherwise
  std::vector<std::string> strict_errors;  // what strict decoding of the patch itself finds
  bool names_version = false;              // it sets metadata.resourceVersion itself: no retry on conflict
};

// UnsupportedMediaType (415) if the type is none of those the resource takes.
Result<PatchType> PatchTypeOf(std::string_view content_type, const ServedResource& resource);
// fieldManager is required for apply; force is for apply only.
Status CheckPatchOptions(const RequestScope& scope, PatchType type);
Result<Patch> ParsePatch(PatchType type, std::string_view body);

// `current` as a patch other than an apply changes it; `type` is what it is. Upstream's answer to a patch
// that does not apply.
Result<json::Value> MergePatch(const api::TypeInfo& type, const Patch& patch, json::Value current);

// The object after the patch, decoded and defaulted, in the stored version. `current` is in the stored
// version; null when an apply creates. Managed fields are set for kApply only.
// `elsewhere`, of an apply: what it changes in other versions.
Result<json::Value> ApplyPatch(RequestScope& scope, const Patch& patch, const json::Value& current,
                               const ChangesElsewhere& elsewhere = {});
// Duplicate keys in the text of an apply that has succeeded: refused or warned of, as scope.field_validation
// says.
Status CheckAppliedText(RequestScope& scope, const Patch& patch);
// Finds that out, before the apply is made.
Task<Status> PrepareApply(RequestScope& scope, const Patch& patch, const json::Value& current,
                          ChangesElsewhere& elsewhere);

}  // namespace flyball::server
