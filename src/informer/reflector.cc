#include "informer/reflector.h"

#include <algorithm>
#include <array>
#include <utility>

#include "api/wire/status.h"
#include "base/observe/log.h"
#include "client/response_error.h"
#include "informer/reflector_machine.h"
#include "json/json.h"
#include "json/parse_without.h"

namespace flyball {
namespace {

constexpr std::string_view kInitialEventsEnd = "k8s.io/initial-events-end";

bool IsExpired(const Error& error) {
  return error.Is(Reason::kExpired) || error.Is(Reason::kGone) || error.code() == 410;
}

// The server (another replica, or one restored from a backup) is behind the version we asked for.
bool IsTooLarge(const Error& error) {
  return error.HasCause("ResourceVersionTooLarge") ||
         error.message().find("Too large resource version") != std::string::npos;
}

// The watch can resume from the same version: our state is not in doubt.
bool KeepsVersion(const Error& error) {
  return error.Is(Reason::kConnection) || error.Is(Reason::kTooManyRequests) || error.code() >= 500;
}

}  // namespace

Reflector::Reflector(Client client, const ObjectType& type, ReflectorOptions options, DeltaQueue& queue)
    : machine_(std::make_shared<Machine>(std::move(client), type, std::move(options), queue)) {}

Reflector::~Reflector() {
  if (!stop_called_) Stop();
}

void Reflector::Start() {
  machine_->Start();
}
void Reflector::Stop(Closure stopped) {
  stop_called_ = true;
  machine_->Stop(std::move(stopped));
}
void Reflector::ResumeReading() {
  machine_->ResumeReading();
}
Reflector::State Reflector::state() const {
  return machine_->state();
}
std::string Reflector::last_resource_version() const {
  return machine_->last_resource_version();
}
std::size_t Reflector::lists() const {
  return machine_->lists();
}
std::size_t Reflector::watches() const {
  return machine_->watches();
}

Reflector::Machine::Machine(Client client, const ObjectType& type, ReflectorOptions options,
                            DeltaQueue& queue)
    : client_(std::move(client)),
      type_(type),
      options_(std::move(options)),
      queue_(&queue),
      strand_(client_.runtime().executor) {}

// The executor may have stopped before Stop was run, and an open stream and its call keep each other alive.
Reflector::Machine::~Machine() {
  if (stream_) stream_->Cancel();
}

void Reflector::Machine::Start() {
  strand_.Post([self = shared_from_this()] {
    if (self->state_ == State::kIdle) self->Relist();
  });
}

void Reflector::Machine::Stop(Closure stopped) {
  strand_.Post([self = shared_from_this(), stopped = std::move(stopped)] {
    self->Enter(State::kStopped);
    self->queue_ = nullptr;
    if (stopped) stopped();
  });
}

void Reflector::Machine::ResumeReading() {
  strand_.Post([self = shared_from_this()] {
    if (std::exchange(self->held_back_, false) && self->stream_) self->OnStream(self->stream_);
  });
}

std::string Reflector::Machine::last_resource_version() const {
  MutexLock lock(mu_);
  return version_;
}

void Reflector::Machine::SetVersion(std::string_view version) {
  MutexLock lock(mu_);
  version_ = version;
}

// --- states ----------------------------------------------------------------------------------------------

void Reflector::Machine::Enter(State state) {
  if (state_ == State::kStopped) return;
  Close();
  state_ = state;
  switch (state) {
    case State::kListing:
      return BeginList();
    case State::kStreamingList:
      return BeginStreamingList();
    case State::kWatching:
      return BeginWatch();
    case State::kIdle:
    case State::kWaiting:
    case State::kStopped:
      return;
  }
}

void Reflector::Machine::Relist() {
  continue_token_.clear();
  items_.clear();
  Enter(options_.streaming_list && !streaming_refused_ ? State::kStreamingList : State::kListing);
}

void Reflector::Machine::Retry(State state) {
  Enter(State::kWaiting);
  if (state_ == State::kStopped) return;
  timer_ = strand_.PostAfter(NextBackoff(), [weak = weak_from_this(), state] {
    const auto self = weak.lock();
    if (!self || self->state_ != State::kWaiting) return;
    self->timer_ = kNoTimer;
    if (state == State::kWatching)
      self->Enter(state);
    else
      self->Relist();
  });
}

Duration Reflector::Machine::NextBackoff() {
  const SteadyTime now = client_.runtime().clock().Steady();
  if (now - backoff_used_ > kBackoffReset) backoff_ = kBackoffFirst;
  backoff_used_ = now;
  const Duration wait =
      backoff_ + std::chrono::duration_cast<Duration>(backoff_ * client_.runtime().random.Unit());
  backoff_ = std::min(backoff_ * 2, kBackoffMax);
  return wait;
}

void Reflector::Machine::Close() {
  if (stream_) std::exchange(stream_, nullptr)->Cancel();
  if (timer_ != kNoTimer) strand_.Cancel(std::exchange(timer_, kNoTimer));
  held_back_ = false;
  lines_ = {};
  list_decoder_ = {};
  error_body_.clear();
  initial_.Clear();
  stream_error_.reset();
}

// --- requests --------------------------------------------------------------------------------------------

RestRequest Reflector::Machine::BaseRequest(std::string_view form) const {
  RestRequest request;
  request.path = options_.kind.Path(options_.ns);
  request.Query("labelSelector", options_.label_selector);
  request.Query("fieldSelector", options_.field_selector);
  if (type_.form == ObjectForm::kMetadataOnly)
    request.accept = "application/json;as=" + std::string(form) + ";v=v1;g=meta.k8s.io,application/json";
  return request;
}

void Reflector::Machine::AddWatchQuery(RestRequest& request) const {
  request.Query("watch", "true");
  request.Query("allowWatchBookmarks", "true");
  // Between five and ten minutes, so that clients that started together drift apart.
  request.Query("timeoutSeconds", std::to_string(300 + client_.runtime().random.Below(300)));
}

void Reflector::Machine::Open(RestRequest request) {
  const auto weak = weak_from_this();
  auto stream = std::make_shared<ReflectorStream>([weak] {
    if (const auto self = weak.lock())
      self->strand_.Post([weak] {
        if (const auto alive = weak.lock(); alive && alive->stream_) alive->OnStream(alive->stream_);
      });
  });
  stream_ = stream;
  stream->Start(client_.rest(), std::move(request), stream);
}

void Reflector::Machine::BeginList() {
  RestRequest request = BaseRequest("PartialObjectMetadataList");
  if (continue_token_.empty()) {
    ++lists_;
    const std::string version = last_resource_version();
    list_version_ = versionless_next_ ? "" : version.empty() ? "0" : version;
    versionless_next_ = false;
    items_.clear();
    request.Query("resourceVersion", list_version_);
  } else {
    request.Query("continue", continue_token_);
  }
  // A page at a specific version would mean exactly that version, which may be gone. Request the whole list
  // instead.
  if (list_version_.empty() || list_version_ == "0") request.Query("limit", std::to_string(kPageSize));
  Open(std::move(request));
}

void Reflector::Machine::BeginStreamingList() {
  ++watches_;
  RestRequest request = BaseRequest("PartialObjectMetadata");
  AddWatchQuery(request);
  request.Query("sendInitialEvents", "true");
  request.Query("resourceVersionMatch", "NotOlderThan");
  list_version_ = std::exchange(versionless_next_, false) ? "" : last_resource_version();
  request.Query("resourceVersion", list_version_);
  watch_began_ = client_.runtime().clock().Steady();
  saw_event_ = false;
  timer_ = strand_.PostAfter(kInitialEventsPatience, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || self->state_ != State::kStreamingList) return;
    self->timer_ = kNoTimer;
    self->streaming_refused_ = true;
    self->Relist();
  });
  Open(std::move(request));
}

