// RegistryHttp: requests to registries and to where they redirect, with bodies that are read in pieces, at
// the pace of the reader.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/run/executor.h"
#include "base/run/mutex.h"
#include "base/values/result.h"
#include "net/http/http.h"
#include "net/tls/tls_options.h"

namespace flyball::node {

struct RegistryHttpOptions {
  // Upstream: kubelet's --image-pull-progress-deadline. Who sends nothing for so long has failed.
  Duration stall = std::chrono::minutes(1);
  Duration connect = std::chrono::seconds(30);
  // For connections with a host ("localhost:5000").
  std::function<net::ClientTls(const std::string& authority)> tls{};
};

// An answer whose body is still coming. Dropping it ends the request. Thread-compatible.
class RegistryResponse {
 public:
  virtual ~RegistryResponse() = default;
  virtual int status() const = 0;
  virtual const net::Headers& headers() const = 0;
  // The next bytes, none at the end. kConnection if it breaks off, kTimeout if it stalls. Blocks.
  virtual Result<std::string> Read() = 0;
  // All of it. BadRequest if that is more than `max_size` bytes.
  Result<std::string> ReadAll(std::size_t max_size);
};

// Thread-safe. Lives as long as one pull: it keeps connections, and a thread for each host.
class RegistryHttp {
 public:
  // The executor runs timers and must outlive it.
  RegistryHttp(Executor& timers, RegistryHttpOptions options);
  ~RegistryHttp();

  // Sends to an absolute URL and waits for the head of the answer. GET follows up to ten redirects, of which
  // none leads from HTTPS to HTTP; `authorization` goes to no other host. kConnection with Go's text if
  // nobody answers.
  Result<std::unique_ptr<RegistryResponse>> Send(const std::string& url, net::Request request);
  // Blocks.
  void Sleep(Duration duration);
  // Fails what is under way, and all that follows, with kCancelled.
  void Cancel();

 private:
  Result<std::unique_ptr<RegistryResponse>> SendOnce(const std::string& url, net::Request request);
  Result<net::Transport*> TransportTo(const std::string& origin, const std::string& authority);

  Executor& timers_;
  const RegistryHttpOptions options_;
  // Remembers an answer, to be cancelled; false if that is so already.
  bool Track(const std::shared_ptr<net::ResponseSink>& sink);

  Mutex mu_;
  bool cancelled_ FLYBALL_GUARDED_BY(mu_) = false;
  std::vector<std::weak_ptr<net::ResponseSink>> live_ FLYBALL_GUARDED_BY(mu_);
  std::map<std::string, std::unique_ptr<net::Transport>> transports_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball::node
