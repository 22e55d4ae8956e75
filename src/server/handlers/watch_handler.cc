// WATCH: one coroutine a stream.
//
// Flow: subscribe (from now, or from a version) → head → initial objects → events as they come → end.
// Guarantees: nothing is sent twice or left out between the initial objects and the events. The stream ends
// at the time the client asked for, or a random 30 to 60 minutes. Caveats: a client that reads too slowly is
// cut off (Subscriber::kMaxQueued) and must list again.
#include "api/wire/status.h"
#include "json/json.h"
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

Bytes ErrorEvent(const Error& error) {
  json::Object event{{"type", "ERROR"}, {"object", api::StatusFromError(error)}};
  return MakeBytes(json::Write(json::Value(std::move(event))) + "\n");
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

Result<Subscription> Subscribe(const ServedResource& resource, const RequestInfo& info,
                               const ListOptions& options) {
  ObjectFilter filter = FilterOf(info, options);
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

Task<void> SendInitial(net::ResponseStream& stream, Presenter& presenter, const Subscription& subscription,
                       const ListOptions& options, Executor& executor) {
  for (const auto& object : subscription.initial) {
    if (!stream.Write(presenter.Initial(*object))) co_return;
    if (IsFull(stream)) co_await Drain(stream, executor);
  }
  if (options.send_initial_events.value_or(false) && options.allow_bookmarks)
    stream.Write(presenter.Bookmark(subscription.revision, true));
}

Task<void> SendChanges(net::ResponseStream& stream, Presenter& presenter, Subscriber& subscriber,
                       bool bookmarks) {
  std::vector<Subscriber::Item> items;
  while (co_await TakeItems(stream.executor(), subscriber, items)) {
    for (const auto& item : items) {
      if (!item.change && !bookmarks) continue;
      if (!stream.Write(item.change ? presenter.Event(item) : presenter.Bookmark(item.revision, false)))
        co_return;
      if (IsFull(stream)) co_await Drain(stream, stream.executor());
    }
  }
}

}  // namespace

Task<Status> HandleWatch(ServerState& state, RequestScope& scope, const net::Request& request,
                         std::shared_ptr<net::ResponseStream> stream) {
  const auto accept = request.headers.Get("accept");
  FLYBALL_CO_ASSIGN(const AnswerFormat format,
                    scope.resource->custom ? NegotiateText(accept, true) : NegotiateObject(accept, true));
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
  auto subscription = Subscribe(*scope.resource, scope.info, options);
  if (!subscription) {
    stream->Begin(200, std::move(headers));
    stream->Write(presenter.Framed(ErrorEvent(subscription.error())));
    stream->End();
    co_return Status();
  }
  const auto subscriber = subscription->subscriber;
  const TimedClose timed_close(stream->executor(), WatchTime(options, state.random), subscriber);
  stream->OnClose([subscriber] { subscriber->Close(); });
  stream->Begin(200, std::move(headers));
  co_await SendInitial(*stream, presenter, *subscription, options, scope.executor);
  subscription->initial.clear();
  if (large) {
    scope.executor = stream->executor();
    co_await ResumeOn(scope.executor);
  }
  co_await SendChanges(*stream, presenter, *subscriber, options.allow_bookmarks);
  stream->End();
  co_return Status();
}

}  // namespace flyball::server
