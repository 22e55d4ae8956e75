// For tests of this module: a server of ours on a free port, a client of ours, in each way they can talk.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/run/executor.h"
#include "base/run/mutex.h"
#include "base/run/notification.h"
#include "net/client/http_client.h"
#include "net/server/http_server.h"
#include "net/tls/pki.h"

namespace flyball::net {

enum class Wire { kH1, kH2, kH1Tls, kH2Tls };

inline bool UsesTls(Wire wire) {
  return wire == Wire::kH1Tls || wire == Wire::kH2Tls;
}
inline bool UsesH2(Wire wire) {
  return wire == Wire::kH2 || wire == Wire::kH2Tls;
}
inline std::string WireName(const testing::TestParamInfo<Wire>& info) {
  constexpr const char* kNames[] = {"H1", "H2", "H1Tls", "H2Tls"};
  return kNames[static_cast<int>(info.param)];
}

// One set of certificates for the whole test program.
struct TestCertificates {
  static const TestCertificates& Get() {
    static const auto* all = new TestCertificates;
    return *all;
  }
  KeyPair authority, server, client, stranger;
  ServerTls server_tls;

 private:
  TestCertificates() {
    const TimePoint now = RealClock().Now();
    constexpr Duration kDay = std::chrono::hours(24);
    authority = *MakeCertificateAuthority("test-ca", now, kDay);
    server = *IssueCertificate(
        authority,
        {.common_name = "server", .dns_names = {"localhost"}, .ip_addresses = {"127.0.0.1"}, .server = true},
        now, kDay);
    client = *IssueCertificate(
        authority, {.common_name = "alice", .organizations = {"system:masters", "devs"}, .client = true}, now,
        kDay);
    const KeyPair other = *MakeCertificateAuthority("other-ca", now, kDay);
    stranger = *IssueCertificate(other, {.common_name = "mallory", .client = true}, now, kDay);
    server_tls = {server.certificate_pem, server.private_key_pem, authority.certificate_pem};
  }
};

using Answer = std::shared_ptr<ResponseStream>;
using Route = std::function<Task<void>(std::shared_ptr<Request>, Answer)>;

inline std::string PathOf(const Request& request) {
  return request.target.substr(0, request.target.find('?'));
}

// Serves routes by path; everything else is 404.
class Loopback {
 public:
  explicit Loopback(Wire wire, std::map<std::string, Route> routes, ServerLimits limits = {})
      : Loopback(wire, std::move(routes), OptionsOf(limits)) {}
  Loopback(Wire wire, std::map<std::string, Route> routes, ServerOptions options) : wire_(wire) {
    if (UsesTls(wire)) options.tls = &TestCertificates::Get().server_tls;
    auto started = HttpServer::Start(
        options, [routes = std::move(routes)](std::shared_ptr<Request> request, Answer answer) -> Task<void> {
          const auto it = routes.find(PathOf(*request));
          if (it != routes.end()) return it->second(std::move(request), std::move(answer));
          return NotFound(std::move(answer));
        });
    EXPECT_TRUE(started) << started.error().ToString();
    server_ = std::move(*started);
    client_ = std::move(*NewHttpClient(Options()));
  }

  static ServerOptions OptionsOf(const ServerLimits& limits) {
    ServerOptions options;
    options.limits = limits;
    return options;
  }

  static Task<void> NotFound(Answer answer) {
    answer->Send(404, {}, "no such route");
    co_return;
  }

  ClientOptions Options() const {
    ClientOptions options;
    options.url = std::string(UsesTls(wire_)  ? "https"
                              : UsesH2(wire_) ? "h2c"
                                              : "http") +
                  "://127.0.0.1:" + std::to_string(server_->port());
    options.http2 = UsesH2(wire_);
    options.tls.ca_pem = TestCertificates::Get().authority.certificate_pem;
    options.connect_timeout = std::chrono::seconds(10);
    return options;
  }

  Transport& client() { return *client_; }
  HttpServer& server() { return *server_; }
  void StopServer() { server_ = nullptr; }

  Result<Response> Get(const std::string& target, Headers headers = {}) {
    return Send({.target = target, .headers = std::move(headers)});
  }
  Result<Response> Send(Request request) { return Send(client(), std::move(request)); }
  Result<Response> Send(Transport& through, Request request) {
    return RoundTrip(through, std::move(request), timers_, std::chrono::seconds(60));
  }
  Executor& timers() { return timers_; }

 private:
  const Wire wire_;
  ThreadPool timers_{"test-timers", 1};
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<Transport> client_;
};

// Keeps what a sink is told; a test waits for a condition on it.
class RecordingSink final : public ResponseSink {
 public:
  struct Seen {
    int status = 0;
    Headers headers;
    std::string body;
    bool ended = false;
    std::shared_ptr<Error> error;
    bool over() const { return ended || error; }
  };

  void OnHead(int status, const Headers& headers) override {
    Change([&](Seen& s) { s.status = status, s.headers = headers; });
  }
  void OnData(std::string_view data) override {
    Change([&](Seen& s) { s.body.append(data); });
  }
  void OnEnd() override {
    Change([](Seen& s) { s.ended = true; });
  }
  void OnError(const Error& error) override {
    Change([&](Seen& s) { s.error = std::make_shared<Error>(error); });
  }

  // Blocks until `done` holds.
  Seen WaitFor(const std::function<bool(const Seen&)>& done) {
    MutexLock lock(mu_);
    while (!done(seen_)) changed_.Wait(mu_);
    return seen_;
  }
  Seen WaitForEnd() {
    return WaitFor([](const Seen& s) { return s.over(); });
  }
  Seen now() {
    MutexLock lock(mu_);
    return seen_;
  }

 private:
  template <typename Fn>
  void Change(Fn fn) {
    MutexLock lock(mu_);
    fn(seen_);
    changed_.NotifyAll();
  }
  Mutex mu_;
  CondVar changed_;
  Seen seen_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball::net
