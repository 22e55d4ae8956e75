// Another server, with TLS, that the API server asks: a token issuer, a webhook. For tests.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/run/executor.h"
#include "base/run/mutex.h"
#include "base/run/notification.h"
#include "base/run/task.h"
#include "json/json.h"
#include "net/server/http_server.h"
#include "net/tls/pki.h"

namespace flyball::server {

// The machine's clock, moved ahead at will. Timers do not notice.
class OffsetClock final : public Clock {
 public:
  TimePoint Now() const override { return RealClock().Now() + offset_.load(); }
  SteadyTime Steady() const override { return RealClock().Steady() + offset_.load(); }
  void Advance(Duration by) { offset_ = offset_.load() + by; }

 private:
  std::atomic<Duration> offset_{Duration::zero()};
};

// Runs a task to its end, on the executor, and waits for it.
template <typename T>
T Await(Executor& executor, std::function<Task<T>()> start) {
  Notification<T> result;
  const auto run = [](std::function<Task<T>()> make, Notification<T>* out) -> Task<void> {
    out->Set(co_await make());
  };
  executor.Post([&] { Spawn(run(start, &result), [](std::exception_ptr) {}); });
  return result.Wait();
}

// Serves with a certificate of an authority of its own. Thread-safe.
class RemoteServer {
 public:
  // The answer to a request; a status of 0 is none, ever.
  using Answer = std::function<net::Response(const net::Request&)>;

  // `names` are DNS names its certificate is for, besides 127.0.0.1.
  explicit RemoteServer(Answer answer, std::vector<std::string> names = {})
      : state_(std::make_shared<State>()) {
    state_->answer = std::move(answer);
    const TimePoint now = RealClock().Now();
    constexpr Duration kDay = std::chrono::hours(24);
    const auto authority = *net::MakeCertificateAuthority("remote-ca", now, kDay);
    const auto pair = *net::IssueCertificate(authority,
                                             {.common_name = "remote",
                                              .dns_names = std::move(names),
                                              .ip_addresses = {"127.0.0.1"},
                                              .server = true},
                                             now, kDay);
    ca_pem_ = authority.certificate_pem;
    const net::ServerTls tls{pair.certificate_pem, pair.private_key_pem, ""};
    net::ServerOptions options;
    options.tls = &tls;
    server_ = std::move(*net::HttpServer::Start(
        options,
        [state = state_](std::shared_ptr<net::Request> request, std::shared_ptr<net::ResponseStream> stream)
            -> Task<void> { return Handle(state, std::move(request), std::move(stream)); }));
    port_ = server_->port();
  }

  std::string url() const { return "https://127.0.0.1:" + std::to_string(port_); }
  int port() const { return port_; }
  const std::string& ca_pem() const { return ca_pem_; }
  // How a webhook's clientConfig names it.
  std::string ClientConfig(const std::string& path) const {
    return R"({"url":")" + url() + path + R"(","caBundle":")" + net::Base64Encode(ca_pem_) + "\"}";
  }
  void SetAnswer(Answer answer) {
    MutexLock lock(state_->mu);
    state_->answer = std::move(answer);
  }
  // Those whose path starts so.
  int requests(std::string_view path) const {
    MutexLock lock(state_->mu);
    int count = 0;
    for (const auto& request : state_->seen) count += request.target.starts_with(path) ? 1 : 0;
    return count;
  }
  // The number of connections those came on.
  std::size_t connections() const {
    MutexLock lock(state_->mu);
    std::set<std::string> peers;
    for (const auto& request : state_->seen) peers.insert(request.peer.address);
    return peers.size();
  }
  net::Request last() const {
    MutexLock lock(state_->mu);
    return state_->seen.back();
  }
  void WaitForRequest() {
    MutexLock lock(state_->mu);
    while (state_->seen.empty()) state_->arrived.Wait(state_->mu);
  }
  void Stop() { server_ = nullptr; }

  // A kubeconfig for it, in a file that goes with this object.
  std::string Kubeconfig(const std::string& path, const std::string& token = "") {
    if (folder_.empty()) {
      std::string name = (std::filesystem::temp_directory_path() / "remote-XXXXXX").string();
      folder_ = ::mkdtemp(name.data());
    }
    const std::string file = folder_ + "/kubeconfig" + std::to_string(++files_);
    std::ofstream(file) << "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                        << "clusters: [{name: c, cluster: {server: '" << url() << path
                        << "', certificate-authority-data: " << net::Base64Encode(ca_pem_) << "}}]\n"
                        << "users: [{name: u, user: {" << (token.empty() ? "" : "token: " + token) << "}}]\n"
                        << "contexts: [{name: c, context: {cluster: c, user: u}}]\n";
    return file;
  }
  ~RemoteServer() {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

 private:
  struct State {
    mutable Mutex mu;
    CondVar arrived;
    Answer answer FLYBALL_GUARDED_BY(mu);
    std::vector<net::Request> seen FLYBALL_GUARDED_BY(mu);
    std::vector<std::shared_ptr<net::ResponseStream>> held FLYBALL_GUARDED_BY(mu);
  };

  static Task<void> Handle(std::shared_ptr<State> state, std::shared_ptr<net::Request> request,
                           std::shared_ptr<net::ResponseStream> stream) {
    Answer answer;
    {
      MutexLock lock(state->mu);
      state->seen.push_back(*request);
      state->arrived.NotifyAll();
      answer = state->answer;
    }
    const net::Response response = answer(*request);
    if (response.status != 0) {
      net::Headers headers = response.headers;
      if (!headers.Has("content-type")) headers.Set("content-type", "application/json");
      stream->Send(response.status, std::move(headers), response.body);
    } else {
      MutexLock lock(state->mu);
      state->held.push_back(stream);
    }
    co_return;
  }

  const std::shared_ptr<State> state_;
  std::string ca_pem_;
  std::unique_ptr<net::HttpServer> server_;
  int port_ = 0, files_ = 0;
  std::string folder_;
};

inline net::Response JsonResponse(const json::Value& value, int status = 200) {
  return {status, {}, json::Write(value)};
}

}  // namespace flyball::server
