#include <memory>

#include "cli/command/error_text.h"
#include "cli/kubectl/session/manifests.h"
#include "cli/kubectl/session/object_wait.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/session.h"
#include "cli/kubectl/verbs.h"
#include "json/json.h"

namespace flyball::cli {
namespace {

struct ReplaceFlags {
  ManifestFlags files;
  bool force = false;
};

Status ReplaceOne(Session& session, const Manifest& manifest) {
  json::Value object = manifest.object;
  // A manifest without a version means the newest: the last write wins, as in kubectl.
  if (std::as_const(object)["metadata"]["resourceVersion"].is_null()) {
    auto current = session.Get(manifest.kind, manifest.ns, manifest.name);
    if (!current)
      return Unexpected(current.error().Annotate("error when replacing \"" + manifest.source + "\""));
    object["metadata"]["resourceVersion"] = (*current)["metadata"]["resourceVersion"];
  }
  RestRequest request;
  request.verb = "PUT";
  request.path = manifest.kind.Path(manifest.ns, manifest.name);
  request.body = json::Write(object);
  request.Query("fieldManager", "kubectl-replace").Query("fieldValidation", "Strict");
  auto replaced = session.Call(std::move(request));
  if (!replaced)
    return Unexpected(replaced.error().Annotate("error when replacing \"" + manifest.source + "\""));
  session.out() << DisplayName(manifest.kind, manifest.name) << " replaced\n";
  return {};
}

Status Recreate(Session& session, const Manifest& manifest) {
  RestRequest request;
  request.verb = "DELETE";
  request.path = manifest.kind.Path(manifest.ns, manifest.name);
  request.body = R"({"propagationPolicy":"Background","gracePeriodSeconds":0})";
  auto deleted = session.Call(std::move(request));
  if (!deleted && !deleted.error().Is(Reason::kNotFound)) return Unexpected(deleted.error());
  if (deleted) {
    session.out() << TypeName(manifest.kind) << " \"" << manifest.name << "\" deleted\n";
    FLYBALL_TRY(WaitUntilGone(session, {manifest.kind, manifest.ns, manifest.name}, "", {}));
  }
  FLYBALL_TRY(session.Create(manifest.kind, manifest.ns, manifest.object, "kubectl-replace"));
  session.out() << DisplayName(manifest.kind, manifest.name) << " replaced\n";
  return {};
}

Status RunReplace(Session& session, const ReplaceFlags& flags) {
  if (flags.files.empty()) return Unexpected(LocalError("must specify one of -f and -k"));
  ReadProblems problems;
  FLYBALL_ASSIGN(const auto manifests, ReadManifests(session, flags.files, &problems));
  for (const Manifest& manifest : manifests)
    if (Status s = flags.force ? Recreate(session, manifest) : ReplaceOne(session, manifest); !s)
      session.Report(s.error());
  problems.Report(session);
  return {};
}

}  // namespace

void AddReplaceCommand(const Command& root) {
  auto flags = std::make_shared<ReplaceFlags>();
  const Command command =
      root.Sub("replace", "Put whole objects in the place of those there", "flyball replace -f web.yaml");
  AddManifestFlags(command, &flags->files);
  command.Flag("--force", &flags->force, "Delete and create anew");
  RunVerb(command, [flags](Session& session) { return RunReplace(session, *flags); });
}

}  // namespace flyball::cli
