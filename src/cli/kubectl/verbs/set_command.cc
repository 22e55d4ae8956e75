#include <algorithm>
#include <memory>

#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/session.h"
#include "cli/kubectl/verbs.h"

namespace flyball::cli {
namespace {

struct SetFlags {
  std::vector<std::string> args;
  std::string limits, requests, containers = "*";
  std::vector<std::string> users, groups, service_accounts;
  bool list = false;
  Selection selection;
};

struct Target {
  ObjectRef ref;
  json::Value object;
};

// Arguments with '=' (or a trailing '-') are the values to set; the others select objects.
struct SetArguments {
  std::vector<std::string> objects, changes;
};
SetArguments SplitArguments(const std::vector<std::string>& args) {
  SetArguments out;
  for (const std::string& arg : args) {
    const bool change = arg.find('=') != std::string::npos || (arg.size() > 1 && arg.back() == '-');
    (change ? out.changes : out.objects).push_back(arg);
  }
  return out;
}

Result<std::vector<Target>> TargetsOf(Session& session, const SetFlags& flags,
                                      const std::vector<std::string>& args) {
  FLYBALL_ASSIGN(const auto refs, ResolveObjects(session, args, flags.selection));
  std::vector<Target> targets;
  for (const ObjectRef& ref : refs) {
    FLYBALL_ASSIGN(json::Value object, session.Get(ref.kind, ref.ns, ref.name));
    targets.push_back({ref, std::move(object)});
  }
  return targets;
}

const json::Value& PodSpecOf(const json::Value& object) {
  const std::string_view kind = object["kind"].string_or("");
  if (kind == "Pod") return object["spec"];
  if (kind == "CronJob") return object["spec"]["jobTemplate"]["spec"]["template"]["spec"];
  return object["spec"]["template"]["spec"];
}

// Puts the pod spec's patch into its place in the object.
json::Value Wrap(const json::Value& object, json::Value pod_spec) {
  const std::string_view kind = object["kind"].string_or("");
  json::Value patch;
  if (kind == "Pod")
    patch["spec"] = std::move(pod_spec);
  else if (kind == "CronJob")
    patch["spec"]["jobTemplate"]["spec"]["template"]["spec"] = std::move(pod_spec);
  else
    patch["spec"]["template"]["spec"] = std::move(pod_spec);
  return patch;
}

Status Send(Session& session, const Target& target, json::Value pod_spec, const char* what) {
  FLYBALL_ASSIGN(const json::Value after,
                 session.Patch(target.ref.kind, target.ref.ns, target.ref.name, kStrategicPatch,
                               Wrap(target.object, std::move(pod_spec)), "kubectl-set"));
  if (!(after["metadata"]["resourceVersion"] == target.object["metadata"]["resourceVersion"]))
    session.out() << DisplayName(target.ref.kind, target.ref.name) << " " << what << "\n";
  return {};
}

bool Selected(const std::string& pattern, std::string_view container) {
  return pattern == "*" || pattern == container;
}

Result<json::Value> ImagePatch(const json::Value& pod_spec, const std::vector<std::string>& changes) {
  json::Value patch;
  for (const std::string& change : changes) {
    const std::size_t equals = change.find('=');
    const std::string name = change.substr(0, equals), image = change.substr(equals + 1);
    bool found = false;
    for (const char* list : {"containers", "initContainers"}) {
      if (!pod_spec[list].is_array()) continue;
      for (const json::Value& container : pod_spec[list].as_array()) {
        if (!Selected(name, container["name"].string_or(""))) continue;
        found = true;
        if (patch[list].is_null()) patch[list] = json::Array();
        patch[list].as_array().emplace_back(json::Object{{"name", container["name"]}, {"image", image}});
      }
    }
    if (!found) return Unexpected(LocalError("unable to find container named \"" + name + "\""));
  }
  return patch;
}

Status SetImage(Session& session, const SetFlags& flags) {
  const SetArguments words = SplitArguments(flags.args);
  if (words.changes.empty()) return Unexpected(LocalError("at least one image update is required"));
  FLYBALL_ASSIGN(const auto targets, TargetsOf(session, flags, words.objects));
  for (const Target& target : targets) {
    auto patch = ImagePatch(PodSpecOf(target.object), words.changes);
    if (!patch) return Unexpected(patch.error());
    FLYBALL_TRY(Send(session, target, std::move(*patch), "image updated"));
  }
  return {};
}

void ListEnv(Session& session, const Target& target) {
  const json::Value& containers = PodSpecOf(target.object)["containers"];
  if (!containers.is_array()) return;
  for (const json::Value& container : containers.as_array()) {
    session.out() << "# " << target.ref.kind.plural << "/" << target.ref.name << ", container "
                  << container["name"].string_or("") << "\n";
    if (!container["env"].is_array()) continue;
    for (const json::Value& variable : container["env"].as_array())
      session.out() << variable["name"].string_or("") << "=" << variable["value"].string_or("") << "\n";
  }
}

Status SetEnv(Session& session, const SetFlags& flags) {
  const SetArguments words = SplitArguments(flags.args);
  FLYBALL_ASSIGN(const auto targets, TargetsOf(session, flags, words.objects));
  for (const Target& target : targets) {
    if (flags.list) {
      ListEnv(session, target);
      continue;
    }
    if (words.changes.empty())
      return Unexpected(LocalError("at least one environment variable must be provided"));
    json::Array containers;
    for (const json::Value& container : PodSpecOf(target.object)["containers"].as_array()) {
      if (!Selected(flags.containers, container["name"].string_or(""))) continue;
      json::Array env;
      for (const std::string& change : words.changes) {
        const std::size_t equals = change.find('=');
        if (equals == std::string::npos)
          env.emplace_back(json::Object{{"$patch", "delete"}, {"name", change.substr(0, change.size() - 1)}});
        else
          env.emplace_back(
              json::Object{{"name", change.substr(0, equals)}, {"value", change.substr(equals + 1)}});
      }
      containers.emplace_back(json::Object{{"name", container["name"]}, {"env", std::move(env)}});
    }
    json::Value patch;
    patch["containers"] = std::move(containers);
    FLYBALL_TRY(Send(session, target, std::move(patch), "env updated"));
  }
  return {};
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
  FLYBALL_ASSIGN(const auto targets, TargetsOf(session, flags, flags.args));
  for (const Target& target : targets) {
    json::Array containers;
    for (const json::Value& container : PodSpecOf(target.object)["containers"].as_array()) {
      if (!Selected(flags.containers, container["name"].string_or(""))) continue;
      json::Value change;
      change["name"] = container["name"];
      if (!limits.empty()) change["resources"]["limits"] = limits;
      if (!requests.empty()) change["resources"]["requests"] = requests;
      containers.push_back(std::move(change));
    }
    json::Value patch;
    patch["containers"] = std::move(containers);
    FLYBALL_TRY(Send(session, target, std::move(patch), "resource requirements updated"));
  }
  return {};
}

Status SetServiceAccount(Session& session, const SetFlags& flags) {
  if (flags.args.size() < 2) return Unexpected(LocalError("serviceaccount is required"));
  const std::vector<std::string> objects(flags.args.begin(), flags.args.end() - 1);
  FLYBALL_ASSIGN(const auto targets, TargetsOf(session, flags, objects));
  for (const Target& target : targets) {
    json::Value patch;
    patch["serviceAccountName"] = flags.args.back();
    FLYBALL_TRY(Send(session, target, std::move(patch), "serviceaccount updated"));
  }
  return {};
}

// "a=b,c=d": what a Service selects.
Status SetSelector(Session& session, const SetFlags& flags) {
  const SetArguments words = SplitArguments(flags.args);
  if (words.changes.size() != 1)
    return Unexpected(LocalError("one selector is required, as key=value pairs with commas"));
  FLYBALL_ASSIGN(const json::Object selector, Quantities(words.changes[0]));
  FLYBALL_ASSIGN(const auto targets, TargetsOf(session, flags, words.objects));
  for (const Target& target : targets) {
    if (target.ref.kind.kind != "Service")
      return Unexpected(LocalError("setting a selector is only supported for Services"));
    json::Value patch;
    patch["spec"]["selector"] = selector;
    // Written whole: keys that are not named go.
    for (const auto& [key, value] : target.object["spec"]["selector"].is_object()
                                        ? target.object["spec"]["selector"].as_object()
                                        : json::Object())
      if (!selector.contains(key)) patch["spec"]["selector"][key] = nullptr;
    FLYBALL_TRY(
        session.Patch(target.ref.kind, target.ref.ns, target.ref.name, kMergePatch, patch, "kubectl-set"));
    session.out() << DisplayName(target.ref.kind, target.ref.name) << " selector updated\n";
  }
  return {};
}

Result<json::Array> NewSubjects(const SetFlags& flags, const std::string& ns) {
  json::Array subjects;
  const auto add = [&](const char* kind, const std::string& name) {
    subjects.emplace_back(
        json::Object{{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", kind}, {"name", name}});
  };
  for (const std::string& user : flags.users) add("User", user);
  for (const std::string& group : flags.groups) add("Group", group);
  for (const std::string& account : flags.service_accounts) {
    const auto parts = SplitText(account, ':');
    if (parts.size() != 2 || parts[1].empty())
      return Unexpected(LocalError("serviceaccount must be <namespace>:<name>"));
    subjects.emplace_back(json::Object{
        {"kind", "ServiceAccount"}, {"name", parts[1]}, {"namespace", parts[0].empty() ? ns : parts[0]}});
  }
  if (subjects.empty())
    return Unexpected(LocalError("you must specify at least one value of user, group or serviceaccount"));
  return subjects;
}

Status SetSubject(Session& session, const SetFlags& flags) {
  FLYBALL_ASSIGN(const json::Array added, NewSubjects(flags, session.ns()));
  FLYBALL_ASSIGN(const auto targets, TargetsOf(session, flags, flags.args));
  for (const Target& target : targets) {
    json::Array subjects;
    if (target.object["subjects"].is_array()) subjects = target.object["subjects"].as_array();
    for (const json::Value& subject : added)
      if (std::find(subjects.begin(), subjects.end(), subject) == subjects.end()) subjects.push_back(subject);
    json::Value patch;
    patch["subjects"] = std::move(subjects);
    FLYBALL_TRY(
        session.Patch(target.ref.kind, target.ref.ns, target.ref.name, kMergePatch, patch, "kubectl-set"));
    session.out() << DisplayName(target.ref.kind, target.ref.name) << " subjects updated\n";
  }
  return {};
}

}  // namespace

void AddSetCommand(const Command& root) {
  const Command set = root.Sub(
      "set", "Change one thing of an object: image, env, resources, serviceaccount, selector, subject",
      "flyball set image deploy/web nginx=nginx:1.26");
  set.RequireSub();
  auto image = std::make_shared<SetFlags>();
  const Command image_command =
      set.Sub("image", "Change the image of containers", "flyball set image deploy/web nginx=nginx:1.26");
  image_command.Args("TYPE/NAME CONTAINER=IMAGE", &image->args, "Objects, then containers and their images");
  RunVerb(image_command, [image](Session& session) { return SetImage(session, *image); });
  auto env = std::make_shared<SetFlags>();
  const Command env_command =
      set.Sub("env", "Change environment variables", "flyball set env deploy/web A=b");
  env_command.Args("TYPE/NAME NAME=VALUE", &env->args, "Objects, then variables to set (A=b) or remove (A-)");
  env_command.Option("-c,--containers", &env->containers, "Which container; * is all");
  env_command.Flag("--list", &env->list, "Show them");
  RunVerb(env_command, [env](Session& session) { return SetEnv(session, *env); });
  auto resources = std::make_shared<SetFlags>();
  const Command resources_command = set.Sub("resources", "Change requests and limits",
                                            "flyball set resources deploy web --limits=cpu=1,memory=1Gi");
  resources_command.Args("TYPE/NAME", &resources->args, "Which objects");
  resources_command.Option("--limits", &resources->limits, "resource=quantity,...");
  resources_command.Option("--requests", &resources->requests, "resource=quantity,...");
  resources_command.Option("-c,--containers", &resources->containers, "Which container; * is all");
  RunVerb(resources_command, [resources](Session& session) { return SetResources(session, *resources); });
  auto account = std::make_shared<SetFlags>();
  const Command account_command = set.Sub("serviceaccount,sa", "Change the service account of pods",
                                          "flyball set serviceaccount deploy web robot");
  account_command.Args("TYPE/NAME SERVICEACCOUNT", &account->args, "Objects, then the account's name");
  RunVerb(account_command, [account](Session& session) { return SetServiceAccount(session, *account); });
  auto selector = std::make_shared<SetFlags>();
  const Command selector_command =
      set.Sub("selector", "Change what a Service selects", "flyball set selector svc web app=web,tier=front");
  selector_command.Args("TYPE/NAME KEY=VALUE", &selector->args, "Services, then the labels to select");
  RunVerb(selector_command, [selector](Session& session) { return SetSelector(session, *selector); });
  auto subject = std::make_shared<SetFlags>();
  const Command subject_command =
      set.Sub("subject", "Add users, groups or service accounts to a binding",
              "flyball set subject clusterrolebinding admins --user=jo --group=ops");
  subject_command.Args("TYPE/NAME", &subject->args, "Which bindings");
  subject_command.Option("--user", &subject->users, "A user; may be repeated");
  subject_command.Option("--group", &subject->groups, "A group; may be repeated");
  subject_command.Option("--serviceaccount", &subject->service_accounts, "namespace:name; may be repeated");
  RunVerb(subject_command, [subject](Session& session) { return SetSubject(session, *subject); });
}

}  // namespace flyball::cli
