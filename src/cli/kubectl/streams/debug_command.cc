#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "base/run/random.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/session/image_reference.h"
#include "cli/kubectl/session/manifests.h"
#include "cli/kubectl/session/object_wait.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/streams/attach.h"
#include "cli/kubectl/streams/debug_profile.h"
#include "cli/kubectl/verbs.h"
#include "json/json.h"
#include "json/yaml/yaml.h"

namespace flyball::cli {
namespace {

const KindRef kDebugPods{"", "v1", "Pod", "pods", true};

struct DebugFlags {
  std::vector<std::string> args, env, set_image;
  ManifestFlags files;
  std::string image, container, target, copy_to, pull_policy, custom_file;
  DebugProfile profile;
  AttachStreams streams;
  std::vector<std::string> words;  // of the new container's command
  // --attach and --share-processes, if they were given.
  std::optional<bool> attach, share_processes;
  bool replace = false, same_node = false, arguments_only = false;
  bool attaches() const { return attach.value_or(streams.in); }
};

std::string RandomSuffix() {
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::string suffix;
  for (int i = 0; i < 5; ++i) suffix += kLetters[Random::System().Below(kLetters.size())];
  return suffix;
}

constexpr const char* kRootWarning =
    "Warning: Non-root user is configured for the entire target Pod, and some capabilities granted by debug "
    "profile may not work. Please consider using \"--custom\" with a custom profile that specifies "
    "\"securityContext.runAsUser: 0\".\n";

std::string NameFor(Session& session, const DebugFlags& flags) {
  if (!flags.container.empty()) return flags.container;
  const std::string name = "debugger-" + RandomSuffix();
  if (!flags.streams.quiet)
    session.out() << "Defaulting debug container name to " << name << ".\n" << std::flush;
  return name;
}

Result<json::Array> EnvironmentOf(const DebugFlags& flags) {
  json::Array env;
  for (const std::string& pair : flags.env) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos) return Unexpected(LocalError(pair + " must be formatted as key=value"));
    env.emplace_back(json::Object{{"name", pair.substr(0, equals)}, {"value", pair.substr(equals + 1)}});
  }
  return env;
}

// What the flags say of the container, new or not.
Status Fill(const DebugFlags& flags, json::Value& container) {
  if (!flags.image.empty()) container["image"] = flags.image;
  if (!flags.pull_policy.empty()) container["imagePullPolicy"] = flags.pull_policy;
  if (!flags.words.empty()) {
    if (!flags.arguments_only) container.as_object().Erase("args");
    container[flags.arguments_only ? "args" : "command"] =
        json::Array(flags.words.begin(), flags.words.end());
  }
  FLYBALL_ASSIGN(json::Array env, EnvironmentOf(flags));
  if (!env.empty()) container["env"] = std::move(env);
  for (const auto& [name, on] : {std::pair("stdin", flags.streams.in), std::pair("tty", flags.streams.tty)}) {
    container.as_object().Erase(name);
    if (on) container[name] = true;
  }
  return {};
}

Result<json::Value> NewContainer(const DebugFlags& flags, const std::string& name) {
  json::Value container = json::Object{{"name", name}, {"terminationMessagePolicy", "File"}};
  FLYBALL_TRY(Fill(flags, container));
  return container;
}

// Waits until the container runs or has ended, then attaches or prints its log.
Status AttachTo(Session& session, const DebugFlags& flags, const std::string& pod_name,
                const std::string& container) {
  json::Value pod;
  const auto started = [&](const json::Value* now) -> Result<bool> {
    if (!now) return Unexpected(LocalError("the pod was deleted"));
    pod = *now;
    for (const char* list : {"ephemeralContainerStatuses", "containerStatuses"})
      for (const json::Value& status : Elements((*now)["status"][list]))
        if (status["name"].string_or("") == container &&
            (status["state"]["running"].is_object() || status["state"]["terminated"].is_object()))
          return true;
    return false;
  };
  FLYBALL_TRY(WaitForObject(session, {kDebugPods, session.ns(), pod_name}, std::chrono::minutes(1), started));
  return AttachOrLog(session, pod, flags.streams, container);
}

