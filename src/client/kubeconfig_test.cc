#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/files/durable_file.h"
#include "base/run/sim_executor.h"
#include "client/config.h"
#include "client/credentials.h"
#include "net/tls/pki.h"

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
  user: {token: secret, as: jane, as-groups: [a, b], as-uid: u-1, as-user-extra: {scope: [x, z]}}
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
  EXPECT_EQ(config->rest.impersonate_uid, "u-1");
  EXPECT_EQ(config->rest.impersonate_extra,
            (std::vector<std::pair<std::string, std::string>>{{"scope", "x"}, {"scope", "z"}}));
  EXPECT_EQ(Authorization(*config), "Bearer secret");
}

TEST_F(KubeconfigTest, AnotherClusterAndUserThanTheContexts) {
  auto config = LoadKubeconfig(
      {.path = Write("config", kTwoContexts), .context = "two", .cluster = "c1", .user = "u1"});
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->http.url, "https://one:6443");
  EXPECT_EQ(config->default_namespace, "default");
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
            "context \"three\" does not exist");
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
      interactiveMode: IfAvailable
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

// Prints certificates $1 and $1.key, valid until $2.
constexpr char kCertificatePlugin[] = R"(#!/bin/sh
n=$(cat "$COUNT_FILE" 2>/dev/null || echo 0)
n=$((n + 1))
echo $n > "$COUNT_FILE"
echo "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{\"clientCertificateData\":\"cert$n\",\"clientKeyData\":\"key$n\",\"expirationTimestamp\":\"2024-01-01T0$n:00:00Z\"}}"
)";

TEST_F(KubeconfigTest, CertificatesOfAnExecPluginAreReplacedWhenTheyExpire) {
  const std::string script = Write("plugin.sh", kCertificatePlugin);
  fs::permissions(script, fs::perms::owner_all);
  SimExecutor executor(1);
  auto config = ParseKubeconfig(R"(
current-context: x
clusters: [{name: c, cluster: {server: "https://s"}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin.sh,
  interactiveMode: Never, env: [{name: COUNT_FILE, value: ")" +
                                    (directory_ / "count").string() + R"("}]}}}])",
                                directory_.string(), "", executor.clock());
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->http.tls.certificate_pem, "cert1");
  EXPECT_EQ(config->http.tls.private_key_pem, "key1");
  ASSERT_TRUE(config->tls_source);
  EXPECT_EQ(config->tls_source->Changed()->has_value(), false);
  executor.RunFor(std::chrono::hours(1));
  const auto changed = config->tls_source->Changed();
  ASSERT_TRUE(changed && changed->has_value());
  EXPECT_EQ((*changed)->certificate_pem, "cert2");
  EXPECT_EQ((*changed)->private_key_pem, "key2");
}

