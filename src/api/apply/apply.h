// Server-side apply: a client says the fields it has an opinion about; the object gets them, and the client
// owns exactly them (upstream: managedfields.FieldManager.Apply, structured-merge-diff merge.Updater).
//
// Flow: check the configuration; merge it into the live object; take away what this manager applied before,
// does not now, and nobody else owns; compare with the live object; a changed field that another manager owns
// is a conflict unless forced, and then that manager loses it.
#pragma once

#include <string_view>

#include "api/apply/managed_fields.h"
#include "api/schema/schema.h"
#include "base/values/result.h"
#include "json/value.h"

namespace flyball::api {

struct Applied {
  json::Value object;    // with its managedFields
  bool changed = false;  // false: the object is the live one, but for managedFields
};

// Applies the configuration as writer.manager. `live` null: there is no object yet. `kind` is what
// configuration's kind must be, writer.api_version what its apiVersion must be.
//
// The result is not defaulted, pruned or validated; a null in the configuration is in it. A live object
// without managedFields is first taken for the work of an updater "before-first-apply". The manager "kubectl"
// may take over what client-side apply has applied before (its last-applied annotation says what that was),
// and if the object has that annotation it is brought up to date.
//
// Errors: BadRequest for another kind or version and for managedFields in the configuration; a Status of code
// 500 without reason for a configuration that does not fit its type, as upstream; Conflict with a cause
// FieldManagerConflict for each field others own.
Result<Applied> Apply(const TypeInfo& type, std::string_view kind, const json::Value* live,
                      const json::Value& configuration, const FieldWriter& writer, bool force);

}  // namespace flyball::api
