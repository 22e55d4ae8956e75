#include <algorithm>
#include <memory>

#include "api/values/duration.h"
#include "api/wire/status.h"
#include "base/run/notification.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/session/pod_choice.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/session.h"
#include "cli/kubectl/verbs.h"
#include "json/json.h"

namespace flyball::cli {
namespace {

struct LogsFlags {
  std::vector<std::string> args;
  std::string container, label_selector, since, since_time, pod_timeout;
  std::optional<std::int64_t> tail, limit_bytes;
  bool follow = false, previous = false, timestamps = false, all_containers = false, prefix = false,
       all_pods = false, ignore_errors = false, insecure_backend = false;
  int max_requests = 5;
};

const KindRef kLogPods{"", "v1", "Pod", "pods", true};

// Prints data as it arrives, with a prefix before every line.
class LogSink final : public net::ResponseSink {
 public:
  explicit LogSink(std::string prefix) : prefix_(std::move(prefix)) {}
  void OnHead(int status, const net::Headers&) override { status_ = status; }
  void OnData(std::string_view data) override {
    if (status_ >= 400)
      body_.append(data);
    else if (prefix_.empty())
      std::cout << data << std::flush;
    else
      PrintLines(data);
  }
  void OnEnd() override {
    if (status_ >= 400) {
      auto parsed = json::Parse(body_);
      result_ = Unexpected(api::ErrorFromStatus(parsed ? *parsed : json::Value(), status_));
    }
    done_.Set(true);
  }
  void OnError(const Error& error) override {
    result_ = Unexpected(error);
    done_.Set(true);
  }
  Status Wait() {
    done_.Wait();
    return result_;
  }

 private:
  void PrintLines(std::string_view data) {
    while (!data.empty()) {
      if (std::exchange(at_line_start_, false)) std::cout << prefix_;
      const std::size_t end = data.find('\n');
      std::cout << data.substr(0, end == std::string_view::npos ? end : end + 1);
      if (end == std::string_view::npos) break;
      at_line_start_ = true;
      data.remove_prefix(end + 1);
    }
    std::cout << std::flush;
  }

