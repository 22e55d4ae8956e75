#include "controller/leader/leader_elector.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "api/values/time.h"
#include "base/observe/log.h"
#include "base/run/executor.h"
#include "base/run/mutex.h"
#include "json/json.h"

namespace flyball {
namespace {

// Candidates wait up to this part of retry_period longer, so that they do not all ask at once. Upstream's 1.2
// would let a renewal go unnoticed, and the lease seem to last, for 4.4 s instead of 2.4 s.
constexpr double kJitter = 0.2;

const KindRef& LeaseKind() {
  static const KindRef kind{"coordination.k8s.io", "v1", "Lease", "leases", true};
  return kind;
}

std::string_view HolderOf(const json::Value& lease) {
  return lease["spec"]["holderIdentity"].string_or("");
}

}  // namespace

// Everything not atomic or guarded belongs to the strand.
class LeaderElector::Machine : public std::enable_shared_from_this<Machine> {
 public:
  Machine(Client client, LeaderElectorOptions options, LeaderCallbacks callbacks)
      : client_(std::move(client)),
        options_(std::move(options)),
        callbacks_(std::move(callbacks)),
        strand_(client_.runtime().executor) {}

  void Start() {
    strand_.Post([self = shared_from_this()] {
      if (self->state_ == State::kIdle) self->Attempt();
    });
  }
  void Stop(Closure done) {
    strand_.Post(
        [self = shared_from_this(), done = std::move(done)]() mutable { self->DoStop(std::move(done)); });
  }
  bool IsLeader() const { return leading_; }
  std::string leader() const {
    MutexLock lock(mu_);
    return leader_;
  }

 private:
  enum class State { kIdle, kReading, kWriting, kWaiting, kStopped };

  Duration AttemptTimeout() const { return options_.renew_deadline / 2; }

  void Attempt() {
    if (state_ == State::kStopped) return;
    timer_ = kNoTimer;
    // While we lead, the Lease is as we last wrote it, unless someone took it from us. Then the write
    // conflicts, and we read it.
    if (leading_ && !lease_.is_null()) return WriteLease();
    ReadLease();
  }

  void ReadLease() {
    state_ = State::kReading;
    RestRequest request;
    request.path = LeaseKind().Path(options_.ns, options_.name);
    Send(std::move(request), [this](Result<json::Value> lease) { OnRead(std::move(lease)); });
  }

  void OnRead(Result<json::Value> lease) {
    if (!lease) {
      if (!lease.error().Is(Reason::kNotFound)) return Failed(lease.error());
      lease_ = json::Value();
      return WriteLease();
    }
    Observe(std::move(*lease));
    const std::string_view holder = HolderOf(lease_);
    const bool expired = Now() >= observed_at_ + options_.lease_duration;
    if (!holder.empty() && holder != options_.identity && !expired) return Wait();
    WriteLease();
  }

  // Remembers the record and when it last changed.
  void Observe(json::Value lease) {
    const std::string_view holder = HolderOf(lease);
    if (!(std::as_const(lease)["spec"] == std::as_const(lease_)["spec"])) observed_at_ = Now();
    bool changed;
    {
      MutexLock lock(mu_);
      changed = leader_ != holder;
      leader_ = holder;
    }
    if (changed && callbacks_.new_leader) callbacks_.new_leader(std::string(holder));
    lease_ = std::move(lease);
  }

  json::Value Desired() const {
    const std::string now = api::FormatMicroTime(client_.runtime().clock().Now());
    json::Value lease = lease_;
    if (lease.is_null())
      lease = json::Object{{"metadata", json::Object{{"name", options_.name}, {"namespace", options_.ns}}}};
    const bool ours = HolderOf(lease) == options_.identity;
    json::Value& spec = lease["spec"];
    const std::int64_t transitions = std::as_const(spec)["leaseTransitions"].int_or(0);
    if (!ours) {
      spec["acquireTime"] = now;
      spec["leaseTransitions"] = static_cast<long long>(lease_.is_null() ? 0 : transitions + 1);
    }
    spec["holderIdentity"] = options_.identity;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(options_.lease_duration).count();
    spec["leaseDurationSeconds"] = static_cast<long long>(seconds);
    spec["renewTime"] = now;
    return lease;
  }

  void WriteLease() {
    state_ = State::kWriting;
    sent_at_ = Now();
    Put(Desired(), [this](Result<json::Value> lease) {
      if (lease) return Acquired(std::move(*lease));
      lease_ = json::Value();  // read it again next time
      if (leading_ && lease.error().Is(Reason::kConflict)) return ReadLease();
      Failed(lease.error());
    });
  }

  void Put(json::Value lease, UniqueFunction<void(Result<json::Value>)> done) {
    SetTypeMeta(lease, LeaseKind());
    const bool exists = !std::as_const(lease)["metadata"]["resourceVersion"].is_null();
    RestRequest request;
    request.verb = exists ? "PUT" : "POST";
    request.path = LeaseKind().Path(options_.ns, exists ? options_.name : std::string());
    request.body = json::Write(lease);
    Send(std::move(request), std::move(done));
  }

