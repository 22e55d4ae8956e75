// The whole server on a memory store and real threads, for tests in which it asks other servers.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/run/executor.h"
#include "base/run/mutex.h"
#include "json/json.h"
#include "server/api_server.h"
#include "server/testing/remote_server.h"
#include "store/memory/memory_store.h"

namespace flyball::server {

// The lines of a watch, as they come. Thread-safe.
class WatchedLines final : public net::ResponseSink {
 public:
  void OnHead(int, const net::Headers&) override {}
  void OnData(std::string_view data) override {
    MutexLock lock(mu_);
    text_ += data;
    for (auto end = text_.find('\n'); end != std::string::npos; end = text_.find('\n')) {
      lines_.push_back(*json::Parse(text_.substr(0, end)));
      text_.erase(0, end + 1);
    }
    changed_.NotifyAll();
  }
  void OnEnd() override { End(); }
  void OnError(const Error&) override { End(); }

  // Blocks until there is a line of that number.
  json::Value Line(std::size_t i) {
    MutexLock lock(mu_);
    while (lines_.size() <= i && !ended_) changed_.Wait(mu_);
    return lines_.size() > i ? lines_[i] : json::Value();
  }
  // Blocks until the stream has ended; how many lines there were.
  std::size_t WaitForEnd() {
    MutexLock lock(mu_);
    while (!ended_) changed_.Wait(mu_);
    return lines_.size();
  }

 private:
  void End() {
    MutexLock lock(mu_);
    ended_ = true;
    changed_.NotifyAll();
  }
  Mutex mu_;
  CondVar changed_;
  std::string text_ FLYBALL_GUARDED_BY(mu_);
  std::vector<json::Value> lines_ FLYBALL_GUARDED_BY(mu_);
  bool ended_ FLYBALL_GUARDED_BY(mu_) = false;
};

struct LiveReply {
  int status = 0;
  net::Headers headers;
  json::Value value;
  std::string message() const { return std::string(value["message"].string_or("")); }
};

class LiveServerTest : public testing::Test {
 protected:
  explicit LiveServerTest(const ApiServerOptions& options = {}) {
    server_ = std::move(*ApiServer::Make(options, *store_, executor_, random_, metrics_));
    admin_ = server_->InProcess({"admin", "", {std::string(kMastersGroup)}, {}});
  }
  ~LiveServerTest() override {
    for (const auto& call : calls_) call->Cancel();
    server_->Stop();
    admin_ = nullptr;
    executor_.Stop();
  }

  LiveReply Do(std::string method, std::string target, std::string body = "",
               std::string type = "application/json", net::Headers headers = {}) {
    net::Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.body = std::move(body);
    request.headers = std::move(headers);
    request.headers.Set("content-type", std::move(type));
    auto response = net::RoundTrip(*admin_, std::move(request), callers_, std::chrono::minutes(1));
    if (!response) return {0, {}, json::Object{{"message", response.error().message()}}};
    auto value = json::Parse(response->body);
    return {response->status, response->headers, value ? std::move(*value) : json::Value(response->body)};
  }
  std::shared_ptr<WatchedLines> Watch(std::string target) {
    auto lines = std::make_shared<WatchedLines>();
    net::Request request;
    request.target = std::move(target);
    calls_.push_back(admin_->Start(std::move(request), lines));
    return lines;
  }

  // Asks again and again until it is so; false if that takes too long. For what the server does by itself, on
  // another thread, after it has answered.
  static bool Eventually(const std::function<bool()>& is_so) {
    const SteadyTime limit = RealClock().Steady() + std::chrono::seconds(20);
    while (!is_so())
      if (RealClock().Steady() > limit) return false;
    return true;
  }

  ThreadPool executor_{"server", 2}, callers_{"callers", 1};
  Random random_{1};
  Metrics metrics_;
  std::unique_ptr<store::Store> store_ = store::NewMemoryStore(executor_);
  std::unique_ptr<ApiServer> server_;
  std::unique_ptr<net::Transport> admin_;
  std::vector<std::shared_ptr<net::Call>> calls_;
};

}  // namespace flyball::server