  const std::string prefix_;
  bool at_line_start_ = true;
  int status_ = 0;
  std::string body_;
  Status result_;
  Notification<bool> done_;
};

Result<std::vector<json::Value>> SelectedPods(Session& session, const LogsFlags& flags) {
  FLYBALL_ASSIGN(auto pods, ListObjects(session, kLogPods, session.ns(), flags.label_selector));
  if (pods.empty()) session.err() << "No resources found in " << session.ns() << " namespace.\n";
  return pods;
}

Result<std::vector<json::Value>> PodsOf(Session& session, const LogsFlags& flags) {
  if (!flags.label_selector.empty()) return SelectedPods(session, flags);
  if (flags.args.empty())
    return Unexpected(session.UsageError(
        "expected 'logs [-f] [-p] (POD | TYPE/NAME) [-c CONTAINER]'.\nPOD or TYPE/NAME is a "
        "required argument for the logs command"));
  FLYBALL_ASSIGN(const Duration wait, PodRunningTimeout(flags.pod_timeout));
  auto found = PodsBehind(session, flags.args[0], wait);
  if (!found && found.error().Is(Reason::kNotFound))
    return Unexpected(LocalError("error from server (NotFound): " + found.error().message() +
                                 " in namespace \"" + session.ns() + "\""));
  if (!found) return Unexpected(found.error());
  std::vector<json::Value> pods = std::move(*found);
  if (flags.all_pods) return pods;
  if (pods.size() > 1)
    session.err() << "Found " << pods.size() << " pods, using pod/"
                  << std::as_const(pods[0])["metadata"]["name"].string_or("") << "\n";
  pods.resize(1);
  return pods;
}

Result<std::vector<std::string>> ContainersOf(Session& session, const LogsFlags& flags,
                                              const json::Value& pod) {
  if (!flags.container.empty()) {
    if (!HasContainer(pod, flags.container))
      return Unexpected(LocalError("container " + flags.container + " is not valid for pod " +
                                   std::string(pod["metadata"]["name"].string_or("")) +
                                   " out of: " + ContainerNames(pod)));
    return std::vector<std::string>{flags.container};
  }
  std::vector<std::string> names;
  for (const json::Value& container : Elements(pod["spec"]["containers"]))
    names.emplace_back(container["name"].string_or(""));
  if (flags.all_containers || names.size() < 2) return names;
  session.err() << "Defaulted container \"" << names[0] << "\" out of: " << ContainerNames(pod) << "\n";
  return std::vector<std::string>{names[0]};
}

// The log of one container that is under way.
struct OpenLog {
  std::shared_ptr<LogSink> sink;
  std::shared_ptr<net::Call> call;
};

Result<RestRequest> RequestFor(const LogsFlags& flags, const json::Value& pod, const std::string& container) {
  RestRequest request;
  request.path =
      kLogPods.Path(pod["metadata"]["namespace"].string_or(""), pod["metadata"]["name"].string_or(""), "log");
  request.accept = "*/*";
  request.Query("container", container).Query("sinceTime", flags.since_time);
  if (!flags.since.empty()) {
    FLYBALL_ASSIGN(const Duration since, api::ParseDuration(flags.since));
    request.Query("sinceSeconds", std::to_string(std::chrono::ceil<std::chrono::seconds>(since).count()));
  }
  if (flags.follow) request.Query("follow", "true");
  if (flags.previous) request.Query("previous", "true");
  if (flags.timestamps) request.Query("timestamps", "true");
  if (flags.insecure_backend) request.Query("insecureSkipTLSVerifyBackend", "true");
  if (flags.tail && *flags.tail >= 0) request.Query("tailLines", std::to_string(*flags.tail));
  if (flags.limit_bytes) request.Query("limitBytes", std::to_string(*flags.limit_bytes));
  return request;
}

Result<OpenLog> OpenLogOf(Session& session, const LogsFlags& flags, const json::Value& pod,
                          const std::string& container) {
  FLYBALL_ASSIGN(RestRequest request, RequestFor(flags, pod, container));
  const std::string name(pod["metadata"]["name"].string_or(""));
  auto sink = std::make_shared<LogSink>(flags.prefix ? "[pod/" + name + "/" + container + "] " : "");
  auto call = session.rest().Stream(std::move(request), sink);
  return OpenLog{std::move(sink), std::move(call)};
}

Status Finish(Session& session, const LogsFlags& flags, const OpenLog& log) {
  const Status read = log.sink->Wait();
  if (read || !flags.ignore_errors) return read;
  session.err() << "error: " << read.error().message() << "\n";
  return {};
}

Status CheckLogs(const LogsFlags& flags) {
  if (!flags.since.empty() && !flags.since_time.empty())
    return Unexpected(LocalError("at most one of `sinceTime` or `sinceSeconds` may be specified"));
  return {};
}

// One after the other, or all at once if they are followed.
Status PrintLogs(Session& session, const LogsFlags& flags, const std::vector<json::Value>& pods) {
  std::vector<OpenLog> followed;
  for (const json::Value& pod : pods) {
    FLYBALL_ASSIGN(const auto containers, ContainersOf(session, flags, pod));
    for (const std::string& container : containers) {
      FLYBALL_ASSIGN(OpenLog log, OpenLogOf(session, flags, pod, container));
      if (flags.follow)
        followed.push_back(std::move(log));
      else
        FLYBALL_TRY(Finish(session, flags, log));
    }
  }
  for (const OpenLog& log : followed) FLYBALL_TRY(Finish(session, flags, log));
  return {};
}

Status RunLogs(Session& session, LogsFlags& flags) {
  if (flags.args.size() > 1) flags.container = flags.args[1];
  FLYBALL_TRY(CheckLogs(flags));
  if (flags.all_pods) flags.prefix = true;
  if (!flags.label_selector.empty() && !flags.tail) flags.tail = 10;
  FLYBALL_ASSIGN(const auto pods, PodsOf(session, flags));
  if (flags.follow && static_cast<int>(pods.size()) > flags.max_requests)
    return Unexpected(LocalError("you are attempting to follow " + std::to_string(pods.size()) +
                                 " log streams, but maximum allowed concurrency is " +
                                 std::to_string(flags.max_requests) +
                                 ", use --max-log-requests to increase the limit"));
  return PrintLogs(session, flags, pods);
}

}  // namespace

void AddLogsCommand(const Command& root) {
  auto flags = std::make_shared<LogsFlags>();
  const Command command =
      root.Sub("logs", "Print what a container wrote", "flyball logs deploy/web -f --tail=10");
  command.Args("POD | TYPE/NAME", &flags->args, "Whose, and which container");
  command.Option("-c,--container", &flags->container, "Which container");
  command.Option("-l,--selector", &flags->label_selector, "Of all pods with these labels");
  command.Option("--tail", &flags->tail, "Only so many lines");
  command.Option("--since", &flags->since, "Only of this last time: 5m");
  command.Option("--limit-bytes", &flags->limit_bytes, "Only so many bytes");
  command.Flag("-f,--follow", &flags->follow, "Go on as more is written");
  command.Flag("-p,--previous", &flags->previous, "Of the container before its last restart");
  command.Flag("--timestamps", &flags->timestamps, "The time before each line");
  command.Option("--since-time", &flags->since_time, "Only after this time (RFC 3339)");
  command.Option("--max-log-requests", &flags->max_requests, "Most containers to follow at once with -l");
  command.Flag("--prefix", &flags->prefix, "The pod and container before each line");
  command.Flag("--all-pods", &flags->all_pods, "Of every pod of the object; with --prefix");
  command.Flag("--ignore-errors", &flags->ignore_errors, "Go on with the next container after an error");
  command.Flag("--insecure-skip-tls-verify-backend", &flags->insecure_backend,
               "Do not check the certificate of the node");
  AddPodRunningTimeout(command, &flags->pod_timeout, "20s");
  command.Flag("--all-containers", &flags->all_containers, "Of every container");
  RunVerb(command, [flags](Session& session) { return RunLogs(session, *flags); });
}

}  // namespace flyball::cli
