#include "store/etcd/etcd_store.h"

#include <algorithm>
#include <atomic>
#include <unordered_map>
#include <utility>

#include "base/observe/log.h"
#include "base/run/alarm.h"
#include "base/run/notification.h"
#include "net/grpc/grpc_message.h"
#include "store/etcd/etcd_client.h"
#include "store/etcd/etcd_compactor.h"
#include "store/etcd/etcd_freshness.h"
#include "store/etcd/etcd_leases.h"
#include "store/etcd/etcd_messages.h"
#include "store/etcd/etcd_version.h"
#include "store/etcd/etcd_watches.h"
#include "store/log/history.h"
#include "store/log/sequencer.h"

namespace flyball::store {
namespace {

using etcd::EtcdClient;
using CommitDone = UniqueFunction<void(Result<CommitOutcome>)>;

constexpr Duration kReadTimeout = std::chrono::seconds(20);
constexpr Duration kCommitTimeout = std::chrono::seconds(10);
constexpr Duration kHealthCache = std::chrono::seconds(1);
constexpr Duration kOpenPause = std::chrono::milliseconds(200);
constexpr std::string_view kOwnPrefix = "/registry";
// Never written. A linearizable read of it asks whether etcd answers, and for its newest revision.
constexpr std::string_view kHealthKey = "/registry/health";
// Pages of a range: so many keys at first, then as many as make about so many bytes.
constexpr std::int64_t kFirstPage = 200, kSmallestPage = 10, kLargestPage = 10000;
constexpr std::size_t kPageBytes = 4u << 20;

// etcd's words for what is not a failure of the cluster.
constexpr std::string_view kCompactedText = "etcdserver: mvcc: required revision has been compacted";
constexpr std::string_view kFutureText = "etcdserver: mvcc: required revision is a future revision";
constexpr std::string_view kNoLeaseText = "etcdserver: requested lease not found";

// Values whose commit is under way. Their events give back the very Bytes the writer gave, so that a cache
// recognises them. Thread-safe.
class ValuesUnderWay {
 public:
  void Add(const Transaction& transaction) {
    MutexLock lock(mu_);
    for (const Operation& operation : transaction)
      if (operation.value) values_.emplace(operation.key, operation.value);
  }
  void Remove(const std::vector<std::pair<std::string, Bytes>>& written) {
    MutexLock lock(mu_);
    for (const auto& [key, value] : written) {
      auto [it, end] = values_.equal_range(key);
      it = std::find_if(it, end, [&v = value](const auto& entry) { return entry.second == v; });
      if (it != end) values_.erase(it);
    }
  }
  void Adopt(KeyValue& kv) {
    MutexLock lock(mu_);
    auto [it, end] = values_.equal_range(kv.key);
    for (; it != end; ++it)
      if (*it->second == *kv.value) kv.value = it->second;
  }

 private:
  Mutex mu_;
  std::unordered_multimap<std::string, Bytes> values_ FLYBALL_GUARDED_BY(mu_);
};

// From the store's keys to etcd's and back.
class KeyNames {
 public:
  explicit KeyNames(std::string_view prefix) : prefix_("/" + std::string(Stripped(prefix))) {}

  std::string ToEtcd(std::string_view key) const {
    if (prefix_ == kOwnPrefix || !key.starts_with(kOwnPrefix)) return std::string(key);
    return prefix_ + std::string(key.substr(kOwnPrefix.size()));
  }
  void FromEtcd(std::string& key) const {
    if (prefix_ != kOwnPrefix && key.starts_with(prefix_)) key.replace(0, prefix_.size(), kOwnPrefix);
  }

