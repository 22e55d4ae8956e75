// WATCH: one coroutine a stream.
//
// Flow: subscribe (from now, or from a version) → head → initial objects → events as they come → end.
// Guarantees: nothing is sent twice or left out between the initial objects and the events. The stream ends
// at the time the client asked for, or a random 30 to 60 minutes. Caveats: a client that reads too slowly is
// cut off (Subscriber::kMaxQueued) and must list again. A client that asks for a WebSocket gets each event as
// a message: text, or binary for protobuf.
#include "base/values/ascii.h"
#include "server/auth/bearer_token.h"
#include "server/catalog/served_forms.h"
#include "server/handlers/read_handlers.h"
#include "server/request/answer.h"
#include "server/request/api_errors.h"
#include "server/request/list_options.h"
#include "server/request/presentation.h"
#include "server/request/work_size.h"

namespace flyball::server {
namespace {

constexpr std::int64_t kMinWatchSeconds = 1800;  // upstream: --min-request-timeout

Duration WatchTime(const ListOptions& options, Random& random) {
  if (options.timeout_seconds && *options.timeout_seconds > 0)
    return std::chrono::seconds(*options.timeout_seconds);
  return std::chrono::seconds(kMinWatchSeconds + static_cast<std::int64_t>(random.Below(kMinWatchSeconds)));
}

// Closes the subscriber after a time, unless the watch has ended before, however it ends.
class TimedClose {
 public:
  TimedClose(Executor& executor, Duration time, const SubscriberPtr& subscriber)
      : executor_(executor), timer_(executor.PostAfter(time, [subscriber] { subscriber->Close(); })) {}
  ~TimedClose() { executor_.Cancel(timer_); }
  TimedClose(const TimedClose&) = delete;
  TimedClose& operator=(const TimedClose&) = delete;

 private:
  Executor& executor_;
  const TimerId timer_;
};

Result<Subscription> Subscribe(const ServedResource& resource, ObjectFilter filter,
                               const ListOptions& options) {
  // What another version of an object looks like is not known to the cache.
  if (resource.selects_converted) filter = filter.ByName();
  const auto version = options.resource_version.value_or(0);
  if (options.send_initial_events.value_or(version == 0))
    return resource.cache->SubscribeNow(std::move(filter));
  if (version == 0) {  // sendInitialEvents=false: from now on, without what is there
    auto subscription = resource.cache->SubscribeNow(std::move(filter));
    subscription.initial.clear();
    return subscription;
  }
  return resource.cache->SubscribeAfter(std::move(filter), version);
}

// Waits until there is something to take; false once the subscription is over and everything was taken.
Task<bool> TakeItems(Executor& executor, Subscriber& subscriber, std::vector<Subscriber::Item>& items) {
  for (;;) {
    auto start = [&](UniqueFunction<void(bool)> done) {
      auto shared = std::make_shared<UniqueFunction<void(bool)>>(std::move(done));
      if (subscriber.Take(items, [shared] { (*shared)(true); })) (*shared)(true);
    };
    auto ready = Callback<bool>(executor, std::move(start));
    co_await ready;
    if (!items.empty()) co_return true;
    if (subscriber.closed()) co_return false;
  }
}

// Where events go.
class EventSink {
 public:
  virtual ~EventSink() = default;
  // False once the client is gone.
  virtual bool Write(Bytes event) = 0;
  virtual std::size_t pending_bytes() const = 0;
  virtual void OnDrained(std::size_t low, Closure fn) = 0;
  virtual void End() = 0;
};

// The body of a response.
class BodySink final : public EventSink {
 public:
  explicit BodySink(std::shared_ptr<net::ResponseStream> stream) : stream_(std::move(stream)) {}
  bool Write(Bytes event) override { return stream_->Write(std::move(event)); }
  std::size_t pending_bytes() const override { return stream_->pending_bytes(); }
  void OnDrained(std::size_t low, Closure fn) override { stream_->OnDrained(low, std::move(fn)); }
  void End() override { stream_->End(); }

 private:
  const std::shared_ptr<net::ResponseStream> stream_;
};

// The messages of a WebSocket, which need no frame around an event.
class MessageSink final : public EventSink {
 public:
  MessageSink(std::shared_ptr<net::WebSocket> socket, bool protobuf)
      : socket_(std::move(socket)), protobuf_(protobuf) {}
  bool Write(Bytes event) override {
    if (!protobuf_) return socket_->Send(net::WebSocket::Type::kText, *event);
    return socket_->Send(net::WebSocket::Type::kBinary, event->substr(kFrameHead));
  }
  std::size_t pending_bytes() const override { return socket_->pending_bytes(); }
  void OnDrained(std::size_t low, Closure fn) override { socket_->OnDrained(low, std::move(fn)); }
  void End() override { socket_->Close(kNormalClosure, ""); }