void Reflector::Machine::BeginWatch() {
  ++watches_;
  RestRequest request = BaseRequest("PartialObjectMetadata");
  AddWatchQuery(request);
  request.Query("resourceVersion", last_resource_version());
  watch_began_ = client_.runtime().clock().Steady();
  saw_event_ = false;
  Open(std::move(request));
}

// --- answers ---------------------------------------------------------------------------------------------

void Reflector::Machine::OnStream(const std::shared_ptr<ReflectorStream>& stream) {
  if (stream != stream_ || !queue_) return;
  if (queue_->size() > DeltaQueue::kHighWater) {
    held_back_ = true;
    return;
  }
  auto taken = stream->Take();
  if (state_ == State::kListing)
    OnListData(std::move(taken));
  else
    OnWatchData(std::move(taken));
}

void Reflector::Machine::OnListData(ReflectorStream::Taken taken) {
  if (taken.status >= 400) {
    error_body_ += taken.data;
    if (!taken.ended) return;
    if (taken.error) return OnListError(*taken.error);
    return OnListError(ErrorFromResponse(taken.status, taken.headers, error_body_));
  }
  if (!list_decoder_.Feed(taken.data, [this](std::string_view text) { return AddListItem(text); }))
    return OnListError(BadRequest("the answer is not a list"));
  if (!taken.ended) return;
  if (taken.error) return OnListError(*taken.error);
  if (!list_decoder_.complete()) return OnListError(Error(Reason::kConnection, "the list was cut"));
  OnListEnd();
}

