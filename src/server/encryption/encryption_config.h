// EncryptionConfiguration (apiserver.config.k8s.io/v1): which resources are encrypted at rest, with which
// keys.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/run/clock.h"
#include "base/values/result.h"

namespace flyball::server {

// "secrets", "deployments.apps", "*.apps" (every resource of the group), "*." (of the core group), "*.*".
struct EncryptedResource {
  std::string group, resource;
  auto operator<=>(const EncryptedResource&) const = default;
  std::string ToString() const;
};
EncryptedResource ParseEncryptedResource(std::string_view text);

struct EncryptionKey {
  std::string name;
  std::string secret;  // the raw bytes
};

// A plugin that keeps the keys, of version 2 of its protocol.
struct KmsConfig {
  std::string name, endpoint;
  Duration timeout = std::chrono::seconds(3);
  bool operator==(const KmsConfig&) const = default;
};

struct EncryptionProvider {
  enum class Type : std::uint8_t { kIdentity, kAesGcm, kAesCbc, kSecretbox, kKms };
  Type type = Type::kIdentity;
  std::vector<EncryptionKey> keys;  // none for identity and kms
  KmsConfig kms{};
};

struct EncryptionRule {
  std::vector<EncryptedResource> resources;
  std::vector<EncryptionProvider> providers;  // the first writes, all read
};

struct EncryptionConfig {
  std::vector<EncryptionRule> rules;
};

// Checked as kube-apiserver checks it, in its words. KMS providers of version 1, which are off there too, are
// refused.
Result<EncryptionConfig> ParseEncryptionConfig(std::string_view text, const std::string& path);
// Reads the file first.
Result<EncryptionConfig> LoadEncryptionConfig(const std::string& path);

// What `flyball up` makes on its first start: Secrets sealed with a new key (secretbox), and values from
// before readable. Contains the key: write it with WriteFileDurably.
Result<std::string> NewEncryptionConfigText();

}  // namespace flyball::server
