#include "store/sqlite/space_quota.h"

namespace flyball::store {
namespace {

// What a row takes beside its key and value. etcd reckons with the same number.
constexpr std::int64_t kRowOverhead = 256;
// Counting along is good enough for so much.
constexpr std::int64_t kMeasureEvery = 1 << 20;
// The alarm goes off below so many hundredths of the quota: at the limit itself it would come and go.
constexpr std::int64_t kAllClearPercent = 95;
constexpr std::int64_t kClosePercent = 90;

}  // namespace

Error NoSpaceError() {
  return Error(Reason::kUnknown, 500, "etcdserver: mvcc: database space exceeded");
}

std::int64_t SpaceQuota::CostOf(const Transaction& transaction) {
  std::int64_t cost = 0;
  for (const Operation& operation : transaction)
    if (operation.value)
      cost += static_cast<std::int64_t>(operation.key.size() + operation.value->size()) + kRowOverhead;
  return cost;
}

SpaceQuota::Verdict SpaceQuota::Admit(std::int64_t cost) {
  if (cost == 0) return Verdict::kAdmitted;
  MutexLock lock(mu_);
  if (alarm_) return Verdict::kRefused;
  if (limit_ > 0 && used_ + written_ + pending_ + cost > limit_) {
    alarm_ = true;
    used_at_alarm_ = -1;
    return Verdict::kAlarmRaised;
  }
  pending_ += cost;
  return Verdict::kAdmitted;
}

void SpaceQuota::Finish(std::int64_t cost) {
  MutexLock lock(mu_);
  pending_ -= cost;
  written_ += cost;
}

bool SpaceQuota::WantsMeasure() const {
  MutexLock lock(mu_);
  return alarm_ || written_ >= kMeasureEvery ||
         (limit_ > 0 && written_ > 0 && used_ + written_ >= limit_ / 100 * kClosePercent);
}

bool SpaceQuota::Measured(std::int64_t used) {
  MutexLock lock(mu_);
  used_ = used;
  written_ = 0;
  if (!alarm_) return false;
  if (used_at_alarm_ < 0) used_at_alarm_ = used;
  if (used >= used_at_alarm_ || used + pending_ >= limit_ / 100 * kAllClearPercent) return false;
  alarm_ = false;
  return true;
}

bool SpaceQuota::alarm() const {
  MutexLock lock(mu_);
  return alarm_;
}

std::int64_t SpaceQuota::used() const {
  MutexLock lock(mu_);
  return used_ + written_;
}

}  // namespace flyball::store
