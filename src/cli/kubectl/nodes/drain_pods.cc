#include "cli/kubectl/nodes/drain_pods.h"

#include <map>

#include "api/values/duration.h"
#include "api/values/time.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/session/resource_args.h"
#include "json/json.h"

namespace flyball::cli {
namespace {

const KindRef kDrainedPods{"", "v1", "Pod", "pods", true};
const KindRef kDaemonSets{"apps", "v1", "DaemonSet", "daemonsets", true};
constexpr Duration kEvictionRetry = std::chrono::seconds(5);  // kubectl's
constexpr Duration kGonePoll = std::chrono::seconds(1);       // kubectl's

// What a filter says of a pod.
struct Verdict {
  bool remove = true;
  bool fatal = false;
  std::string message;  // a warning, or why it must not be removed
};

std::string PodName(const json::Value& pod) {
  return std::string(pod["metadata"]["namespace"].string_or("")) + "/" +
         std::string(pod["metadata"]["name"].string_or(""));
}

bool Finished(const json::Value& pod) {
  const std::string_view phase = pod["status"]["phase"].string_or("");
  return phase == "Succeeded" || phase == "Failed";
}

const json::Value* Controller(const json::Value& pod) {
  for (const json::Value& owner : Elements(pod["metadata"]["ownerReferences"]))
    if (owner["controller"].bool_or(false)) return &owner;
  return nullptr;
}

bool GoingForTooLong(const Session& session, const DrainFlags& flags, const json::Value& pod) {
  if (flags.skip_deleted_after_seconds <= 0) return false;
  const auto since = api::ParseTime(pod["metadata"]["deletionTimestamp"].string_or(""));
  return since && session.clock().Now() - since->ToTimePoint() >
                      std::chrono::seconds(flags.skip_deleted_after_seconds);
}

Verdict DaemonSetVerdict(Session& session, const DrainFlags& flags, const json::Value& pod) {
  const json::Value* owner = Controller(pod);
  if (!owner || (*owner)["kind"].string_or("") != "DaemonSet" ||
      (*owner)["apiVersion"].string_or("") != "apps/v1" || Finished(pod))
    return {};
  const auto set =
      session.Get(kDaemonSets, pod["metadata"]["namespace"].string_or(""), (*owner)["name"].string_or(""));
  if (!set && set.error().Is(Reason::kNotFound) && flags.force) return {true, false, set.error().message()};
  if (!set) return {false, true, set.error().message()};
  if (!flags.ignore_daemon_sets)
    return {false, true, "DaemonSet-managed Pods (use --ignore-daemonsets to ignore)"};
  return {false, false, "ignoring DaemonSet-managed Pods"};
}

Verdict LocalStorageVerdict(const DrainFlags& flags, const json::Value& pod) {
  bool local = false;
  for (const json::Value& volume : Elements(pod["spec"]["volumes"]))
    local |= volume.Find("emptyDir") != nullptr;
  if (!local || Finished(pod)) return {};
  if (!flags.delete_empty_dir_data)
    return {false, true, "Pods with local storage (use --delete-emptydir-data to override)"};
  return {true, false, "deleting Pods with local storage"};
}

Verdict UnmanagedVerdict(const DrainFlags& flags, const json::Value& pod) {
  if (Finished(pod) || Controller(pod)) return {};
  if (!flags.force) return {false, true, "Pods that declare no controller (use --force to override)"};
  return {true, false, "deleting Pods that declare no controller"};
}

// The first filter that keeps the pod decides; else the last one's warning is kept.
Verdict Judge(Session& session, const DrainFlags& flags, const json::Value& pod) {
  if (GoingForTooLong(session, flags, pod)) return {false, false, ""};
  const Verdict daemon = DaemonSetVerdict(session, flags, pod);
  if (!daemon.remove) return daemon;
  if (pod["metadata"]["annotations"].Find("kubernetes.io/config.mirror")) return {false, false, ""};
  const Verdict local = LocalStorageVerdict(flags, pod);
  if (!local.remove) return local;
  return UnmanagedVerdict(flags, pod);
}

std::string Grouped(const std::map<std::string, std::string>& by_message, std::string_view prefix,
                    std::string_view between) {
  std::string out;
  for (const auto& [message, pods] : by_message) {
    if (!out.empty()) out += between;
    out += std::string(prefix) + message + ": " + pods;
  }
  return out;
}

void AddTo(std::map<std::string, std::string>& by_message, const std::string& message,
           const json::Value& pod) {
  std::string& pods = by_message[message];
  pods += (pods.empty() ? "" : ", ") + PodName(pod);
}

// One pod on its way out.
struct Leaving {
  json::Value pod;
  bool accepted = false;  // evicted or deleted: now waited for
  bool gone = false;
  TimePoint retry_at{};
};

class Removal {
 public:
  Removal(Session& session, const DrainFlags& flags) : session_(session), flags_(flags) {
    if (flags.timeout > Duration::zero()) deadline_ = session.clock().Now() + flags.timeout;
  }

  Status Run(const std::vector<json::Value>& pods) {
    for (const json::Value& pod : pods) leaving_.push_back({pod, false, false, {}});
    for (;;) {
      bool waiting = false;
      for (Leaving& pod : leaving_) {
        FLYBALL_TRY(Advance(pod));
        waiting |= !pod.gone;
      }
      if (!waiting) return Summary();
      session_.Pause(kGonePoll);
    }
  }

