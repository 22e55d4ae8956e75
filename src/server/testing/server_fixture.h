// The whole server on a memory store and virtual time, through the in-process transport. For tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/run/sim_executor.h"
#include "json/json.h"
#include "server/api_server.h"
#include "store/memory/memory_store.h"

namespace flyball::server {

// What came back so far.
struct Reply : net::ResponseSink {
  void OnHead(int s, const net::Headers& h) override {
    status = s;
    headers = h;
  }
  void OnData(std::string_view data) override { body += data; }
  void OnEnd() override { ended = true; }
  void OnError(const Error& e) override { error = e.message(); }

  json::Value value() const { return *json::Parse(body); }
  std::string message() const { return std::string(value()["message"].string_or("")); }
  // The lines of a watch so far.
  std::vector<json::Value> events() const {
    std::vector<json::Value> out;
    std::size_t from = 0;
    for (auto end = body.find('\n'); end != std::string::npos; end = body.find('\n', from)) {
      out.push_back(*json::Parse(body.substr(from, end - from)));
      from = end + 1;
    }
    return out;
  }

  int status = 0;
  net::Headers headers;
  std::string body, error;
  bool ended = false;
};

class ServerFixture : public testing::Test {
 protected:
  explicit ServerFixture(const ApiServerOptions& options = {}) {
    server_ = std::move(*ApiServer::Make(options, *store_, sim_, random_, metrics_));
    admin_ = server_->InProcess({"admin", "", {std::string(kMastersGroup)}, {}});
  }
  // Clients leave before the server goes.
  ~ServerFixture() override {
    for (const auto& call : calls_) call->Cancel();
    sim_.RunReady();
  }

  std::shared_ptr<Reply> Send(net::Transport& transport, net::Request request) {
    auto reply = std::make_shared<Reply>();
    calls_.push_back(transport.Start(std::move(request), reply));
    sim_.RunReady();
    return reply;
  }
  std::shared_ptr<Reply> Start(net::Transport& transport, std::string method, std::string target,
                               std::string body = "", std::string type = "application/json") {
    net::Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.body = std::move(body);
    request.headers.Set("content-type", std::move(type));
    return Send(transport, std::move(request));
  }
  std::shared_ptr<Reply> Do(std::string method, std::string target, std::string body = "",
                            std::string type = "application/json") {
    return Start(*admin_, std::move(method), std::move(target), std::move(body), std::move(type));
  }
  // As nobody, with these headers: a bearer token, or nothing at all.
  std::shared_ptr<Reply> With(net::Headers headers, std::string method, std::string target,
                              std::string body = "") {
    net::Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.body = std::move(body);
    request.headers = std::move(headers);
    request.headers.Set("content-type", "application/json");
    others_.push_back(server_->InProcess({}));
    return Send(*others_.back(), std::move(request));
  }
  // Gives the user rules in a namespace, or everywhere ("").
  void Grant(const std::string& user, const std::string& rules, const std::string& ns = "") {
    const std::string rbac = "/apis/rbac.authorization.k8s.io/v1";
    const std::string name = user + "-" + std::to_string(granted_++);
    ASSERT_EQ(
        Do("POST", rbac + "/clusterroles", R"({"metadata":{"name":")" + name + R"("},"rules":)" + rules + "}")
            ->status,
        201);
    Bind(user, "ClusterRole", name, ns);
  }
  void Bind(const std::string& user, const std::string& role_kind, const std::string& role,
            const std::string& ns = "") {
    const std::string rbac = "/apis/rbac.authorization.k8s.io/v1";
    const auto bound = Do(
        "POST", ns.empty() ? rbac + "/clusterrolebindings" : rbac + "/namespaces/" + ns + "/rolebindings",
        R"({"metadata":{"name":"b)" + std::to_string(granted_++) +
            R"("},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":")" + role_kind + R"(","name":")" +
            role + R"("},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":")" + user +
            R"("}]})");
    ASSERT_EQ(bound->status, 201) << bound->body;
  }
  // As somebody else.
  std::shared_ptr<Reply> As(const User& user, std::string method, std::string target, std::string body = "",
                            std::string type = "application/json") {
    others_.push_back(server_->InProcess(user));
    return Start(*others_.back(), std::move(method), std::move(target), std::move(body), std::move(type));
  }

  SimExecutor sim_{1};
  Random random_{1};
  Metrics metrics_;
  std::unique_ptr<store::Store> store_ = store::NewMemoryStore(sim_);
  std::unique_ptr<ApiServer> server_;
  std::unique_ptr<net::Transport> admin_;
  std::vector<std::unique_ptr<net::Transport>> others_;
  std::vector<std::shared_ptr<net::Call>> calls_;
  int granted_ = 0;
};

}  // namespace flyball::server
