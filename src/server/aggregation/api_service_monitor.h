// ApiServiceMonitor: follows the APIServices. It knows which group versions other servers serve, writes
// whether they can be reached into the condition Available, and keeps their documents up to date.
//
// An APIService is looked at when it, its Service or one of that's EndpointSlices changes, and again every
// half minute; after a failure sooner, with a growing delay. Several are looked at at once, one at a time
// each.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/run/mutex.h"
#include "server/aggregation/availability.h"
#include "server/aggregation/document_fetcher.h"
#include "server/aggregation/remote_api.h"
#include "server/aggregation/remote_client.h"
#include "server/aggregation/remote_documents.h"
#include "server/registry/server_state.h"

namespace flyball::server {

// Thread-safe; the state is there until Stop. Timers and requests that outlive it do nothing.
class ApiServiceMonitor : public std::enable_shared_from_this<ApiServiceMonitor> {
 public:
  static constexpr Duration kResync = std::chrono::seconds(30);
  static constexpr Duration kFirstRetry = std::chrono::milliseconds(5);
  static constexpr Duration kDocumentsEvery = std::chrono::minutes(1);

  ApiServiceMonitor(ServerState& state, std::shared_ptr<RemoteClient> client);

  // Begins to follow. Group versions that other servers serve are known when it returns.
  void Start();
  void Stop();
  // Something about the Service is different now.
  void OnService(std::string_view namespace_name, std::string_view name);

  const RemoteApis& apis() const { return apis_; }
  const RemoteDocuments& documents() const { return documents_; }

 private:
  // What is known of one APIService.
  struct Watched {
    bool running = false;  // it is being looked at
    bool again = false;    // and is to be looked at once more
    int failures = 0;      // in a row
    TimerId timer = kNoTimer;
    std::shared_ptr<DocumentFetcher> fetcher;
    SteadyTime documents_due{};
    std::string known;  // the spec and the condition when it was last looked at
  };

  bool Stopped();
  void OnApiService(const Change& change);
  void Wake(const std::string& name);
  void WakeAfter(const std::string& name, Duration delay) FLYBALL_REQUIRES(mu_);
  void Forget(const std::string& name);
  static Task<void> Look(std::shared_ptr<ApiServiceMonitor> self, std::string name);
  Task<bool> LookOnce(const std::string& name, RemoteApiPtr api);
  Task<Availability> Check(RemoteApiPtr api);
  Task<bool> WriteCondition(const std::string& name, Availability found);
  Task<void> FetchDocuments(const std::string& name, RemoteApiPtr api, bool available);
  void CountUnavailable(const std::string& name, const Availability& found, bool was_available);

  ServerState& state_;  // not after Stop, although what waits for others goes on then
  Executor& executor_;  // outlives everything that waits on it
  Executor& workers_;
  const std::shared_ptr<RemoteClient> client_;
  const ResourcePtr services_;
  RemoteApis apis_;
  RemoteDocuments documents_;
  Mutex mu_;
  bool stopped_ FLYBALL_GUARDED_BY(mu_) = false;
  std::map<std::string, Watched> watched_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball::server
