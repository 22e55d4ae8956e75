#include <algorithm>
#include <memory>

#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/change/object_change.h"
#include "cli/kubectl/change/pod_spec.h"
#include "cli/kubectl/change/set_env.h"
#include "cli/kubectl/session/subjects.h"
#include "cli/kubectl/verbs.h"

namespace flyball::cli {
namespace {

struct SetFlags {
  ChangeFlags change;
  std::string limits, requests, containers = "*", resource_version;
  SubjectFlags subjects;
};
using SetFlagsPtr = std::shared_ptr<SetFlags>;

// Changes one object; false if there is nothing to change.
using Edit = std::function<Status(json::Value& object)>;

Status EditAll(Session& session, const ChangeFlags& flags, const std::vector<std::string>& args,
               const char* what, const Edit& edit) {
  FLYBALL_ASSIGN(const auto targets, ChangeTargets(session, flags, args));
  for (const ChangeTarget& target : targets) {
    json::Value changed = target.object;
    if (const Status done = edit(changed); !done) {
      session.Report(done.error());
      continue;
    }
    if (changed == target.object && !flags.only_prints()) continue;
    FLYBALL_ASSIGN(const json::Value after, SendChange(session, flags, target, changed));
    FLYBALL_TRY(SayChange(session, flags, target.ref, after, what));
  }
  return {};
}

Result<json::Value*> NeedPodSpec(json::Value& object) {
  if (json::Value* spec = PodSpecIn(object)) return spec;
  return Unexpected(LocalError("the object is not a pod or does not have a pod template: " +
                               std::string(std::as_const(object)["kind"].string_or(""))));
}

Status ChangeImages(json::Value& object, const std::vector<std::string>& changes) {
  FLYBALL_ASSIGN(json::Value* const spec, NeedPodSpec(object));
  for (const std::string& change : changes) {
    const std::size_t equals = change.find('=');
    const std::string name = change.substr(0, equals), image = change.substr(equals + 1);
    bool found = false;
    for (const char* list : {"initContainers", "containers"}) {
      json::Value* const containers = spec->Find(list);
      if (!containers || !containers->is_array()) continue;
      for (json::Value& container : containers->as_array()) {
        if (!NameMatches(name, std::as_const(container)["name"].string_or(""))) continue;
        found = true;
        container["image"] = image;
      }
    }
    if (!found) return Unexpected(LocalError("unable to find container named \"" + name + "\""));
  }
  return {};
}

Status SetImage(Session& session, const SetFlags& flags) {
  const ChangeWords words = SplitChanges(flags.change.args);
  if (words.objects.empty() && flags.change.files.empty())
    return Unexpected(
        LocalError("one or more resources must be specified as <resource> <name> or <resource>/<name>"));
  if (words.changes.empty()) return Unexpected(LocalError("at least one image update is required"));
  return EditAll(session, flags.change, words.objects, "image updated",
                 [&](json::Value& object) { return ChangeImages(object, words.changes); });
}

Result<json::Object> Quantities(const std::string& text) {
  json::Object out;
  if (text.empty()) return out;
  for (const std::string& pair : SplitText(text, ',')) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos)
      return Unexpected(LocalError("invalid argument syntax " + pair + ", expected <resource>=<value>"));
    out.Set(pair.substr(0, equals), pair.substr(equals + 1));
  }
  return out;
}

Status SetResources(Session& session, const SetFlags& flags) {
  FLYBALL_ASSIGN(const json::Object limits, Quantities(flags.limits));
  FLYBALL_ASSIGN(const json::Object requests, Quantities(flags.requests));
  if (limits.empty() && requests.empty())
    return Unexpected(
        LocalError("you must specify an update to requests or limits (in the form of --requests/--limits)"));
  return EditAll(session, flags.change, flags.change.args, "resource requirements updated",
                 [&](json::Value& object) -> Status {
                   FLYBALL_ASSIGN(json::Value* const spec, NeedPodSpec(object));
                   bool found = false;
                   for (json::Value& container : (*spec)["containers"].as_array()) {
                     if (!NameMatches(flags.containers, std::as_const(container)["name"].string_or("")))
                       continue;
                     found = true;
                     for (const auto& [name, value] : limits) container["resources"]["limits"][name] = value;
                     for (const auto& [name, value] : requests)
                       container["resources"]["requests"][name] = value;
                   }
                   if (!found)
                     return Unexpected(LocalError("unable to find container named " + flags.containers));
                   return {};
                 });
}

Status SetServiceAccount(Session& session, const SetFlags& flags) {
  if (flags.change.args.empty()) return Unexpected(LocalError("serviceaccount is required"));
  const std::string& account = flags.change.args.back();
  const std::vector<std::string> objects(flags.change.args.begin(), flags.change.args.end() - 1);
  if (objects.empty() && flags.change.files.empty())
    return Unexpected(LocalError("serviceaccount is required"));
  return EditAll(session, flags.change, objects, "serviceaccount updated",
                 [&](json::Value& object) -> Status {
                   FLYBALL_ASSIGN(json::Value* const spec, NeedPodSpec(object));
                   (*spec)["serviceAccountName"] = account;
                   return {};
                 });
}

