// WebhookCaller: posts reviews to webhooks. Connections are kept and shared by all calls to the same place;
// HTTP/2 where the other side speaks it, except to hosts elsewhere, where HTTP/1.1 spreads calls over what is
// behind a name (upstream: ClientManager). Redirects are followed as Go's client does: 307 and 308 ask the
// same question elsewhere, the others become a GET; what is asked there must be trusted by the same
// authorities.
#pragma once

#include <string>

#include "base/run/executor.h"
#include "base/run/random.h"
#include "base/run/task.h"
#include "base/values/result.h"
#include "net/http/http.h"
#include "server/auth/remote/remote_calls.h"
#include "server/catalog/catalog.h"
#include "server/forward/transport_cache.h"
#include "server/webhook/webhook_target.h"

namespace flyball::server {

// Thread-safe. Calls under way when it is stopped fail.
class WebhookCaller {
 public:
  // What no call may take longer than (upstream: setGlobalDefaults).
  static constexpr Duration kMaxTime = std::chrono::seconds(30);

  // All outlive it. Services are looked up in the catalog.
  WebhookCaller(const Catalog& catalog, Random& random, RemoteCalls& calls)
      : catalog_(catalog), random_(random), calls_(calls) {}

  struct Limits {
    Duration timeout = kMaxTime;
    std::size_t max_answer_bytes = 16u << 20;
  };
  // The body of a 2xx answer; resumes on `resume`. The webhook is told the time it has in the query
  // ("?timeout=10s"). Errors are in client-go's words: `Post "https://…": dial tcp …`, of reason kConnection
  // or kTimeout if there was no answer; else what the answer's status means.
  Task<Result<std::string>> Post(const WebhookTarget& target, std::string body, Limits limits,
                                 Executor& resume);

 private:
  // How often one question is sent at most, redirects included (Go's http.Client).
  static constexpr int kMostRequests = 10;

  // What one request is.
  struct Step {
    std::string method, url, body;
  };
  // Where one request goes.
  struct Place {
    std::string url;          // scheme://host:port
    std::string server_name;  // empty: the URL's host
    std::string host_header;  // empty: the URL's authority
    bool http2 = true;
  };
  Result<Place> PlaceAt(const WebhookTarget& target, const std::string& url) const;
  Task<Result<net::Response>> Send(const WebhookTarget& target, const Step& step, Limits limits,
                                   Executor& resume);

  const Catalog& catalog_;
  Random& random_;
  RemoteCalls& calls_;
  TransportCache transports_{net::ClientTls{}};
};

}  // namespace flyball::server
