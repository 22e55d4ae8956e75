#include <gtest/gtest.h>

#include <map>

#include "base/files/durable_file.h"
#include "base/run/sim_executor.h"
#include "server/encryption/encryption_config.h"
#include "server/encryption/encryption_reload.h"
#include "server/encryption/value_encryption.h"
#include "store/testing/store_testing.h"

namespace flyball::server {
namespace {

constexpr std::string_view kEncryptionHead =
    "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n";
// base64 of 32 and of 16 bytes
const std::string kKeyA = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
const std::string kKeyB = "ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA=";
const std::string kKey16 = "MDEyMzQ1Njc4OWFiY2RlZg==";
constexpr std::string_view kSecretKey = "/registry/secrets/default/db";

std::string KeyEntry(const std::string& name, const std::string& secret) {
  return "{name: " + name + ", secret: " + secret + "}";
}
// One rule for the resources; each provider is "aesgcm: {keys: [..]}".
std::string RuleText(const std::string& resources, const std::vector<std::string>& providers) {
  std::string text = "- resources: [" + resources + "]\n  providers:\n";
  for (const auto& provider : providers) text += "  - " + provider + "\n";
  return text;
}
std::string ProviderText(const std::string& provider, const std::string& keys) {
  return provider + ": {keys: [" + keys + "]}";
}

Result<EncryptionConfig> ParseRules(const std::string& rules) {
  return ParseEncryptionConfig(std::string(kEncryptionHead) + rules, "enc.yaml");
}
std::string ParseError(const std::string& rules) {
  const auto config = ParseRules(rules);
  return config ? "(none)" : config.error().message();
}

class EncryptionTest : public testing::Test {
 protected:
  void Use(const std::string& rules) {
    const auto config = ParseRules(rules);
    ASSERT_TRUE(config) << config.error().message();
    encryption_.Use(*config);
  }
  std::string Store(std::string_view key, const std::string& value) {
    const auto stored = encryption_.ToStorage(key, MakeBytes(value));
    return stored ? **stored : "(" + stored.error().message() + ")";
  }
  std::string Load(std::string_view key, const std::string& stored) {
    const auto value = encryption_.FromStorage(key, MakeBytes(stored));
    return value ? **value : "(" + value.error().message() + ")";
  }

