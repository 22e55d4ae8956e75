// FakeApiServer: a Transport to an API server that is not there: objects in a map, lists, watches, optimistic
// concurrency, finalizers; and everything that can go wrong, on demand. For tests of the SDK's own machinery,
// where the server has to misbehave in exact ways.
//
// Requests are answered inline. Watch events travel on the executor, so in a simulation they take their turn.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/wire/status.h"
#include "base/run/executor.h"
#include "base/run/mutex.h"
#include "base/run/random.h"
#include "client/testing/fake_request.h"
#include "json/json.h"
#include "json/patch.h"
#include "net/http/http.h"

namespace flyball::testing {

// Thread-safe.
class FakeApiServer final : public net::Transport {
 public:
  // What goes wrong by chance; each is a probability a request, event or piece of data.
  struct Faults {
    double refuse = 0;           // a request fails with kConnection
    double overload = 0;         // ... is answered 429
    double unavailable = 0;      // ... is answered 500
    double cut_list = 0;         // a list ends in the middle
    double cut_watch = 0;        // a watch ends, by chance in the middle of a frame, after an event
    double split = 0;            // a frame arrives in pieces
    double slow = 0;             // an event is delayed by up to ten seconds
    double shuffle_lists = 0;    // items in another order
    double duplicate_items = 0;  // an item of a list comes twice
  };

  FakeApiServer(Executor& executor, Random& random) : executor_(executor), random_(random) {}
  ~FakeApiServer() override { CutWatches(); }

  // --- Transport ---
  std::shared_ptr<net::Call> Start(net::Request request, std::shared_ptr<net::ResponseSink> sink) override;
  void OpenWebSocket(net::Request, std::vector<std::string>,
                     UniqueFunction<void(Result<std::shared_ptr<net::WebSocket>>)> done) override {
    done(Unexpected(BadRequest("not here")));
  }

  // --- what tests do behind the API's back ---
  // `collection` as in the path: "/api/v1/configmaps" without any namespace.
  json::Value Put(const std::string& collection, json::Value object);
  void Remove(const std::string& collection, const std::string& ns, const std::string& name);
  // key -> resourceVersion of everything in a collection.
  std::map<std::string, std::string> Versions(const std::string& collection);
  std::optional<json::Value> Find(const std::string& collection, const std::string& ns,
                                  const std::string& name);

  void SetFaults(const Faults& faults) {
    MutexLock lock(mu_);
    faults_ = faults;
  }
  // Down: requests fail, watches are cut. Up again with the same content.
  void SetDown(bool down);
  void CutWatches();
  // Forgets the history: watches from older versions are answered 410.
  void Compact();
  // Watches under way get an ERROR event with a 410 Status and end.
  void ExpireWatches();
  // A bookmark to every watch.
  void SendBookmarks();
  // The next request whose verb and target contain these is answered so.
  void AnswerNext(std::string verb, std::string target_part, int status, std::string body,
                  net::Headers headers = {});
  void set_streaming_lists(bool on) {
    MutexLock lock(mu_);
    streaming_lists_ = on;
  }

  std::size_t requests(const std::string& verb = {}, const std::string& target_part = {});
  std::vector<net::Request> log() {
    MutexLock lock(mu_);
    return requests_;
  }
  std::size_t open_watches();

 private:
  struct Event {
    std::uint64_t version;
    std::string collection, ns, frame;
  };
  struct Canned {
    std::string verb, target_part;
    net::Response response;
  };
  class Watch;
  class AnsweredCall;

  net::Response Handle(const FakeRequest& request) FLYBALL_REQUIRES(mu_);
  net::Response List(const FakeRequest& request) FLYBALL_REQUIRES(mu_);
  net::Response Create(const FakeRequest& request) FLYBALL_REQUIRES(mu_);
  net::Response Update(const FakeRequest& request) FLYBALL_REQUIRES(mu_);
  net::Response Patch(const FakeRequest& request) FLYBALL_REQUIRES(mu_);
  net::Response Delete(const FakeRequest& request) FLYBALL_REQUIRES(mu_);
  json::Value Store(const std::string& collection, json::Value object) FLYBALL_REQUIRES(mu_);
  void Erase(const std::string& collection, const std::string& key) FLYBALL_REQUIRES(mu_);
  void Publish(const std::string& type, const std::string& collection, const json::Value& object)
      FLYBALL_REQUIRES(mu_);
  std::shared_ptr<Watch> OpenWatch(const FakeRequest& request, std::shared_ptr<net::ResponseSink> sink)
      FLYBALL_REQUIRES(mu_);
  static net::Response Fail(const Error& error) {
    return {error.code(), {{"content-type", "application/json"}}, json::Write(api::StatusFromError(error))};
  }
  static net::Response Ok(const json::Value& value, int status = 200) {
    return {status, {{"content-type", "application/json"}}, json::Write(value)};
  }
  bool Chance(double p) { return p > 0 && random_.Unit() < p; }

  Executor& executor_;
  Random& random_;
  Mutex mu_;
  std::map<std::string, std::map<std::string, json::Value>> objects_ FLYBALL_GUARDED_BY(mu_);
  std::deque<Event> history_ FLYBALL_GUARDED_BY(mu_);
  std::uint64_t version_ FLYBALL_GUARDED_BY(mu_) = 100;
  std::uint64_t compacted_ FLYBALL_GUARDED_BY(mu_) = 0;
  bool down_ FLYBALL_GUARDED_BY(mu_) = false;
  bool streaming_lists_ FLYBALL_GUARDED_BY(mu_) = true;
  Faults faults_ FLYBALL_GUARDED_BY(mu_);
  std::vector<std::weak_ptr<Watch>> watches_ FLYBALL_GUARDED_BY(mu_);
  std::vector<net::Request> requests_ FLYBALL_GUARDED_BY(mu_);
  std::deque<Canned> canned_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball::testing

#include "client/testing/fake_api_server_inl.h"
