#include "server/encryption/kms_provider.h"

#include <gtest/gtest.h>

#include "base/run/sim_executor.h"
#include "crypto/sealing.h"

namespace flyball::server {
namespace {

// A plugin whose "encryption" is a prefix.
class FakeKms final : public KmsService {
 public:
  struct State {
    KmsStatus status{"v2", "ok", "key-1"};
    std::string encrypts_with = "key-1";
    bool down = false;
    std::string ciphertext_prefix = "sealed:";
    std::map<std::string, std::string> annotations;
    int encrypts = 0, decrypts = 0;
  };
  explicit FakeKms(State& state) : state_(state) {}

  Result<KmsStatus> Status() override {
    if (state_.down) return Unexpected(Error(Reason::kConnection, "gone"));
    return state_.status;
  }
  Result<KmsCiphertext> Encrypt(const std::string&, std::string_view plain) override {
    if (state_.down) return Unexpected(Error(Reason::kConnection, "gone"));
    ++state_.encrypts;
    return KmsCiphertext{state_.ciphertext_prefix + std::string(plain), state_.encrypts_with,
                         state_.annotations};
  }
  Result<std::string> Decrypt(const std::string&, const KmsCiphertext& sealed) override {
    if (state_.down) return Unexpected(Error(Reason::kConnection, "gone"));
    ++state_.decrypts;
    return sealed.ciphertext.substr(state_.ciphertext_prefix.size());
  }

 private:
  State& state_;
};

class KmsProviderTest : public testing::Test {
 protected:
  std::unique_ptr<KmsProvider> NewProvider() {
    return std::make_unique<KmsProvider>(KmsConfig{"cloud", "unix:///x", std::chrono::seconds(3)},
                                         std::make_unique<FakeKms>(kms_), executor_.clock(), metrics_,
                                         executor_.random());
  }
  std::string Problem() {
    const Status status = provider_->Check();
    EXPECT_EQ(provider_->health().has_value(), status.has_value());
    return status ? "" : status.error().message();
  }
  std::string SealProblem() {
    const auto sealed = provider_->Seal("/k", "v");
    return sealed ? "" : sealed.error().message();
  }