 private:
  static std::string_view Stripped(std::string_view path) {
    while (path.starts_with('/')) path.remove_prefix(1);
    while (path.ends_with('/')) path.remove_suffix(1);
    return path;
  }
  const std::string prefix_;
};

bool HoldsOf(const Precondition& precondition, const std::optional<KeyValue>& current) {
  switch (precondition.kind) {
    case Precondition::Kind::kAny:
      return true;
    case Precondition::Kind::kAbsent:
      return !current;
    case Precondition::Kind::kPresent:
      return current.has_value();
    case Precondition::Kind::kModRevision:
      return current && current->mod_revision == precondition.revision;
  }
  return false;
}

std::string CompareOf(const std::string& key, const Precondition& precondition) {
  if (precondition.kind == Precondition::Kind::kPresent) return etcd::ComparePresent(key);
  return etcd::CompareModRevision(key, precondition.revision);  // of an absent key it is 0
}

// A transaction on its way. `keys` as etcd has them.
struct CommitUnderWay {
  Transaction transaction;
  std::vector<std::string> keys;
  std::vector<std::pair<std::string, Bytes>> written;
  std::int64_t lease = 0;
  CommitDone done;
};
using CommitPtr = std::shared_ptr<CommitUnderWay>;

etcd::TxnRequest RequestOf(const CommitUnderWay& commit) {
  etcd::TxnRequest request;
  for (std::size_t i = 0; i < commit.transaction.size(); ++i) {
    const Operation& operation = commit.transaction[i];
    const bool conditional = operation.precondition.kind != Precondition::Kind::kAny;
    const bool fresh = operation.precondition.kind == Precondition::Kind::kAbsent;
    if (conditional) request.compare.push_back(CompareOf(commit.keys[i], operation.precondition));
    if (conditional) request.failure.push_back(etcd::GetOperation(commit.keys[i]));
    const std::int64_t lease = operation.ttl > Duration::zero() ? commit.lease : 0;
    request.success.push_back(operation.value
                                  ? etcd::PutOperation(commit.keys[i], *operation.value, lease, !fresh)
                                  : etcd::DeleteOperation(commit.keys[i]));
  }
  return request;
}

// Everything that callbacks need. They keep it alive; Close lets go.
class EtcdState : public std::enable_shared_from_this<EtcdState> {
 public:
  EtcdState(const EtcdOptions& options, std::shared_ptr<EtcdClient> client_to_use, Executor& executor)
      : names(options.prefix),
        client(std::move(client_to_use)),
        leases(std::make_shared<etcd::EtcdLeases>(client, options.lease_reuse)),
        watches(
            std::make_shared<etcd::EtcdWatches>(client, executor, [this](Event& event) { Adopt(event); })) {}

  void Saw(Revision revision) {
    Revision known = newest_.load();
    while (known < revision && !newest_.compare_exchange_weak(known, revision)) {
    }
  }
  void Compacted(Revision revision) {
    Revision known = compacted_.load();
    while (known < revision && !compacted_.compare_exchange_weak(known, revision)) {
    }
  }
  Revision newest() const { return newest_; }
  Revision compacted() const { return compacted_; }
  Revision Current() {
    const Revision seen = watches->Seen().value_or(newest_);
    Revision known = current_.load();
    while (known < seen && !current_.compare_exchange_weak(known, seen)) {
    }
    return std::max(known, seen);
  }

  void Commit(CommitPtr commit);

  // How large etcd is, as it last said.
  void Keep(const etcd::MemberStatus& member);
  StoreStats sizes() {
    MutexLock lock(mu_);
    return sizes_;
  }

  const KeyNames names;
  const std::shared_ptr<EtcdClient> client;
  const std::shared_ptr<etcd::EtcdLeases> leases;
  ValuesUnderWay under_way;
  const std::shared_ptr<etcd::EtcdWatches> watches;  // its events use what is above
  std::atomic<std::uint64_t> commits{0};

 private:
  void Adopt(Event& event) {
    names.FromEtcd(event.kv.key);
    if (event.kv.value) under_way.Adopt(event.kv);
    if (event.previous) names.FromEtcd(event.previous->key);
  }
  void Send(CommitPtr commit);
  void OnAnswer(const CommitPtr& commit, Result<std::string> answer);
  void OnCommitted(const CommitPtr& commit, etcd::TxnResponse response);
  void OnConflict(const CommitPtr& commit, etcd::TxnResponse response);
  void Finish(const CommitPtr& commit, Result<CommitOutcome> outcome);

