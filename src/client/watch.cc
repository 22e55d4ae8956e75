#include "client/watch.h"

#include "client/response_error.h"
#include "json/parse_without.h"

namespace flyball {
namespace {

Result<WatchEventType> TypeFromName(std::string_view name) {
  if (name == "ADDED") return WatchEventType::kAdded;
  if (name == "MODIFIED") return WatchEventType::kModified;
  if (name == "DELETED") return WatchEventType::kDeleted;
  if (name == "BOOKMARK") return WatchEventType::kBookmark;
  if (name == "ERROR") return WatchEventType::kError;
  return Unexpected(BadRequest("watch event of unknown type \"" + std::string(name) + "\""));
}

// Turns the bytes of an answer into events of a WatchSink.
class FrameSink final : public net::ResponseSink {
 public:
  explicit FrameSink(std::shared_ptr<WatchSink> sink) : sink_(std::move(sink)) {}

  void OnHead(int status, const net::Headers& headers) override {
    status_ = status;
    headers_ = headers;
  }
  void OnData(std::string_view data) override {
    if (done_) return;
    if (status_ >= 400) {
      error_body_.append(data);
      return;
    }
    Status bad;
    const bool good = lines_.Feed(data, [&](std::string_view line) {
      auto event = ParseWatchEvent(line);
      if (event)
        sink_->OnEvent(std::move(*event));
      else
        bad = Unexpected(event.error());
      return event.has_value();
    });
    if (!good) Finish(bad ? Status(Unexpected(BadRequest("watch event too long"))) : bad);
  }
  void OnEnd() override {
    if (status_ >= 400)
      Finish(Unexpected(ErrorFromResponse(status_, headers_, error_body_)));
    else if (lines_.has_partial())
      Finish(Unexpected(Error(Reason::kConnection, "watch stream cut inside an event")));
    else
      Finish({});
  }
  void OnError(const Error& error) override { Finish(Unexpected(error)); }

 private:
  void Finish(const Status& status) {
    if (done_) return;
    done_ = true;
    sink_->OnDone(status);
  }

  const std::shared_ptr<WatchSink> sink_;
  int status_ = 0;
  net::Headers headers_;
  std::string error_body_;
  LineSplitter lines_;
  bool done_ = false;
};

}  // namespace

Result<WatchEvent> ParseWatchEvent(std::string_view frame, std::span<const std::string_view> leave_out) {
  auto parsed = json::ParseWithout(leave_out, frame);
  if (!parsed) return Unexpected(parsed.error().Annotate("watch event"));
  auto type = TypeFromName((*parsed)["type"].string_or(""));
  if (!type) return Unexpected(type.error());
  json::Value* object = parsed->Find("object");
  if (!object || !object->is_object()) return Unexpected(BadRequest("watch event without an object"));
  return WatchEvent{*type, std::move(*object)};
}

std::unique_ptr<WatchStream> StartWatch(RestClient& client, RestRequest request,
                                        std::shared_ptr<WatchSink> sink) {
  auto call = client.Stream(std::move(request), std::make_shared<FrameSink>(std::move(sink)));
  return std::make_unique<WatchStream>(std::move(call));
}

struct WatchReader::Shared final : WatchSink {
  void OnEvent(WatchEvent event) override {
    MutexLock lock(mu);
    events.push_back(std::move(event));
    changed.NotifyAll();
    if (events.size() < kBuffer || paused || !stream) return;
    paused = true;
    stream->Pause();
  }
  void OnDone(const Status& s) override {
    MutexLock lock(mu);
    status = s;
    ended = true;
    changed.NotifyAll();
  }

  mutable Mutex mu;
  CondVar changed;
  std::deque<WatchEvent> events FLYBALL_GUARDED_BY(mu);
  bool paused FLYBALL_GUARDED_BY(mu) = false;
  bool ended FLYBALL_GUARDED_BY(mu) = false;
  Status status FLYBALL_GUARDED_BY(mu);
  std::unique_ptr<WatchStream> stream FLYBALL_GUARDED_BY(mu);
};

std::unique_ptr<WatchReader> WatchReader::Start(RestClient& client, RestRequest request) {
  auto shared = std::make_shared<Shared>();
  auto stream = StartWatch(client, std::move(request), shared);
  {
    MutexLock lock(shared->mu);
    shared->stream = std::move(stream);
  }
  return std::unique_ptr<WatchReader>(new WatchReader(std::move(shared)));
}

WatchReader::~WatchReader() {
  Cancel();
}

std::optional<WatchEvent> WatchReader::Next() {
  MutexLock lock(shared_->mu);
  while (shared_->events.empty() && !shared_->ended) shared_->changed.Wait(shared_->mu);
  if (shared_->events.empty()) return std::nullopt;
  WatchEvent event = std::move(shared_->events.front());
  shared_->events.pop_front();
  if (shared_->paused && shared_->events.size() <= kBuffer / 2) {
    shared_->paused = false;
    shared_->stream->Resume();
  }
  return event;
}

Status WatchReader::status() const {
  MutexLock lock(shared_->mu);
  return shared_->status;
}

void WatchReader::Cancel() {
  std::unique_ptr<WatchStream> stream;
  {
    MutexLock lock(shared_->mu);
    stream = std::move(shared_->stream);
    shared_->ended = true;
    shared_->changed.NotifyAll();
  }
  // Outside the lock: the sink may be told at once.
  stream.reset();
}

}  // namespace flyball