TEST_F(KubeconfigTest, CertificateFilesAreReadAgainWhenTheyChange) {
  Write("ca.pem", "ca1");
  Write("cert.pem", "cert1");
  Write("key.pem", "key1");
  SimExecutor executor(1);
  auto config = ParseKubeconfig(R"(
current-context: x
clusters: [{name: c, cluster: {server: "https://s", certificate-authority: ca.pem}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
users: [{name: u, user: {client-certificate: cert.pem, client-key: key.pem}}])",
                                directory_.string(), "", executor.clock());
  ASSERT_TRUE(config) << config.error().message();
  ASSERT_TRUE(config->tls_source);
  executor.RunFor(std::chrono::minutes(2));
  EXPECT_FALSE(config->tls_source->Changed()->has_value()) << "the same bytes";
  Write("cert.pem", "cert2");
  Write("key.pem", "key2");
  EXPECT_FALSE(config->tls_source->Changed()->has_value()) << "looked at once a minute";
  executor.RunFor(std::chrono::minutes(2));
  const auto changed = config->tls_source->Changed();
  ASSERT_TRUE(changed->has_value());
  EXPECT_EQ((*changed)->ca_pem, "ca1");
  EXPECT_EQ((*changed)->certificate_pem, "cert2");
  EXPECT_EQ((*changed)->private_key_pem, "key2");
  fs::remove(directory_ / "cert.pem");
  executor.RunFor(std::chrono::minutes(2));
  EXPECT_FALSE(config->tls_source->Changed()->has_value()) << "being replaced";
}

TEST_F(KubeconfigTest, InteractiveModeDecidesAboutStandardInput) {
  // Standard input of a test is no terminal.
  const ExecPlugin echo{
      .command = "sh",
      .args = {"-c",
               "echo '{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":{\"token\":\"'$("
               "echo $KUBERNETES_EXEC_INFO | grep -c '\"interactive\":false')'\"}}'"}};
  ExecPlugin plugin = echo;
  if (isatty(STDIN_FILENO)) GTEST_SKIP() << "standard input is a terminal";
  EXPECT_EQ(RunExecPlugin(plugin)->token, "1");
  plugin.interactive = ExecPlugin::Interactive::kNever;
  EXPECT_EQ(RunExecPlugin(plugin)->token, "1");
  plugin.interactive = ExecPlugin::Interactive::kAlways;
  EXPECT_TRUE(RunExecPlugin(plugin).error().Is(Reason::kUnauthorized));
}

TEST_F(KubeconfigTest, APluginOfAnotherApiVersionIsRefused) {
  const auto refused = RunExecPlugin(
      {.command = "echo",
       .args = {R"({"apiVersion":"client.authentication.k8s.io/v1beta1","status":{"token":"t"}})"}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(
      refused.error().message(),
      "exec plugin is configured to use API version client.authentication.k8s.io/v1, plugin returned version "
      "client.authentication.k8s.io/v1beta1");
}

// A kubeconfig with this plugin, and `more` of the user's entry.
std::string WithPlugin(const std::string& exec, const std::string& more = "") {
  return R"({"current-context": "x", "clusters": [{"name": "c", "cluster": {"server": "https://s"}}],
    "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
    "users": [{"name": "u", "user": {"exec": )" +
         exec + more + "}}]}";
}

TEST_F(KubeconfigTest, OtherCredentialsGoBeforeAPlugin) {
  const std::string fails =
      R"({"apiVersion": "client.authentication.k8s.io/v1", "command": "false", "interactiveMode": "Never"})";
  EXPECT_FALSE(ParseKubeconfig(WithPlugin(fails), ""));
  EXPECT_TRUE(ParseKubeconfig(WithPlugin(fails, R"(, "token": "t")"), ""));
  EXPECT_TRUE(LoadKubeconfig({.path = Write("config", WithPlugin(fails)), .has_credentials = true}));
}

TEST_F(KubeconfigTest, AnAddressStandsInPlaceOfTheClusters) {
  const std::string path = Write("config", R"({"current-context": "x", "contexts": [{"name": "x", "context":
    {"cluster": "none", "user": "u"}}], "users": [{"name": "u", "user": {"token": "t"}}]})");
  EXPECT_FALSE(LoadKubeconfig({.path = path}));
  auto config = LoadKubeconfig({.path = path, .server = "https://here"});
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->http.url, "https://here");
  EXPECT_EQ(Authorization(*config), "Bearer t");
}

TEST_F(KubeconfigTest, WithAnAddressNothingHasToBeChosen) {
  for (const char* text : {"", R"({"users": [{"name": "u", "user": {"token": "t"}}]})"}) {
    const std::string path = Write("config", text);
    EXPECT_FALSE(LoadKubeconfig({.path = path}));
    auto config = LoadKubeconfig({.path = path, .server = "https://here"});
    ASSERT_TRUE(config) << config.error().message();
    EXPECT_EQ(config->http.url, "https://here");
    EXPECT_FALSE(LoadKubeconfig({.path = path, .context = "x", .server = "https://here"}));
  }
}

TEST_F(KubeconfigTest, WhatAPluginLacksIsNamed) {
  const auto problem = [](const std::string& exec) {
    return ParseKubeconfig(WithPlugin(exec), "").error().message();
  };
  EXPECT_EQ(problem(R"({"apiVersion": "client.authentication.k8s.io/v1", "command": "false"})"),
            "interactiveMode must be specified for u to use exec authentication plugin");
  EXPECT_EQ(problem(R"({"command": "false"})"),
            "apiVersion must be specified for u to use exec authentication plugin");
  EXPECT_EQ(problem(R"({"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "false"})"),
            "getting credentials: exec: executable false failed with exit code 1");
}

TEST_F(KubeconfigTest, APolicySaysWhichPluginsRun) {
  ExecPlugin plugin{.command = "echo",
                    .args = {R"({"apiVersion":"client.authentication.k8s.io/v1","status":{"token":"t"}})"}};
  plugin.policy.kind = PluginPolicy::Kind::kDenyAll;
  EXPECT_EQ(RunExecPlugin(plugin).error().message(),
            "plugin \"echo\" not allowed: policy set to \"DenyAll\"");
  plugin.policy = {PluginPolicy::Kind::kAllowlist, {"cat"}};
  EXPECT_TRUE(RunExecPlugin(plugin).error().message().ends_with(
      "is not permitted by the credential plugin allowlist"));
  plugin.policy.allowlist.emplace_back("echo");
  EXPECT_TRUE(RunExecPlugin(plugin));
}

TEST_F(KubeconfigTest, InAPodTheServiceAccountIsUsedAndFollowed) {
  Write("ca.crt", "ca1");
  Write("token", "t1");
  Write("namespace", "shop");
  SimExecutor executor(1);
  setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
  setenv("KUBERNETES_SERVICE_PORT", "443", 1);
  auto config = LoadInClusterConfig(executor.clock(), directory_.string());
  unsetenv("KUBERNETES_SERVICE_HOST");
  unsetenv("KUBERNETES_SERVICE_PORT");
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->http.url, "https://[fd00::1]:443");
  EXPECT_EQ(config->default_namespace, "shop");
  EXPECT_EQ(Authorization(*config), "Bearer t1");
  Write("token", "t2");
  Write("ca.crt", "ca2");
  executor.RunFor(std::chrono::minutes(2));
  EXPECT_EQ(Authorization(*config), "Bearer t2");
  EXPECT_EQ((*config->tls_source->Changed())->ca_pem, "ca2");
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
