// RestClient: requests to one API server, with its credentials, its errors as Error, and its wish to be asked
// again later (Retry-After) honoured. Everything above (dynamic and typed clients, reflectors, elections) is
// built on the two ways to send: Do blocks, Start calls back.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/values/result.h"
#include "client/runtime.h"
#include "json/value.h"
#include "net/http/http.h"

namespace flyball {

// Adds what proves who we are to a request. Thread-safe. May block for as long as a credential plugin runs.
class Credentials {
 public:
  virtual ~Credentials() = default;
  virtual Status Authorize(net::Headers& headers) = 0;
  // The server answered 401: forget what is cached.
  virtual void Invalidate() {}
};
// "Authorization: Bearer <token>".
std::shared_ptr<Credentials> BearerToken(std::string token);

struct RestRequest {
  std::string verb = "GET";
  std::string path{};                                        // percent-encoded, without the query
  std::vector<std::pair<std::string, std::string>> query{};  // not encoded; empty values are left out
  std::string body{};
  std::string content_type = "application/json";  // sent if there is a body
  std::string accept = "application/json";
  net::Headers headers{};       // further ones
  Duration timeout{};           // of one attempt; zero: RestOptions::timeout
  std::stop_token cancelled{};  // when stopped the call ends with kCancelled
  int max_retries = -1;         // -1: RestOptions::max_retries

  RestRequest& Query(std::string name, std::string value) {
    query.emplace_back(std::move(name), std::move(value));
    return *this;
  }
};

struct RestResponse {
  int status = 0;
  net::Headers headers{};
  std::string body{};
};

struct RestOptions {
  std::string user_agent = "flyball-sdk";
  std::string path_prefix{};  // of the server's URL, if it has one
  Duration timeout = std::chrono::seconds(60);
  // How often a request is sent again when the server answers 429, or 5xx with Retry-After (client-go: 10):
  // after the time it says, or else 1 s, 2 s, 4 s, ... at most 30 s.
  int max_retries = 10;
  // Whether a 429 without Retry-After is sent again. kubectl does not: it is how an eviction is refused.
  bool retry_unasked = true;
  // Client-side limit, in requests a second; 0: none. The server's own fairness is the better place.
  double qps = 0;
  int burst = 10;
  std::string impersonate_user{};
  std::vector<std::string> impersonate_groups{};
  std::string impersonate_uid{};
  std::vector<std::pair<std::string, std::string>> impersonate_extra{};  // key and value
};

// A call under way; dropping it does not cancel. Thread-safe.
class RestCall {
 public:
  virtual ~RestCall() = default;
  // The callback gets kCancelled unless it was called before. Idempotent.
  virtual void Cancel() = 0;
};

// Thread-safe. Everything in Runtime must outlive it and its calls.
class RestClient {
 public:
  RestClient(std::shared_ptr<net::Transport> transport, const Runtime& runtime, RestOptions options = {},
             std::shared_ptr<Credentials> credentials = nullptr);
  ~RestClient();

  using Done = UniqueFunction<void(Result<RestResponse>)>;

  // Sends; `done` is called once, from an I/O thread, the executor, or inline. An answer of 400 or more is an
  // Error (ErrorFromResponse). `done` must not block.
  std::shared_ptr<RestCall> Start(RestRequest request, Done done);
  // Blocks for the whole answer. Without Runtime::may_block: one attempt that must complete at once.
  Result<RestResponse> Do(RestRequest request);
  // The same, parsed.
  Result<json::Value> DoJson(RestRequest request);

  // Sends and passes the answer to the sink as it arrives: watches, logs. No retries, no timeout; the sink
  // sees error statuses as they are.
  std::shared_ptr<net::Call> Stream(RestRequest request, std::shared_ptr<net::ResponseSink> sink);

  void OpenWebSocket(RestRequest request, std::vector<std::string> subprotocols,
                     UniqueFunction<void(Result<std::shared_ptr<net::WebSocket>>)> done);

  const Runtime& runtime() const;
  // Requests sent so far, retries included. Also the metric rest_client_requests_total, by method and code.
  std::uint64_t requests() const;

 private:
  struct Core;
  class Attempts;
  class CountedSink;
  // Shared with the calls under way, which may outlive the client.
  const std::shared_ptr<Core> core_;
};

// Percent-encodes everything but unreserved characters.
std::string PercentEncode(std::string_view text);

}  // namespace flyball
