#include <memory>

#include "api/merge/strategic_merge.h"
#include "api/schema/schema.h"
#include "api/values/duration.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/create/create_options.h"
#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/session/image_reference.h"
#include "cli/kubectl/session/object_wait.h"
#include "cli/kubectl/streams/attach.h"
#include "cli/kubectl/verbs.h"
#include "json/json.h"
#include "json/patch.h"
#include "json/yaml/yaml.h"

namespace flyball::cli {
namespace {

const KindRef kRunPods{"", "v1", "Pod", "pods", true};

struct RunFlags {
  CreateOptions options;
  std::vector<std::string> args, env, annotations;
  std::string image, restart = "Always", labels, pull_policy;
  OverrideFlags overrides;
  std::optional<std::int64_t> port;
  AttachStreams streams;
  std::string pod_timeout = "1m0s", cascade = "background", timeout = "0s";
  std::optional<std::int64_t> grace_period;
  bool force = false, wait = false;
  bool command = false, expose = false, attach = false, remove = false, privileged = false;
  bool leave_stdin_open = false;
  bool attaches() const { return attach || streams.in; }
};

Status CheckRun(const RunFlags& flags) {
  FLYBALL_TRY(CheckImageName(flags.image));
  if (flags.remove && !flags.attaches())
    return Unexpected(LocalError("--rm should only be used for attached containers"));
  if (flags.attaches() && (flags.options.dry_run == "client" || flags.options.dry_run == "server"))
    return Unexpected(
        LocalError("--dry-run=[server|client] can't be used with attached containers options (--attach, "
                   "--stdin, or --tty)"));
  if (flags.expose && !flags.port)
    return Unexpected(LocalError("--port must be set when exposing a service"));
  for (const char* policy : {"Always", "OnFailure", "Never"})
    if (flags.restart == policy) return {};
  return Unexpected(LocalError("invalid restart policy: " + flags.restart +
                               ", valid values are: Always, OnFailure, Never"));
}

Result<json::Array> Variables(const std::vector<std::string>& pairs) {
  json::Array env;
  for (const std::string& pair : pairs) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos) return Unexpected(LocalError("invalid env: " + pair));
    env.emplace_back(json::Object{{"name", pair.substr(0, equals)}, {"value", pair.substr(equals + 1)}});
  }
  return env;
}

Result<json::Value> NewContainer(const RunFlags& flags, const std::string& name,
                                 const std::vector<std::string>& words) {
  json::Value container = Container(name, flags.image, flags.command ? "command" : "args", words);
  FLYBALL_ASSIGN(json::Array env, Variables(flags.env));
  if (!env.empty()) container["env"] = std::move(env);
  if (flags.port)
    container["ports"] = json::Array{json::Object{{"containerPort", static_cast<long long>(*flags.port)}}};
  if (!flags.pull_policy.empty()) container["imagePullPolicy"] = flags.pull_policy;
  if (flags.privileged) container["securityContext"]["privileged"] = true;
  if (flags.streams.in) {
    container["stdin"] = true;
    if (!flags.leave_stdin_open) container["stdinOnce"] = true;
  }
  if (flags.streams.tty) container["tty"] = true;
  return container;
}

Result<json::Value> NewPod(const RunFlags& flags, const std::string& name,
                           const std::vector<std::string>& words) {
  json::Value object = NewObject("v1", "Pod", name);
  for (const std::string& pair : flags.annotations) {
    FLYBALL_ASSIGN(const json::Object annotations, ParsePairs(pair));
    for (const auto& [key, value] : annotations) object["metadata"]["annotations"][key] = value;
  }
  FLYBALL_ASSIGN(json::Object labels, ParsePairs(flags.labels));
  if (labels.empty()) labels.Set("run", name);
  object["metadata"]["labels"] = std::move(labels);
  FLYBALL_ASSIGN(json::Value container, NewContainer(flags, name, words));
  object["spec"]["containers"] = json::Array{std::move(container)};
  object["spec"]["dnsPolicy"] = "ClusterFirst";
  object["spec"]["restartPolicy"] = flags.restart;
  object["status"] = json::Object();
  return flags.overrides.Apply(std::move(object));
}

Status ExposePod(Session& session, const RunFlags& flags, const json::Value& pod) {
  ServicePlan plan{.name = std::string(pod["metadata"]["name"].string_or("")),
                   .selector = pod["metadata"]["labels"],
                   .ports = {*flags.port}};
  if (flags.options.print.output == "yaml") session.out() << "---\n";
  return CreateObject(session, flags.options, NewService(plan));
}

