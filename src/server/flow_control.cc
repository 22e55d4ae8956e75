#include "server/flow_control.h"

#include <array>

namespace flyball::server {
namespace {

constexpr std::array<std::string_view, 5> kStreams = {"log", "exec", "attach", "portforward", "proxy"};

bool IsWrite(const RequestInfo& info) {
  return info.verb != "get" && info.verb != "list" && info.verb != "watch" && info.verb != "head";
}

Error TooManyRequests() {
  return Error(Reason::kTooManyRequests, 429, "too many requests, please try again later",
               {.retry_after_seconds = 1});
}

}  // namespace

bool IsLongRunning(const RequestInfo& info) {
  if (info.verb == "watch" || info.deprecated_watch) return true;
  for (const auto name : kStreams)
    if (info.is_resource && info.subresource == name) return true;
  return false;
}

FlowControl::FlowControl(int max_reads, int max_writes, Metrics& metrics)
    : rejected_(metrics.GetCounter("apiserver_flowcontrol_rejected_requests_total",
                                   "Requests refused because too many were running")) {
  lanes_[0].limit = max_reads;
  lanes_[1].limit = max_writes;
  const std::string name = "apiserver_current_inflight_requests";
  const std::string help = "Requests running now, by kind";
  running_[0] = &metrics.GetGauge(name, help, {{"request_kind", "readOnly"}});
  running_[1] = &metrics.GetGauge(name, help, {{"request_kind", "mutating"}});
}

Result<FlowControl::Ticket> FlowControl::Admit(const RequestScope& scope) {
  if (IsLongRunning(scope.info)) return Ticket();
  const bool write = IsWrite(scope.info);
  MutexLock lock(mu_);
  auto& lane = lanes_[write];
  if (lane.limit == 0) return Ticket();
  const bool exempt = scope.user.InGroup(kMastersGroup);
  if (!exempt && lane.running >= lane.limit) {
    const auto mine = lane.by_user.find(scope.user.name);
    const int held = mine == lane.by_user.end() ? 0 : mine->second;
    const int users = static_cast<int>(lane.by_user.size()) + (held == 0 ? 1 : 0);
    const bool below_share = held < lane.limit / users;
    if (!below_share || lane.running >= lane.limit + lane.limit / 4) {
      rejected_.Add();
      return Unexpected(TooManyRequests());
    }
  }
  ++lane.running;
  ++lane.by_user[scope.user.name];
  running_[write]->Add(1);
  return Ticket(this, write, scope.user.name);
}

void FlowControl::Release(bool write, const std::string& user) {
  MutexLock lock(mu_);
  auto& lane = lanes_[write];
  --lane.running;
  const auto it = lane.by_user.find(user);
  if (--it->second == 0) lane.by_user.erase(it);
  running_[write]->Add(-1);
}

FlowControl::Ticket::~Ticket() {
  if (flow_) flow_->Release(write_, user_);
}

}  // namespace flyball::server