bool Reflector::Machine::AddListItem(std::string_view text) {
  static constexpr std::array<std::string_view, 1> kManaged = {"metadata.managedFields"};
  auto value = options_.drop_managed_fields ? json::ParseWithout(kManaged, text) : json::Parse(text);
  if (!value) return false;
  if (ObjectPtr object = Decode(std::move(*value))) {
    std::string key = KeyOf(type_.meta(object.get()));
    items_.push_back({std::move(key), std::move(object)});
  }
  return true;
}

void Reflector::Machine::OnListEnd() {
  auto parsed = json::Parse(list_decoder_.metadata());
  const json::Value meta = parsed ? std::move(*parsed) : json::Value();
  continue_token_ = meta["continue"].string_or("");
  if (!continue_token_.empty()) return Enter(State::kListing);
  const std::string version(meta["resourceVersion"].string_or(""));
  SetVersion(version);
  queue_->Replace(std::move(items_), version);
  items_ = {};
  refusal_logged_ = false;
  Enter(State::kWatching);
}

// Who may not read a kind works on nothing: that must be seen, once. Everything else passes.
void Reflector::Machine::LogFailure(std::string_view what, const Error& error) {
  const bool refused = error.Is(Reason::kForbidden) || error.Is(Reason::kUnauthorized);
  const bool news = refused && !std::exchange(refusal_logged_, true);
  log::Write(news ? log::Level::kWarning : log::Level::kDebug, what,
             {{"kind", options_.kind.GroupResource()}, {"error", error.ToString()}});
}

void Reflector::Machine::OnListError(const Error& error) {
  LogFailure("list failed", error);
  const bool version_is_bad = IsExpired(error) || IsTooLarge(error);
  const bool had_version = !list_version_.empty() || !continue_token_.empty();
  if (!version_is_bad) return Retry(State::kListing);
  versionless_next_ = true;
  if (had_version)
    Relist();
  else
    Retry(State::kListing);
}

void Reflector::Machine::OnWatchData(ReflectorStream::Taken taken) {
  if (taken.status >= 400) {
    error_body_ += taken.data;
    if (!taken.ended) return;
    if (taken.error) return OnWatchError(*taken.error);
    return OnWatchError(ErrorFromResponse(taken.status, taken.headers, error_body_));
  }
  const bool good = lines_.Feed(taken.data, [this](std::string_view line) { return OnFrame(line); });
  if (stream_error_) return OnWatchError(*std::exchange(stream_error_, std::nullopt));
  if (!good) return OnWatchEnd(BadRequest("unreadable watch event"));
  if (taken.ended) OnWatchEnd(taken.error);
}