  std::atomic<Revision> newest_{1}, compacted_{0}, current_{1};
  Mutex mu_;
  StoreStats sizes_ FLYBALL_GUARDED_BY(mu_);
};

void EtcdState::Keep(const etcd::MemberStatus& member) {
  MutexLock lock(mu_);
  sizes_.bytes_on_disk = static_cast<std::size_t>(member.db_size);
  sizes_.bytes_in_use = static_cast<std::size_t>(member.db_size_in_use);
  sizes_.quota_bytes = static_cast<std::size_t>(member.db_size_quota);
  sizes_.no_space = std::any_of(member.errors.begin(), member.errors.end(), [](const std::string& error) {
    return error.find("NOSPACE") != std::string::npos;
  });
}

void EtcdState::Commit(CommitPtr commit) {
  Duration ttl{};
  for (const Operation& operation : commit->transaction) {
    commit->keys.push_back(names.ToEtcd(operation.key));
    if (operation.value) commit->written.emplace_back(operation.key, operation.value);
    ttl = std::max(ttl, operation.ttl);
  }
  under_way.Add(commit->transaction);
  if (ttl <= Duration::zero()) return Send(std::move(commit));
  leases->Get(ttl, [self = shared_from_this(), commit](Result<std::int64_t> lease) {
    if (!lease) return self->Finish(commit, Unexpected(etcd::ErrorForClients(lease.error())));
    commit->lease = *lease;
    self->Send(commit);
  });
}

void EtcdState::Send(CommitPtr commit) {
  std::string message = etcd::Encode(RequestOf(*commit));
  client->Call(etcd::kTxnMethod, std::move(message), EtcdClient::Repeat::kUnlessSent, kCommitTimeout,
               [self = shared_from_this(), commit](Result<std::string> answer) {
                 self->OnAnswer(commit, std::move(answer));
               });
}

void EtcdState::OnAnswer(const CommitPtr& commit, Result<std::string> answer) {
  if (!answer) {
    if (net::GrpcDescription(answer.error()) == kNoLeaseText) leases->Forget(commit->lease);
    return Finish(commit, Unexpected(etcd::ErrorForClients(answer.error())));
  }
  auto response = etcd::TxnResponse::Decode(*answer);
  if (!response) return Finish(commit, Unexpected(response.error()));
  Saw(response->revision);
  if (response->succeeded && response->items.size() == commit->keys.size())
    return OnCommitted(commit, std::move(*response));
  OnConflict(commit, std::move(*response));
}

void EtcdState::OnCommitted(const CommitPtr& commit, etcd::TxnResponse response) {
  CommitOutcome outcome{.committed = true, .revision = response.revision};
  std::vector<std::string> changed;
  for (std::size_t i = 0; i < response.items.size(); ++i) {
    auto& item = response.items[i];
    if (item.kv) names.FromEtcd(item.kv->key);
    if (item.changed) changed.push_back(commit->keys[i]);
    outcome.previous.push_back(std::move(item.kv));
  }
  if (changed.empty()) return Finish(commit, std::move(outcome));
  ++commits;
  const Revision revision = outcome.revision;
  watches->AwaitChange(
      changed, revision,
      [self = shared_from_this(), commit, outcome = std::move(outcome)](Status seen) mutable {
        if (!seen) return self->Finish(commit, Unexpected(seen.error()));
        self->Finish(commit, std::move(outcome));
      });
}

void EtcdState::OnConflict(const CommitPtr& commit, etcd::TxnResponse response) {
  CommitOutcome outcome{.revision = response.revision};
  std::size_t item = 0;
  bool found = false;
  for (std::size_t i = 0; i < commit->transaction.size() && !found; ++i) {
    const Precondition& precondition = commit->transaction[i].precondition;
    if (precondition.kind == Precondition::Kind::kAny || item >= response.items.size()) continue;
    auto& current = response.items[item++].kv;
    found = !HoldsOf(precondition, current);
    if (!found) continue;
    outcome.failed_operation = i;
    outcome.current = std::move(current);
  }
  if (!found)
    return Finish(commit, Unexpected(InternalError("etcd's answer to a transaction makes no sense")));
  auto tell = [self = shared_from_this(), commit, outcome](Status seen) mutable {
    if (!seen) return self->Finish(commit, Unexpected(seen.error()));
    if (outcome.current) self->names.FromEtcd(outcome.current->key);
    self->Finish(commit, std::move(outcome));
  };
  // What is there came with a change that the watches get; that it is gone is only known to be so by now.
  if (outcome.current)
    watches->AwaitChange({outcome.current->key}, outcome.current->mod_revision, std::move(tell));
  else
    watches->AwaitProgress(outcome.revision, std::move(tell));
}

void EtcdState::Finish(const CommitPtr& commit, Result<CommitOutcome> outcome) {
  under_way.Remove(commit->written);
  const auto done = std::move(commit->done);
  done(std::move(outcome));
}

class EtcdStore final : public Store {
 public:
  EtcdStore(const EtcdOptions& options, std::shared_ptr<EtcdClient> client, Executor& executor)
      : options_(options),
        executor_(executor),
        state_(std::make_shared<EtcdState>(options, std::move(client), executor)),
        compactor_(std::make_shared<etcd::EtcdCompactor>(
            state_->client, executor, options.compaction_interval,
            [state = state_](Revision revision) { state->Compacted(revision); })),
        freshness_(std::make_shared<etcd::EtcdFreshness>(
            state_->client, state_->watches, executor, state_->names.ToEtcd(kHealthKey),
            [state = state_](Revision revision) { state->Saw(revision); })),
        stats_alarm_(executor, [this] { AskStats(); }) {
    compactor_->Start();
    if (options.stats_interval > Duration::zero())
      stats_alarm_.Set(executor.clock().Steady() + options.stats_interval);
  }
  ~EtcdStore() override {
    stats_alarm_.Close();
    compactor_->Close();
    freshness_->Close();
    state_->client->Close();
    state_->watches->Close();
  }

