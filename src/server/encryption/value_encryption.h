// ValueEncryption: encrypts objects on their way to the store, by an EncryptionConfiguration, in the form
// kube-apiserver stores them ("k8s:enc:aesgcm:v1:key1:" and the sealed object), so that each reads what the
// other has written. With aesgcm the key of the store is authenticated too: a value copied to another place
// does not open.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/observe/metrics.h"
#include "base/run/mutex.h"
#include "server/encryption/encryption_config.h"
#include "server/encryption/kms_provider.h"
#include "store/transform/value_transformer.h"

namespace flyball::server {

// Which resource an object stored under this key is of.
EncryptedResource ResourceOfKey(std::string_view key);

// Thread-safe. Without a configuration nothing is encrypted, and encrypted values are errors instead of
// objects that make no sense.
class ValueEncryption final : public store::ValueTransformer {
 public:
  // Counts in `metrics`, which must outlive this.
  explicit ValueEncryption(Metrics& metrics) : metrics_(metrics), kms_(metrics) {}

  // From now on. Asks the plugins of new KMS providers first, and blocks for as long as that takes.
  void Use(const EncryptionConfig& config);
  // The same, unless a KMS provider of it is not healthy; then the error says why, and nothing changes.
  Status UseIfHealthy(const EncryptionConfig& config);
  // Of the KMS providers in use, as they were last asked.
  Status health() const { return kms_.health(); }

  Result<Bytes> ToStorage(std::string_view key, const Bytes& value) const override;
  Result<Bytes> FromStorage(std::string_view key, const Bytes& stored) const override;
  bool IsTransformed(std::string_view stored) const override;
  bool IsStale(std::string_view key, std::string_view stored) const override;

 private:
  // One key of one provider.
  struct Sealer {
    EncryptionProvider::Type type;
    std::string provider_prefix;  // "k8s:enc:aesgcm:v1:"; empty for identity
    std::string prefix;           // with the key's name and a colon
    std::string secret;
    std::shared_ptr<KmsProvider> kms;  // of a KMS provider
  };
  using Sealers = std::vector<Sealer>;  // the first one writes
  using Table = std::map<EncryptedResource, Sealers>;

  static Result<std::string> Seal(const Sealer& sealer, std::string_view key, std::string_view plain);
  static Result<std::string> Open(const Sealer& sealer, std::string_view key, std::string_view stored);
  static Result<Bytes> Read(const Sealers& sealers, std::string_view key, const Bytes& stored);
  // Those for a resource; none: it is not encrypted.
  static const Sealers* Find(const Table& table, const EncryptedResource& resource);
  std::shared_ptr<const Table> MakeTable(const EncryptionConfig& config);
  std::shared_ptr<const Table> table() const;
  void Count(const EncryptedResource& resource, const char* type, const std::string& prefix, bool ok) const;

  Metrics& metrics_;
  KmsProviders kms_;
  mutable Mutex mu_;
  std::shared_ptr<const Table> table_ FLYBALL_GUARDED_BY(mu_) = std::make_shared<Table>();
};

}  // namespace flyball::server
