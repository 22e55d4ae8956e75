#include "controller/worker/reconcile_log.h"

#include <utility>

#include "api/values/time.h"
#include "json/json.h"

namespace flyball {
namespace {

double SecondsOf(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

std::string OutcomeOf(const Result<Action>& result) {
  if (!result) return result.error().message();
  if (result->terminal) return "given up: " + result->terminal->message();
  if (result->requeue) return "again";
  if (result->requeue_after <= Duration::zero()) return "done";
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(result->requeue_after).count();
  return "again in " + std::to_string(seconds) + "s";
}

json::Value JsonOf(const ReconcileRecord& record) {
  return json::Object{{"controller", record.controller},
                      {"kind", record.kind},
                      {"namespace", record.key.ns},
                      {"name", record.key.name},
                      {"cause", record.cause},
                      {"began", api::FormatMicroTime(record.began)},
                      {"waitedSeconds", SecondsOf(record.waited)},
                      {"tookSeconds", SecondsOf(record.took)},
                      {"writes", json::Array(record.writes.begin(), record.writes.end())},
                      {"outcome", record.outcome}};
}

}  // namespace

// Notes what is written, and passes it on.
class ReconcileLog::Running::Observer final : public WriteObserver {
 public:
  Observer(std::shared_ptr<Running> running, std::shared_ptr<WriteObserver> next)
      : running_(std::move(running)), next_(std::move(next)) {}

  void OnWrite(const KindRef& kind, std::string_view ns, std::string_view name,
               std::string_view resource_version, bool deleted) override {
    Note(kind, ns, name, deleted ? " deleted" : " at " + std::string(resource_version));
    if (next_) next_->OnWrite(kind, ns, name, resource_version, deleted);
  }
  void OnUnknown(const KindRef& kind, std::string_view ns, std::string_view name) override {
    Note(kind, ns, name, ", no answer");
    if (next_) next_->OnUnknown(kind, ns, name);
  }

 private:
  void Note(const KindRef& kind, std::string_view ns, std::string_view name, const std::string& how) {
    const ObjectKey key{std::string(ns), std::string(name)};
    MutexLock lock(running_->mu_);
    running_->record_.writes.push_back(kind.kind + " " + key.ToString() + how);
  }

  const std::shared_ptr<Running> running_;
  const std::shared_ptr<WriteObserver> next_;
};

std::shared_ptr<WriteObserver> ReconcileLog::Running::Observe(std::shared_ptr<Running> running,
                                                              std::shared_ptr<WriteObserver> next) {
  return std::make_shared<Observer>(std::move(running), std::move(next));
}

void ReconcileLog::Woken(const std::string& controller, const ObjectKey& key, const std::string& cause) {
  const SteadyTime now = clock_.Steady();
  MutexLock lock(mu_);
  if (pending_.size() < kMostPending) pending_.try_emplace(std::pair(controller, key), Pending{cause, now});
}

std::shared_ptr<ReconcileLog::Running> ReconcileLog::Begin(const std::string& controller,
                                                           const std::string& kind, const ObjectKey& key,
                                                           int failures) {
  auto running = std::make_shared<Running>();
  running->began_ = clock_.Steady();
  MutexLock lock(running->mu_);
  ReconcileRecord& record = running->record_;
  record.controller = controller;
  record.kind = kind;
  record.key = key;
  record.began = clock_.Now();
  if (failures > 0) record.cause = "retry " + std::to_string(failures);
  MutexLock own(mu_);
  if (auto found = pending_.extract(std::pair(controller, key))) {
    record.cause = std::move(found.mapped().cause);
    record.waited = running->began_ - found.mapped().since;
  }
  return running;
}

void ReconcileLog::End(Running& running, const Result<Action>& result) {
  ReconcileRecord record;
  {
    MutexLock lock(running.mu_);
    record = running.record_;
  }
  record.took = clock_.Steady() - running.began_;
  record.outcome = OutcomeOf(result);
  MutexLock lock(mu_);
  records_.push_back(std::move(record));
  if (records_.size() > kMostRecords) records_.pop_front();
}

std::vector<ReconcileRecord> ReconcileLog::Records() const {
  MutexLock lock(mu_);
  return {records_.begin(), records_.end()};
}

std::string ReconcileLog::ToJson() const {
  json::Array items;
  for (const ReconcileRecord& record : Records()) items.push_back(JsonOf(record));
  return json::Write(json::Object{{"items", std::move(items)}});
}

}  // namespace flyball
