#include "server/encryption/kms_provider.h"

#include "api/rules/format.h"
#include "api/values/go_text.h"
#include "api/values/time.h"
#include "base/observe/log.h"
#include "crypto/sealing.h"
#include "net/tls/pki.h"
#include "server/config/strict_object.h"
#include "server/encryption/kms_wire.h"

namespace flyball::server {
namespace {

constexpr std::size_t kMaxKeyId = 1024, kMaxSealedKey = 1024, kMaxAnnotations = 32 * 1024;
constexpr std::size_t kSeedBytes = 32;

Error KmsError(const std::string& what) {
  return InternalError(what);
}

std::string QuotedHash(std::string_view text) {
  return text.empty() ? "\"\"" : "\"sha256:" + net::HexEncode(net::Sha256(text)) + "\"";
}

Status ValidateKeyId(const std::string& key_id) {
  if (key_id.empty()) return Unexpected(KmsError("keyID is empty"));
  if (key_id.size() > kMaxKeyId)
    return Unexpected(KmsError("keyID is " + std::to_string(key_id.size()) +
                               " bytes, which exceeds the max size of " + std::to_string(kMaxKeyId)));
  return {};
}

Status ValidateAnnotations(const std::map<std::string, std::string>& annotations) {
  std::size_t total = 0;
  api::FieldErrors errors;
  for (const auto& [key, value] : annotations) {
    api::ValidateFullyQualifiedDomain(key, api::FieldPath("annotations"), errors);
    total += key.size() + value.size();
  }
  if (!errors.empty()) return Unexpected(KmsError(AggregateText(errors)));
  if (total > kMaxAnnotations)
    return Unexpected(KmsError("total size of annotations is " + std::to_string(total) +
                               ", which exceeds the max size of " + std::to_string(kMaxAnnotations)));
  return {};
}

Status ValidateSealedKey(const std::string& sealed) {
  if (sealed.empty()) return Unexpected(KmsError("encrypted DEK source is empty"));
  if (sealed.size() > kMaxSealedKey)
    return Unexpected(KmsError("encrypted DEK source is " + std::to_string(sealed.size()) +
                               " bytes, which exceeds the max size of " + std::to_string(kMaxSealedKey)));
  return {};
}

Status Prefixed(const char* what, const Status& status) {
  if (status) return {};
  return Unexpected(KmsError(what + status.error().message()));
}

// Two keys are the same if this is: all that the plugin is told about one.
std::string CacheKey(const KmsEnvelope& envelope) {
  return EncodeEnvelope({.data = {}, .key = envelope.key, .source = envelope.source});
}

void ReadBytesField(WireReader& reader, KmsEnvelope& out) {
  const std::uint32_t number = reader.number();
  const std::string_view bytes = reader.Bytes();
  if (number == 1) out.data = bytes;
  if (number == 2) out.key.key_id = bytes;
  if (number == 3) out.key.ciphertext = bytes;
  if (number == 4) ReadAnnotation(bytes, out.key.annotations);
}

}  // namespace

std::string EncodeEnvelope(const KmsEnvelope& envelope) {
  std::string out;
  WireWriter writer(out);
  if (!envelope.data.empty()) writer.Bytes(1, envelope.data);
  writer.Bytes(2, envelope.key.key_id);
  writer.Bytes(3, envelope.key.ciphertext);
  WriteAnnotations(writer, 4, envelope.key.annotations);
  if (envelope.source == KmsEnvelope::Source::kSeed) writer.Varint(5, 1);
  return out;
}

Result<KmsEnvelope> DecodeEnvelope(std::string_view bytes) {
  KmsEnvelope out;
  out.source = KmsEnvelope::Source::kKey;
  std::uint64_t source = 0;
  WireReader reader(bytes);
  while (reader.NextField()) {
    if (reader.number() == 5 && reader.type() == WireType::kVarint)
      source = reader.Varint();
    else if (reader.type() == WireType::kBytes)
      ReadBytesField(reader, out);
    else
      reader.Skip();
  }
  if (!reader.ok()) return Unexpected(KmsError("proto: cannot parse invalid wire-format data"));
  if (source > 1) return Unexpected(KmsError("unknown encryptedDEKSourceType: " + std::to_string(source)));
  if (source == 1) out.source = KmsEnvelope::Source::kSeed;
  FLYBALL_TRY(ValidateEnvelope(out));
  return out;
}

Status ValidateEnvelope(const KmsEnvelope& envelope) {
  if (envelope.data.empty()) return Unexpected(KmsError("encrypted data is empty"));
  FLYBALL_TRY(
      Prefixed("failed to validate encrypted DEK source: ", ValidateSealedKey(envelope.key.ciphertext)));
  FLYBALL_TRY(Prefixed("failed to validate key id: ", ValidateKeyId(envelope.key.key_id)));
  return Prefixed("failed to validate annotations: ", ValidateAnnotations(envelope.key.annotations));
}

KmsProvider::KmsProvider(KmsConfig config, std::unique_ptr<KmsService> service, const Clock& clock,
                         Metrics& metrics, Random& random)
    : config_(std::move(config)),
      service_(std::move(service)),
      clock_(clock),
      metrics_(metrics),
      random_(random),
      health_(Unexpected(KmsError("the KMS plugin has not been asked yet"))) {}

std::shared_ptr<const KmsProvider::Seed> KmsProvider::seed() const {
  MutexLock lock(mu_);
  return seed_;
}

Status KmsProvider::health() const {
  MutexLock lock(mu_);
  return health_;
}

Status KmsProvider::Check() {
  MutexLock only(asking_);
  Status found = AskPlugin();
  if (!found) found = Unexpected(KmsError(found.error().message()));
  MutexLock lock(mu_);
  health_ = found;
  return found;
}

Status KmsProvider::AskPlugin() {
  const auto status = service_->Status();
  if (!status)
    return Unexpected(KmsError("failed to perform status section of the healthz check for KMS Provider " +
                               config_.name + ", error: " + status.error().message()));
  std::vector<std::string> problems;
  if (status->healthz != "ok") problems.push_back("got unexpected healthz status: " + status->healthz);
  if (status->version != "v2" && status->version != "v2beta1") {
    problems.push_back("expected KMSv2 API version v2, got " + status->version);
  } else {
    if (version_.empty()) version_ = status->version;
    if (version_ != status->version)
      problems.push_back("KMSv2 API version should not change after the initial status response version " +
                         version_ + ", got " + status->version);
  }
  if (const ::flyball::Status valid = ValidateKeyId(status->key_id); !valid)
    problems.push_back("got invalid KMSv2 KeyID hash " + QuotedHash(status->key_id) + ": " +
                       valid.error().message());
  else if (const ::flyball::Status rotated = Rotate(status->key_id); !rotated)
    problems.push_back(rotated.error().message());
  if (problems.empty()) return {};
  return Unexpected(
      KmsError("kmsv2 Provider " + config_.name + " is not healthy, error: " + AggregateText(problems)));
}

// A plugin that names one key and encrypts with another is between two keys: the old seed stays until it
// expires.
Status KmsProvider::Rotate(const std::string& key_id) {
  // Taken before the plugin is asked: from here the time to live counts.
  const TimePoint expires = clock_.Now() + kSeedTtl;
  const auto current = seed();
  if (current && current->sealed.key_id == key_id) {
    auto confirmed = std::make_shared<Seed>(*current);
    confirmed->expires = expires;
    MutexLock lock(mu_);
    seed_ = std::move(confirmed);
    return {};
  }
  auto fresh = NewSeed(expires);
  if (!fresh || fresh->sealed.key_id != key_id)
    return Unexpected(
        KmsError("failed to rotate DEK, errGen=" + (fresh ? std::string("<nil>") : fresh.error().message()) +
                 ", statusKeyIDHash=" + QuotedHash(key_id) +
                 ", encryptKeyIDHash=" + QuotedHash(fresh ? fresh->sealed.key_id : "") +
                 ", stateKeyIDHash=" + QuotedHash(current ? current->sealed.key_id : "")));
  Remember(CacheKey({.data = {}, .key = fresh->sealed, .source = KmsEnvelope::Source::kSeed}), fresh->bytes);
  MutexLock lock(mu_);
  seed_ = std::make_shared<Seed>(std::move(*fresh));
  return {};
}

Result<KmsProvider::Seed> KmsProvider::NewSeed(TimePoint expires) {
  FLYBALL_ASSIGN(std::string bytes, crypto::RandomKey(kSeedBytes));
  auto sealed = service_->Encrypt(random_.Uuid(), bytes);
  if (!sealed) return Unexpected(KmsError("failed to encrypt DEK, error: " + sealed.error().message()));
  FLYBALL_TRY(
      ValidateEnvelope({.data = std::string(1, '\0'), .key = *sealed, .source = KmsEnvelope::Source::kSeed}));
  return Seed{std::move(bytes), std::move(*sealed), expires};
}

std::optional<std::string> KmsProvider::FindKnown(const std::string& cache_key) const {
  MutexLock lock(mu_);
  const auto it = known_.find(cache_key);
  if (it == known_.end()) return std::nullopt;
  it->second.used = clock_.Now();
  return it->second.bytes;
}

void KmsProvider::Remember(const std::string& cache_key, const std::string& bytes) const {
  const TimePoint now = clock_.Now();
  MutexLock lock(mu_);
  std::erase_if(known_, [&](const auto& entry) { return entry.second.used + kCacheTtl < now; });
  known_[cache_key] = {bytes, now};
}

Result<std::string> KmsProvider::Seal(std::string_view key, std::string_view plain) const {
  const auto current = seed();
  if (!current) {
    const Status why = health();
    return Unexpected(KmsError(why ? "got unexpected nil transformer" : why.error().message()));
  }
  const TimePoint now = clock_.Now();
  if (now > current->expires)
    return Unexpected(KmsError("encryptedDEKSource with keyID hash " + QuotedHash(current->sealed.key_id) +
                               " expired at " + api::FormatTime(current->expires) + " (current time is " +
                               api::FormatTime(now) + ")"));
  FLYBALL_ASSIGN(std::string data, crypto::SealSeededGcm(current->bytes, plain, key));
  return EncodeEnvelope(
      {.data = std::move(data), .key = current->sealed, .source = KmsEnvelope::Source::kSeed});
}

Result<std::string> KmsProvider::Open(std::string_view key, std::string_view sealed) const {
  FLYBALL_ASSIGN(const KmsEnvelope envelope, DecodeEnvelope(sealed));
  const std::string cache_key = CacheKey(envelope);
  auto bytes = FindKnown(cache_key);
  if (!bytes) {
    auto plain = service_->Decrypt(random_.Uuid(), envelope.key);
    if (!plain)
      return Unexpected(
          Error(Reason::kServiceUnavailable, "failed to decrypt DEK, error: " + plain.error().message()));
    Remember(cache_key, *plain);
    bytes = std::move(*plain);
  }
  return envelope.source == KmsEnvelope::Source::kSeed ? crypto::OpenSeededGcm(*bytes, envelope.data, key)
                                                       : crypto::OpenAesGcm(*bytes, envelope.data, key);
}

bool KmsProvider::IsStale(std::string_view sealed) const {
  const auto envelope = DecodeEnvelope(sealed);
  const auto current = seed();
  return !envelope || !current || envelope->key.key_id != current->sealed.key_id ||
         envelope->source != KmsEnvelope::Source::kSeed;
}

struct KmsProviders::Polled {
  Polled(KmsConfig config, std::unique_ptr<KmsService> service, Executor& e, Metrics& metrics)
      : executor(e),
        provider(std::move(config), std::move(service), e.clock(), metrics, Random::System()),
        alarm(e, [this] { Poll(); }) {}