Status AddEphemeral(Session& session, const DebugFlags& flags, const ObjectRef& ref, const json::Value& pod) {
  const std::string name = NameFor(session, flags);
  FLYBALL_ASSIGN(json::Value container, NewContainer(flags, name));
  if (!flags.target.empty()) container["targetContainerName"] = flags.target;
  json::Value changed = pod;
  changed["spec"]["ephemeralContainers"] = json::Array{std::move(container)};
  FLYBALL_TRY(ApplyProfile(flags.profile, DebugStyle::kEphemeral, name, changed));
  if (NeedsRoot(changed, name)) session.err() << kRootWarning;
  json::Value patch;
  patch["spec"]["ephemeralContainers"] = changed["spec"]["ephemeralContainers"];
  // After those that are there.
  json::Array order;
  for (const json::Value& there : Elements(pod["spec"]["ephemeralContainers"]))
    order.emplace_back(json::Object{{"name", there["name"]}});
  order.emplace_back(json::Object{{"name", name}});
  patch["spec"]["$setElementOrder/ephemeralContainers"] = std::move(order);
  FLYBALL_TRY(session.Patch(kDebugPods, ref.ns, ref.name, kStrategicPatch, patch, "kubectl-debug",
                            "ephemeralcontainers"));
  return flags.attaches() ? AttachTo(session, flags, ref.name, name) : Status();
}

// "--set-image a=x,*=y".
Status ChangeImages(const DebugFlags& flags, json::Array& containers) {
  std::map<std::string, std::string> images;
  for (const std::string& change : flags.set_image) {
    const std::size_t equals = change.find('=');
    if (equals == std::string::npos)
      return Unexpected(LocalError(change + " must be formatted as key=value"));
    images[change.substr(0, equals)] = change.substr(equals + 1);
  }
  for (json::Value& container : containers)
    for (const std::string& name :
         {std::string(std::as_const(container)["name"].string_or("")), std::string("*")})
      if (const auto image = images.find(name); image != images.end()) {
        container["image"] = image->second;
        break;
      }
  return {};
}

// The copy: without its node, status and what its owner and the server gave it.
json::Value CopyOf(const DebugFlags& flags, const json::Value& pod) {
  json::Value copy;
  copy["apiVersion"] = "v1";
  copy["kind"] = "Pod";
  copy["metadata"]["name"] = flags.copy_to;
  for (const char* map : {"annotations", "labels"})
    if (pod["metadata"][map].is_object()) copy["metadata"][map] = pod["metadata"][map];
  copy["spec"] = pod["spec"];
  json::Object& spec = copy["spec"].as_object();
  spec.Erase("ephemeralContainers");
  if (!flags.same_node) spec.Erase("nodeName");
  if (flags.share_processes) spec.Set("shareProcessNamespace", *flags.share_processes);
  return copy;
}

// Adds the debugging container, or changes the one that is named. Returns its name; "" if only images change.
Result<std::string> PutContainer(Session& session, const DebugFlags& flags, json::Array& containers) {
  const auto there = std::find_if(containers.begin(), containers.end(), [&](const json::Value& container) {
    return container["name"].string_or("") == flags.container;
  });
  if (there != containers.end()) {
    FLYBALL_TRY(Fill(flags, *there));
    return flags.container;
  }
  if (flags.image.empty() && !flags.set_image.empty()) return std::string();
  if (flags.image.empty())
    return Unexpected(LocalError("you must specify image when creating new container"));
  const std::string name = NameFor(session, flags);
  FLYBALL_ASSIGN(json::Value container, NewContainer(flags, name));
  containers.push_back(std::move(container));
  return name;
}

Status CopyPod(Session& session, const DebugFlags& flags, const ObjectRef& ref, const json::Value& pod) {
  json::Value copy = CopyOf(flags, pod);
  json::Array& containers = copy["spec"]["containers"].as_array();
  FLYBALL_TRY(ChangeImages(flags, containers));
  FLYBALL_ASSIGN(const std::string name, PutContainer(session, flags, containers));
  if (!name.empty()) FLYBALL_TRY(ApplyProfile(flags.profile, DebugStyle::kCopy, name, copy));
  if (NeedsRoot(copy, name)) session.err() << kRootWarning;
  FLYBALL_TRY(session.Create(kDebugPods, ref.ns, copy, "kubectl-debug"));
  if (flags.replace) {
    RestRequest gone;
    gone.verb = "DELETE";
    gone.path = kDebugPods.Path(ref.ns, ref.name);
    gone.body = R"({"gracePeriodSeconds":0})";
    FLYBALL_TRY(session.Call(std::move(gone)));
  }
  return flags.attaches() && !name.empty() ? AttachTo(session, flags, flags.copy_to, name) : Status();
}

