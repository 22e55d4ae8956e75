#include <algorithm>
#include <functional>
#include <memory>

#include "api/apply/last_applied.h"
#include "api/values/duration.h"
#include "api/values/time.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/describe/describe_pod.h"
#include "cli/kubectl/print/printers.h"
#include "cli/kubectl/print/tab_writer.h"
#include "cli/kubectl/session/manifests.h"
#include "cli/kubectl/session/object_wait.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/session.h"
#include "cli/kubectl/verbs.h"
#include "cli/kubectl/verbs/rollout_status.h"
#include "json/json.h"

namespace flyball::cli {
namespace {

constexpr const char* kRevision = "deployment.kubernetes.io/revision";
constexpr const char* kRestartedAt = "kubectl.kubernetes.io/restartedAt";
constexpr const char* kChangeCause = "kubernetes.io/change-cause";

struct RolloutFlags {
  std::vector<std::string> args;
  ManifestFlags files;
  Selection selection;
  PrintFlags print;
  std::string timeout = "0s", field_manager = "kubectl-rollout", dry_run;
  bool watch = true;
  std::optional<std::int64_t> revision, to_revision;
};

// One revision in the history of a workload.
struct Revision {
  std::int64_t number = 0;
  std::string change_cause;
  json::Value pod_template, annotations;
  json::Value object;  // the ReplicaSet, or the workload as it was
};

// Kinds whose pods are replaced by a rollout.
bool RollsOut(const KindRef& kind) {
  return kind.group == "apps" &&
         (kind.kind == "Deployment" || kind.kind == "DaemonSet" || kind.kind == "StatefulSet");
}

// Without names: all of the kind, or those that the selector matches.
Result<std::vector<ObjectRef>> RolloutObjects(Session& session, const RolloutFlags& flags) {
  if (flags.args.empty() && flags.files.empty())
    return Unexpected(LocalError("required resource not specified"));
  Selection selection = flags.selection;
  selection.all = true;
  return NamedObjects(session, flags.files, flags.args, selection);
}

// Errors are reported, and the rest goes on.
Status ForEachRollout(Session& session, const RolloutFlags& flags,
                      const std::function<Status(const ObjectRef&)>& change) {
  FLYBALL_ASSIGN(const auto refs, RolloutObjects(session, flags));
  for (const ObjectRef& ref : refs)
    if (const Status done = change(ref); !done) session.Report(done.error());
  return {};
}

bool RevisionsOwnedBy(const json::Value& object, const json::Value& owner) {
  const json::Value& owners = object["metadata"]["ownerReferences"];
  if (!owners.is_array()) return false;
  return std::any_of(owners.as_array().begin(), owners.as_array().end(), [&](const json::Value& reference) {
    return reference["controller"].bool_or(false) && reference["uid"] == owner["metadata"]["uid"];
  });
}

// For a Deployment, its ReplicaSets; for other kinds, ControllerRevisions.
Result<std::vector<Revision>> HistoryOf(Session& session, const json::Value& object, const ObjectRef& ref) {
  const bool deployment = ref.kind.kind == "Deployment";
  const KindRef kind = deployment ? KindRef{"apps", "v1", "ReplicaSet", "replicasets", true}
                                  : KindRef{"apps", "v1", "ControllerRevision", "controllerrevisions", true};
  FLYBALL_ASSIGN(const auto items, ListObjects(session, kind, ref.ns));
  std::vector<Revision> history;
  for (const json::Value& item : items) {
    if (!RevisionsOwnedBy(item, object)) continue;
    const json::Value& annotations = item["metadata"]["annotations"];
    Revision revision;
    revision.annotations = annotations;
    revision.change_cause = annotations[kChangeCause].string_or("<none>");
    if (deployment) {
      revision.number = std::atoll(std::string(annotations[kRevision].string_or("0")).c_str());
      revision.pod_template = item["spec"]["template"];
      revision.object = item;
    } else {
      revision.number = item["revision"].int_or(0);
      revision.pod_template = item["data"]["spec"]["template"];
      revision.object = object;
      revision.object["spec"]["template"] = revision.pod_template;
    }
    if (revision.number > 0) history.push_back(std::move(revision));
  }
  std::sort(history.begin(), history.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
  return history;
}

Status PrintHistory(Session& session, const RolloutFlags& flags, const ObjectRef& ref) {
  FLYBALL_ASSIGN(const json::Value object, session.Get(ref.kind, ref.ns, ref.name));
  if (!RollsOut(ref.kind))
    return Unexpected(LocalError("error retrieving history for \"" + ref.kind.kind +
                                 "\", no visitor method exists for {" + ref.kind.group + " " + ref.kind.kind +
                                 "}"));
  FLYBALL_ASSIGN(const auto history, HistoryOf(session, object, ref));
  if (flags.revision && std::none_of(history.begin(), history.end(), [&](const Revision& revision) {
        return revision.number == *flags.revision;
      }))
    return Unexpected(LocalError("unable to find the specified revision"));
  FLYBALL_ASSIGN(const auto printer, NewObjectPrinter(flags.print));
  if (printer && flags.print.output.empty()) return PrintTo(session.out(), *printer, object);  // --template
  if (printer) {
    for (const Revision& revision : history)
      if (!flags.revision || revision.number == *flags.revision)
        FLYBALL_TRY(PrintTo(session.out(), *printer, revision.object));
    return {};
  }
  session.out() << DisplayName(ref.kind, ref.name);
  if (flags.revision) {
    for (const Revision& revision : history) {
      if (revision.number != *flags.revision) continue;
      session.out() << " with revision #" << revision.number << "\n"
                    << PodTemplateText(revision.pod_template) << "\n";
      return {};
    }
  }
  TabWriter writer = DescriptionWriter();
  writer.Write("REVISION\tCHANGE-CAUSE\n");
  for (const Revision& revision : history)
    writer.Write(std::to_string(revision.number) + "\t" + revision.change_cause + "\n");
  session.out() << " \n" << writer.Take() << "\n";
  return {};
}

Status FollowStatus(Session& session, const RolloutFlags& flags, const ObjectRef& ref) {
  FLYBALL_ASSIGN(const Duration timeout, api::ParseDuration(flags.timeout));
  FLYBALL_ASSIGN(const json::Value object, session.Get(ref.kind, ref.ns, ref.name));
  if (!flags.watch) {
    FLYBALL_ASSIGN(const RolloutState state, RolloutStateOf(object));
    session.out() << state.message;
    return {};
  }
  const std::string running(object["metadata"]["annotations"][kRevision].string_or("0"));
  if (flags.revision && *flags.revision > 0 && ref.kind.kind == "Deployment" &&
      std::to_string(*flags.revision) != running)
    return Unexpected(LocalError("desired revision (" + std::to_string(*flags.revision) +
                                 ") is different from the running revision (" + running + ")"));
  std::string last;
  return WaitForObject(session, ref, timeout, [&](const json::Value* now) -> Result<bool> {
    if (!now) return Unexpected(LocalError("object has been deleted"));
    json::Value copy = *now;
    SetTypeMeta(copy, ref.kind);
    FLYBALL_ASSIGN(const RolloutState state, RolloutStateOf(copy));
    if (state.message != last) session.out() << state.message << std::flush;
    last = state.message;
    return state.done;
  });
}

Status Say(Session& session, const RolloutFlags& flags, const ObjectRef& ref, const json::Value& after,
           const std::string& what) {
  FLYBALL_ASSIGN(const auto printer, NewObjectPrinter(flags.print));
  if (printer) return PrintTo(session.out(), *printer, after);
  session.out() << DisplayName(ref.kind, ref.name) << " " << what << "\n";
  return {};
}

Status SetPaused(Session& session, const RolloutFlags& flags, const ObjectRef& ref, bool paused) {
  if (ref.kind.kind != "Deployment")
    return Unexpected(LocalError(ref.kind.GroupResource() + " \"" + ref.name + "\" " +
                                 (paused ? "pausing" : "resuming") + " is not supported"));
  FLYBALL_ASSIGN(const json::Value object, session.Get(ref.kind, ref.ns, ref.name));
  if (object["spec"]["paused"].bool_or(false) == paused)
    return Unexpected(LocalError(ref.kind.GroupResource() + " \"" + ref.name + "\" is " +
                                 (paused ? "already paused" : "not paused")));
  json::Value patch;
  patch["spec"]["paused"] = paused ? json::Value(true) : json::Value(nullptr);
  FLYBALL_ASSIGN(const json::Value after,
                 session.Patch(ref.kind, ref.ns, ref.name, kStrategicPatch, patch, flags.field_manager));
  return Say(session, flags, ref, after, paused ? "paused" : "resumed");
}

Status Restart(Session& session, const RolloutFlags& flags, const ObjectRef& ref) {
  FLYBALL_ASSIGN(const json::Value object, session.Get(ref.kind, ref.ns, ref.name));
  if (!RollsOut(ref.kind))
    return Unexpected(
        LocalError(ref.kind.GroupResource() + " \"" + ref.name + "\" restarting is not supported"));
  if (object["spec"]["paused"].bool_or(false))
    return Unexpected(LocalError(ref.kind.GroupResource() + " \"" + ref.name +
                                 "\" can't restart paused deployment (run rollout resume first)"));
  const std::string now = api::FormatTime(session.clock().Now());
  if (object["spec"]["template"]["metadata"]["annotations"][kRestartedAt].string_or("") == now)
    return Unexpected(
        LocalError("failed to create patch for " + ref.name +
                   ": if restart has already been triggered within the past second, please wait "
                   "before attempting to trigger another"));
  json::Value patch;
  patch["spec"]["template"]["metadata"]["annotations"][kRestartedAt] = now;
  FLYBALL_ASSIGN(const json::Value after,
                 session.Patch(ref.kind, ref.ns, ref.name, kStrategicPatch, patch, flags.field_manager));
  return Say(session, flags, ref, after, "restarted");
}

// The revision to return to: the requested one, or the one before the newest.
Result<Revision> Earlier(const std::vector<Revision>& history, const ObjectRef& ref, std::int64_t wanted) {
  if (wanted != 0) {
    for (const Revision& revision : history)
      if (revision.number == wanted) return revision;
    return Unexpected(
        LocalError("unable to find specified revision " + std::to_string(wanted) + " in history"));
  }
  if (history.size() >= 2) return history[history.size() - 2];
  return Unexpected(LocalError(ref.kind.kind == "Deployment"
                                   ? "no rollout history found for deployment \"" + ref.name + "\""
                                   : "no last revision to roll back to"));
}

// Annotations that belong to the Deployment and not to its revision.
bool StaysWithDeployment(std::string_view annotation) {
  for (const std::string_view own : {api::kLastAppliedAnnotation, std::string_view(kRevision),
                                     std::string_view("deployment.kubernetes.io/revision-history"),
                                     std::string_view("deployment.kubernetes.io/desired-replicas"),
                                     std::string_view("deployment.kubernetes.io/max-replicas"),
                                     std::string_view("deprecated.deployment.rollback.to")})
    if (annotation == own) return true;
  return false;
}

json::Value RestoredAnnotations(const json::Value& object, const json::Value& of_revision) {
  json::Object annotations;
  const auto take = [&](const json::Value& from, bool own) {
    if (!from.is_object()) return;
    for (const auto& [key, value] : from.as_object())
      if (StaysWithDeployment(key) == own) annotations.Set(key, value);
  };
  take(object["metadata"]["annotations"], true);
  take(of_revision, false);
  return annotations;
}

// The template as the workload has it: without what its controller adds to copies.
json::Value PlainTemplate(const json::Value& of_revision) {
  json::Value plain = of_revision;
  if (!plain.is_object()) return plain;
  plain.as_object().Erase("$patch");
  if (json::Value* metadata = plain.Find("metadata"); metadata && metadata->is_object())
    if (json::Value* labels = metadata->Find("labels"); labels && labels->is_object())
      labels->as_object().Erase("pod-template-hash");
  return plain;
}

Status UndoOne(Session& session, const RolloutFlags& flags, const ObjectRef& ref) {
  FLYBALL_ASSIGN(const json::Value object, session.Get(ref.kind, ref.ns, ref.name));
  const bool deployment = ref.kind.kind == "Deployment";
  if (!deployment && ref.kind.kind != "DaemonSet" && ref.kind.kind != "StatefulSet")
    return Unexpected(LocalError("no rollbacker has been implemented for \"" + ref.kind.kind +
                                 (ref.kind.group.empty() ? "" : "." + ref.kind.group) + "\""));
  FLYBALL_ASSIGN(const auto history, HistoryOf(session, object, ref));
  const std::int64_t wanted = flags.to_revision.value_or(0);
  FLYBALL_ASSIGN(const Revision revision, Earlier(history, ref, wanted));
  if (deployment && object["spec"]["paused"].bool_or(false))
    return Unexpected(LocalError(
        "you cannot rollback a paused deployment; resume it first with 'kubectl rollout resume' and "
        "try again"));
  if (flags.dry_run == "client") {
    session.out() << DisplayName(ref.kind, ref.name) << " " << PodTemplateText(revision.pod_template)
                  << DryRunNote(flags.dry_run) << "\n";
    return {};
  }
  const json::Value plain = PlainTemplate(revision.pod_template);
  if (plain == object["spec"]["template"]) {
    return Say(session, flags, ref, object,
               "skipped rollback (current template already matches revision " + std::to_string(wanted) + ")");
  }
  json::Value patch;
  if (deployment) {
    patch = json::Array{json::Object{{"op", "replace"}, {"path", "/spec/template"}, {"value", plain}},
                        json::Object{{"op", "replace"},
                                     {"path", "/metadata/annotations"},
                                     {"value", RestoredAnnotations(object, revision.annotations)}}};
  } else {
    patch["spec"]["template"] = revision.pod_template;
  }
  RestRequest request;
  request.verb = "PATCH";
  request.path = ref.kind.Path(ref.ns, ref.name);
  request.content_type = deployment ? kJsonPatch : kStrategicPatch;
  request.body = json::Write(patch);
  if (flags.dry_run == "server") request.Query("dryRun", "All");
  const auto patched = session.Call(std::move(request));
  if (!patched)
    return Unexpected(
        LocalError("failed restoring revision " + std::to_string(wanted) + ": " + patched.error().message()));
  return Say(session, flags, ref, *patched, "rolled back" + DryRunNote(flags.dry_run));
}

}  // namespace

void AddRolloutCommand(const Command& root) {
  const Command rollout = root.Sub("rollout", "Follow, pause, undo and restart rollouts",
                                   "flyball rollout status deploy/web\n  flyball rollout undo deploy/web");
  rollout.RequireSub();
  using Verb = Status (*)(Session&, const RolloutFlags&, const ObjectRef&);
  const auto add = [&](const char* name, const char* summary, const char* example, Verb verb) {
    auto flags = std::make_shared<RolloutFlags>();
    const Command command = rollout.Sub(name, summary, example);
    command.Args("TYPE/NAME", &flags->args, "Which object");
    AddManifestFlags(command, &flags->files);
    command.Option("-l,--selector", &flags->selection.label_selector, "Those with these labels");
    RunVerb(command, [flags, verb](Session& session) -> Status {
      FLYBALL_TRY(CheckDryRun(flags->dry_run));
      return ForEachRollout(session, *flags,
                            [&](const ObjectRef& ref) { return verb(session, *flags, ref); });
    });
    return std::pair(command, flags);
  };
  const auto [status, status_flags] =
      add("status", "Wait until the rollout is done", "flyball rollout status deploy/web", &FollowStatus);
  status.Flag("-w,--watch", &status_flags->watch, "Wait (default); --watch=false only says how far it is");
  status.Option("--revision", &status_flags->revision, "Of this state; an error if another one has begun");
  status.Option("--timeout", &status_flags->timeout, "How long; 0s: as long as it takes");
  const auto [history, history_flags] =
      add("history", "Show earlier states", "flyball rollout history deploy/web", &PrintHistory);
  AddPrintFlags(history, &history_flags->print);
  history.Option("--revision", &history_flags->revision, "Show this one in full");
  const auto changes = [](const std::pair<Command, std::shared_ptr<RolloutFlags>>& added) {
    AddPrintFlags(added.first, &added.second->print);
    added.first.Option("--field-manager", &added.second->field_manager, "Who is said to own the fields");
  };
  const auto [undo, undo_flags] =
      add("undo", "Go back to an earlier state", "flyball rollout undo deploy/web", &UndoOne);
  undo.Option("--to-revision", &undo_flags->to_revision, "Which; the one before if absent");
  AddDryRunFlag(undo, &undo_flags->dry_run);
  AddPrintFlags(undo, &undo_flags->print);
  changes(add("pause", "Let changes wait", "flyball rollout pause deploy/web",
              [](Session& session, const RolloutFlags& flags, const ObjectRef& ref) {
                return SetPaused(session, flags, ref, true);
              }));
  changes(add("resume", "Go on after a pause", "flyball rollout resume deploy/web",
              [](Session& session, const RolloutFlags& flags, const ObjectRef& ref) {
                return SetPaused(session, flags, ref, false);
              }));
  changes(add("restart", "Replace all pods, one by one", "flyball rollout restart deploy/web", &Restart));
}

}  // namespace flyball::cli