  // First contact: the version, and the newest revision.
  Status Open();

  Revision CurrentRevision() const override { return state_->Current(); }
  Result<std::optional<KeyValue>> Get(std::string_view key) const override;
  Result<RangeResult> Range(std::string_view prefix, const RangeOptions& options) const override;
  Result<std::size_t> Count(std::string_view prefix) const override;
  void Commit(Transaction transaction, CommitDone done) override;
  std::unique_ptr<Watch> WatchPrefix(std::string prefix, Revision after, WatchSink* sink) override;
  bool shared() const override { return true; }
  void CatchUp(UniqueFunction<void(Status)> done) override { freshness_->CatchUp(std::move(done)); }
  Status Compact(Revision revision) override;
  Revision CompactedRevision() const override { return state_->compacted(); }
  Status Health() const override;
  StoreStats Stats() const override;

 private:
  Result<etcd::RangeResponse> Read(const etcd::RangeRequest& request, Duration timeout = kReadTimeout) const;
  Error ReadError(const Error& error, Revision wanted) const;
  void AskStats();

  const EtcdOptions options_;
  Executor& executor_;
  const std::shared_ptr<EtcdState> state_;
  const std::shared_ptr<etcd::EtcdCompactor> compactor_;
  const std::shared_ptr<etcd::EtcdFreshness> freshness_;
  mutable Mutex health_mu_;
  mutable Status health_ FLYBALL_GUARDED_BY(health_mu_);
  mutable SteadyTime health_asked_ FLYBALL_GUARDED_BY(health_mu_){};
  Alarm stats_alarm_;
};

Error EtcdStore::ReadError(const Error& error, Revision wanted) const {
  const std::string_view text = net::GrpcDescription(error);
  if (text == kCompactedText) return CompactedError(wanted, state_->compacted());
  if (text == kFutureText) return FutureRevisionError(wanted, state_->newest());
  return etcd::ErrorForClients(error);
}

Result<etcd::RangeResponse> EtcdStore::Read(const etcd::RangeRequest& request, Duration timeout) const {
  auto answer = state_->client->CallNow(etcd::kRangeMethod, etcd::Encode(request),
                                        EtcdClient::Repeat::kAlways, timeout);
  if (!answer) return Unexpected(ReadError(answer.error(), request.revision));
  FLYBALL_ASSIGN(auto response, etcd::RangeResponse::Decode(*answer));
  state_->Saw(response.revision);
  for (KeyValue& kv : response.items) state_->names.FromEtcd(kv.key);
  return response;
}

Result<std::optional<KeyValue>> EtcdStore::Get(std::string_view key) const {
  FLYBALL_ASSIGN(auto response, Read({.range = {state_->names.ToEtcd(key), ""}}));
  if (response.items.empty()) return std::optional<KeyValue>();
  return std::optional(std::move(response.items.front()));
}

Result<std::size_t> EtcdStore::Count(std::string_view prefix) const {
  FLYBALL_ASSIGN(const auto response,
                 Read({.range = etcd::PrefixRange(state_->names.ToEtcd(prefix)), .count_only = true}));
  return static_cast<std::size_t>(response.count);
}

// In pages, all of the revision of the first.
Result<RangeResult> EtcdStore::Range(std::string_view prefix, const RangeOptions& options) const {
  etcd::RangeRequest request{.range = etcd::PrefixRange(state_->names.ToEtcd(prefix)),
                             .revision = options.revision};
  const std::string start = state_->names.ToEtcd(options.start);
  if (start > request.range.key) request.range.key = start;
  RangeResult result{.revision = options.revision};
  if (request.range.end.size() > 1 && request.range.key >= request.range.end) {
    if (result.revision == 0) result.revision = state_->newest();
    return result;
  }
  std::int64_t page = kFirstPage;
  std::size_t bytes = 0;
  for (;;) {
    const std::size_t left = options.limit > 0 ? options.limit - result.items.size() : 0;
    request.limit = left > 0 ? std::min<std::int64_t>(page, static_cast<std::int64_t>(left)) : page;
    FLYBALL_ASSIGN(auto response, Read(request));
    if (result.revision == 0) result.revision = request.revision = response.revision;
    const std::size_t got = response.items.size();
    for (KeyValue& kv : response.items) {
      bytes += kv.value->size();
      result.items.push_back(std::move(kv));
    }
    const bool full = options.limit > 0 && result.items.size() >= options.limit;
    if (!response.more || got == 0 || full) {
      result.more = response.more;
      result.remaining = static_cast<std::size_t>(response.count) - got;
      return result;
    }
    request.range.key = state_->names.ToEtcd(result.items.back().key) + '\0';
    const auto average = static_cast<std::int64_t>(bytes / result.items.size() + 1);
    page = std::clamp(static_cast<std::int64_t>(kPageBytes) / average, kSmallestPage, kLargestPage);
  }
}

void EtcdStore::Commit(Transaction transaction, CommitDone done) {
  if (Status valid = CheckTransaction(transaction); !valid) return done(Unexpected(valid.error()));
  auto commit = std::make_shared<CommitUnderWay>();
  commit->transaction = std::move(transaction);
  commit->done = std::move(done);
  state_->Commit(std::move(commit));
}

std::unique_ptr<Watch> EtcdStore::WatchPrefix(std::string prefix, Revision after, WatchSink* sink) {
  const Revision newest = state_->newest();
  if (after == 0) after = newest;
  const bool live = after >= newest;
  std::string key = state_->names.ToEtcd(prefix);
  if (after >= state_->compacted()) return state_->watches->Add(std::move(key), after, live, sink);
  auto watcher = std::make_shared<Watcher>(std::move(key), after, sink);
  const Error error = CompactedError(after, state_->compacted());
  executor_.Post([watcher, error] { watcher->Call([&](WatchSink& s) { s.OnError(error); }); });
  return std::make_unique<WatchHandle>(std::move(watcher));
}

Status EtcdStore::Compact(Revision revision) {
  auto answer = state_->client->CallNow(etcd::kCompactMethod, etcd::CompactionRequest(revision),
                                        EtcdClient::Repeat::kAlways, kReadTimeout);
  if (!answer && net::GrpcDescription(answer.error()) == kCompactedText) return {};
  if (!answer) return Unexpected(ReadError(answer.error(), revision));
  state_->Compacted(revision);
  return {};
}

// One question at a time, and not again right away: whoever asks meanwhile gets the same answer.
Status EtcdStore::Health() const {
  MutexLock lock(health_mu_);
  const SteadyTime now = RealClock().Steady();
  if (health_asked_ != SteadyTime() && now - health_asked_ < kHealthCache) return health_;
  const etcd::RangeRequest request{.range = {state_->names.ToEtcd(kHealthKey), ""}, .count_only = true};
  const auto answer = Read(request, options_.health_timeout);
  health_ = answer ? Status() : Unexpected(answer.error());
  health_asked_ = RealClock().Steady();
  return health_;
}

void EtcdStore::AskStats() {
  stats_alarm_.Set(executor_.clock().Steady() + options_.stats_interval);
  state_->client->Call(etcd::kStatusMethod, "", EtcdClient::Repeat::kAlways, kReadTimeout,
                       [state = state_](Result<std::string> answer) {
                         if (!answer) return;
                         if (const auto member = etcd::MemberStatus::Decode(*answer)) state->Keep(*member);
                       });
}

StoreStats EtcdStore::Stats() const {
  StoreStats stats = state_->sizes();
  stats.revision = state_->newest();
  stats.compacted_revision = state_->compacted();
  stats.commits = state_->commits;
  return stats;
}

// Waits for an etcd that is just starting; what will not get better by itself is told at once.
Status EtcdStore::Open() {
  const SteadyTime deadline = RealClock().Steady() + options_.open_timeout;
  for (;;) {
    auto answer = state_->client->CallNow(etcd::kStatusMethod, "", EtcdClient::Repeat::kUnlessSent,
                                          std::min<Duration>(options_.open_timeout, kCommitTimeout));
    if (answer) {
      FLYBALL_ASSIGN(const auto member, etcd::MemberStatus::Decode(*answer));
      FLYBALL_TRY(etcd::CheckVersion(member.version));
      state_->Keep(member);
      break;
    }
    const bool wrong_certificate = answer.error().message().find("tls: ") != std::string::npos;
    if (wrong_certificate || RealClock().Steady() >= deadline) return Unexpected(answer.error());
    Notification<bool> waited;
    executor_.PostAfter(kOpenPause, [&waited] { waited.Set(true); });
    waited.Wait();
  }
  const auto first = Read({.range = {state_->names.ToEtcd(kHealthKey), ""}, .count_only = true},
                          std::max<Duration>(deadline - RealClock().Steady(), kCommitTimeout));
  return first ? Status() : Unexpected(first.error());
}

}  // namespace

Result<std::unique_ptr<Store>> OpenEtcdStore(const EtcdOptions& options, Executor& executor) {
  FLYBALL_ASSIGN(auto client, EtcdClient::Make({options.endpoints, options.tls}, executor));
  auto store = std::make_unique<EtcdStore>(options, std::move(client), executor);
  if (const Status opened = store->Open(); !opened)
    return Unexpected(opened.error().Annotate("cannot use the etcd servers given"));
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace flyball::store
