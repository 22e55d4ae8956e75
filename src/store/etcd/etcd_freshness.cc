#include "store/etcd/etcd_freshness.h"

#include <algorithm>
#include <utility>

#include "store/etcd/etcd_messages.h"

namespace flyball::store::etcd {
namespace {

constexpr Duration kQuestionTimeout = std::chrono::seconds(10);
// The most that waiting for others may add to a read. Clients that come back at once do so within this time;
// with more, etcd has fewer questions to answer, but idle processors and slower clients cost more than that
// saves.
constexpr Duration kLongestGather = std::chrono::microseconds(100);

}  // namespace

EtcdFreshness::EtcdFreshness(std::shared_ptr<EtcdClient> client, std::shared_ptr<EtcdWatches> watches,
                             Executor& executor, std::string key, std::function<void(Revision)> saw)
    : client_(std::move(client)),
      watches_(std::move(watches)),
      executor_(executor),
      question_(Encode(RangeRequest{.range = {std::move(key), ""}, .count_only = true})),
      saw_(std::move(saw)),
      gathered_(executor, [this] { OnGathered(); }) {}

void EtcdFreshness::CatchUp(Done done) {
  {
    MutexLock lock(mu_);
    next_.push_back(std::move(done));
    if (state_ == State::kAsking || next_.size() < expected_) return;
    state_ = State::kAsking;
  }
  Ask();
}

void EtcdFreshness::OnGathered() {
  {
    MutexLock lock(mu_);
    if (state_ != State::kGathering) return;
    // It was set for an earlier question.
    if (executor_.clock().Steady() < gather_until_) return gathered_.Set(gather_until_);
    expected_ = 1;
    state_ = next_.empty() ? State::kIdle : State::kAsking;
    if (state_ == State::kIdle) return;
  }
  Ask();
}

void EtcdFreshness::Ask() {
  auto callers = std::make_shared<Callers>();
  {
    MutexLock lock(mu_);
    callers->swap(next_);
    asked_at_ = executor_.clock().Steady();
  }
  client_->Call(kRangeMethod, question_, EtcdClient::Repeat::kAlways, kQuestionTimeout,
                [self = shared_from_this(), callers](Result<std::string> answer) {
                  self->OnAnswer(std::move(answer), callers);
                });
}

void EtcdFreshness::OnAnswer(Result<std::string> answer, const std::shared_ptr<Callers>& callers) {
  auto range = answer ? RangeResponse::Decode(*answer)
                      : Result<RangeResponse>(Unexpected(ErrorForClients(answer.error())));
  if (!range) return OnCaughtUp(Unexpected(range.error()), std::move(*callers));
  saw_(range->revision);
  watches_->AwaitProgress(range->revision, [self = shared_from_this(), callers](const Status& status) {
    self->OnCaughtUp(status, std::move(*callers));
  });
}

void EtcdFreshness::OnCaughtUp(const Status& status, Callers callers) {
  if (NextIsDue(callers.size())) Ask();
  for (Done& caller : callers) caller(status);
}

bool EtcdFreshness::NextIsDue(std::size_t shared_by) {
  MutexLock lock(mu_);
  const bool many = shared_by > 1 && !closed_;
  // Who is told now mostly comes back. Without waiting for them, they and those who came meanwhile would take
  // turns for ever, with two questions where one is enough.
  expected_ = many ? shared_by + next_.size() : 1;
  if (many) {
    const SteadyTime now = executor_.clock().Steady();
    state_ = State::kGathering;
    gather_until_ = now + std::min<Duration>(now - asked_at_, kLongestGather);
    gathered_.Set(gather_until_);
    return false;
  }
  state_ = next_.empty() ? State::kIdle : State::kAsking;
  return state_ == State::kAsking;
}

void EtcdFreshness::Close() {
  gathered_.Close();
  {
    MutexLock lock(mu_);
    closed_ = true;
    if (state_ != State::kGathering) return;
    expected_ = 1;
    state_ = next_.empty() ? State::kIdle : State::kAsking;
    if (state_ == State::kIdle) return;
  }
  Ask();
}

}  // namespace flyball::store::etcd
