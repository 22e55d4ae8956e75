#include <memory>

#include "api/merge/strategic_merge.h"
#include "api/schema/schema.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/change/object_change.h"
#include "cli/kubectl/verbs.h"
#include "json/patch.h"
#include "json/yaml/yaml.h"

namespace flyball::cli {
namespace {

struct PatchFlags {
  ChangeFlags change;
  std::string type = "strategic", patch, patch_file, subresource;
};

Result<std::string_view> ContentType(const std::string& type) {
  if (type == "json") return kJsonPatch;
  if (type == "merge") return kMergePatch;
  if (type == "strategic") return kStrategicPatch;
  return Unexpected(LocalError("--type must be one of [json merge strategic], not \"" + type + "\""));
}

Result<json::Value> PatchOf(const PatchFlags& flags) {
  std::string text = flags.patch;
  if (!flags.patch_file.empty()) {
    FLYBALL_ASSIGN(text, ReadSource(flags.patch_file));
  }
  if (text.empty())
    return Unexpected(
        LocalError("must specify --patch or --patch-file containing the contents of the patch"));
  auto patch = json::ParseYaml(text);
  if (!patch) return Unexpected(LocalError("unable to parse \"" + text + "\": " + patch.error().message()));
  return patch;
}

// The object as the patch leaves it, worked out here.
Result<json::Value> PatchHere(const ChangeTarget& target, std::string_view type, const json::Value& patch) {
  if (type == kJsonPatch) return json::ApplyJsonPatch(target.object, patch);
  if (type == kMergePatch) return json::ApplyMergePatch(target.object, patch);
  const KindRef& kind = target.ref.kind;
  const auto* builtin = api::FindBuiltinKind(kind.group, kind.version, kind.kind);
  if (!builtin)
    return Unexpected(LocalError("strategic merge patch is not supported for " + kind.ApiVersion() +
                                 ", Kind=" + kind.kind + " locally, try --type merge"));
  return api::StrategicMerge(*builtin->type, target.object, patch);
}

// The server's refusal of a strategic patch of a custom kind, with what was refused.
Error PatchError(const Error& error, const KindRef& kind, std::string_view type) {
  if (!error.Is(Reason::kUnsupportedMediaType)) return error;
  return LocalError(std::string(type) + " is not supported by " + kind.ApiVersion() + ", Kind=" + kind.kind +
                    ": " + error.message());
}

// What is printed about: the object, or what its subresource returned.
ObjectRef Answered(const ObjectRef& ref, const PatchFlags& flags) {
  if (flags.subresource != "scale") return ref;
  return {{"autoscaling", "v1", "Scale", "scales", true}, ref.ns, ref.name};
}

Status PatchOne(Session& session, const PatchFlags& flags, const ChangeTarget& target, std::string_view type,
                const json::Value& patch) {
  json::Value after;
  if (flags.change.only_prints()) {
    FLYBALL_ASSIGN(after, PatchHere(target, type, patch));
  } else {
    auto sent = SendPatch(session, flags.change, target.ref, type, patch, flags.subresource);
    if (!sent) return Unexpected(PatchError(sent.error(), target.ref.kind, type));
    after = std::move(*sent);
    if (session.records()) {
      json::Value cause;
      session.Record(cause);
      FLYBALL_ASSIGN(after, SendPatch(session, flags.change, target.ref, kMergePatch, cause));
    }
  }
  const bool same = flags.change.only_prints() ? after == target.object
                                               : std::as_const(after)["metadata"]["resourceVersion"] ==
                                                     target.object["metadata"]["resourceVersion"];
  return SayChange(session, flags.change, Answered(target.ref, flags), after,
                   same ? "patched (no change)" : "patched");
}

// A dry run on the client patches what the files say, not what the server has.
Result<std::vector<ChangeTarget>> PatchTargets(Session& session, const ChangeFlags& flags) {
  if (flags.local || flags.dry_run != "client" || flags.files.empty())
    return ChangeTargets(session, flags, flags.args);
  FLYBALL_ASSIGN(auto manifests, ReadManifests(session, flags.files));
  std::vector<ChangeTarget> targets;
  for (Manifest& m : manifests) targets.push_back({{m.kind, m.ns, m.name}, std::move(m.object)});
  return targets;
}

Status RunPatch(Session& session, const PatchFlags& flags) {
  FLYBALL_ASSIGN(const std::string_view type, ContentType(flags.type));
  FLYBALL_ASSIGN(const json::Value patch, PatchOf(flags));
  FLYBALL_ASSIGN(const auto targets, PatchTargets(session, flags.change));
  for (const ChangeTarget& target : targets)
    if (const Status done = PatchOne(session, flags, target, type, patch); !done)
      session.Report(done.error());
  return {};
}

}  // namespace

void AddPatchCommand(const Command& root) {
  auto flags = std::make_shared<PatchFlags>();
  const Command command = root.Sub("patch", "Change parts of an object",
                                   "flyball patch deploy web -p '{\"spec\":{\"replicas\":3}}'");
  command.Args("TYPE/NAME", &flags->change.args, "Which objects");
  AddChangeFlags(command, &flags->change, "kubectl-patch");
  command.Option("-p,--patch", &flags->patch, "The patch, as JSON or YAML");
  command.Option("--patch-file", &flags->patch_file, "A file with the patch");
  command.RecordFlag();
  command.Option("--type", &flags->type, "strategic, merge or json");
  command.Option("--subresource", &flags->subresource, "status, scale or resize");
  RunVerb(command, [flags](Session& session) { return RunPatch(session, *flags); });
}

}  // namespace flyball::cli
