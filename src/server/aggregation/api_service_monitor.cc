#include "server/aggregation/api_service_monitor.h"

#include <algorithm>
#include <utility>

#include "api/values/time.h"
#include "base/observe/log.h"
#include "json/json.h"

namespace flyball::server {
namespace {

constexpr char kMonitoring[] = "following APIServices";
constexpr std::string_view kAvailable = "Available";

const json::Value& AvailableIn(const json::Value& api_service) {
  static const json::Value kNone;
  if (const auto& conditions = api_service["status"]["conditions"]; conditions.is_array())
    for (const auto& condition : conditions.as_array())
      if (condition["type"].string_or("") == kAvailable) return condition;
  return kNone;
}

bool SaysSo(const json::Value& condition, const Availability& found) {
  return condition["status"].string_or("") == (found.available ? "True" : "False") &&
         condition["reason"].string_or("") == found.reason &&
         condition["message"].string_or("") == found.message;
}

// Sets the condition; the time of its last transition only if the status is another (upstream:
// SetAPIServiceCondition).
void SetAvailable(json::Value& api_service, const Availability& found, TimePoint now) {
  const std::string status = found.available ? "True" : "False";
  json::Value& conditions = api_service["status"]["conditions"];
  if (!conditions.is_array()) conditions = json::Array();
  auto& list = conditions.as_array();
  auto at = std::find_if(list.begin(), list.end(), [](const json::Value& condition) {
    return condition["type"].string_or("") == kAvailable;
  });
  if (at == list.end()) at = list.insert(at, json::Object{{"type", kAvailable}});
  if ((*at)["status"].string_or("") != status) {
    (*at)["status"] = status;
    (*at)["lastTransitionTime"] = api::FormatTime(now);
  }
  (*at)["reason"] = found.reason;
  (*at)["message"] = found.message;
}

// What decides whether an APIService has to be looked at again.
std::string Essence(const json::Value& api_service) {
  const auto& condition = AvailableIn(api_service);
  return json::Write(api_service["spec"]) + json::Write(condition);
}

}  // namespace

ApiServiceMonitor::ApiServiceMonitor(ServerState& state, std::shared_ptr<RemoteClient> client)
    : state_(state),
      executor_(state.executor),
      workers_(state.workers ? *state.workers : state.executor),
      client_(std::move(client)),
      services_(state.catalog.Find("apiregistration.k8s.io", "v1", "apiservices")) {}

void ApiServiceMonitor::Start() {
  services_->cache->Observe([weak = weak_from_this()](const Change& change) {
    if (const auto self = weak.lock()) self->OnApiService(change);
  });
  state_.catalog.Find("", "v1", "services")->cache->Observe([weak = weak_from_this()](const Change& change) {
    if (const auto self = weak.lock()) self->OnService(change.any().namespace_name(), change.any().name());
  });
  state_.catalog.Find("discovery.k8s.io", "v1", "endpointslices")
      ->cache->Observe([weak = weak_from_this()](const Change& change) {
        const auto self = weak.lock();
        if (!self || !self->apis_.any()) return;
        const json::Value slice = change.any().ToValue();
        self->OnService(change.any().namespace_name(),
                        slice["metadata"]["labels"]["kubernetes.io/service-name"].string_or(""));
      });
  for (const auto& object : services_->cache->List({}).objects) {
    apis_.Set(object->name(), ReadRemoteApi(object->ToValue()));
    Wake(object->name());
  }
}

bool ApiServiceMonitor::Stopped() {
  MutexLock lock(mu_);
  return stopped_;
}

void ApiServiceMonitor::Stop() {
  {
    MutexLock lock(mu_);
    stopped_ = true;
    for (auto& [name, watched] : watched_)
      if (watched.timer != kNoTimer) executor_.Cancel(watched.timer);
    watched_.clear();
  }
  client_->Stop();
}

void ApiServiceMonitor::OnApiService(const Change& change) {
  const std::string name(change.any().name());
  if (!change.object) {
    apis_.Set(name, nullptr);
    return Forget(name);
  }
  const json::Value value = change.object->ToValue();
  apis_.Set(name, ReadRemoteApi(value));
  {
    MutexLock lock(mu_);
    if (const auto found = watched_.find(name);
        found != watched_.end() && found->second.known == Essence(value))
      return;
  }
  Wake(name);
}

void ApiServiceMonitor::OnService(std::string_view namespace_name, std::string_view name) {
  for (const auto& api_service : apis_.ServedBy(namespace_name, name)) Wake(api_service);
}

void ApiServiceMonitor::Forget(const std::string& name) {
  documents_.Set(name, nullptr);
  MutexLock lock(mu_);
  const auto found = watched_.find(name);
  if (found == watched_.end()) return;
  if (found->second.timer != kNoTimer) executor_.Cancel(found->second.timer);
  if (found->second.running)
    found->second.again = true;  // it will see that there is nothing left to look at
  else
    watched_.erase(found);
  state_.metrics
      .GetGauge("aggregator_unavailable_apiservice",
                "Gauge of APIServices which are marked as unavailable broken down by APIService name.",
                {{"name", name}})
      .Set(0);
}

void ApiServiceMonitor::Wake(const std::string& name) {
  {
    MutexLock lock(mu_);
    if (stopped_) return;
    auto& watched = watched_[name];
    if (watched.running) {
      watched.again = true;
      return;
    }
    watched.running = true;
    if (watched.timer != kNoTimer) executor_.Cancel(std::exchange(watched.timer, kNoTimer));
  }
  executor_.Post([weak = weak_from_this(), name] {
    if (const auto self = weak.lock(); self && !self->Stopped()) SpawnOwn(Look(self, name), kMonitoring);
  });
}

void ApiServiceMonitor::WakeAfter(const std::string& name, Duration delay) {
  watched_[name].timer = executor_.PostAfter(delay, [weak = weak_from_this(), name] {
    if (const auto self = weak.lock()) self->Wake(name);
  });
}

Task<void> ApiServiceMonitor::Look(std::shared_ptr<ApiServiceMonitor> self, std::string name) {
  bool good = true;
  RemoteApiPtr api;
  for (bool more = true; more;) {
    api = self->apis_.Get(name);
    auto once = self->LookOnce(name, api);
    good = co_await std::move(once);
    MutexLock lock(self->mu_);
    if (self->stopped_) co_return;
    more = std::exchange(self->watched_[name].again, false);
  }
  const bool there = self->services_->cache->Get(name) != nullptr;
  if (!there) self->documents_.Set(name, nullptr);
  MutexLock lock(self->mu_);
  if (self->stopped_) co_return;
  auto& watched = self->watched_[name];
  watched.running = false;
  watched.failures = good ? 0 : watched.failures + 1;
  if (!there) {
    self->watched_.erase(name);
    co_return;
  }
  if (!api || (good && self->client_->LocalOf(*api))) co_return;  // what is in this process stays available
  constexpr int kMostDoublings = 20;
  const Duration retry = kFirstRetry * (1 << std::min(watched.failures, kMostDoublings));
  self->WakeAfter(name, good ? kResync : std::min(retry, kResync));
}

Task<bool> ApiServiceMonitor::LookOnce(const std::string& name, RemoteApiPtr api) {
  Availability found = LocallyAvailable();
  if (api) {
    auto check = Check(api);
    found = co_await std::move(check);
    if (Stopped()) co_return true;
  } else {
    documents_.Set(name, nullptr);
  }
  const bool available = found.available;
  // What is wrong with the cluster's objects is looked at again when they change.
  const bool retry = found.reason == kFailedDiscovery;
  auto write = WriteCondition(name, std::move(found));
  const bool written = co_await std::move(write);
  if (api) {
    auto fetch = FetchDocuments(name, api, available);
    co_await std::move(fetch);
  }
  co_return written && !retry;
}

Task<Availability> ApiServiceMonitor::Check(RemoteApiPtr api) {
  if (!client_->LocalOf(*api))
    if (auto problem = CheckService(state_.catalog, *api)) co_return std::move(*problem);
  auto check = CheckDiscovery(client_, api, executor_);
  co_return co_await std::move(check);
}

Task<bool> ApiServiceMonitor::WriteCondition(const std::string& name, Availability found) {
  const auto object = services_->cache->Get(name);
  if (!object) co_return true;
  json::Value current = object->ToValue();
  const bool was_available = AvailableIn(current)["status"].string_or("") == "True";
  const bool same = SaysSo(AvailableIn(current), found);
  SetAvailable(current, found, state_.clock().Now());
  {
    MutexLock lock(mu_);
    if (!stopped_) watched_[name].known = Essence(current);
  }
  CountUnavailable(name, found, was_available);
  if (same) co_return true;
  RequestScope scope = OwnScope(state_);
  scope.resource = services_;
  Registry::Transform transform = [found, now = scope.now](const json::Value& latest) -> Result<json::Value> {
    json::Value next = latest;
    SetAvailable(next, found, now);
    return next;
  };
  UpdateOptions options{.subresource = "status", .conflict_retries = true, .skip_admission = true};
  auto update = state_.registry.Update(scope, *services_, "", name, std::move(transform), std::move(options));
  const auto written = co_await std::move(update);
  if (!written && !written.error().Is(Reason::kNotFound))
    log::Error("cannot write whether an APIService is available",
               {{"name", name}, {"error", written.error().message()}});
  co_return written || written.error().Is(Reason::kNotFound);
}

void ApiServiceMonitor::CountUnavailable(const std::string& name, const Availability& found,
                                         bool was_available) {
  state_.metrics
      .GetGauge("aggregator_unavailable_apiservice",
                "Gauge of APIServices which are marked as unavailable broken down by APIService name.",
                {{"name", name}})
      .Set(found.available ? 0 : 1);
  if (found.available || !was_available) return;
  state_.metrics
      .GetCounter("aggregator_unavailable_apiservice_total",
                  "Counter of APIServices which are marked as unavailable broken down by APIService name and "
                  "reason.",
                  {{"name", name}, {"reason", found.reason}})
      .Add();
}

Task<void> ApiServiceMonitor::FetchDocuments(const std::string& name, RemoteApiPtr api, bool available) {
  std::shared_ptr<DocumentFetcher> fetcher;
  {
    MutexLock lock(mu_);
    if (stopped_) co_return;
    auto& watched = watched_[name];
    const bool due = executor_.clock().Steady() >= watched.documents_due;
    // What is not available is stale at once, and what is again is asked at once.
    const auto kept = documents_.snapshot();
    const bool known = std::any_of(kept->versions.begin(), kept->versions.end(), [&](const auto& version) {
      return version.group == api->group && version.version == api->version && version.stale != available &&
             version.priority.group == api->priority.group &&
             version.priority.version == api->priority.version;
    });
    if (!due && known) co_return;
    if (!watched.fetcher) watched.fetcher = std::make_shared<DocumentFetcher>(client_, executor_, workers_);
    fetcher = watched.fetcher;
  }
  auto fetch = fetcher->Fetch(api);
  RemoteDocumentPtr document = co_await std::move(fetch);
  co_await ResumeOn(executor_);
  if (services_->cache->Get(name)) documents_.Set(name, std::move(document));
  MutexLock lock(mu_);
  if (!stopped_) watched_[name].documents_due = executor_.clock().Steady() + kDocumentsEvery;
}

}  // namespace flyball::server
