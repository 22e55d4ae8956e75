#include "cli/kubectl/apply/apply_object.h"

#include <vector>

#include "api/apply/last_applied.h"
#include "api/merge/strategic_merge.h"
#include "api/schema/schema.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/apply/managers_upgrade.h"
#include "cli/kubectl/apply/three_way.h"
#include "cli/kubectl/print/printers.h"
#include "cli/kubectl/session/object_wait.h"
#include "json/json.h"
#include "json/patch.h"
#include "json/yaml/yaml.h"

namespace flyball::cli {
namespace {

constexpr const char* kConflictAdvice =
    "Please review the fields above--they currently have other managers. Here\n"
    "are the ways you can resolve this warning:\n"
    "* If you intend to manage all of these fields, please re-run the apply\n"
    "  command with the `--force-conflicts` flag.\n"
    "* If you do not intend to manage all of the fields, please edit your\n"
    "  manifest to remove references to the fields that should keep their\n"
    "  current managers.\n"
    "* You may co-own fields by updating your manifest to match the existing\n"
    "  value; in this case, you'll become the manager if the other manager(s)\n"
    "  stop managing the field (remove it from their configuration).\n"
    "See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts";

json::Value ToApply(const ApplyOptions& options, const Manifest& manifest) {
  json::Value object = WithLastApplied(manifest.object);
  if (!options.remember) object["metadata"]["annotations"].as_object().Erase(api::kLastAppliedAnnotation);
  return object;
}

// As an update would: what the manifest sets to null is not there.
void DropNulls(json::Value& value) {
  if (value.is_array())
    for (json::Value& item : value.as_array()) DropNulls(item);
  if (!value.is_object()) return;
  std::vector<std::string> nulls;
  for (auto& [name, member] : value.as_object()) {
    if (member.is_null()) nulls.push_back(name);
    DropNulls(member);
  }
  for (const std::string& name : nulls) value.as_object().Erase(name);
}

Result<Applied> CreateFirst(Session& session, const ApplyOptions& options, const Manifest& manifest,
                            const std::string& manager) {
  json::Value object = ToApply(options, manifest);
  DropNulls(object);
  if (options.dry_run == "client") return Applied{std::move(object), "created"};
  FLYBALL_ASSIGN(const std::string validation, ValidationOf(options.validate));
  auto made =
      session.Create(manifest.kind, manifest.ns, object, manager, options.dry_run == "server", validation);
  if (!made) return Unexpected(made.error().Annotate("error when creating \"" + manifest.source + "\""));
  return Applied{std::move(*made), "created"};
}

// The last applied manifest, from the object; null, with a warning, if the object was not applied.
json::Value LastAppliedOf(Session& session, const Manifest& manifest, const json::Value& current) {
  const json::Value& text = LastAppliedIn(current);
  if (text.is_string()) {
    auto parsed = json::Parse(text.as_string());
    return parsed ? std::move(*parsed) : json::Value();
  }
  session.err()
      << "Warning: resource " << manifest.kind.plural << "/" << manifest.name
      << " is missing the kubectl.kubernetes.io/last-applied-configuration annotation which is required "
         "by kubectl apply. kubectl apply should only be used on resources created declaratively by "
         "either kubectl create --save-config or kubectl apply. The missing annotation will be patched "
         "automatically.\n";
  return {};
}

// The object as errors name it.
std::string Named(const Manifest& manifest) {
  return manifest.kind.ApiVersion() + ", Resource=" + manifest.kind.plural + "\nName: \"" + manifest.name +
         "\", Namespace: \"" + manifest.ns + "\"";
}

std::string PatchFailure(const Manifest& manifest, const json::Value& patch) {
  return "error when applying patch:\n" + json::Write(patch) + "\nto:\n" + Named(manifest) + "\nfor: \"" +
         manifest.source + "\": error when patching \"" + manifest.source + "\"";
}

bool NeedsNewObject(const Error& error) {
  return error.Is(Reason::kConflict) || error.Is(Reason::kInvalid);
}

// What --force does where a patch is refused. If the new object is refused too, the old one is created again.
Result<Applied> Recreate(Session& session, const ApplyOptions& options, const Manifest& manifest,
                         const json::Value& current, const std::string& manager) {
  json::Value how = json::Object{{"propagationPolicy", options.cascade}};
  if (options.grace_period) how["gracePeriodSeconds"] = *options.grace_period;
  RestRequest request;
  request.verb = "DELETE";
  request.path = manifest.kind.Path(manifest.ns, manifest.name);
  request.body = json::Write(how);
  FLYBALL_TRY(session.Call(std::move(request)));
  FLYBALL_TRY(WaitUntilGone(session, {manifest.kind, manifest.ns, manifest.name},
                            std::string(current["metadata"]["uid"].string_or("")), Duration::zero()));
  auto made = CreateFirst(session, options, manifest, manager);
  if (made) return Applied{std::move(made->object), "configured"};
  if (auto restored = session.Create(manifest.kind, manifest.ns, current, manager); !restored)
    return Unexpected(
        LocalError("An error occurred force-replacing the existing object with the newly provided one:\n\n" +
                   made.error().message() +
                   ".\n\nAdditionally, an error occurred attempting to restore the original object:\n\n" +
                   restored.error().message()));
  return made;
}

// One patch of the object as it was read.
struct Attempt {
  json::Value current;
  json::Value patch{};
  const api::KindInfo* builtin = nullptr;
};

Error PatchConflict(const Manifest& manifest, const Attempt& attempt, const json::Value& original,
                    const json::Value& modified, const json::Value& changed) {
  const std::string conflict = "patch:\n" + json::WriteYaml(attempt.patch) +
                               "\nconflicts with changes made from original to current:\n" +
                               json::WriteYaml(changed) + "\n";
  return LocalError("error when applying patch:\n\nto:\n" + Named(manifest) + "\nfor: \"" + manifest.source +
                    "\": error when patching \"" + manifest.source + "\": creating patch with:\noriginal:\n" +
                    json::Write(original) + "\nmodified:\n" + json::Write(modified) + "\ncurrent:\n" +
                    json::Write(attempt.current) + "\nfor: " + conflict);
}

// Computes the patch. With --overwrite=false, it must not touch what others have changed.
Status PreparePatch(const ApplyOptions& options, const Manifest& manifest, const json::Value& original,
                    Attempt& attempt) {
  const KindRef& kind = manifest.kind;
  attempt.builtin = api::FindBuiltinKind(kind.group, kind.version, kind.kind);
  const api::TypeInfo* type = attempt.builtin ? attempt.builtin->type : nullptr;
  const json::Value modified = ToApply(options, manifest);
  attempt.patch = ThreeWayPatch(type, original, modified, attempt.current);
  if (options.overwrite || !type || !original.is_object()) return {};
  const json::Value changed = ThreeWayPatch(type, original, attempt.current, original);
  if (!PatchesConflict(type, attempt.patch, changed)) return {};
  return Unexpected(PatchConflict(manifest, attempt, original, modified, changed));
}

Result<json::Value> SendAttempt(Session& session, const ApplyOptions& options, const Manifest& manifest,
                                const Attempt& attempt, const std::string& manager) {
  RestRequest request;
  request.verb = "PATCH";
  request.path = manifest.kind.Path(manifest.ns, manifest.name);
  request.content_type = attempt.builtin ? kStrategicPatch : kMergePatch;
  request.body = json::Write(attempt.patch);
  FLYBALL_ASSIGN(const std::string validation, ValidationOf(options.validate));
  request.Query("fieldManager", manager).Query("fieldValidation", validation);
  if (options.dry_run == "server") request.Query("dryRun", "All");
  return session.Call(std::move(request));
}

// The object as the patch would leave it, without asking the server.
Result<json::Value> PatchedHere(const Attempt& attempt) {
  return attempt.builtin ? api::StrategicMerge(*attempt.builtin->type, attempt.current, attempt.patch)
                         : json::ApplyMergePatch(attempt.current, attempt.patch);
}

// Patches the object; a conflict with another writer is tried again on what that one left.
Result<Applied> PatchObject(Session& session, const ApplyOptions& options, const Manifest& manifest,
                            Attempt attempt, const json::Value& original, const std::string& manager) {
  constexpr int kTries = 6;  // kubectl's
  for (int tries = 1;; ++tries) {
    FLYBALL_TRY(PreparePatch(options, manifest, original, attempt));
    if (attempt.patch.empty()) return Applied{std::move(attempt.current), "unchanged"};
    if (options.dry_run == "client") {
      FLYBALL_ASSIGN(json::Value patched, PatchedHere(attempt));
      return Applied{std::move(patched), "configured"};
    }
    auto patched = SendAttempt(session, options, manifest, attempt, manager);
    if (patched) return Applied{std::move(*patched), "configured"};
    if (patched.error().Is(Reason::kConflict) && tries < kTries) {
      FLYBALL_ASSIGN(attempt.current, session.Get(manifest.kind, manifest.ns, manifest.name));
      continue;
    }
    if (options.force && NeedsNewObject(patched.error()))
      return Recreate(session, options, manifest, attempt.current, manager);
    return Unexpected(patched.error().Annotate(PatchFailure(manifest, attempt.patch)));
  }
}

Result<Applied> ApplyOnClient(Session& session, const ApplyOptions& options, const Manifest& manifest) {
  const std::string manager =
      options.field_manager.empty() ? "kubectl-client-side-apply" : options.field_manager;
  auto current = session.Get(manifest.kind, manifest.ns, manifest.name);
  if (!current && !current.error().Is(Reason::kNotFound)) return Unexpected(current.error());
  if (!current) return CreateFirst(session, options, manifest, manager);
  const json::Value original = LastAppliedOf(session, manifest, *current);
  return PatchObject(session, options, manifest, {.current = std::move(*current)}, original, manager);
}

Result<json::Value> SendApply(Session& session, const ApplyOptions& options, const Manifest& manifest,
                              const std::string& manager) {
  auto applied = SendServerSideApply(session, options, manifest, manager);
  if (!applied && applied.error().Is(Reason::kConflict))
    return Unexpected(LocalError(applied.error().message() + "\n" + kConflictAdvice));
  return applied;
}

Result<Applied> ApplyOnServer(Session& session, const ApplyOptions& options, const Manifest& manifest) {
  const std::string manager = options.field_manager.empty() ? kServerSideManager : options.field_manager;
  FLYBALL_ASSIGN(json::Value object, SendApply(session, options, manifest, manager));
  if (options.dry_run.empty() || options.dry_run == "none") {
    FLYBALL_ASSIGN(const bool upgraded, UpgradeManagers(session, manifest, object, manager));
    // Now that the fields are ours alone, this removes those that the manifest no longer has.
    if (upgraded) {
      FLYBALL_ASSIGN(object, SendApply(session, options, manifest, manager));
    }
  }
  return Applied{std::move(object), "serverside-applied"};
}

}  // namespace

Result<json::Value> SendServerSideApply(Session& session, const ApplyOptions& options,
                                        const Manifest& manifest, const std::string& manager) {
  RestRequest request;
  request.verb = "PATCH";
  request.path = manifest.kind.Path(manifest.ns, manifest.name, options.subresource);
  request.content_type = kApplyPatch;
  request.body = json::Write(manifest.object);
  FLYBALL_ASSIGN(const std::string validation, ValidationOf(options.validate));
  request.Query("fieldManager", manager)
      .Query("fieldValidation", validation)
      .Query("force", options.force_conflicts ? "true" : "false");
  if (options.dry_run == "server") request.Query("dryRun", "All");
  return session.Call(std::move(request));
}

const json::Value& LastAppliedIn(const json::Value& object) {
  return object["metadata"]["annotations"][api::kLastAppliedAnnotation];
}

json::Value WithLastApplied(const json::Value& object) {
  json::Value bare = object;
  if (bare["metadata"]["annotations"].is_null()) bare["metadata"]["annotations"] = json::Object();
  bare["metadata"]["annotations"].as_object().Erase(api::kLastAppliedAnnotation);
  json::Value sorted = bare;
  SortKeysDeep(sorted);
  bare["metadata"]["annotations"][api::kLastAppliedAnnotation] = json::Write(sorted) + "\n";
  return bare;
}

Result<Applied> ApplyManifest(Session& session, const ApplyOptions& options, const Manifest& manifest) {
  const std::string_view generated = manifest.object["metadata"]["generateName"].string_or("");
  if (manifest.name.empty() && !generated.empty())
    return Unexpected(LocalError("from " + std::string(generated) + ": cannot use generate name with apply"));
  return options.server_side ? ApplyOnServer(session, options, manifest)
                             : ApplyOnClient(session, options, manifest);
}

}  // namespace flyball::cli
