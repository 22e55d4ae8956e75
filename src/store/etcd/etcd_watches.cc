#include "store/etcd/etcd_watches.h"

#include <algorithm>

#include "base/observe/log.h"
#include "store/log/history.h"

namespace flyball::store::etcd {
namespace {

// As often as kube-apiserver asks (upstream: progressRequestPeriod).
constexpr Duration kProgressPeriod = std::chrono::milliseconds(100);
// A stream that owes a change for so long is made again elsewhere.
constexpr Duration kStreamPatience = std::chrono::seconds(3);
// Then the caller is told that nothing is known.
constexpr Duration kCallerPatience = std::chrono::seconds(15);
constexpr Duration kLongestReopenPause = std::chrono::seconds(1);

Error NotDelivered() {
  return Error(Reason::kServerTimeout, "etcd's watch is silent: it is not known what has been committed");
}

}  // namespace

class EtcdWatches::StreamSink final : public net::GrpcStreamSink {
 public:
  StreamSink(std::weak_ptr<EtcdWatches> owner, std::uint64_t generation)
      : owner_(std::move(owner)), generation_(generation) {}
  void OnMessage(std::string_view message) override {
    if (const auto owner = owner_.lock()) owner->OnMessage(generation_, message);
  }
  void OnEnd(const Status& status) override {
    if (const auto owner = owner_.lock()) owner->OnStreamEnd(generation_, status);
  }

 private:
  const std::weak_ptr<EtcdWatches> owner_;
  const std::uint64_t generation_;
};

class EtcdWatches::Handle final : public Watch {
 public:
  Handle(std::shared_ptr<EtcdWatches> owner, WatchingPtr watching)
      : owner_(std::move(owner)), watching_(std::move(watching)) {}
  ~Handle() override {
    watching_->watcher->End();
    owner_->Remove(watching_->id);
  }

