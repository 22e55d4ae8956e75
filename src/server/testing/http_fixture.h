// The whole server on a memory store, real time and a real port, for what the in-process transport cannot do:
// upgrades, and servers that this one calls. For tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/run/executor.h"
#include "net/client/http_client.h"
#include "net/server/http_server.h"
#include "server/api_server.h"
#include "store/memory/memory_store.h"

namespace flyball::server {

class HttpFixture : public testing::Test {
 protected:
  static constexpr Duration kPatience = std::chrono::seconds(30);

  // The user of the token "admin" may everything, that of "nobody" nothing.
  explicit HttpFixture(ApiServerOptions options = {}) {
    options.authentication.tokens["admin"] = {
        "adm@in", "u-1", {std::string(kMastersGroup), "other"}, {{"Some/Key", {"v 1", "v2"}}}};
    options.authentication.tokens["nobody"] = {"nobody", "", {}, {}};
    api_ = std::move(*ApiServer::Make(options, *store_, executor_, random_, metrics_));
    http_ = std::move(*net::HttpServer::Start({}, api_->handler()));
    client_ = std::move(*net::NewHttpClient({.url = "http://127.0.0.1:" + std::to_string(http_->port())}));
  }
  ~HttpFixture() override {
    client_.reset();
    api_->Stop();
    http_.reset();
    executor_.Stop();
  }

  static net::Request Ask(const std::string& method, const std::string& target, const std::string& body = "",
                          const std::string& token = "admin") {
    net::Request request;
    request.method = method;
    request.target = target;
    request.body = body;
    request.headers.Set("content-type", "application/json");
    request.headers.Set("authorization", "Bearer " + token);
    return request;
  }
  net::Response Send(net::Request request) {
    return *net::RoundTrip(*client_, std::move(request), executor_, kPatience);
  }
  net::Response Do(const std::string& method, const std::string& target, const std::string& body = "") {
    return Send(Ask(method, target, body));
  }

  ThreadPool executor_{"test", 2};
  Random random_{1};
  Metrics metrics_;
  std::unique_ptr<store::Store> store_ = store::NewMemoryStore(executor_);
  std::unique_ptr<ApiServer> api_;
  std::unique_ptr<net::HttpServer> http_;
  std::unique_ptr<net::Transport> client_;
};

}  // namespace flyball::server
