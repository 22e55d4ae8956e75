#include <algorithm>
#include <memory>

#include "base/run/random.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/session/object_wait.h"
#include "cli/kubectl/streams/attach.h"
#include "cli/kubectl/verbs.h"
#include "json/json.h"

namespace flyball::cli {
namespace {

const KindRef kDebugPods{"", "v1", "Pod", "pods", true};

struct DebugFlags {
  std::vector<std::string> args, env, set_image;
  std::string image, container, target, copy_to, profile = "general", pull_policy;
  AttachStreams streams;
  bool attach = false, share_processes = true, replace = false, same_node = false, arguments_only = false;
  bool attaches() const { return attach || streams.in; }
};

std::string RandomSuffix() {
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::string suffix;
  for (int i = 0; i < 5; ++i) suffix += kLetters[Random::System().Below(kLetters.size())];
  return suffix;
}

// What the profile allows the container.
Result<json::Value> SecurityOf(const std::string& profile) {
  json::Value security = json::Object();
  if (profile == "legacy" || profile == "baseline") return security;
  if (profile == "general") {
    security["capabilities"]["add"] = json::Array{"SYS_PTRACE"};
  } else if (profile == "netadmin") {
    security["capabilities"]["add"] = json::Array{"NET_ADMIN", "NET_RAW"};
  } else if (profile == "sysadmin") {
    security["privileged"] = true;
  } else if (profile == "restricted") {
    security["allowPrivilegeEscalation"] = false;
    security["capabilities"]["drop"] = json::Array{"ALL"};
    security["runAsNonRoot"] = true;
    security["seccompProfile"]["type"] = "RuntimeDefault";
  } else {
    return Unexpected(LocalError("unknown profile: " + profile));
  }
  return security;
}

Result<json::Value> DebugContainer(Session& session, const DebugFlags& flags,
                                   const std::vector<std::string>& words) {
  std::string name = flags.container;
  if (name.empty()) {
    name = "debugger-" + RandomSuffix();
    if (!flags.streams.quiet)
      session.out() << "Defaulting debug container name to " << name << ".\n" << std::flush;
  }
  json::Value container;
  container["name"] = name;
  container["image"] = flags.image;
  container["terminationMessagePolicy"] = "File";
  if (!flags.pull_policy.empty()) container["imagePullPolicy"] = flags.pull_policy;
  if (!words.empty())
    container[flags.arguments_only ? "args" : "command"] = json::Array(words.begin(), words.end());
  for (const std::string& pair : flags.env) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos) return Unexpected(LocalError("invalid env: " + pair));
    if (!std::as_const(container)["env"].is_array()) container["env"] = json::Array();
    container["env"].as_array().emplace_back(
        json::Object{{"name", pair.substr(0, equals)}, {"value", pair.substr(equals + 1)}});
  }
  if (flags.streams.in) container["stdin"] = true;
  if (flags.streams.tty) container["tty"] = true;
  FLYBALL_ASSIGN(json::Value security, SecurityOf(flags.profile));
  if (!std::as_const(security).empty()) container["securityContext"] = std::move(security);
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

Status AddEphemeral(Session& session, const DebugFlags& flags, const json::Value& pod,
                    const std::vector<std::string>& words) {
  FLYBALL_ASSIGN(json::Value container, DebugContainer(session, flags, words));
  if (!flags.target.empty()) {
    session.err()
        << "Targeting container \"" << flags.target
        << "\". If you don't see processes from this container it may be because the container runtime "
           "doesn't support this feature.\n";
    container["targetContainerName"] = flags.target;
  }
  const std::string name(std::as_const(container)["name"].string_or("")),
      pod_name(pod["metadata"]["name"].string_or(""));
  json::Value patch;
  patch["spec"]["ephemeralContainers"] = json::Array{std::move(container)};
  FLYBALL_TRY(session.Patch(kDebugPods, session.ns(), pod_name, kStrategicPatch, patch, "kubectl-debug",
                            "ephemeralcontainers"));
  return flags.attaches() ? AttachTo(session, flags, pod_name, name) : Status();
}

Status ChangeImage(json::Array& containers, const std::string& change) {
  const std::size_t equals = change.find('=');
  if (equals == std::string::npos) return Unexpected(LocalError("--set-image must be container=image"));
  for (json::Value& container : containers)
    if (change.substr(0, equals) == "*" ||
        std::as_const(container)["name"].string_or("") == change.substr(0, equals))
      container["image"] = change.substr(equals + 1);
  return {};
}

// The copy: without its node, status and what its owner and the server gave it.
json::Value CopyOf(const DebugFlags& flags, const json::Value& pod) {
  json::Value copy;
  copy["apiVersion"] = "v1";
  copy["kind"] = "Pod";
  copy["metadata"]["name"] = flags.copy_to;
  if (pod["metadata"]["annotations"].is_object())
    copy["metadata"]["annotations"] = pod["metadata"]["annotations"];
  copy["spec"] = pod["spec"];
  json::Object& spec = copy["spec"].as_object();
  spec.Erase("ephemeralContainers");
  if (!flags.same_node) spec.Erase("nodeName");
  if (flags.share_processes) spec.Set("shareProcessNamespace", true);
  return copy;
}

Status CopyPod(Session& session, const DebugFlags& flags, const json::Value& pod,
               const std::vector<std::string>& words) {
  json::Value copy = CopyOf(flags, pod);
  json::Array& containers = copy["spec"]["containers"].as_array();
  for (const std::string& change : flags.set_image) FLYBALL_TRY(ChangeImage(containers, change));
  std::string attach_to = flags.container;
  const auto there = std::find_if(containers.begin(), containers.end(), [&](const json::Value& container) {
    return container["name"].string_or("") == flags.container;
  });
  if (there != containers.end() && (!flags.image.empty() || !words.empty())) {
    if (!flags.image.empty()) (*there)["image"] = flags.image;
    if (!words.empty()) (*there)["command"] = json::Array(words.begin(), words.end());
  } else if (!flags.image.empty()) {
    FLYBALL_ASSIGN(json::Value container, DebugContainer(session, flags, words));
    attach_to = std::as_const(container)["name"].string_or("");
    containers.push_back(std::move(container));
  }
  FLYBALL_TRY(session.Create(kDebugPods, session.ns(), copy, "kubectl-debug"));
  if (flags.replace) {
    RestRequest gone;
    gone.verb = "DELETE";
    gone.path = kDebugPods.Path(session.ns(), pod["metadata"]["name"].string_or(""));
    FLYBALL_TRY(session.Call(std::move(gone)));
  }
  return flags.attaches() ? AttachTo(session, flags, flags.copy_to, attach_to) : Status();
}

// A pod on the node, with the node's namespaces and its files at /host.
Status DebugNode(Session& session, const DebugFlags& flags, const std::string& node,
                 const std::vector<std::string>& words) {
  DebugFlags own = flags;
  if (own.container.empty()) own.container = "debugger";
  FLYBALL_ASSIGN(json::Value container, DebugContainer(session, own, words));
  container["volumeMounts"] = json::Array{json::Object{{"mountPath", "/host"}, {"name", "host-root"}}};
  json::Value pod;
  const std::string name = "node-debugger-" + node + "-" + RandomSuffix();
  pod["apiVersion"] = "v1";
  pod["kind"] = "Pod";
  pod["metadata"]["name"] = name;
  pod["metadata"]["labels"]["app.kubernetes.io/managed-by"] = "kubectl-debug";
  json::Value& spec = pod["spec"];
  spec["containers"] = json::Array{std::move(container)};
  for (const char* space : {"hostIPC", "hostNetwork", "hostPID"}) spec[space] = true;
  spec["nodeName"] = node;
  spec["restartPolicy"] = "Never";
  spec["tolerations"] = json::Array{json::Object{{"operator", "Exists"}}};
  spec["volumes"] =
      json::Array{json::Object{{"name", "host-root"}, {"hostPath", json::Object{{"path", "/"}}}}};
  session.out() << "Creating debugging pod " << name << " with container " << own.container << " on node "
                << node << ".\n"
                << std::flush;
  FLYBALL_TRY(session.Create(kDebugPods, session.ns(), pod, "kubectl-debug"));
  return flags.attaches() ? AttachTo(session, flags, name, own.container) : Status();
}

Status CheckDebug(const DebugFlags& flags) {
  if (flags.image.empty() && flags.copy_to.empty())
    return Unexpected(LocalError("you must specify --image when not using --copy-to."));
  if (flags.args.empty()) return Unexpected(LocalError("NAME is required for debug"));
  if (!flags.target.empty() && !flags.copy_to.empty())
    return Unexpected(LocalError("--target is incompatible with --copy-to. Use --share-processes instead."));
  if (flags.streams.tty && !flags.streams.in)
    return Unexpected(LocalError("-i/--stdin is required for containers with -t/--tty=true"));
  return {};
}

Status RunDebug(Session& session, const DebugFlags& flags, const std::vector<std::string>& words) {
  FLYBALL_TRY(CheckDebug(flags));
  const std::string& argument = flags.args[0];
  const std::size_t slash = argument.find('/');
  const std::string type = slash == std::string::npos ? "pod" : argument.substr(0, slash);
  const std::string name = slash == std::string::npos ? argument : argument.substr(slash + 1);
  FLYBALL_ASSIGN(const KindRef kind, session.mapper().ForResource(type));
  FLYBALL_ASSIGN(const json::Value object, session.Get(kind, session.NamespaceFor(kind), name));
  if (kind.kind == "Node") return DebugNode(session, flags, name, words);
  if (kind.kind != "Pod") return Unexpected(LocalError("\"" + kind.kind + "\" not supported by debug"));
  return flags.copy_to.empty() ? AddEphemeral(session, flags, object, words)
                               : CopyPod(session, flags, object, words);
}

}  // namespace