// "a=b,c=d": what a Service selects.
Status SetSelector(Session& session, const SetFlags& flags) {
  const std::vector<std::string>& args = flags.change.args;
  if (args.empty() || args.back().find('=') == std::string::npos)
    return Unexpected(LocalError("resource(s) were provided, but no name was specified"));
  FLYBALL_ASSIGN(const json::Object selector, Quantities(args.back()));
  return EditAll(session, flags.change, {args.begin(), args.end() - 1}, "selector updated",
                 [&](json::Value& object) -> Status {
                   if (std::as_const(object)["kind"].string_or("") != "Service")
                     return Unexpected(LocalError("selector updates are only supported for Services"));
                   object["spec"]["selector"] = selector;
                   if (!flags.resource_version.empty())
                     object["metadata"]["resourceVersion"] = flags.resource_version;
                   return {};
                 });
}

// The server gives service accounts no apiGroup, and the others theirs.
bool SameSubject(const json::Value& a, const json::Value& b) {
  return a["kind"] == b["kind"] && a["name"] == b["name"] &&
         a["namespace"].string_or("") == b["namespace"].string_or("");
}

Status SetSubject(Session& session, const SetFlags& flags) {
  FLYBALL_ASSIGN(const json::Array added, SubjectsOf(flags.subjects, session.ns()));
  if (added.empty())
    return Unexpected(LocalError("you must specify at least one value of user, group or serviceaccount"));
  FLYBALL_ASSIGN(const auto targets, ChangeTargets(session, flags.change, flags.change.args));
  for (const ChangeTarget& target : targets) {
    if (!target.ref.kind.kind.ends_with("RoleBinding"))
      return Unexpected(LocalError(target.ref.kind.plural + "/" + target.ref.name +
                                   " setting subjects is only supported for RoleBinding/ClusterRoleBinding"));
    json::Value changed = target.object;
    if (!std::as_const(changed)["subjects"].is_array()) changed["subjects"] = json::Array();
    json::Array& subjects = changed["subjects"].as_array();
    for (const json::Value& subject : added)
      if (std::none_of(subjects.begin(), subjects.end(),
                       [&](const json::Value& there) { return SameSubject(there, subject); }))
        subjects.push_back(subject);
    FLYBALL_ASSIGN(const json::Value after, SendChange(session, flags.change, target, changed));
    FLYBALL_TRY(SayChange(session, flags.change, target.ref, after, "subjects updated"));
  }
  return {};
}

using SetVerb = Status (*)(Session&, const SetFlags&);

// Returns the new command and its flags, for more of them.
std::pair<Command, SetFlagsPtr> AddSetVerb(const Command& set, const char* names, const char* summary,
                                           const char* example, const char* args, SetVerb verb,
                                           bool command_records = true) {
  auto flags = std::make_shared<SetFlags>();
  const Command command = set.Sub(names, summary, example);
  command.Args(args, &flags->change.args, "Objects, then what to set");
  AddChangeFlags(command, &flags->change, "kubectl-set");
  AddSelectionFlags(command, &flags->change.selection);
  if (command_records) command.RecordFlag();
  RunVerb(command, [flags, verb](Session& session) { return verb(session, *flags); });
  return {command, flags};
}

}  // namespace

void AddSetCommand(const Command& root) {
  const Command set = root.Sub(
      "set", "Change one thing of an object: image, env, resources, serviceaccount, selector, subject",
      "flyball set image deploy/web nginx=nginx:1.26");
  set.RequireSub();
  AddSetVerb(set, "image", "Change the image of containers", "flyball set image deploy/web nginx=nginx:1.26",
             "TYPE/NAME CONTAINER=IMAGE", &SetImage);
  AddSetEnvCommand(set);
  const auto [resources, resources_flags] =
      AddSetVerb(set, "resources", "Change requests and limits",
                 "flyball set resources deploy web --limits=cpu=1,memory=1Gi", "TYPE/NAME", &SetResources);
  resources.Option("--limits", &resources_flags->limits, "resource=quantity,...");
  resources.Option("--requests", &resources_flags->requests, "resource=quantity,...");
  resources.Option("-c,--containers", &resources_flags->containers, "Which container; * is all");
  AddSetVerb(set, "serviceaccount,sa", "Change the service account of pods",
             "flyball set serviceaccount deploy web robot", "TYPE/NAME SERVICEACCOUNT", &SetServiceAccount);
  const auto [selector, selector_flags] =
      AddSetVerb(set, "selector", "Change what a Service selects",
                 "flyball set selector svc web app=web,tier=front", "TYPE/NAME KEY=VALUE", &SetSelector);
  selector.Option("--resource-version", &selector_flags->resource_version,
                  "Only if the object has this version");
  const auto [subject, subject_flags] = AddSetVerb(
      set, "subject", "Add users, groups or service accounts to a binding",
      "flyball set subject clusterrolebinding admins --user=jo --group=ops", "TYPE/NAME", &SetSubject, false);
  subject.Option("--user", &subject_flags->subjects.users, "A user; may be repeated");
  subject.Option("--group", &subject_flags->subjects.groups, "A group; may be repeated");
  subject.Option("--serviceaccount", &subject_flags->subjects.service_accounts,
                 "namespace:name; may be repeated");
}

}  // namespace flyball::cli