 private:
  const std::shared_ptr<EtcdWatches> owner_;
  const WatchingPtr watching_;
};

EtcdWatches::EtcdWatches(std::shared_ptr<EtcdClient> client, Executor& executor, Adopt adopt)
    : client_(std::move(client)),
      executor_(executor),
      adopt_(std::move(adopt)),
      alarm_(executor, [this] { Ring(); }) {}

std::unique_ptr<Watch> EtcdWatches::Add(std::string prefix, Revision after, bool live, WatchSink* sink) {
  auto watching = std::make_shared<Watching>();
  watching->range = PrefixRange(prefix);
  watching->delivered = after;
  watching->goal = live ? 0 : after + 1;
  watching->watcher = std::make_shared<Watcher>(std::move(prefix), after, sink);
  MutexLock lock(mu_);
  watching->id = next_id_++;
  watchings_[watching->id] = watching;
  if (stream_)
    Create(*watching);
  else if (!closed_ && executor_.clock().Steady() >= reopen_at_)
    OpenStream();
  else if (!closed_)
    alarm_.Set(reopen_at_);
  return std::make_unique<Handle>(shared_from_this(), std::move(watching));
}

void EtcdWatches::Create(Watching& watching) {
  watching.created = false;
  stream_->Send(WatchCreateRequest(watching.id, watching.range, watching.delivered + 1));
}

void EtcdWatches::OpenStream() {
  auto opened = client_->Open(kWatchMethod, std::make_shared<StreamSink>(weak_from_this(), ++generation_));
  stream_ = std::move(opened.stream);
  endpoint_ = opened.endpoint;
  opened_at_ = executor_.clock().Steady();
  for (auto& [id, watching] : watchings_) Create(*watching);
}

void EtcdWatches::DropStream() {
  ++generation_;
  stream_.reset();
  const Duration pause = failures_ == 0 ? Duration::zero()
                                        : std::min<Duration>(kProgressPeriod * (1 << std::min(failures_, 5)),
                                                             kLongestReopenPause);
  ++failures_;
  reopen_at_ = executor_.clock().Steady() + pause;
  if (!closed_) alarm_.Set(reopen_at_);
}

void EtcdWatches::OnStreamEnd(std::uint64_t generation, const Status& status) {
  MutexLock lock(mu_);
  if (generation != generation_ || closed_) return;
  const std::string why = status ? "it ended" : status.error().message();
  if (failures_ == 0)
    log::Warning("the watch on etcd broke; resuming it",
                 {{"server", client_->endpoint(endpoint_)}, {"error", why}});
  client_->Leave(endpoint_);
  DropStream();
}

EtcdWatches::WatchingPtr EtcdWatches::Find(std::int64_t id) const {
  MutexLock lock(mu_);
  const auto it = watchings_.find(id);
  return it == watchings_.end() ? nullptr : it->second;
}

void EtcdWatches::Remove(std::int64_t id) {
  {
    MutexLock lock(mu_);
    if (watchings_.erase(id) > 0 && stream_) stream_->Send(WatchCancelRequest(id));
  }
  Settle();  // who waited for it waits no more
}

void EtcdWatches::OnMessage(std::uint64_t generation, std::string_view bytes) {
  auto response = WatchResponse::Decode(bytes);
  {
    MutexLock turn(turn_);
    {
      MutexLock lock(mu_);
      if (generation != generation_ || closed_) return;
      failures_ = 0;
      if (!response) {
        log::Error("etcd's watch cannot be read", {{"error", response.error().message()}});
        return DropStream();
      }
    }
    const bool progress = !response->created && !response->canceled && response->events.empty();
    if (progress) {
      OnProgress(response->id, response->revision);
    } else if (const auto watching = Find(response->id)) {
      if (response->canceled) {
        OnCanceled(watching, *response);
      } else if (response->created) {
        OnCreated(watching, response->revision);
      } else {
        Deliver(watching, std::move(response->events));
      }
    }
  }
  Settle();
}

void EtcdWatches::OnCreated(const WatchingPtr& watching, Revision revision) {
  bool caught_up = false;
  {
    MutexLock lock(mu_);
    watching->created = true;
    caught_up = watching->delivered == revision || (watching->goal != 0 && watching->delivered >= revision);
    if (caught_up) {
      watching->goal = 0;
    } else if (watching->goal != 0) {
      watching->goal = revision;
      AskProgress();
    }
  }
  if (caught_up) watching->watcher->Call([&](WatchSink& sink) { sink.OnProgress(revision); });
}

void EtcdWatches::Deliver(const WatchingPtr& watching, std::vector<Event> events) {
  Revision delivered = 0;
  {
    MutexLock lock(mu_);
    delivered = watching->delivered;
  }
  std::erase_if(events, [&](const Event& event) { return event.kv.mod_revision <= delivered; });
  if (events.empty()) return;
  const Revision last = events.back().kv.mod_revision;
  for (Event& event : events) adopt_(event);
  watching->watcher->Call([&](WatchSink& sink) { sink.OnEvents(events); });
  bool caught_up = false;
  {
    MutexLock lock(mu_);
    watching->delivered = last;
    caught_up = watching->goal != 0 && last >= watching->goal;
    if (caught_up) watching->goal = 0;
  }
  if (caught_up) watching->watcher->Call([&](WatchSink& sink) { sink.OnProgress(last); });
}

void EtcdWatches::OnCanceled(const WatchingPtr& watching, const WatchResponse& response) {
  if (response.compact_revision == 0) {
    // A member without a leader, or one that shuts down: the others go on.
    log::Warning("etcd cancelled a watch; resuming it", {{"reason", response.cancel_reason}});
    MutexLock lock(mu_);
    client_->Leave(endpoint_);
    return DropStream();
  }
  const Error error = CompactedError(watching->delivered, response.compact_revision);
  watching->watcher->Call([&](WatchSink& sink) { sink.OnError(error); });
  watching->watcher->End();
  MutexLock lock(mu_);
  watchings_.erase(watching->id);
}

void EtcdWatches::OnProgress(std::int64_t id, Revision revision) {
  std::vector<std::shared_ptr<Watcher>> advanced;
  {
    MutexLock lock(mu_);
    progress_asked_ = {};
    for (auto& [own, watching] : watchings_) {
      if ((id != WatchResponse::kEveryWatch && id != own) || !watching->created) continue;
      const bool caught_up = watching->goal != 0 && revision >= watching->goal;
      if (caught_up) watching->goal = 0;
      if (watching->delivered >= revision && !caught_up) continue;
      watching->delivered = std::max(watching->delivered, revision);
      advanced.push_back(watching->watcher);
    }
  }
  for (const auto& watcher : advanced) watcher->Call([&](WatchSink& sink) { sink.OnProgress(revision); });
}

void EtcdWatches::AwaitChange(const std::vector<std::string>& keys, Revision revision, Done done) {
  Waiting waiting;
  waiting.done = std::move(done);
  {
    MutexLock lock(mu_);
    for (const auto& [id, watching] : watchings_) {
      const std::string& prefix = watching->watcher->prefix;
      const auto concerned = [&prefix](const std::string& key) { return key.starts_with(prefix); };
      if (watching->goal == 0 && std::any_of(keys.begin(), keys.end(), concerned))
        waiting.watches.push_back(watching);
    }
  }
  Await(revision, std::move(waiting));
}

void EtcdWatches::AwaitProgress(Revision revision, Done done) {
  Waiting waiting;
  waiting.done = std::move(done);
  waiting.wants_progress = true;
  {
    MutexLock lock(mu_);
    for (const auto& [id, watching] : watchings_)
      if (watching->goal == 0) waiting.watches.push_back(watching);
  }
  Await(revision, std::move(waiting));
}

void EtcdWatches::Await(Revision revision, Waiting waiting) {
  {
    MutexLock lock(mu_);
    if (!IsSatisfied(revision, waiting)) {
      waiting.since = executor_.clock().Steady();
      const Duration next = waiting.wants_progress ? kProgressPeriod : kStreamPatience;
      if (waiting.wants_progress) AskProgress();
      waiting_.emplace(revision, std::move(waiting));
      alarm_.Set(executor_.clock().Steady() + next);
      return;
    }
  }
  waiting.done({});
}

bool EtcdWatches::IsSatisfied(Revision revision, const Waiting& waiting) const {
  return std::all_of(waiting.watches.begin(), waiting.watches.end(), [&](const WatchingPtr& watching) {
    return watching->delivered >= revision || watching->watcher->ended();
  });
}

void EtcdWatches::TakeSatisfied(Satisfied& out) {
  Revision newest = 0;
  for (const auto& [id, watching] : watchings_) newest = std::max(newest, watching->delivered);
  const auto end = watchings_.empty() ? waiting_.end() : waiting_.upper_bound(newest);
  for (auto it = waiting_.begin(); it != end;) {
    if (!IsSatisfied(it->first, it->second)) {
      ++it;
      continue;
    }
    out.emplace_back(std::move(it->second.done), Status());
    it = waiting_.erase(it);
  }
}

void EtcdWatches::Settle() {
  Satisfied satisfied;
  {
    MutexLock lock(mu_);
    TakeSatisfied(satisfied);
  }
  for (auto& [done, status] : satisfied) done(status);
}

void EtcdWatches::AskProgress() {
  const SteadyTime now = executor_.clock().Steady();
  alarm_.Set(now + kProgressPeriod);
  if (!stream_ || now < progress_asked_ + kProgressPeriod) return;
  progress_asked_ = now;
  stream_->Send(WatchProgressRequest());
}

bool EtcdWatches::WantsProgress() const {
  const auto behind = [](const auto& entry) { return entry.second->goal != 0; };
  const auto asked = [](const auto& entry) { return entry.second.wants_progress; };
  return std::any_of(waiting_.begin(), waiting_.end(), asked) ||
         std::any_of(watchings_.begin(), watchings_.end(), behind);
}

void EtcdWatches::Ring() {
  Satisfied over;
  {
    MutexLock lock(mu_);
    if (closed_) return;
    const SteadyTime now = executor_.clock().Steady();
    bool stuck = false;
    for (auto it = waiting_.begin(); it != waiting_.end();) {
      stuck |= now - std::max(it->second.since, opened_at_) >= kStreamPatience;
      if (now - it->second.since < kCallerPatience) {
        ++it;
        continue;
      }
      over.emplace_back(std::move(it->second.done), Unexpected(NotDelivered()));
      it = waiting_.erase(it);
    }
    if (stuck && stream_) {
      client_->Leave(endpoint_);
      DropStream();
    }
    if (!stream_ && !watchings_.empty() && now >= reopen_at_) OpenStream();
    if (!stream_ && !watchings_.empty()) alarm_.Set(reopen_at_);
    if (WantsProgress())
      AskProgress();
    else if (!waiting_.empty())
      alarm_.Set(now + kStreamPatience);
  }
  for (auto& [done, status] : over) done(status);
}

std::optional<Revision> EtcdWatches::Seen() const {
  std::optional<Revision> seen;
  MutexLock lock(mu_);
  for (const auto& [id, watching] : watchings_)
    if (watching->goal == 0) seen = std::min(seen.value_or(watching->delivered), watching->delivered);
  return seen;
}

void EtcdWatches::Close() {
  Satisfied over;
  {
    MutexLock lock(mu_);
    closed_ = true;
    ++generation_;
    stream_.reset();
    for (auto& [revision, waiting] : waiting_)
      over.emplace_back(std::move(waiting.done), Unexpected(NotDelivered()));
    waiting_.clear();
  }
  alarm_.Close();
  for (auto& [done, status] : over) done(status);
}

}  // namespace flyball::store::etcd