// Attaches as soon as the container runs; a container that has already ended shows its log.
Status AttachWhenRunning(Session& session, const RunFlags& flags, const ObjectRef& ref) {
  json::Value pod;
  FLYBALL_ASSIGN(const Duration timeout, api::ParseDuration(flags.pod_timeout));
  FLYBALL_TRY(WaitForObject(session, ref, timeout, [&](const json::Value* now) -> Result<bool> {
    if (!now) return Unexpected(LocalError("the pod was deleted"));
    pod = *now;
    return (*now)["status"]["phase"].string_or("Pending") != "Pending";
  }));
  return AttachOrLog(session, pod, flags.streams);
}

Status DeletePod(Session& session, const RunFlags& flags, const ObjectRef& ref) {
  RestRequest request;
  request.verb = "DELETE";
  request.path = ref.kind.Path(ref.ns, ref.name);
  FLYBALL_ASSIGN(const std::string policy, PropagationPolicy(flags.cascade));
  json::Value how = json::Object{{"propagationPolicy", policy}};
  if (flags.grace_period && *flags.grace_period >= 0)
    how["gracePeriodSeconds"] = static_cast<long long>(*flags.grace_period);
  else if (flags.force)
    how["gracePeriodSeconds"] = 0;
  request.body = json::Write(how);
  FLYBALL_TRY(session.Call(std::move(request)));
  session.out() << "pod \"" << ref.name << "\" deleted\n";
  return {};
}

Status RunPod(Session& session, const RunFlags& flags, const std::vector<std::string>& words) {
  FLYBALL_ASSIGN(const std::string name, OneName(session, flags.args));
  FLYBALL_TRY(CheckRun(flags));
  FLYBALL_ASSIGN(json::Value object, NewPod(flags, name, words));
  if (!flags.attaches()) {
    FLYBALL_TRY(CreateObject(session, flags.options, object));
    return flags.expose ? ExposePod(session, flags, object) : Status();
  }
  const ObjectRef ref{kRunPods, session.ns(), name};
  FLYBALL_TRY(session.Create(kRunPods, ref.ns, object, flags.options.field_manager));
  const Status attached = AttachWhenRunning(session, flags, ref);
  if (flags.remove) FLYBALL_TRY(DeletePod(session, flags, ref));
  return attached;
}

}  // namespace

void AddRunCommand(const Command& root) {
  auto flags = std::make_shared<RunFlags>();
  const Command command = root.Sub("run", "Run one pod",
                                   "flyball run hello --image=host --restart=Never -- echo hello\n  flyball "
                                   "run -it --rm sh --image=busybox");
  command.TakesCommand();
  command.Args("NAME", &flags->args, "Name of the pod");
  flags->options.field_manager = "kubectl-run";
  flags->options.AddTo(command);
  command.RecordFlag();
  command.Option("--image", &flags->image, "Image of the container; `host` is the machine itself");
  command.Required("--image");
  command.Option("--restart", &flags->restart, "Always, OnFailure or Never");
  command.Option("--image-pull-policy", &flags->pull_policy, "Always, IfNotPresent or Never");
  command.Option("-l,--labels", &flags->labels, "Labels: a=b,c=d");
  command.Option("--annotations", &flags->annotations, "a=b; may be repeated");
  command.Option("--env", &flags->env, "NAME=value; may be repeated");
  command.Option("--port", &flags->port, "Port the container serves");
  flags->overrides.AddTo(command, "merge");
  command.Flag("--command", &flags->command, "What follows -- is the command, not its arguments");
  command.Flag("--expose", &flags->expose, "Make a Service for it too; with --port");
  command.Flag("--privileged", &flags->privileged, "In privileged mode");
  command.Flag("--attach", &flags->attach, "Show what it writes until it ends");
  command.Flag("-i,--stdin", &flags->streams.in, "Pass standard input to it");
  command.Flag("-t,--tty", &flags->streams.tty, "Standard input is a terminal");
  command.Flag("-q,--quiet", &flags->streams.quiet, "Print only what the container writes");
  command.Flag("--rm", &flags->remove, "Delete the pod at the end; with --attach or -i");
  command.Flag("--leave-stdin-open", &flags->leave_stdin_open,
               "With -i: standard input of the container stays open when the first who attached leaves");
  command.Option("--pod-running-timeout", &flags->pod_timeout, "How long to wait until the pod runs");
  command.Option("--grace-period", &flags->grace_period, "With --rm: seconds that the pod gets to end");
  command.Option("--cascade", &flags->cascade, "With --rm: background, foreground or orphan", "background");
  command.Flag("--force", &flags->force, "With --rm: do not wait for the pod's end");
  command.Option("--timeout", &flags->timeout, "Accepted, as in kubectl; --rm does not wait");
  command.Flag("--wait", &flags->wait, "Accepted, as in kubectl; --rm does not wait");
  RunVerb(command, [flags, invocation = &command.invocation()](Session& session) {
    return RunPod(session, *flags, invocation->after_dashes);
  });
}

}  // namespace flyball::cli