  void Poll() {
    const Status healthy = provider.Check();
    if (!healthy) log::Error("KMS provider", {{"error", healthy.error().message()}});
    alarm.Set(executor.clock().Steady() + (healthy ? KmsProvider::kPollHealthy : KmsProvider::kPollFailing));
  }

  Executor& executor;
  KmsProvider provider;
  Alarm alarm;  // last: closed before the rest goes
};

KmsProviders::KmsProviders(Metrics& metrics) : metrics_(metrics) {}
KmsProviders::~KmsProviders() = default;

std::shared_ptr<KmsProvider> KmsProviders::Get(const KmsConfig& config) {
  std::shared_ptr<Polled> polled;
  {
    MutexLock lock(mu_);
    if (!executor_) executor_ = std::make_unique<ThreadPool>("kms", 1);
    polled = providers_[config.name].lock();
    if (!polled || !(polled->provider.config() == config)) {
      // The endpoint was checked with the configuration.
      auto service = NewKmsService(config.name, config.endpoint, config.timeout, metrics_);
      polled = std::make_shared<Polled>(config, std::move(*service), *executor_, metrics_);
      providers_[config.name] = polled;
    }
  }
  if (!polled->provider.health()) polled->Poll();
  return {polled, &polled->provider};
}

Status KmsProviders::health() const {
  MutexLock lock(mu_);
  for (const auto& [name, weak] : providers_)
    if (const auto polled = weak.lock())
      if (Status status = polled->provider.health(); !status) return status;
  return {};
}

}  // namespace flyball::server