  void Acquired(json::Value lease) {
    Observe(std::move(lease));
    renewed_at_ = sent_at_;
    ArmDeadline();
    if (!leading_.exchange(true)) {
      log::Info("leading", {{"lease", options_.ns + "/" + options_.name}, {"identity", options_.identity}});
      if (callbacks_.started_leading) callbacks_.started_leading();
    }
    Wait();
  }

  void Failed(const Error& error) {
    log::Debug("lease not acquired or renewed", {{"error", error.ToString()}});
    if (leading_ && !HolderOf(lease_).empty() && HolderOf(lease_) != options_.identity) StopLeading();
    Wait();
  }

  void Wait() {
    // Someone else holds it by now.
    if (leading_ && !lease_.is_null() && HolderOf(lease_) != options_.identity) StopLeading();
    state_ = State::kWaiting;
    timer_ = strand_.PostAt(NextAttempt(), [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->Attempt();
    });
  }

  // A candidate asks again when the lease is over, if that is before its turn.
  SteadyTime NextAttempt() const {
    const SteadyTime now = Now();
    if (leading_) return now + options_.retry_period;
    const auto jitter = std::chrono::duration_cast<Duration>(options_.retry_period *
                                                             (kJitter * client_.runtime().random.Unit()));
    const SteadyTime turn = now + options_.retry_period + jitter;
    const SteadyTime over = observed_at_ + options_.lease_duration;
    return !lease_.is_null() && over > now ? std::min(turn, over) : turn;
  }

  // Leadership ends here, even if a renewal hangs.
  void ArmDeadline() {
    if (deadline_timer_ != kNoTimer) strand_.Cancel(deadline_timer_);
    deadline_timer_ = strand_.PostAt(renewed_at_ + options_.renew_deadline, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self || self->Now() < self->renewed_at_ + self->options_.renew_deadline) return;
      self->deadline_timer_ = kNoTimer;
      self->StopLeading();
    });
  }

  void StopLeading() {
    if (deadline_timer_ != kNoTimer) strand_.Cancel(std::exchange(deadline_timer_, kNoTimer));
    if (!leading_.exchange(false)) return;
    log::Warning("no longer leading", {{"lease", options_.ns + "/" + options_.name}});
    if (callbacks_.stopped_leading) callbacks_.stopped_leading();
  }

  void DoStop(Closure done) {
    const bool release =
        state_ != State::kStopped && leading_ && options_.release_on_stop && !lease_.is_null();
    state_ = State::kStopped;
    if (timer_ != kNoTimer) strand_.Cancel(std::exchange(timer_, kNoTimer));
    if (call_) std::exchange(call_, nullptr)->Cancel();
    StopLeading();
    if (!release) {
      if (done) done();
      return;
    }
    json::Value lease = lease_;
    json::Value& spec = lease["spec"];
    spec["holderIdentity"] = "";
    spec["leaseDurationSeconds"] = 1;
    Put(std::move(lease), [done = std::move(done)](const Result<json::Value>&) {
      if (done) done();
    });
  }

  // `done` runs on the strand, unless a later Send has replaced it.
  void Send(RestRequest request, UniqueFunction<void(Result<json::Value>)> done) {
    request.timeout = AttemptTimeout();
    request.max_retries = 0;
    const std::uint64_t serial = ++serial_;
    auto shared_done = std::make_shared<UniqueFunction<void(Result<json::Value>)>>(std::move(done));
    call_ = client_.rest().Start(
        std::move(request), [self = shared_from_this(), serial, shared_done](Result<RestResponse> response) {
          Result<json::Value> parsed = Unexpected(InternalError(""));
          if (response)
            parsed = json::Parse(response->body);
          else
            parsed = Unexpected(response.error());
          self->strand_.Post([self, serial, shared_done, parsed = std::move(parsed)]() mutable {
            if (serial == self->serial_) (*shared_done)(std::move(parsed));
          });
        });
  }

  SteadyTime Now() const { return client_.runtime().clock().Steady(); }

  const Client client_;
  const LeaderElectorOptions options_;
  const LeaderCallbacks callbacks_;
  Strand strand_;

  State state_ = State::kIdle;
  json::Value lease_;         // as last seen; null if unknown or absent
  SteadyTime observed_at_{};  // when its spec last changed, by our clock
  SteadyTime renewed_at_{};   // when the last successful write was sent
  SteadyTime sent_at_{};
  TimerId timer_ = kNoTimer, deadline_timer_ = kNoTimer;
  std::shared_ptr<RestCall> call_;
  std::uint64_t serial_ = 0;
  std::atomic<bool> leading_ = false;

  mutable Mutex mu_;
  std::string leader_ FLYBALL_GUARDED_BY(mu_);
};

LeaderElector::LeaderElector(Client client, LeaderElectorOptions options, LeaderCallbacks callbacks)
    : machine_(std::make_shared<Machine>(std::move(client), std::move(options), std::move(callbacks))) {}

LeaderElector::~LeaderElector() {
  Stop();
}

void LeaderElector::Start() {
  machine_->Start();
}
void LeaderElector::Stop(Closure done) {
  machine_->Stop(std::move(done));
}
bool LeaderElector::IsLeader() const {
  return machine_->IsLeader();
}
std::string LeaderElector::leader() const {
  return machine_->leader();
}

}  // namespace flyball
