#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/sim_executor.h"
#include "client/config.h"
#include "client/credentials.h"
#include "net/pki.h"

namespace flyball {
namespace {

namespace fs = std::filesystem;

class KubeconfigTest : public ::testing::Test {
 protected:
  KubeconfigTest() {
    std::string pattern = (fs::temp_directory_path() / "kubeconfig-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
  }
  ~KubeconfigTest() override { fs::remove_all(directory_); }

  std::string Write(const std::string& name, const std::string& text) {
    const fs::path path = directory_ / name;
    std::ofstream(path) << text;
    return path.string();
  }
  static std::string Authorization(ClientConfig& config) {
    net::Headers headers;
    EXPECT_TRUE(config.credentials->Authorize(headers));
    return std::string(headers.Get("authorization"));
  }

  fs::path directory_;
};

constexpr char kTwoContexts[] = R"(
apiVersion: v1
kind: Config
current-context: one
clusters:
- name: c1
  cluster: {server: "https://one:6443", certificate-authority-data: Y2E=, tls-server-name: inner, proxy-url: "http://proxy:3128"}
- name: c2
  cluster: {server: "https://two:6443", insecure-skip-tls-verify: true}
users:
- name: u1
  user: {token: secret, as: jane, as-groups: [a, b]}
- name: u2
  user: {client-certificate: cert.pem, client-key-data: a2V5}
contexts:
- name: one
  context: {cluster: c1, user: u1, namespace: ns-one}
- name: two
  context: {cluster: c2, user: u2}
)";

TEST_F(KubeconfigTest, CurrentContext) {
  auto config = LoadKubeconfig({.path = Write("config", kTwoContexts)});
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->http.url, "https://one:6443");
  EXPECT_EQ(config->http.tls.ca_pem, "ca");
  EXPECT_EQ(config->http.tls.server_name, "inner");
  EXPECT_EQ(config->http.proxy_url, "http://proxy:3128");
  EXPECT_EQ(config->default_namespace, "ns-one");
  EXPECT_EQ(config->rest.impersonate_user, "jane");
  EXPECT_EQ(config->rest.impersonate_groups, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(Authorization(*config), "Bearer secret");
}

TEST_F(KubeconfigTest, AnotherContextAndFilesBesideTheConfig) {
  Write("cert.pem", "certificate");
  auto config = LoadKubeconfig({.path = Write("config", kTwoContexts), .context = "two"});
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->http.url, "https://two:6443");
  EXPECT_TRUE(config->http.tls.insecure_skip_verify);
  EXPECT_EQ(config->http.tls.certificate_pem, "certificate");
  EXPECT_EQ(config->http.tls.private_key_pem, "key");
  EXPECT_EQ(config->default_namespace, "default");
  EXPECT_EQ(config->credentials, nullptr);
}

TEST_F(KubeconfigTest, MistakesAreNamed) {
  const std::string path = Write("config", kTwoContexts);
  EXPECT_EQ(LoadKubeconfig({.path = path, .context = "three"}).error().message(),
            "kubeconfig: context \"three\" does not exist");
  EXPECT_FALSE(LoadKubeconfig({.path = path, .context = "two"})) << "cert.pem is missing";
  EXPECT_FALSE(LoadKubeconfig({.path = (directory_ / "absent").string()}));
}

TEST_F(KubeconfigTest, SeveralFilesAreMergedFirstOneWins) {
  const std::string first = Write("first", R"({"current-context": "x", "contexts": [
    {"name": "x", "context": {"cluster": "c", "user": ""}}]})");
  const std::string second = Write("second", R"({"current-context": "y", "clusters": [
    {"name": "c", "cluster": {"server": "https://merged"}}]})");
  setenv("KUBECONFIG", (first + ":" + (directory_ / "absent").string() + ":" + second).c_str(), 1);
  auto config = LoadKubeconfig();
  unsetenv("KUBECONFIG");
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->http.url, "https://merged");
}

TEST_F(KubeconfigTest, ATokenFileIsReadAgainWhenItChanges) {
  SimExecutor executor(1);
  const std::string path = Write("token", "first\n");
  auto credentials = TokenFile(path, executor.clock());
  const auto token = [&] {
    net::Headers headers;
    EXPECT_TRUE(credentials->Authorize(headers));
    return std::string(headers.Get("authorization"));
  };
  EXPECT_EQ(token(), "Bearer first");
  Write("token", "second\n");
  EXPECT_EQ(token(), "Bearer first");
  executor.RunFor(std::chrono::minutes(2));
  EXPECT_EQ(token(), "Bearer second");
  Write("token", "third\n");
  credentials->Invalidate();
  EXPECT_EQ(token(), "Bearer third");
}

TEST_F(KubeconfigTest, AnExecPluginIsRunAndItsTokenKeptUntilItExpires) {
  const std::string script = Write("plugin.sh", R"(#!/bin/sh
echo x >> "$COUNT_FILE"
n=$(wc -l < "$COUNT_FILE")
echo "$KUBERNETES_EXEC_INFO" > "$COUNT_FILE.info"
echo "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{\"token\":\"t$n\",\"expirationTimestamp\":\"2024-01-01T01:00:00Z\"}}"
)");
  fs::permissions(script, fs::perms::owner_all);
  const std::string count = (directory_ / "count").string();
  SimExecutor executor(1);  // begins at 2024-01-01T00:00:00Z
  auto config = ParseKubeconfig(R"(
current-context: x
clusters: [{name: c, cluster: {server: "https://s", certificate-authority-data: Y2E=}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
users:
- name: u
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: ./plugin.sh
      provideClusterInfo: true
      env: [{name: COUNT_FILE, value: ")" +
                                    count + R"("}])",
                                directory_.string(), "", executor.clock());
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(Authorization(*config), "Bearer t1");
  EXPECT_EQ(Authorization(*config), "Bearer t1");
  executor.RunFor(std::chrono::hours(2));
  EXPECT_EQ(Authorization(*config), "Bearer t2");
  config->credentials->Invalidate();
  EXPECT_EQ(Authorization(*config), "Bearer t3");
  const auto info = ReadFile(count + ".info");
  ASSERT_TRUE(info);
  EXPECT_NE(info->find(R"("server":"https://s")"), std::string::npos) << *info;
}

TEST_F(KubeconfigTest, APluginThatIsMissingOrFailsIsAnError) {
  EXPECT_TRUE(RunExecPlugin({.command = "/nonexistent/plugin"}).error().Is(Reason::kNotFound));
  EXPECT_TRUE(RunExecPlugin({.command = "false"}).error().Is(Reason::kUnauthorized));
  EXPECT_TRUE(RunExecPlugin({.command = "echo", .args = {"no json"}}).error().Is(Reason::kBadRequest));
}

TEST_F(KubeconfigTest, OutsideAPodThereIsNoInClusterConfig) {
  unsetenv("KUBERNETES_SERVICE_HOST");
  EXPECT_TRUE(LoadInClusterConfig().error().Is(Reason::kNotFound));
}

}  // namespace
}  // namespace flyball
