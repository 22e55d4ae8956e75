#include "server/flow/flow_control.h"

#include <algorithm>
#include <array>

namespace flyball::server {
namespace {

constexpr std::string_view kFlowGroup = "flowcontrol.apiserver.k8s.io";
// How long a request waits for a seat (upstream: a quarter of the request timeout of a minute).
constexpr Duration kMaxWait = std::chrono::seconds(15);
constexpr std::array<std::string_view, 5> kStreams = {"log", "exec", "attach", "portforward", "proxy"};

bool IsWrite(const RequestInfo& info) {
  return info.verb != "get" && info.verb != "list" && info.verb != "watch" && info.verb != "head";
}

// What one request may take of a level with so many seats (upstream: MaxSeatsTracker).
int MostSeats(int seats, int hand_size) {
  const int share = (seats * 15 + 99) / 100;
  return std::max(1, std::min(share, seats / hand_size));
}

Error TooManyRequests() {
  return Error(Reason::kTooManyRequests, 429, "too many requests, please try again later",
               {.retry_after_seconds = 1});
}

}  // namespace

struct FlowControl::Waiter {
  UniqueFunction<void(bool)> done;  // empty once it was called
  int seats = 1;
  TimerId timer{};
  Executor* executor = nullptr;
};

bool IsLongRunning(const RequestInfo& info) {
  if (info.verb == "watch" || info.deprecated_watch) return true;
  for (const auto name : kStreams)
    if (info.is_resource && info.subresource == name) return true;
  return false;
}

std::shared_ptr<FlowControl> FlowControl::Make(const Catalog& catalog, int total_seats, Metrics& metrics) {
  return std::shared_ptr<FlowControl>(new FlowControl(catalog, total_seats, metrics));
}

FlowControl::FlowControl(const Catalog& catalog, int total_seats, Metrics& metrics)
    : schema_cache_(catalog.Find(kFlowGroup, "v1", "flowschemas")->cache),
      level_cache_(catalog.Find(kFlowGroup, "v1", "prioritylevelconfigurations")->cache),
      total_seats_(total_seats),
      rejected_(metrics.GetCounter("apiserver_flowcontrol_rejected_requests_total",
                                   "Requests refused because too many were running")),
      long_running_(metrics.GetGauge("apiserver_longrunning_requests", "Long-running requests open now")) {
  const std::string name = "apiserver_current_inflight_requests";
  const std::string help = "Requests running now, by kind";
  running_[0] = &metrics.GetGauge(name, help, {{"request_kind", "readOnly"}});
  running_[1] = &metrics.GetGauge(name, help, {{"request_kind", "mutating"}});
}

void FlowControl::Refresh() {
  const std::array<store::Revision, 2> versions = {schema_cache_->last_change(), level_cache_->last_change()};
  if (versions == versions_) return;
  versions_ = versions;
  Config next;
  int shares = 0;
  for (const auto& object : level_cache_->List({}).objects) {
    const auto level = PriorityLevel::From(object->ToValue());
    // A level that stays keeps what is running in it.
    auto& kept = config_.levels[level.name];
    if (!kept) kept = std::make_shared<Level>();
    kept->config = level;
    shares += level.shares;
    next.levels[level.name] = kept;
  }
  for (auto& [name, level] : next.levels) {
    level->seats = shares == 0 ? total_seats_ : (total_seats_ * level->config.shares + shares - 1) / shares;
    level->most_seats = MostSeats(level->seats, level->config.hand_size);
  }
  for (const auto& object : schema_cache_->List({}).objects)
    next.schemas.push_back(FlowSchema::From(object->ToValue()));
  next.schemas = SortedFlowSchemas(std::move(next.schemas));
  config_ = std::move(next);
}

FlowControl::Place FlowControl::Classify(RequestScope& scope) {
  MutexLock lock(mu_);
  Refresh();
  for (const auto& schema : config_.schemas) {
    if (!schema.Matches(scope.user, scope.info)) continue;
    const auto level = config_.levels.find(schema.level());
    if (level == config_.levels.end()) continue;  // dangling: the next one decides
    scope.flow_schema_uid = schema.uid();
    scope.priority_level_uid = level->second->config.uid;
    return {level->second, schema.FlowOf(scope.user, scope.info), level->second->config.exempt,
            level->second->most_seats};
  }
  return {};
}

FlowControl::Entry FlowControl::Enter(Level& level, const std::string& flow, int seats) {
  if (level.running + seats <= level.seats && level.waiting == 0) {
    level.running += seats;
    level.flows[flow].running += seats;
    return Entry::kSeat;
  }
  const auto it = level.flows.find(flow);
  const auto queued = it == level.flows.end() ? 0 : static_cast<int>(it->second.waiting.size());
  const bool room =
      level.config.queues && level.waiting < level.config.max_waiting && queued < level.config.queue_length;
  return room ? Entry::kWait : Entry::kRefused;
}

void FlowControl::Enqueue(const std::shared_ptr<Level>& level, const std::string& flow,
                          const std::shared_ptr<Waiter>& waiter, Executor& executor) {
  ++level->waiting;
  level->flows[flow].waiting.push_back(waiter);
  waiter->executor = &executor;
  waiter->timer = executor.PostAfter(kMaxWait, [weak = weak_from_this(), level, flow, waiter] {
    if (const auto self = weak.lock()) self->GiveUp(*level, flow, waiter);
  });
}

void FlowControl::GiveUp(Level& level, const std::string& flow, const std::shared_ptr<Waiter>& waiter) {
  UniqueFunction<void(bool)> done;
  {
    MutexLock lock(mu_);
    if (!waiter->done) return;
    done = std::move(waiter->done);
    waiter->done = {};
    --level.waiting;
    const auto it = level.flows.find(flow);
    std::erase(it->second.waiting, waiter);
    if (it->second.running == 0 && it->second.waiting.empty()) level.flows.erase(it);
  }
  done(false);
}

// Of the flows that wait, the one that runs least; among equals the next after the one served last.
std::shared_ptr<FlowControl::Waiter> FlowControl::NextWaiter(Level& level) {
  auto best = level.flows.end();
  const auto better = [&](const auto& a, const auto& b) {
    if (a->second.running != b->second.running) return a->second.running < b->second.running;
    const bool a_after = a->first > level.last_served, b_after = b->first > level.last_served;
    return a_after != b_after ? a_after : a->first < b->first;
  };
  for (auto it = level.flows.begin(); it != level.flows.end(); ++it)
    if (!it->second.waiting.empty() && (best == level.flows.end() || better(it, best))) best = it;
  if (best == level.flows.end()) return nullptr;
  // One that needs more seats than are free is next all the same: narrower ones must not pass it for ever.
  const int seats = best->second.waiting.front()->seats;
  if (level.running > 0 && level.running + seats > level.seats) return nullptr;
  auto waiter = std::move(best->second.waiting.front());
  best->second.waiting.pop_front();
  best->second.running += seats;
  level.running += seats;
  --level.waiting;
  level.last_served = best->first;
  return waiter;
}

void FlowControl::Release(const std::shared_ptr<Level>& level, const std::string& flow, int seats) {
  std::vector<UniqueFunction<void(bool)>> granted;
  {
    MutexLock lock(mu_);
    level->running -= seats;
    const auto it = level->flows.find(flow);
    if ((it->second.running -= seats) == 0 && it->second.waiting.empty()) level->flows.erase(it);
    while (level->running < level->seats) {
      const auto waiter = NextWaiter(*level);
      if (!waiter) break;
      waiter->executor->Cancel(waiter->timer);
      granted.push_back(std::move(waiter->done));
      waiter->done = {};
    }
  }
  for (auto& done : granted) done(true);
}

Task<Result<FlowControl::Ticket>> FlowControl::Admit(RequestScope& scope, const WorkSize& work) {
  const auto self = shared_from_this();
  const Place place = Classify(scope);
  if (IsLongRunning(scope.info)) co_return Ticket(self, long_running_);
  Gauge& gauge = *running_[IsWrite(scope.info)];
  if (place.exempt || total_seats_ == 0) co_return Ticket(self, gauge);
  const int seats = work.Seats(place.most_seats);
  const auto waiter = std::make_shared<Waiter>();
  waiter->seats = seats;
  auto start = [&](UniqueFunction<void(bool)> done) {
    Entry entry;
    {
      MutexLock lock(mu_);
      entry = Enter(*place.level, place.flow, seats);
      if (entry == Entry::kWait) {
        waiter->done = std::move(done);
        Enqueue(place.level, place.flow, waiter, scope.executor);
        return;
      }
    }
    done(entry == Entry::kSeat);
  };
  auto seated = Callback<bool>(scope.executor, std::move(start));
  if (co_await seated) co_return Ticket(self, gauge, place.level, place.flow, seats);
  rejected_.Add();
  co_return Unexpected(TooManyRequests());
}

FlowControl::Ticket::~Ticket() {
  if (gauge_) gauge_->Add(-1);
  if (level_) control_->Release(level_, flow_, seats_);
}

}  // namespace flyball::server