  Metrics metrics_;
  ValueEncryption encryption_{metrics_};
};

TEST_F(EncryptionTest, EachProviderStoresUnderUpstreamsPrefixAndReadsBack) {
  for (const std::string provider : {"aesgcm", "aescbc", "secretbox"}) {
    Use(RuleText("secrets", {ProviderText(provider, KeyEntry("key1", kKeyA))}));
    const std::string stored = Store(kSecretKey, "{\"a\":1}");
    EXPECT_TRUE(stored.starts_with("k8s:enc:" + provider + ":v1:key1:")) << provider;
    EXPECT_EQ(stored.find("\"a\""), std::string::npos);
    EXPECT_EQ(Load(kSecretKey, stored), "{\"a\":1}") << provider;
    EXPECT_EQ(Store("/registry/configmaps/default/db", "{}"), "{}") << "not a Secret";
  }
}

// Sealed by upstream's own transformers (k8s.io/apiserver v0.37.1): what kube-apiserver wrote can be read.
TEST_F(EncryptionTest, OpensWhatKubernetesSealed) {
  const std::map<std::string, std::string> sealed = {
      {"aesgcm",
       "5c057dce075bdc04bfb658b1f27569840a4416018ae7aa83966fd0002a70ca079aef1f18756f7f5449e9d70ba0"},
      {"aescbc",
       "472e41f351cf8ab2d36b1f2323774ee385d08c67cf2d6a6d7ea3ca553fa353691f9a7bd19121a788b52acb88f9ea4702"},
      {"secretbox",
       "bda184ed561dc2a3c81e54d770aea5b771c14fa13ba0d42bfc8fe597f8be36973c025efc906343ed5c3ef36d96a624d47626b"
       "071"
       "6307069999"}};
  for (const auto& [provider, hex] : sealed) {
    Use(RuleText("secrets", {ProviderText(provider, KeyEntry("key1", kKeyA))}));
    std::string stored = "k8s:enc:" + provider + ":v1:key1:";
    for (std::size_t i = 0; i < hex.size(); i += 2)
      stored += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    EXPECT_EQ(Load(kSecretKey, stored), R"({"kind":"Secret"})") << provider;
  }
}

TEST_F(EncryptionTest, AValueMovedToAnotherKeyDoesNotOpenWithGcm) {
  Use(RuleText("secrets", {ProviderText("aesgcm", KeyEntry("key1", kKeyA))}));
  const std::string stored = Store("/registry/secrets/a/x", "{}");
  EXPECT_EQ(Load("/registry/secrets/a/x", stored), "{}");
  EXPECT_EQ(Load("/registry/secrets/b/x", stored), "(cipher: message authentication failed)");
}

TEST_F(EncryptionTest, TheFirstKeyWritesAndAllRead) {
  Use(RuleText("secrets", {ProviderText("aescbc", KeyEntry("key1", kKeyA)), "identity: {}"}));
  const std::string old = Store(kSecretKey, "old");
  Use(RuleText("secrets", {ProviderText("secretbox", KeyEntry("new", kKeyB)),
                           ProviderText("aescbc", KeyEntry("key1", kKeyA)), "identity: {}"}));
  EXPECT_EQ(Load(kSecretKey, old), "old");
  EXPECT_EQ(Load(kSecretKey, "plain"), "plain");
  EXPECT_TRUE(Store(kSecretKey, "x").starts_with("k8s:enc:secretbox:v1:new:"));
  EXPECT_TRUE(encryption_.IsStale(kSecretKey, old));
  EXPECT_TRUE(encryption_.IsStale(kSecretKey, "plain"));
  EXPECT_FALSE(encryption_.IsStale(kSecretKey, Store(kSecretKey, "x")));
}

TEST_F(EncryptionTest, KeysOfOneNameAreTriedInTurn) {
  Use(RuleText("secrets", {ProviderText("aesgcm", KeyEntry("key1", kKeyA))}));
  const std::string old = Store(kSecretKey, "old");
  Use(RuleText("secrets", {ProviderText("aesgcm", KeyEntry("key1", kKeyB)),
                           ProviderText("aesgcm", KeyEntry("key1", kKeyA))}));
  EXPECT_EQ(Load(kSecretKey, old), "old");
  EXPECT_TRUE(encryption_.IsStale(kSecretKey, old));
  EXPECT_FALSE(encryption_.IsStale(kSecretKey, Store(kSecretKey, "x")));
}

TEST_F(EncryptionTest, WhatCannotBeReadSaysWhy) {
  Use(RuleText("secrets", {ProviderText("aesgcm", KeyEntry("key1", kKeyA))}));
  const std::string stored = Store(kSecretKey, "x");
  EXPECT_EQ(Load(kSecretKey, "plain"), "(no matching prefix found)");
  EXPECT_EQ(Load("/registry/configmaps/default/x", stored),
            "(identity transformer tried to read encrypted data)");
  Use(RuleText("secrets", {ProviderText("aesgcm", KeyEntry("other", kKeyA)), "identity: {}"}));
  EXPECT_EQ(Load(kSecretKey, stored), "(no matching key was found for the provided AES transformer)");
  Use(RuleText("secrets", {"identity: {}"}));
  EXPECT_EQ(Load(kSecretKey, stored), "(no matching prefix found)");
  EXPECT_TRUE(encryption_.IsStale(kSecretKey, stored));
}

TEST_F(EncryptionTest, WildcardsCoverGroupsAndEverything) {
  const auto encrypted = [&](std::string_view key) { return Store(key, "x").starts_with("k8s:enc:"); };
  Use(RuleText("'*.apps'", {ProviderText("secretbox", KeyEntry("k", kKeyA))}));
  EXPECT_TRUE(encrypted("/registry/deployments/default/d"));
  EXPECT_FALSE(encrypted(kSecretKey));
  Use(RuleText("'*.'", {ProviderText("secretbox", KeyEntry("k", kKeyA))}));
  EXPECT_TRUE(encrypted(kSecretKey));
  EXPECT_TRUE(encrypted("/registry/services/specs/default/s"));
  EXPECT_TRUE(encrypted("/registry/minions/n1"));
  EXPECT_TRUE(encrypted("/registry/events/default/e"));
  EXPECT_FALSE(encrypted("/registry/deployments/default/d"));
  Use(RuleText("widgets.example.com", {ProviderText("secretbox", KeyEntry("k", kKeyA))}));
  EXPECT_TRUE(encrypted("/registry/example.com/widgets/default/w"));
  EXPECT_FALSE(encrypted("/registry/example.com/gadgets/default/w"));
  Use(RuleText("secrets", {"identity: {}"}) +
      RuleText("'*.*'", {ProviderText("secretbox", KeyEntry("k", kKeyA))}));
  EXPECT_FALSE(encrypted(kSecretKey)) << "the more exact rule wins";
  EXPECT_TRUE(encrypted("/registry/example.com/gadgets/default/w"));
  EXPECT_TRUE(encrypted("/registry/apiextensions.k8s.io/customresourcedefinitions/x"));
}

TEST_F(EncryptionTest, KeysOfTheStoreNameTheirResource) {
  const auto name = [](std::string_view key) { return ResourceOfKey(key).ToString(); };
  EXPECT_EQ(name("/registry/secrets/ns/x"), "secrets");
  EXPECT_EQ(name("/registry/services/endpoints/ns/x"), "endpoints");
  EXPECT_EQ(name("/registry/apiregistration.k8s.io/apiservices/v1.apps"),
            "apiservices.apiregistration.k8s.io");
  EXPECT_EQ(name("/registry/example.com/widgets/ns/x"), "widgets.example.com");
  EXPECT_EQ(name("/elsewhere/x"), "");
}

TEST(EncryptionConfigTest, RefusesWhatKubernetesRefuses) {
  const std::string good = ProviderText("aesgcm", KeyEntry("key1", kKeyA));
  EXPECT_EQ(ParseError(RuleText("secrets", {good})), "(none)");
  EXPECT_EQ(ParseError(RuleText("secrets", {ProviderText("aesgcm", KeyEntry("key1", kKey16))})), "(none)");
  const std::string head = "error while parsing file: ";
  EXPECT_EQ(
      ParseError(RuleText("secrets", {ProviderText("secretbox", KeyEntry("key1", kKey16))})),
      head +
          "resources[0].providers[0].secretbox.keys[0].secret: Invalid value: \"REDACTED\": secret is not of "
          "the expected length, got 16, expected one of [32]");
  EXPECT_EQ(
      ParseError(RuleText("secrets", {ProviderText("aesgcm", KeyEntry("key1", "'%%%'"))})),
      head +
          "resources[0].providers[0].aesgcm.keys[0].secret: Invalid value: \"REDACTED\": secrets must be "
          "base64 encoded");
  EXPECT_EQ(ParseError(RuleText("secrets", {"aesgcm: {}"})),
            head + "resources[0].providers[0].aesgcm.keys: Required value: at least one keys is required");
  EXPECT_EQ(ParseError(RuleText("'*'", {good})),
            head +
                "resources[0].resources[0]: Invalid value: \"*\": use '*.' to encrypt all the resources from "
                "core API group or *.* to encrypt all resources");
  EXPECT_EQ(ParseError(RuleText("Secrets", {good})),
            head +
                "resources[0].resources[0]: Invalid value: \"Secrets\": resource name should not contain "
                "capital letters");
  EXPECT_NE(ParseError(RuleText("secrets, '*.'", {good})).find("overlapping resources"), std::string::npos);
  EXPECT_NE(ParseError(RuleText("secrets, secrets", {good})).find("specified multiple times"),
            std::string::npos);
  EXPECT_NE(ParseError(RuleText("events.events.k8s.io", {good})).find("Use 'events' instead"),
            std::string::npos);
  EXPECT_EQ(ParseError(RuleText("'*.*'", {good}) + RuleText("secrets", {good})),
            "error while building transformers: resource \"secrets\" is masked by earlier rule \"*.*\"");
  EXPECT_NE(
      ParseError(RuleText("secrets", {"{aesgcm: {keys: [" + KeyEntry("a", kKeyA) + "]}, identity: {}}"}))
          .find("more than one provider"),
      std::string::npos);
  EXPECT_NE(ParseError(RuleText("secrets", {"kms: {name: x, endpoint: 'unix:///x'}"}))
                .find("KMSv1 is deprecated and not supported by this server"),
            std::string::npos);
  EXPECT_EQ(
      ParseError(RuleText("secrets", {"aesgcm: {keys: [{name: a, secret: " + kKeyA + ", colour: red}]}"})),
      head +
          "error decoding encryption provider configuration file \"enc.yaml\": strict decoding error: "
          "unknown field \"resources[0].providers[0].aesgcm.keys[0].colour\"");
  EXPECT_NE(ParseEncryptionConfig("", "enc.yaml").error().message().find("\"enc.yaml\" is empty"),
            std::string::npos);
  EXPECT_NE(ParseEncryptionConfig("apiVersion: v1\nkind: Secret\n", "enc.yaml")
                .error()
                .message()
                .find("no kind \"Secret\" is registered for version \"v1\""),
            std::string::npos);
}

TEST(EncryptionConfigTest, TheOneMadeForUpIsValidAndDifferentEachTime) {
  const std::string text = *NewEncryptionConfigText();
  const auto config = ParseEncryptionConfig(text, "made");
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->rules[0].resources[0].resource, "secrets");
  EXPECT_EQ(config->rules[0].providers[0].keys[0].secret.size(), 32u);
  EXPECT_NE(text, *NewEncryptionConfigText());
}

TEST(EncryptionReloadTest, AChangedFileIsTakenUpAndABrokenOneIsNot) {
  store::TempFolder folder;
  SimExecutor executor(1);
  Metrics metrics;
  ValueEncryption encryption(metrics);
  const auto config = [&](const std::string& key) {
    return std::string(kEncryptionHead) +
           RuleText("secrets", {ProviderText("secretbox", KeyEntry(key, kKeyA))});
  };
  const std::string path = folder / "enc.yaml", first = config("first");
  ASSERT_TRUE(WriteFileDurably(path, first));
  encryption.Use(*ParseEncryptionConfig(first, path));
  EncryptionReload reload(path, first, encryption, executor, metrics);
  const auto writes_with = [&](const std::string& key) {
    return (*encryption.ToStorage(kSecretKey, MakeBytes("x")))
        ->starts_with("k8s:enc:secretbox:v1:" + key + ":");
  };

  ASSERT_TRUE(WriteFileDurably(path, config("second")));
  EXPECT_TRUE(writes_with("first"));
  executor.RunFor(EncryptionReload::kInterval + std::chrono::seconds(1));
  EXPECT_TRUE(writes_with("second"));

  ASSERT_TRUE(WriteFileDurably(path, "kind: ["));
  executor.RunFor(EncryptionReload::kInterval);
  EXPECT_TRUE(writes_with("second"));
  EXPECT_NE(metrics.Serialize().find("automatic_reloads_total{status=\"failure\"} 1"), std::string::npos);

  ASSERT_TRUE(WriteFileDurably(path, config("third")));
  executor.RunFor(EncryptionReload::kInterval);
  EXPECT_TRUE(writes_with("third"));
}

}  // namespace
}  // namespace flyball::server