 private:
  Status Advance(Leaving& leaving) {
    if (leaving.gone) return {};
    if (leaving.accepted) return CheckGone(leaving);
    if (session_.clock().Now() < leaving.retry_at) return {};
    const std::string_view ns = leaving.pod["metadata"]["namespace"].string_or("");
    const std::string name(leaving.pod["metadata"]["name"].string_or(""));
    session_.out() << (flags_.disable_eviction ? "deleting" : "evicting") << " pod " << PodName(leaving.pod)
                   << (flags_.dry_run == "server" ? " (server dry run)" : "") << "\n"
                   << std::flush;
    if (deadline_ && session_.clock().Now() >= *deadline_) return GiveUp(leaving, name, ns);
    const Status sent = Send(ns, name);
    if (sent || sent.error().Is(Reason::kNotFound)) {
      leaving.accepted = true;
      leaving.gone = flags_.dry_run == "server";
      return {};
    }
    const std::string what = "error when evicting pods/\"" + name + "\" -n \"" + std::string(ns) + "\"";
    if (!sent.error().Is(Reason::kTooManyRequests)) {
      errors_.push_back(what + ": " + sent.error().message());
      leaving.gone = true;
      return {};
    }
    session_.err() << what << " (will retry after " << api::FormatDuration(kEvictionRetry)
                   << "): " << sent.error().message() << "\n";
    leaving.retry_at = session_.clock().Now() + kEvictionRetry;
    return {};
  }
  Status Send(std::string_view ns, const std::string& name) {
    json::Value options;
    if (flags_.grace_seconds >= 0) options["gracePeriodSeconds"] = flags_.grace_seconds;
    if (flags_.dry_run == "server") options["dryRun"] = json::Array{"All"};
    RestRequest request;
    request.verb = flags_.disable_eviction ? "DELETE" : "POST";
    request.path = kDrainedPods.Path(ns, name, flags_.disable_eviction ? "" : "eviction");
    request.max_retries = 0;  // a refusal is shown, and tried again later
    if (flags_.disable_eviction) {
      request.body = json::Write(options.is_null() ? json::Value(json::Object()) : options);
    } else {
      json::Value eviction = json::Object{{"apiVersion", "policy/v1"}, {"kind", "Eviction"}};
      eviction["metadata"]["name"] = name;
      eviction["metadata"]["namespace"] = ns;
      if (!options.is_null()) eviction["deleteOptions"] = options;
      request.body = json::Write(eviction);
    }
    FLYBALL_TRY(session_.CallText(std::move(request)));
    return {};
  }
  Status CheckGone(Leaving& leaving) {
    const std::string_view ns = leaving.pod["metadata"]["namespace"].string_or("");
    const std::string name(leaving.pod["metadata"]["name"].string_or(""));
    const auto now = session_.Get(kDrainedPods, ns, name);
    const bool other = now && !((*now)["metadata"]["uid"] == std::as_const(leaving.pod)["metadata"]["uid"]);
    if (other || (!now && now.error().Is(Reason::kNotFound))) {
      session_.out() << "pod/" << name << (flags_.disable_eviction ? " deleted" : " evicted") << "\n"
                     << std::flush;
      leaving.gone = true;
      return {};
    }
    if (!now) return Unexpected(now.error());
    if (GoingForTooLong(session_, flags_, *now)) {
      leaving.gone = true;
      return {};
    }
    if (deadline_ && session_.clock().Now() >= *deadline_) return GiveUp(leaving, name, ns);
    return {};
  }
  Status GiveUp(Leaving& leaving, const std::string& name, std::string_view ns) {
    errors_.push_back("error when " + std::string(leaving.accepted ? "waiting for pod" : "evicting pods/") +
                      (leaving.accepted
                           ? " \"" + name + "\" in namespace \"" + std::string(ns) + "\" to terminate"
                           : "\"" + name + "\" -n \"" + std::string(ns) + "\"") +
                      ": global timeout reached: " + api::FormatDuration(flags_.timeout));
    leaving.gone = true;
    return {};
  }
  Status Summary() const {
    if (errors_.empty()) return {};
    if (errors_.size() == 1) return Unexpected(LocalError(errors_[0]));
    std::string all;
    for (const std::string& error : errors_) all += (all.empty() ? "[" : ", ") + error;
    return Unexpected(LocalError(all + "]"));
  }

  Session& session_;
  const DrainFlags& flags_;
  std::optional<TimePoint> deadline_;
  std::vector<Leaving> leaving_;
  std::vector<std::string> errors_;
};

}  // namespace

Result<std::vector<json::Value>> PodsToDrain(Session& session, const DrainFlags& flags,
                                             const std::string& node) {
  FLYBALL_ASSIGN(auto pods,
                 ListObjects(session, kDrainedPods, "", flags.pod_selector, "spec.nodeName=" + node));
  std::map<std::string, std::string> warnings, refusals;
  std::vector<json::Value> removed;
  for (json::Value& pod : pods) {
    const Verdict verdict = Judge(session, flags, pod);
    if (!verdict.message.empty()) AddTo(verdict.fatal ? refusals : warnings, verdict.message, pod);
    if (verdict.remove) removed.push_back(std::move(pod));
  }
  if (!refusals.empty()) {
    const std::string text = Grouped(refusals, "cannot delete ", ", ");
    return Unexpected(LocalError(refusals.size() > 1 ? "[" + text + "]" : text));
  }
  if (!warnings.empty()) session.err() << "Warning: " << Grouped(warnings, "", "; ") << "\n";
  return removed;
}

Status RemovePods(Session& session, const DrainFlags& flags, const std::vector<json::Value>& pods) {
  return Removal(session, flags).Run(pods);
}

}  // namespace flyball::cli
