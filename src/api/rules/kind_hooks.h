// KindHooks: what a built-in kind needs beyond its schema: defaults that depend on other fields, rules that
// span fields, and what create and update do to an object before it is validated (upstream: registry
// strategies). One file a kind in src/api/kinds/; a kind without hooks behaves as its schema says. Pure
// functions of the object: no I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/rules/field_error.h"
#include "api/schema/schema.h"
#include "json/value.h"

namespace flyball::api {

// For name_warning of kinds whose pods are named after them.
inline constexpr std::string_view kPodNamesWarning =
    "this is used in Pod names and hostnames, which can result in surprising behavior";

struct KindHooks {
  std::string_view group, kind;

  // After the schema's own defaults. Also run when an object is decoded for update and patch.
  void (*set_defaults)(json::Value& object) = nullptr;
  // Upstream's PrepareForCreate: clear what a client may not set. Status is cleared by the server for every
  // kind with a status subresource; this is for the rest.
  void (*prepare_for_create)(json::Value& object) = nullptr;
  // PrepareForUpdate: carry over what this endpoint may not change. The server resets status (main endpoint)
  // or everything but status (status endpoint) before.
  void (*prepare_for_update)(json::Value& object, const json::Value& old) = nullptr;
  // The same for the status endpoint.
  void (*prepare_for_status_update)(json::Value& object, const json::Value& old) = nullptr;
  // Everything but metadata, in upstream's order: a kind that has this is not checked by the schema's rules
  // too.
  void (*validate)(const json::Value& object, FieldErrors& errors) = nullptr;
  // Besides validate(object), which the server runs too: immutability and transitions, in place of the
  // schema's.
  void (*validate_update)(const json::Value& object, const json::Value& old, FieldErrors& errors) = nullptr;
  void (*validate_status_update)(const json::Value& object, const json::Value& old,
                                 FieldErrors& errors) = nullptr;
  // The same two for an endpoint that changes a part of the object and nothing else (`part`: its name, such
  // as "resize").
  void (*prepare_for_part_update)(std::string_view part, json::Value& object,
                                  const json::Value& old) = nullptr;
  void (*validate_part_update)(std::string_view part, const json::Value& object, const json::Value& old,
                               FieldErrors& errors) = nullptr;
  // metadata.name's rule: a format name of format.h; default "dns-subdomain".
  std::string_view name_format = "dns-subdomain";
  // The kind's own rules say nothing of metadata: that is looked at when they hold, by the rules that all
  // kinds share. A name may be any segment of a path.
  bool metadata_last = false;
  // validate_update says all there is to say about an update: validate is not run then.
  bool validate_update_alone = false;

  bool status_keeps_metadata =
      false;                // the status endpoint changes no labels, annotations, finalizers, owners
  bool generation = false;  // bumps metadata.generation when spec changes
  bool allow_create_on_update = false;     // PUT of an absent object creates it
  bool allow_unconditional_update = true;  // PUT without resourceVersion
  bool return_deleted_object = false;      // DELETE answers with the object, not with a Status
  bool keep_status_on_create = false;      // Node: a client may create it with its status
  bool orphan_dependents = false;  // DELETE without a policy leaves dependents (Job, ReplicationController)
  // An annotation that stands for a field of upstream's internal type: it is part of the whole object, not of
  // its metadata alone (PartialObjectMetadata, table rows).
  std::string_view field_annotation;
  // Taken, but the client should know: appended to the answer's Warning headers of a create, and of an update
  // of the object itself as warn_on says.
  void (*warnings)(const json::Value& object, std::vector<std::string>& out) = nullptr;
  // kNews: on every update, of what the old object did not give cause for.
  enum class WarnOn { kCreate, kSpecChange, kUpdate, kNews } warn_on = WarnOn::kSpecChange;
  // Why a name that is no DNS label gets a warning when the object is created; "": it gets none.
  std::string_view name_warning;
  // How many seconds a delete waits, of which the client asks for `asked`. Null: the kind is not deleted
  // gracefully.
  std::int64_t (*grace_seconds)(const json::Value& object, std::optional<std::int64_t> asked) = nullptr;
};

// The hooks of a built-in kind; a default set (schema only) for kinds that have none.
const KindHooks& HooksFor(std::string_view group, std::string_view kind);

}  // namespace flyball::api
