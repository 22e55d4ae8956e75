#include "store/etcd/etcd_compactor.h"

#include <charconv>

#include "base/observe/log.h"
#include "net/grpc/grpc_message.h"
#include "store/etcd/etcd_messages.h"

namespace flyball::store::etcd {
namespace {

constexpr std::string_view kCompactKey = "compact_rev_key";
constexpr Duration kTurnTimeout = std::chrono::seconds(30);

Revision ParseRevision(std::string_view text) {
  Revision revision = 0;
  std::from_chars(text.data(), text.data() + text.size(), revision);
  return revision;
}

}  // namespace

EtcdCompactor::EtcdCompactor(std::shared_ptr<EtcdClient> client, Executor& executor, Duration interval,
                             std::function<void(Revision)> compacted)
    : client_(std::move(client)),
      interval_(interval),
      compacted_(std::move(compacted)),
      executor_(executor),
      alarm_(executor, [this] { TakeTurn(); }) {}

void EtcdCompactor::Start() {
  if (interval_ > Duration::zero()) SetNext();
}

void EtcdCompactor::SetNext() {
  alarm_.Set(executor_.clock().Steady() + interval_);
}

void EtcdCompactor::TakeTurn() {
  TxnRequest turn;
  turn.compare.push_back(CompareVersion(kCompactKey, time_));
  turn.success.push_back(PutOperation(kCompactKey, std::to_string(revision_), 0, false));
  turn.failure.push_back(GetOperation(kCompactKey));
  client_->Call(kTxnMethod, Encode(turn), EtcdClient::Repeat::kUnlessSent, kTurnTimeout,
                [self = shared_from_this()](Result<std::string> answer) { self->OnTurn(std::move(answer)); });
}

void EtcdCompactor::OnTurn(Result<std::string> answer) {
  auto turn = answer ? TxnResponse::Decode(*answer) : Result<TxnResponse>(Unexpected(answer.error()));
  if (!turn) {
    log::Warning("compacting etcd failed; trying again later", {{"error", turn.error().message()}});
    return SetNext();
  }
  const Revision last = std::exchange(revision_, turn->revision);
  if (!turn->succeeded) {
    if (!turn->items.empty() && turn->items[0].kv) {
      time_ = turn->items[0].version;
      compacted_(ParseRevision(*turn->items[0].kv->value));
    }
    return SetNext();
  }
  ++time_;
  if (last == 0) return SetNext();  // nothing has been seen an interval ago yet
  client_->Call(
      kCompactMethod, CompactionRequest(last), EtcdClient::Repeat::kAlways, kTurnTimeout,
      [self = shared_from_this(), last](Result<std::string> done) { self->OnCompacted(last, done); });
}

void EtcdCompactor::OnCompacted(Revision revision, const Result<std::string>& answer) {
  if (answer)
    compacted_(revision);
  else
    log::Warning("compacting etcd failed", {{"error", answer.error().message()}});
  SetNext();
}

}  // namespace flyball::store::etcd
