#include "crypto/sealing.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace flyball::crypto {
namespace {

std::string FromHex(std::string_view hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return out;
}

struct Sealing {
  const char* name;
  std::size_t key_size;
  std::function<Result<std::string>(std::string_view key, std::string_view plain)> seal;
  std::function<Result<std::string>(std::string_view key, std::string_view sealed)> open;
  bool authenticated;
};

std::vector<Sealing> AllSealings() {
  std::vector<Sealing> all;
  for (const std::size_t size : {16, 24, 32}) {
    all.push_back({"aesgcm", size, [](auto k, auto p) { return SealAesGcm(k, p, "path"); },
                   [](auto k, auto s) { return OpenAesGcm(k, s, "path"); }, true});
    all.push_back({"aescbc", size, &SealAesCbc, &OpenAesCbc, false});
  }
  all.push_back({"secretbox", 32, &SealSecretbox, &OpenSecretbox, true});
  return all;
}

TEST(SealingTest, WhatWasSealedOpens) {
  for (const Sealing& way : AllSealings()) {
    const std::string key = *RandomKey(way.key_size);
    for (const std::size_t size : {0u, 1u, 15u, 16u, 17u, 4096u, 100003u}) {
      const std::string plain(size, 'p');
      const auto sealed = way.seal(key, plain);
      ASSERT_TRUE(sealed) << way.name << sealed.error().message();
      if (size >= 15) {
        EXPECT_EQ(sealed->find(plain), std::string::npos) << way.name;
      }
      const auto opened = way.open(key, *sealed);
      ASSERT_TRUE(opened) << way.name << " " << size << ": " << opened.error().message();
      EXPECT_EQ(*opened, plain) << way.name;
    }
  }
}

TEST(SealingTest, TheSameTextIsSealedDifferentlyEachTime) {
  for (const Sealing& way : AllSealings()) {
    const std::string key = *RandomKey(way.key_size);
    EXPECT_NE(*way.seal(key, "text"), *way.seal(key, "text")) << way.name;
  }
}

TEST(SealingTest, AnotherKeyOpensNothing) {
  for (const Sealing& way : AllSealings()) {
    const auto sealed = way.seal(*RandomKey(way.key_size), std::string(100, 'p'));
    const auto opened = way.open(*RandomKey(way.key_size), *sealed);
    // CBC only notices by its padding, and one time in 256 not at all.
    if (way.authenticated) {
      EXPECT_FALSE(opened) << way.name;
    }
    EXPECT_NE(opened.value_or(""), std::string(100, 'p')) << way.name;
  }
}

TEST(SealingTest, AChangedBitIsNoticed) {
  for (const Sealing& way : AllSealings()) {
    if (!way.authenticated) continue;
    const std::string key = *RandomKey(way.key_size);
    const std::string sealed = *way.seal(key, "text");
    for (std::size_t i = 0; i < sealed.size(); ++i) {
      std::string changed = sealed;
      changed[i] = static_cast<char>(changed[i] ^ 1);
      EXPECT_FALSE(way.open(key, changed)) << way.name << " byte " << i;
    }
  }
}

TEST(SealingTest, ShortTextsAreRefused) {
  for (const Sealing& way : AllSealings()) {
    const std::string key = *RandomKey(way.key_size);
    for (std::size_t size = 0; size < 17; ++size)
      EXPECT_FALSE(way.open(key, std::string(size, 'x'))) << way.name << " " << size;
  }
}

// A value moved to another key's place in the store does not open.
TEST(SealingTest, GcmAuthenticatesItsContext) {
  const std::string key = *RandomKey(32);
  const std::string sealed = *SealAesGcm(key, "text", "/registry/secrets/a/x");
  EXPECT_TRUE(OpenAesGcm(key, sealed, "/registry/secrets/a/x"));
  EXPECT_FALSE(OpenAesGcm(key, sealed, "/registry/secrets/b/x"));
  EXPECT_FALSE(OpenAesGcm(key, sealed, ""));
}

// NIST SP 800-38D test case 16 and NaCl's own example: the layouts are the ones everybody uses.
TEST(SealingTest, OpensKnownAnswers) {
  const std::string gcm_key = FromHex("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308");
  const std::string gcm = FromHex(
      "cafebabefacedbaddecaf888"
      "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e"
      "63"
      "93ba7a0abcc9f66276fc6ece0f4e1768cddf8853bb2d551b");
  const auto opened = OpenAesGcm(gcm_key, gcm, FromHex("feedfacedeadbeeffeedfacedeadbeefabaddad2"));
  ASSERT_TRUE(opened);
  EXPECT_EQ(*opened,
            FromHex("d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fc"
                    "f0e2449a6b525b16aedf5aa0de657ba637b39"));

  const std::string box_key = FromHex("1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389");
  const std::string box = FromHex(
      "69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37"
      "f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc1"
      "7c98"
      "dce87b4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfea"
      "bd6bb"
      "3732bc0e9da99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5");
  const auto text = OpenSecretbox(box_key, box);
  ASSERT_TRUE(text);
  EXPECT_EQ(
      *text,
      FromHex("be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d"
              "45e6c61296cdc3c01233561f41db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b131"
              "8a024a838f21af1fde048977eb48f59ffd4924ca1c60902e52f0a089bc76897040e082f937763848645e0705"));
}

TEST(SealingTest, APassphraseGivesTheSameKeyForTheSameSalt) {
  EXPECT_EQ(*KeyFromPassphrase("correct horse", "salt"), *KeyFromPassphrase("correct horse", "salt"));
  EXPECT_NE(*KeyFromPassphrase("correct horse", "salt"), *KeyFromPassphrase("correct horse", "pepper"));
}

}  // namespace
}  // namespace flyball::crypto