 private:
  static constexpr std::size_t kFrameHead = 4;  // the length of a protobuf event
  static constexpr int kNormalClosure = 1000;
  const std::shared_ptr<net::WebSocket> socket_;
  const bool protobuf_;
};

// The first protocol that is offered, if any; a token is none. Events look the same in all of them (upstream:
// WatchServer.HandleWS).
std::string OfferedProtocol(const net::Request& request) {
  const std::string offered = WithoutTokens(request.headers.Get("sec-websocket-protocol"));
  return std::string(Trimmed(offered.substr(0, offered.find(','))));
}

// Begins the response. `ended` is called once the client is gone.
Result<std::unique_ptr<EventSink>> BeginEvents(const std::shared_ptr<net::ResponseStream>& stream,
                                               const net::Request& request, net::Headers headers,
                                               bool protobuf, Closure ended) {
  std::unique_ptr<EventSink> sink;
  if (!IsWebSocketUpgrade(request)) {
    if (ended) stream->OnClose(std::move(ended));
    stream->Begin(200, std::move(headers));
    sink = std::make_unique<BodySink>(stream);
    return sink;
  }
  FLYBALL_ASSIGN(auto socket, stream->AcceptWebSocket(OfferedProtocol(request)));
  socket->OnMessage([](net::WebSocket::Type, const std::string&) {});  // the client has nothing to say
  if (ended) socket->OnClose(std::move(ended));
  sink = std::make_unique<MessageSink>(std::move(socket), protobuf);
  return sink;
}

// Waits until most has been sent, or the client is gone, if the sink is full.
Task<void> KeepUp(EventSink& sink, Executor& executor) {
  if (sink.pending_bytes() <= kHighWater) co_return;
  auto start = [&](UniqueFunction<void(bool)> done) {
    auto shared = std::make_shared<UniqueFunction<void(bool)>>(std::move(done));
    sink.OnDrained(kLowWater, [shared] { (*shared)(true); });
  };
  auto drained = Callback<bool>(executor, std::move(start));
  co_await drained;
}

// One watch that has begun.
struct Watching {
  EventSink& sink;
  const ServedResource& resource;
  const ObjectFilter filter;
  Presenter& presenter;
  Subscriber& subscriber;
  const bool bookmarks;
};

Task<Status> SendInitial(Watching& watch, Subscription& subscription, bool initial_events,
                         Executor& executor) {
  FLYBALL_CO_ASSIGN(const auto objects,
                    co_await ServedForms(watch.resource, std::move(subscription.initial), executor));
  for (const auto& object : objects) {
    if (watch.resource.selects_converted && !watch.filter.Accepts(*object)) continue;
    if (!watch.sink.Write(watch.presenter.Initial(*object))) co_return Status();
    co_await KeepUp(watch.sink, executor);
  }
  if (initial_events && watch.bookmarks)
    watch.sink.Write(watch.presenter.Bookmark(subscription.revision, true));
  co_return Status();
}

// What a change is to a watch, in the version that is watched.
struct ServedChange {
  ObjectPtr object, previous;  // null: absent, or not selected
};

// Changes as their objects look in this version; bookmarks have neither object.
Task<Result<std::vector<ServedChange>>> ServedChanges(Watching& watch,
                                                      const std::vector<Subscriber::Item>& items,
                                                      Executor& executor) {
  std::vector<ObjectPtr> objects;
  for (const auto& item : items)
    for (const auto* object :
         {item.change ? &item.change->object : nullptr, item.change ? &item.change->previous : nullptr})
      if (object != nullptr && *object) objects.push_back(*object);
  auto converting = ServedForms(watch.resource, std::move(objects), executor);
  FLYBALL_CO_ASSIGN(const std::vector<ObjectPtr> forms, co_await std::move(converting));
  std::vector<ServedChange> changes;
  std::size_t next = 0;
  const auto take = [&](const ObjectPtr& original) {
    if (!original) return ObjectPtr();
    const ObjectPtr& form = forms[next++];
    return watch.filter.Accepts(*form) ? form : ObjectPtr();
  };
  for (const auto& item : items) {
    ServedChange change;
    if (item.change) change.object = take(item.change->object);
    if (item.change) change.previous = take(item.change->previous);
    changes.push_back(std::move(change));
  }
  co_return changes;
}

// The line of a change that was selected after conversion; null if it does not concern the watch.
Bytes ServedEvent(Presenter& presenter, const Subscriber::Item& item, const ServedChange& change) {
  const auto revision = item.change->revision;
  if (change.object)
    return presenter.Event(change.previous ? ChangeType::kModified : ChangeType::kAdded, *change.object,
                           revision);
  if (change.previous) return presenter.Event(ChangeType::kDeleted, *change.previous, revision);
  return nullptr;
}

// False once the client is gone.
Task<Result<bool>> SendItems(Watching& watch, const std::vector<Subscriber::Item>& items,
                             Executor& executor) {
  std::vector<ServedChange> changes;
  const bool converted = watch.resource.selects_converted;
  if (converted) {
    FLYBALL_CO_ASSIGN(changes, co_await ServedChanges(watch, items, executor));
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto& item = items[i];
    if (!item.change && !watch.bookmarks) continue;
    Bytes line = !item.change ? watch.presenter.Bookmark(item.revision, false)
                 : converted  ? ServedEvent(watch.presenter, item, changes[i])
                              : watch.presenter.Event(item);
    if (line && !watch.sink.Write(std::move(line))) co_return false;
    co_await KeepUp(watch.sink, executor);
  }
  co_return true;
}

// An error if what there was to send could not be converted.
Task<Status> SendChanges(Watching& watch, Executor& executor) {
  std::vector<Subscriber::Item> items;
  while (co_await TakeItems(executor, watch.subscriber, items)) {
    watch.presenter.set_now(executor.clock().Now());
    FLYBALL_CO_ASSIGN(const bool there, co_await SendItems(watch, items, executor));
    if (!there) co_return Status();
  }
  co_return Status();
}

}  // namespace

Task<Status> HandleWatch(ServerState& state, RequestScope& scope, const net::Request& request,
                         std::shared_ptr<net::ResponseStream> stream) {
  FLYBALL_CO_TRY(CheckWebSocketOrigin(request, OtherOrigins::kLoopback));
  const auto accept = request.headers.Get("accept");
  FLYBALL_CO_ASSIGN(const AnswerFormat format, scope.resource->custom ? NegotiateText(accept, true)
                                                                      : NegotiateObject(accept, true, true));
  if (format.yaml)
    co_return Unexpected(Error(Reason::kNotAcceptable, 406,
                               "only the following media types are accepted: application/json;stream=watch, "
                               "application/vnd.kubernetes.protobuf;stream=watch"));
  FLYBALL_CO_ASSIGN(const ListOptions options, ParseListOptions(scope.info, *scope.resource->kind, true));
  Presenter presenter(scope.resource, format, scope.now, scope.info.query.Get("includeObject"));
  net::Headers headers;
  headers.Set("content-type",
              format.protobuf ? "application/vnd.kubernetes.protobuf;stream=watch" : "application/json");
  headers.Set("cache-control", "no-cache, private");
  AddScopeHeaders(scope, headers);

  // What there is at the start may be much: finding and encoding it is a worker's business.
  const bool large = EstimateWork(scope.info, request, scope.resource.get()).IsLarge();
  if (large) co_await state.ContinueOnWorker(scope);
  ObjectFilter filter = FilterOf(scope.info, options);
  auto subscription = Subscribe(*scope.resource, filter, options);
  if (!subscription) {
    FLYBALL_CO_ASSIGN(const auto refusal,
                      BeginEvents(stream, request, std::move(headers), format.protobuf, nullptr));
    refusal->Write(presenter.ErrorEvent(subscription.error()));
    refusal->End();
    co_return Status();
  }
  const auto subscriber = subscription->subscriber;
  const TimedClose timed_close(stream->executor(), WatchTime(options, state.random), subscriber);
  FLYBALL_CO_ASSIGN(const auto sink, BeginEvents(stream, request, std::move(headers), format.protobuf,
                                                 [subscriber] { subscriber->Close(); }));
  Watching watch{*sink, *scope.resource, std::move(filter), presenter, *subscriber, options.allow_bookmarks};
  Status sent =
      co_await SendInitial(watch, *subscription, options.send_initial_events.value_or(false), scope.executor);
  subscription->initial.clear();
  if (large) {
    scope.executor = stream->executor();
    co_await ResumeOn(scope.executor);
  }
  if (sent) sent = co_await SendChanges(watch, stream->executor());
  if (!sent) sink->Write(presenter.ErrorEvent(sent.error()));
  sink->End();
  co_return Status();
}

}  // namespace flyball::server
