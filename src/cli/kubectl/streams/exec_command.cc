#include <unistd.h>

#include <memory>
#include <optional>

#include "cli/command/error_text.h"
#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/session/manifests.h"
#include "cli/kubectl/session/object_wait.h"
#include "cli/kubectl/session/pod_choice.h"
#include "cli/kubectl/streams/attach.h"
#include "cli/kubectl/streams/remote_command.h"
#include "cli/kubectl/verbs.h"

namespace flyball::cli {
namespace {

const KindRef kExecPods{"", "v1", "Pod", "pods", true};
constexpr std::string_view kDefaultContainer = "kubectl.kubernetes.io/default-container";

struct ExecFlags {
  std::vector<std::string> args;
  ManifestFlags files;
  std::string container, pod_timeout = kPodRunningTimeout;
  bool in = false, tty = false, quiet = false;
};

Result<std::string> ContainerOf(Session& session, const ExecFlags& flags, const json::Value& pod) {
  const std::string pod_name(pod["metadata"]["name"].string_or(""));
  if (!flags.container.empty()) {
    if (!HasContainer(pod, flags.container))
      return Unexpected(LocalError("container " + flags.container + " is not valid for pod " + pod_name +
                                   " out of: " + ContainerNames(pod)));
    return flags.container;
  }
  if (const json::Value& chosen = pod["metadata"]["annotations"][kDefaultContainer];
      chosen.is_string() && HasContainer(pod, chosen.as_string()))
    return std::string(chosen.as_string());
  const json::Array& containers = Elements(pod["spec"]["containers"]);
  if (containers.empty()) return Unexpected(LocalError("pod " + pod_name + " has no containers"));
  const std::string first(containers[0]["name"].string_or(""));
  const bool choice = containers.size() > 1 || !pod["spec"]["initContainers"].empty() ||
                      !pod["spec"]["ephemeralContainers"].empty();
  if (choice && !flags.quiet)
    session.err() << "Defaulted container \"" << first << "\" out of: " << ContainerNames(pod) << "\n";
  return first;
}

// `verb` is what cannot be done in a pod that has ended: "exec into".
Result<json::Value> TargetPod(Session& session, const ExecFlags& flags, const std::string& missing,
                              const std::string& verb) {
  FLYBALL_ASSIGN(const Duration wait, PodRunningTimeout(flags.pod_timeout));
  std::string argument = flags.args.empty() ? "" : flags.args[0];
  if (!flags.files.empty()) {
    FLYBALL_ASSIGN(const auto objects, NamedObjects(session, flags.files, {}, {}));
    if (session.failed()) return Unexpected(PrintedError());
    if (objects.size() > 1) return Unexpected(LocalError("cannot exec into multiple objects at a time"));
    argument = objects[0].kind.plural + "/" + objects[0].name;
  }
  if (argument.empty()) return Unexpected(LocalError(missing));
  FLYBALL_ASSIGN(auto pods, PodsBehind(session, argument, wait));
  const json::Value& pod = pods[0];
  const std::string_view phase = pod["status"]["phase"].string_or("");
  if (phase == "Succeeded" || phase == "Failed")
    return Unexpected(LocalError("cannot " + verb + " a container in a completed pod; current phase is " +
                                 std::string(phase)));
  return std::move(pods[0]);
}

Status Run(Session& session, const ExecFlags& flags, const json::Value& pod, const std::string& subresource,
           const std::vector<std::string>& command) {
  FLYBALL_ASSIGN(const std::string container, ContainerOf(session, flags, pod));
  const bool terminal = flags.tty && flags.in && ::isatty(STDIN_FILENO) != 0;
  if (flags.tty && !terminal)
    session.err() << "Unable to use a TTY - input is not a terminal or the right kind of file\n";
  RestRequest request;
  request.path = kExecPods.Path(pod["metadata"]["namespace"].string_or(""),
                                pod["metadata"]["name"].string_or(""), subresource);
  request.Query("container", container);
  for (const std::string& word : command) request.Query("command", word);
  if (flags.in) request.Query("stdin", "true");
  request.Query("stdout", "true");
  request.Query(terminal ? "tty" : "stderr", "true");
  FLYBALL_ASSIGN(const int code, RunRemote(session, std::move(request), {.in = flags.in, .tty = terminal}));
  if (code != 0) session.err() << "command terminated with exit code " << code << "\n";
  session.set_exit_code(code);
  return {};
}

Status Exec(Session& session, const ExecFlags& flags, const Invocation& invocation) {
  std::vector<std::string> command = invocation.after_dashes;
  if (!invocation.has_dashes && flags.args.size() > 1)
    return Unexpected(
        LocalError("exec [POD] [COMMAND] is not supported anymore. Use exec [POD] -- [COMMAND] instead\n"
                   "See 'kubectl exec -h' for help and examples"));
  if (flags.args.empty() && flags.files.empty())
    return Unexpected(LocalError("pod, type/name or --filename must be specified"));
  if (command.empty())
    return Unexpected(LocalError("you must specify at least one command for the container"));
  FLYBALL_ASSIGN(const json::Value pod,
                 TargetPod(session, flags, "pod, type/name or --filename must be specified", "exec into"));
  return Run(session, flags, pod, "exec", command);
}

Status Attach(Session& session, const ExecFlags& flags) {
  FLYBALL_ASSIGN(const json::Value pod,
                 TargetPod(session, flags, "at least 1 argument is required for attach", "attach"));
  if (!flags.quiet)
    session.err()
        << "All commands and output from this session will be recorded in container logs, including "
           "credentials and sensitive information passed through the command prompt.\n"
        << "If you don't see a command prompt, try pressing enter.\n";
  return Run(session, flags, pod, "attach", {});
}

// All that the container has written and will write until it ends.
Status PrintLog(Session& session, const json::Value& pod, const std::string& container) {
  RestRequest request;
  request.path = kExecPods.Path(pod["metadata"]["namespace"].string_or(""),
                                pod["metadata"]["name"].string_or(""), "log");
  request.accept = "*/*";
  request.Query("container", container).Query("follow", "true");
  FLYBALL_ASSIGN(const std::string log, session.CallText(std::move(request)));
  session.out() << log;
  return {};
}

// The exit status of a container that has ended, as the pod's status tells it.
std::optional<int> ExitCodeOf(const json::Value& pod, const std::string& container) {
  for (const char* list : {"containerStatuses", "ephemeralContainerStatuses"})
    for (const json::Value& status : Elements(pod["status"][list]))
      if (status["name"].string_or("") == container && status["state"]["terminated"].is_object())
        return static_cast<int>(status["state"]["terminated"]["exitCode"].int_or(0));
  return std::nullopt;
}

// The exit status of a container whose log has ended: the pod's status follows soon.
Result<int> WaitForExit(Session& session, const json::Value& pod, const std::string& container) {
  const ObjectRef ref{kExecPods, std::string(pod["metadata"]["namespace"].string_or("")),
                      std::string(pod["metadata"]["name"].string_or(""))};
  int code = 0;
  FLYBALL_TRY(
      WaitForObject(session, ref, std::chrono::minutes(1), [&](const json::Value* now) -> Result<bool> {
        const std::optional<int> ended = now ? ExitCodeOf(*now, container) : std::optional<int>(0);
        code = ended.value_or(0);
        return ended.has_value();
      }));
  return code;
}

void AddStreamFlags(const Command& command, ExecFlags& flags) {
  AddManifestFlags(command, &flags.files);
  command.Option("-c,--container", &flags.container, "Which container; the first, if none is given");
  command.Flag("-i,--stdin", &flags.in, "Pass standard input to it");
  command.Flag("-t,--tty", &flags.tty, "Standard input is a terminal");
  AddPodRunningTimeout(command, &flags.pod_timeout);
  command.Flag("-q,--quiet", &flags.quiet, "Print only what the container writes");
}

}  // namespace

Status AttachOrLog(Session& session, const json::Value& pod, const AttachStreams& streams,
                   const std::string& container) {
  ExecFlags flags;
  flags.container = container;
  flags.in = streams.in;
  flags.tty = streams.tty;
  flags.quiet = streams.quiet;
  FLYBALL_ASSIGN(const std::string name, ContainerOf(session, flags, pod));
  if (!ExitCodeOf(pod, name)) {
    const Status attached = Run(session, flags, pod, "attach", {});
    if (attached) return attached;
    session.err() << "warning: couldn't attach to pod/" << pod["metadata"]["name"].string_or("")
                  << ", falling back to streaming logs: " << attached.error().message() << "\n";
  }
  FLYBALL_TRY(PrintLog(session, pod, name));
  FLYBALL_ASSIGN(const int code, WaitForExit(session, pod, name));
  session.set_exit_code(code);
  return {};
}

void AddExecCommands(const Command& root) {
  auto exec_flags = std::make_shared<ExecFlags>();
  const Command exec = root.Sub("exec", "Run a command in a container",
                                "flyball exec deploy/web -- ls /\n  flyball exec -it web-0 -c app -- sh");
  exec.TakesCommand();
  exec.Args("POD | TYPE/NAME", &exec_flags->args, "Which pod");
  AddStreamFlags(exec, *exec_flags);
  RunVerb(exec, [exec_flags, invocation = &exec.invocation()](Session& session) {
    return Exec(session, *exec_flags, *invocation);
  });
  auto attach_flags = std::make_shared<ExecFlags>();
  const Command attach =
      root.Sub("attach", "Attach to the process that runs in a container", "flyball attach web-0 -c app -it");
  attach.Args("POD | TYPE/NAME", &attach_flags->args, "Which pod");
  AddStreamFlags(attach, *attach_flags);
  RunVerb(attach, [attach_flags](Session& session) { return Attach(session, *attach_flags); });
}

}  // namespace flyball::cli