// A pod on the node; the profile says what of the node it sees.
Status DebugNode(Session& session, const DebugFlags& flags, const std::string& node) {
  const std::string container = flags.container.empty() ? "debugger" : flags.container;
  FLYBALL_ASSIGN(json::Value debugger, NewContainer(flags, container));
  json::Value pod;
  const std::string name = "node-debugger-" + node + "-" + RandomSuffix();
  pod["apiVersion"] = "v1";
  pod["kind"] = "Pod";
  pod["metadata"]["name"] = name;
  pod["metadata"]["labels"]["app.kubernetes.io/managed-by"] = "kubectl-debug";
  json::Value& spec = pod["spec"];
  spec["containers"] = json::Array{std::move(debugger)};
  spec["nodeName"] = node;
  spec["restartPolicy"] = "Never";
  spec["tolerations"] = json::Array{json::Object{{"operator", "Exists"}}};
  FLYBALL_TRY(ApplyProfile(flags.profile, DebugStyle::kNode, container, pod));
  if (!flags.streams.quiet)
    session.out() << "Creating debugging pod " << name << " with container " << container << " on node "
                  << node << ".\n"
                  << std::flush;
  FLYBALL_TRY(session.Create(kDebugPods, session.ns(), pod, "kubectl-debug"));
  return flags.attaches() ? AttachTo(session, flags, name, container) : Status();
}

Status CheckStyle(const DebugFlags& flags) {
  const bool only_names = flags.image.empty() && flags.set_image.empty() && flags.words.empty();
  if (!flags.copy_to.empty() && only_names)
    return Unexpected(LocalError("you must specify --image, --set-image or command arguments."));
  if (!flags.copy_to.empty() && !flags.words.empty() && flags.container.empty() && flags.image.empty())
    return Unexpected(
        LocalError("you must specify an existing container or a new image when specifying args."));
  if (!flags.copy_to.empty()) return {};
  const auto only_with_copy = [](const char* flag) {
    return Unexpected(LocalError(std::string(flag) + " may only be used with --copy-to."));
  };
  if (flags.replace) return only_with_copy("--replace");
  if (flags.same_node) return only_with_copy("--same-node");
  if (!flags.set_image.empty()) return only_with_copy("--set-image");
  if (flags.image.empty())
    return Unexpected(LocalError("you must specify --image when not using --copy-to."));
  return {};
}

Status CheckDebug(Session& session, const DebugFlags& flags) {
  if (flags.attach.value_or(false) && flags.image.empty() && flags.container.empty())
    return Unexpected(LocalError(
        "you must specify --container or create a new container using --image in order to attach."));
  FLYBALL_TRY(CheckStyle(flags));
  if (!flags.image.empty()) FLYBALL_TRY(CheckImageName(flags.image));
  if (flags.args.empty() && flags.files.empty())
    return Unexpected(LocalError("NAME or filename is required for debug"));
  const std::string& policy = flags.pull_policy;
  if (!policy.empty() && policy != "Always" && policy != "IfNotPresent" && policy != "Never")
    return Unexpected(LocalError("invalid image pull policy: " + policy));
  if (!flags.target.empty() && !flags.copy_to.empty())
    return Unexpected(LocalError("--target is incompatible with --copy-to. Use --share-processes instead."));
  if (!flags.target.empty() && !flags.streams.quiet)
    session.out() << "Targeting container \"" << flags.target
                  << "\". If you don't see processes from this container it may be because the container "
                     "runtime doesn't support this feature.\n"
                  << std::flush;
  if (flags.streams.tty && !flags.streams.in)
    return Unexpected(LocalError("-i/--stdin is required for containers with -t/--tty=true"));
  FLYBALL_TRY(CheckProfile(flags.profile));
  if (flags.profile.name == "legacy")
    session.err()
        << "--profile=legacy is deprecated and planned to be removed in v1.39. It is recommended to "
           "specify other profile, for example \"--profile=general\".\n";
  return {};
}

Status DebugOne(Session& session, const DebugFlags& flags, const ObjectRef& ref) {
  FLYBALL_ASSIGN(const json::Value object, session.Get(ref.kind, ref.ns, ref.name));
  if (ref.kind.kind == "Node") return DebugNode(session, flags, ref.name);
  if (ref.kind.kind != "Pod")
    return Unexpected(
        LocalError("\"" + ref.kind.ApiVersion() + ", Kind=" + ref.kind.kind + "\" not supported by debug"));
  return flags.copy_to.empty() ? AddEphemeral(session, flags, ref, object)
                               : CopyPod(session, flags, ref, object);
}