void AddDebugCommand(const Command& root) {
  auto flags = std::make_shared<DebugFlags>();
  const Command command = root.Sub("debug", "Look into a pod or node with a container of your own",
                                   "flyball debug web-0 -it --image=busybox --target=app\n"
                                   "  flyball debug node/one -it --image=busybox");
  command.TakesCommand();
  command.Args("POD | TYPE/NAME", &flags->args, "Which pod or node");
  command.Option("--image", &flags->image, "Image of the new container");
  command.Option("-c,--container", &flags->container, "Name of the new container");
  command.Option("--target", &flags->target, "Share the processes of this container");
  command.Option("--copy-to", &flags->copy_to, "Look into a copy of the pod with this name");
  command.Option("--set-image", &flags->set_image, "With --copy-to: container=image; may be repeated");
  command.Option("--env", &flags->env, "NAME=value; may be repeated");
  command.Option("--image-pull-policy", &flags->pull_policy, "Always, IfNotPresent or Never");
  command.Option("--profile", &flags->profile,
                 "What it may: general, baseline, restricted, netadmin or sysadmin");
  command.Flag("--arguments-only", &flags->arguments_only,
               "What follows -- are the arguments of the image's command");
  command.Flag("--share-processes", &flags->share_processes,
               "With --copy-to: see each other's processes (default)");
  command.Flag("--replace", &flags->replace, "With --copy-to: delete the original");
  command.Flag("--same-node", &flags->same_node, "With --copy-to: on the same node");
  command.Flag("--attach", &flags->attach, "Show what it writes until it ends");
  command.Flag("-i,--stdin", &flags->streams.in, "Pass standard input to it");
  command.Flag("-t,--tty", &flags->streams.tty, "Standard input is a terminal");
  command.Flag("-q,--quiet", &flags->streams.quiet, "Print only what the container writes");
  RunVerb(command, [flags, invocation = &command.invocation()](Session& session) {
    return RunDebug(session, *flags, invocation->after_dashes);
  });
}

}  // namespace flyball::cli
