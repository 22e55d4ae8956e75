#include "server/aggregation/availability.h"

#include <utility>

#include "base/run/mutex.h"
#include "server/forward/service_endpoints.h"
#include "server/registry/server_state.h"

namespace flyball::server {
namespace {

constexpr int kAttempts = 5;
constexpr RemoteLimits kProbeLimits = {.timeout = std::chrono::seconds(5), .max_response_bytes = 8u << 20};

std::string ServiceText(const RemoteApi& api) {
  return "service/" + api.service_name + " in \"" + api.service_namespace + "\"";
}

// Go's words for it, which people search for.
std::string TextOf(const Error& error) {
  return error.Is(Reason::kTimeout)
             ? "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
             : error.message();
}

// Why one attempt failed; "" if it did not.
Task<std::string> Probe(std::shared_ptr<RemoteClient> client, RemoteApiPtr api, Executor& executor) {
  const auto url = client->Resolve(*api);
  if (!url) co_return url.error().message();
  const std::string asked = *url + api->Path();
  // It is its discovery document that is asked for: system:masters may read it everywhere.
  const User user{"system:kube-aggregator", "", {std::string(kMastersGroup)}, {}};
  auto get = client->Get(*api, *url, api->Path(), {}, user, kProbeLimits, executor);
  const auto response = co_await std::move(get);
  const std::string failing = "failing or missing response from " + asked + ": ";
  if (!response) co_return failing + "Get \"" + asked + "\": " + TextOf(response.error());
  if (response->status < 200 || response->status > 299)
    co_return failing + "bad status from " + asked + ": " + std::to_string(response->status);
  co_return std::string();
}

// Attempts under way: the first that succeeds decides, or the last that fails.
class Attempts {
 public:
  explicit Attempts(UniqueFunction<void(std::string)> done) : done_(std::move(done)) {}

  void Ended(std::string problem) {
    UniqueFunction<void(std::string)> done;
    {
      MutexLock lock(mu_);
      if (--left_ > 0 && !problem.empty()) return;
      done = std::exchange(done_, nullptr);
    }
    if (done) done(std::move(problem));
  }

 private:
  Mutex mu_;
  int left_ FLYBALL_GUARDED_BY(mu_) = kAttempts;
  UniqueFunction<void(std::string)> done_ FLYBALL_GUARDED_BY(mu_);
};

Task<void> RunAttempt(std::shared_ptr<Attempts> attempts, std::shared_ptr<RemoteClient> client,
                      RemoteApiPtr api, Executor& executor) {
  auto probe = Probe(std::move(client), std::move(api), executor);
  std::string problem = co_await std::move(probe);
  attempts->Ended(std::move(problem));
}

}  // namespace

std::optional<Availability> CheckService(const Catalog& catalog, const RemoteApi& api) {
  const auto object = catalog.Find("", "v1", "services")
                          ->cache->Get(ServedResource::CacheKey(api.service_namespace, api.service_name));
  if (!object) return Availability{false, "ServiceNotFound", ServiceText(api) + " is not present"};
  const json::Value service = object->ToValue();
  if (service["spec"]["type"].string_or("") != "ClusterIP") return std::nullopt;
  const json::Value* port = FindServicePort(service, api.port);
  if (!port)
    return Availability{false, "ServicePortError",
                        ServiceText(api) + " is not listening on port " + std::to_string(api.port)};
  const std::string port_name((*port)["name"].string_or(""));
  if (!ReadyEndpoints(catalog, service, port_name).empty()) return std::nullopt;
  if (EndpointSlicesOf(catalog, api.service_namespace, api.service_name).empty())
    return Availability{false, "EndpointsNotFound", "cannot find endpointslices for " + ServiceText(api)};
  return Availability{
      false, "MissingEndpoints",
      "endpointslices for " + ServiceText(api) + " have no addresses with port name \"" + port_name + "\""};
}

Task<Availability> CheckDiscovery(std::shared_ptr<RemoteClient> client, RemoteApiPtr api,
                                  Executor& executor) {
  auto start = [&](UniqueFunction<void(std::string)> done) {
    const auto attempts = std::make_shared<Attempts>(std::move(done));
    for (int i = 0; i < kAttempts; ++i)
      SpawnOwn(RunAttempt(attempts, client, api, executor), "asking an API server for its discovery");
  };
  auto ended = Callback<std::string>(executor, std::move(start));
  std::string problem = co_await ended;
  if (!problem.empty()) co_return Availability{false, kFailedDiscovery, std::move(problem)};
  co_return Availability{true, "Passed", "all checks passed"};
}

}  // namespace flyball::server
