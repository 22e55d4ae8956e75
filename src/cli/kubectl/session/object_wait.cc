#include "cli/kubectl/session/object_wait.h"

#include "cli/command/error_text.h"

namespace flyball::cli {
namespace {

// The server ends watches from time to time. A broken watch is restarted after this delay.
constexpr Duration kReconnectDelay = std::chrono::milliseconds(200);

Error TimedOut(const ObjectRef& object) {
  return LocalError("timed out waiting for the condition on " + object.kind.plural + "/" + object.name);
}

RestRequest ListOne(const ObjectRef& object) {
  RestRequest request;
  request.path = object.kind.Path(object.ns);
  request.Query("fieldSelector", "metadata.name=" + object.name);
  return request;
}

// A watch that ends when the time is over.
class TimedWatch {
 public:
  TimedWatch(Session& session, RestRequest request, bool limited, SteadyTime deadline)
      : session_(session), reader_(WatchReader::Start(session.rest(), std::move(request))) {
    if (limited) timer_ = session.executor().PostAt(deadline, [reader = reader_] { reader->Cancel(); });
  }
  ~TimedWatch() {
    if (timer_ != kNoTimer) session_.executor().Cancel(timer_);
  }
  std::optional<WatchEvent> Next() { return reader_->Next(); }

 private:
  Session& session_;
  const std::shared_ptr<WatchReader> reader_;
  TimerId timer_ = kNoTimer;
};

}  // namespace

Status WaitForObject(Session& session, const ObjectRef& object, Duration timeout,
                     const std::function<Result<bool>(const json::Value* object)>& done) {
  const SteadyTime deadline = session.clock().Steady() + timeout;
  const bool limited = timeout > Duration::zero();
  for (;;) {
    FLYBALL_ASSIGN(const json::Value list, session.Call(ListOne(object)));
    FLYBALL_ASSIGN(bool finished, done(list["items"].empty() ? nullptr : &list["items"].as_array()[0]));
    if (finished) return {};
    RestRequest request = ListOne(object);
    request.Query("watch", "true");
    request.Query("resourceVersion", std::string(list["metadata"]["resourceVersion"].string_or("")));
    TimedWatch watch(session, std::move(request), limited, deadline);
    while (auto event = watch.Next()) {
      if (event->type == WatchEventType::kError) break;
      if (event->type == WatchEventType::kBookmark) continue;
      FLYBALL_ASSIGN(finished, done(event->type == WatchEventType::kDeleted ? nullptr : &event->object));
      if (finished) return {};
    }
    if (limited && session.clock().Steady() >= deadline) return Unexpected(TimedOut(object));
    session.Pause(kReconnectDelay);
  }
}

Status WaitUntilGone(Session& session, const ObjectRef& object, const std::string& uid, Duration timeout) {
  return WaitForObject(session, object, timeout, [&](const json::Value* now) -> Result<bool> {
    return !now || (!uid.empty() && (*now)["metadata"]["uid"].string_or("") != uid);
  });
}

Result<std::string> PropagationPolicy(const std::string& cascade) {
  if (cascade == "background" || cascade == "true") return std::string("Background");
  if (cascade == "foreground") return std::string("Foreground");
  if (cascade == "orphan" || cascade == "false") return std::string("Orphan");
  return Unexpected(LocalError("invalid cascade value (" + cascade +
                               "). Must be \"background\", \"foreground\", or \"orphan\""));
}

}  // namespace flyball::cli
