// KmsProvider: envelope encryption with keys that a KMS plugin keeps (upstream: envelope/kmsv2). Objects are
// encrypted here, each with a key derived from one seed; the plugin has encrypted the seed, and what it made
// of it is stored with every object.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/observe/metrics.h"
#include "base/run/alarm.h"
#include "base/run/executor.h"
#include "base/run/mutex.h"
#include "base/run/random.h"
#include "server/encryption/encryption_config.h"
#include "server/encryption/kms_service.h"

namespace flyball::server {

// The form of a stored object (upstream: EncryptedObject).
struct KmsEnvelope {
  enum class Source : std::uint8_t { kKey = 0, kSeed = 1 };
  std::string data;
  KmsCiphertext key;  // of the seed, or of the key itself (written by upstream before v1.29)
  Source source = Source::kSeed;
};
std::string EncodeEnvelope(const KmsEnvelope& envelope);
// An error in upstream's words if it is no envelope or breaks a limit.
Result<KmsEnvelope> DecodeEnvelope(std::string_view bytes);
// What is wrong with what a plugin gave: sizes, key ID, names of annotations.
Status ValidateEnvelope(const KmsEnvelope& envelope);

// States of the seed: none (before the plugin has answered once) -> current -> expired (the plugin has not
// confirmed it for kSeedTtl: reading goes on, writing fails). A new key ID of the plugin has a new seed made.
//
// Thread-safe. Seal never waits. Open asks the plugin, and waits for it, when it meets a key it has not seen;
// its error is ServiceUnavailable if the plugin does not give the key.
class KmsProvider {
 public:
  // Upstream's kmsv2PluginHealthz*Interval and kmsv2PluginWriteDEKSourceMaxTTL.
  static constexpr Duration kPollHealthy = std::chrono::minutes(1), kPollFailing = std::chrono::seconds(10);
  static constexpr Duration kSeedTtl = std::chrono::minutes(3);
  // Keys seen and not used for a day are forgotten; there are as many as the plugin has key IDs, times
  // restarts.
  static constexpr Duration kCacheTtl = std::chrono::hours(24);

  // `clock`, `metrics` and `random` outlive it.
  KmsProvider(KmsConfig config, std::unique_ptr<KmsService> service, const Clock& clock, Metrics& metrics,
              Random& random);

  // Asks the plugin how it is, and makes or confirms the seed. Blocks. The result is health() from then on.
  Status Check();
  // As Check found it last.
  Status health() const;

  const KmsConfig& config() const { return config_; }
  // `key`, where the object is stored, is authenticated with it.
  Result<std::string> Seal(std::string_view key, std::string_view plain) const;
  Result<std::string> Open(std::string_view key, std::string_view sealed) const;
  // Whether Seal would use another key of the plugin's now.
  bool IsStale(std::string_view sealed) const;

 private:
  struct Seed {
    std::string bytes;
    KmsCiphertext sealed;
    TimePoint expires;
  };
  struct Known {
    std::string bytes;
    TimePoint used;
  };

  Status AskPlugin();
  Status Rotate(const std::string& key_id);
  Result<Seed> NewSeed(TimePoint expires);
  std::optional<std::string> FindKnown(const std::string& cache_key) const;
  void Remember(const std::string& cache_key, const std::string& bytes) const;
  std::shared_ptr<const Seed> seed() const;

  const KmsConfig config_;
  const std::unique_ptr<KmsService> service_;
  const Clock& clock_;
  Metrics& metrics_;
  Random& random_;
  Mutex asking_;  // one Check at a time
  std::string version_ FLYBALL_GUARDED_BY(asking_);
  mutable Mutex mu_;
  std::shared_ptr<const Seed> seed_ FLYBALL_GUARDED_BY(mu_);
  Status health_ FLYBALL_GUARDED_BY(mu_);
  mutable std::map<std::string, Known> known_ FLYBALL_GUARDED_BY(mu_);
};

// Checks a provider again and again, on a thread that starts with the first one. Thread-safe.
class KmsProviders {
 public:
  explicit KmsProviders(Metrics& metrics);
  ~KmsProviders();

  // The provider of this configuration: the one in use already, or a new one, which is checked at once.
  // Blocks for as long as that takes, at most twice the timeout.
  std::shared_ptr<KmsProvider> Get(const KmsConfig& config);
  // The problem of the first provider that has one.
  Status health() const;

 private:
  struct Polled;
  Metrics& metrics_;
  mutable Mutex mu_;
  std::unique_ptr<ThreadPool> executor_ FLYBALL_GUARDED_BY(mu_);
  std::map<std::string, std::weak_ptr<Polled>> providers_ FLYBALL_GUARDED_BY(mu_);  // by name
};

}  // namespace flyball::server