  SimExecutor executor_{1};
  Metrics metrics_;
  FakeKms::State kms_;
  std::unique_ptr<KmsProvider> provider_ = NewProvider();
};

TEST_F(KmsProviderTest, SealsWithOneKeyOfThePluginAndOpensAgain) {
  EXPECT_EQ(SealProblem(), "the KMS plugin has not been asked yet");
  ASSERT_EQ(Problem(), "");
  const auto one = provider_->Seal("/registry/secrets/a/x", "hidden"), two = provider_->Seal("/k", "hidden");
  ASSERT_TRUE(one && two);
  EXPECT_NE(*one, *two);
  EXPECT_EQ(one->find("hidden"), std::string::npos);
  EXPECT_EQ(*provider_->Open("/registry/secrets/a/x", *one), "hidden");
  EXPECT_FALSE(provider_->Open("/registry/secrets/b/x", *one)) << "moved";
  EXPECT_EQ(kms_.encrypts, 1);
  EXPECT_EQ(kms_.decrypts, 0) << "its own seed is known";
  const auto other = NewProvider();
  ASSERT_TRUE(other->Check());
  EXPECT_EQ(*other->Open("/registry/secrets/a/x", *one), "hidden");
  EXPECT_EQ(*other->Open("/k", *two), "hidden");
  EXPECT_EQ(kms_.decrypts, 1) << "one seed is asked for once";
}

// Written by Kubernetes before v1.29: the plugin has encrypted the key itself.
TEST_F(KmsProviderTest, OpensWhatWasSealedWithTheKeyItself) {
  const std::string key(32, 'k');
  KmsEnvelope envelope{
      *crypto::SealAesGcm(key, "old", "/k"), {"sealed:" + key, "key-0", {}}, KmsEnvelope::Source::kKey};
  ASSERT_EQ(Problem(), "");
  EXPECT_EQ(*provider_->Open("/k", EncodeEnvelope(envelope)), "old");
  EXPECT_TRUE(provider_->IsStale(EncodeEnvelope(envelope)));
}

TEST_F(KmsProviderTest, ANewKeyIdHasANewSeedMade) {
  ASSERT_EQ(Problem(), "");
  const std::string old = *provider_->Seal("/k", "v");
  EXPECT_FALSE(provider_->IsStale(old));
  ASSERT_EQ(Problem(), "");
  EXPECT_EQ(kms_.encrypts, 1) << "the same key: confirmed, not made again";
  kms_.status.key_id = kms_.encrypts_with = "key-2";
  ASSERT_EQ(Problem(), "");
  EXPECT_EQ(kms_.encrypts, 2);
  EXPECT_TRUE(provider_->IsStale(old));
  EXPECT_EQ(*provider_->Open("/k", old), "v");
  EXPECT_EQ(DecodeEnvelope(*provider_->Seal("/k", "v"))->key.key_id, "key-2");
}

TEST_F(KmsProviderTest, APluginBetweenTwoKeysKeepsTheOldOneUntilItExpires) {
  ASSERT_EQ(Problem(), "");
  kms_.status.key_id = "key-2";  // and still encrypts with key-1
  EXPECT_NE(Problem().find("failed to rotate DEK"), std::string::npos);
  EXPECT_EQ(SealProblem(), "");
}

TEST_F(KmsProviderTest, WithoutThePluginReadingGoesOnAndWritingEnds) {
  ASSERT_EQ(Problem(), "");
  const std::string sealed = *provider_->Seal("/k", "v");
  kms_.down = true;
  EXPECT_EQ(Problem(),
            "failed to perform status section of the healthz check for KMS Provider cloud, error: gone");
  EXPECT_EQ(SealProblem(), "");
  executor_.RunFor(KmsProvider::kSeedTtl + std::chrono::seconds(1));
  EXPECT_TRUE(SealProblem().starts_with("encryptedDEKSource with keyID hash \"sha256:")) << SealProblem();
  EXPECT_EQ(*provider_->Open("/k", sealed), "v");
  EXPECT_EQ(NewProvider()->Open("/k", sealed).error().message(), "failed to decrypt DEK, error: gone");
  kms_.down = false;
  ASSERT_EQ(Problem(), "");
  EXPECT_EQ(SealProblem(), "") << "the same seed, confirmed";
  EXPECT_EQ(kms_.encrypts, 1);
}

TEST_F(KmsProviderTest, APluginThatIsNotWellIsSaidSo) {
  kms_.status.healthz = "sick";
  EXPECT_EQ(Problem(), "kmsv2 Provider cloud is not healthy, error: got unexpected healthz status: sick");
  kms_.status = {"v3", "ok", "key-1"};
  EXPECT_EQ(Problem(), "kmsv2 Provider cloud is not healthy, error: expected KMSv2 API version v2, got v3");
  kms_.status = {"v2", "ok", ""};
  EXPECT_EQ(Problem(),
            "kmsv2 Provider cloud is not healthy, error: got invalid KMSv2 KeyID hash \"\": keyID is empty");
  kms_.status = {"v2", "ok", std::string(1025, 'k')};
  EXPECT_NE(Problem().find("keyID is 1025 bytes, which exceeds the max size of 1024"), std::string::npos);
  kms_.status = {"v2beta1", "ok", "key-1"};
  EXPECT_NE(
      Problem().find("KMSv2 API version should not change after the initial status response version v2"),
      std::string::npos);
}

TEST_F(KmsProviderTest, WhatAPluginGivesIsChecked) {
  kms_.ciphertext_prefix = std::string(1024, 'c');
  EXPECT_NE(Problem().find("encrypted DEK source is 1056 bytes, which exceeds the max size of 1024"),
            std::string::npos);
  kms_.ciphertext_prefix = "sealed:";
  kms_.annotations = {{"short", "x"}};
  EXPECT_NE(Problem().find("failed to validate annotations: annotations: Invalid value: \"short\""),
            std::string::npos);
  kms_.annotations = {{"a.example", std::string(33 * 1024, 'x')}};
  EXPECT_NE(Problem().find("which exceeds the max size of 32768"), std::string::npos);
  kms_.annotations = {{"a.example", "x"}};
  EXPECT_EQ(Problem(), "");
  EXPECT_EQ(DecodeEnvelope(*provider_->Seal("/k", "v"))->key.annotations.at("a.example"), "x");
}

TEST_F(KmsProviderTest, WhatIsNoEnvelopeIsNotOpened) {
  ASSERT_EQ(Problem(), "");
  const std::string sealed = *provider_->Seal("/k", "v");
  EXPECT_EQ(provider_->Open("/k", "junk").error().message(), "proto: cannot parse invalid wire-format data");
  EXPECT_EQ(provider_->Open("/k", "").error().message(), "encrypted data is empty");
  KmsEnvelope envelope = *DecodeEnvelope(sealed);
  envelope.data.back() ^= 1;
  EXPECT_EQ(provider_->Open("/k", EncodeEnvelope(envelope)).error().message(),
            "cipher: message authentication failed");
  EXPECT_EQ(provider_->Open("/k", EncodeEnvelope({"d", {"", "id", {}}, KmsEnvelope::Source::kSeed}))
                .error()
                .message(),
            "failed to validate encrypted DEK source: encrypted DEK source is empty");
  EXPECT_EQ(provider_->Open("/k", EncodeEnvelope({"d", {"c", "", {}}, KmsEnvelope::Source::kSeed}))
                .error()
                .message(),
            "failed to validate key id: keyID is empty");
}

}  // namespace
}  // namespace flyball::server