Status ReadCustom(DebugFlags& flags) {
  if (flags.custom_file.empty()) return {};
  const auto text = ReadSource(flags.custom_file);
  if (!text)
    return Unexpected(
        LocalError("must pass a container spec json file for custom profile: " + text.error().message()));
  auto custom = json::ParseYaml(*text);
  if (!custom || !custom->is_object())
    return Unexpected(LocalError(flags.custom_file + " does not contain a valid container spec" +
                                 (custom ? "" : ": " + custom.error().message())));
  flags.profile.custom = std::move(*custom);
  return {};
}

Status RunDebug(Session& session, DebugFlags& flags) {
  FLYBALL_TRY(ReadCustom(flags));
  FLYBALL_TRY(CheckDebug(session, flags));
  std::vector<ObjectRef> targets;
  if (!flags.files.empty()) {
    FLYBALL_ASSIGN(targets, NamedObjects(session, flags.files, {}, {}));
    if (session.failed()) return {};
  }
  for (const std::string& argument : flags.args) {
    FLYBALL_ASSIGN(
        const auto named,
        ResolveObjects(session, {argument.find('/') == std::string::npos ? "pods/" + argument : argument},
                       {}));
    targets.insert(targets.end(), named.begin(), named.end());
  }
  for (const ObjectRef& target : targets) FLYBALL_TRY(DebugOne(session, flags, target));
  return {};
}

}  // namespace

void AddDebugCommand(const Command& root) {
  struct Choices {
    bool attach = false, share_processes = true;
  };
  auto flags = std::make_shared<DebugFlags>();
  auto choices = std::make_shared<Choices>();
  const Command command = root.Sub("debug", "Look into a pod or node with a container of your own",
                                   "flyball debug web-0 -it --image=busybox --target=app\n"
                                   "  flyball debug node/one -it --image=busybox");
  command.TakesCommand();
  command.Args("POD | TYPE/NAME", &flags->args, "Which pod or node");
  command.Option("--image", &flags->image, "Image of the new container");
  command.Option("-c,--container", &flags->container, "Name of the new container");
  command.Option("--target", &flags->target, "Share the processes of this container");
  command.Option("--copy-to", &flags->copy_to, "Look into a copy of the pod with this name");
  command.List("--set-image", &flags->set_image, "With --copy-to: container=image; may be repeated");
  command.List("--env", &flags->env, "NAME=value; may be repeated");
  command.Option("--image-pull-policy", &flags->pull_policy, "Always, IfNotPresent or Never");
  command.Option("-f,--filename", &flags->files.files, "File with the pod or node");
  command.Option("--profile", &flags->profile.name,
                 "What it may: general, baseline, restricted, netadmin or sysadmin");
  command.Option("--custom", &flags->custom_file, "File with fields of a container, merged into the new one");
  KeepFlags& keep = flags->profile.keep;
  command.Flag("--keep-labels", &keep.labels, "With --copy-to: keep the labels");
  command.Flag("--keep-annotations", &keep.annotations, "With --copy-to: keep the annotations");
  command.Flag("--keep-liveness", &keep.liveness, "With --copy-to: keep liveness probes");
  command.Flag("--keep-readiness", &keep.readiness, "With --copy-to: keep readiness probes");
  command.Flag("--keep-startup", &keep.startup, "With --copy-to: keep startup probes");
  command.Flag("--keep-init-containers", &keep.init_containers, "With --copy-to: run the init containers");
  command.Flag("--arguments-only", &flags->arguments_only,
               "What follows -- are the arguments of the image's command");
  command.Flag("--share-processes", &choices->share_processes,
               "With --copy-to: see each other's processes (default)");
  command.Flag("--replace", &flags->replace, "With --copy-to: delete the original");
  command.Flag("--same-node", &flags->same_node, "With --copy-to: on the same node");
  command.Flag("--attach", &choices->attach, "Show what it writes until it ends");
  command.Flag("-i,--stdin", &flags->streams.in, "Pass standard input to it");
  command.Flag("-t,--tty", &flags->streams.tty, "Standard input is a terminal");
  command.Flag("-q,--quiet", &flags->streams.quiet, "Print only what the container writes");
  RunVerb(command, [flags, choices, command](Session& session) {
    flags->words = command.invocation().after_dashes;
    if (command.Given("attach")) flags->attach = choices->attach;
    if (command.Given("share-processes")) flags->share_processes = choices->share_processes;
    return RunDebug(session, *flags);
  });
}

}  // namespace flyball::cli