bool Reflector::Machine::OnFrame(std::string_view frame) {
  static constexpr std::array<std::string_view, 1> kManaged = {"object.metadata.managedFields"};
  auto event = options_.drop_managed_fields ? ParseWatchEvent(frame, kManaged) : ParseWatchEvent(frame);
  if (event) return OnEvent(std::move(*event));
  log::Warning("unreadable watch event",
               {{"kind", options_.kind.GroupResource()}, {"error", event.error().ToString()}});
  return false;
}

bool Reflector::Machine::OnEvent(WatchEvent event) {
  if (event.type == WatchEventType::kError) {
    stream_error_ = api::ErrorFromStatus(event.object, 500);
    return false;
  }
  saw_event_ = true;
  if (state_ == State::kStreamingList) {
    OnInitialEvent(std::move(event));
    return true;
  }
  const std::string version(std::as_const(event.object)["metadata"]["resourceVersion"].string_or(""));
  if (event.type == WatchEventType::kBookmark) {
    SetVersion(version);
    queue_->Bookmark(version);
    return true;
  }
  if (ObjectPtr object = Decode(std::move(event.object))) {
    std::string key = KeyOf(type_.meta(object.get()));
    if (event.type == WatchEventType::kAdded)
      queue_->Add(std::move(key), std::move(object));
    else if (event.type == WatchEventType::kModified)
      queue_->Update(std::move(key), std::move(object));
    else
      queue_->Delete(std::move(key), std::move(object));
  }
  SetVersion(version);
  return true;
}

void Reflector::Machine::OnInitialEvent(WatchEvent event) {
  const json::Value& meta = std::as_const(event.object)["metadata"];
  if (event.type == WatchEventType::kBookmark) {
    SetVersion(meta["resourceVersion"].string_or(""));
    if (meta["annotations"][kInitialEventsEnd].string_or("") == "true") FinishInitialEvents();
    return;
  }
  ObjectPtr object = Decode(std::move(event.object));
  if (!object) return;
  std::string key = KeyOf(type_.meta(object.get()));
  if (event.type == WatchEventType::kDeleted)
    initial_.Remove(key);
  else
    initial_.Put(std::move(key), std::move(object));
}

// The same stream continues as the watch.
void Reflector::Machine::FinishInitialEvents() {
  if (timer_ != kNoTimer) strand_.Cancel(std::exchange(timer_, kNoTimer));
  queue_->Replace(initial_.Take(), last_resource_version());
  state_ = State::kWatching;
}

void Reflector::Machine::OnWatchEnd(const std::optional<Error>& error) {
  if (state_ == State::kStreamingList)
    return OnWatchError(error.value_or(Error(Reason::kConnection, "stream cut")));
  const bool short_watch = client_.runtime().clock().Steady() - watch_began_ < kShortestWatch && !saw_event_;
  if (!short_watch) return Enter(State::kWatching);
  if (error && KeepsVersion(*error)) return Retry(State::kWatching);
  Retry(State::kListing);
}

void Reflector::Machine::OnWatchError(const Error& error) {
  LogFailure("watch failed", error);
  if (state_ == State::kStreamingList) {
    if (IsExpired(error) || IsTooLarge(error)) {
      versionless_next_ = true;
      return list_version_.empty() ? Retry(State::kListing) : Relist();
    }
    if (!KeepsVersion(error)) {
      streaming_refused_ = true;
      return Relist();
    }
    return Retry(State::kListing);
  }
  if (IsExpired(error)) return Relist();
  Retry(KeepsVersion(error) ? State::kWatching : State::kListing);
}

ObjectPtr Reflector::Machine::Decode(json::Value value) {
  if (type_.needs_type_meta && !value.Find("kind")) SetTypeMeta(value, options_.kind);
  auto object = type_.decode(std::move(value));
  if (!object) {
    log::Warning("object skipped",
                 {{"kind", options_.kind.GroupResource()}, {"error", object.error().ToString()}});
    return nullptr;
  }
  if (options_.transform) options_.transform(object->get());
  return std::move(*object);
}

}  // namespace flyball
