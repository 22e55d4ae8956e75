#include "server/encryption/value_encryption.h"

#include <algorithm>

#include "api/schema/schema.h"
#include "crypto/sealing.h"
#include "server/catalog/catalog.h"

namespace flyball::server {
namespace {

// Reserved by upstream: JSON begins with '{', protobuf with "k8s\0".
constexpr std::string_view kEncrypted = "k8s:enc:";
constexpr std::string_view kRoot = "/registry/";

std::string ProviderPrefix(EncryptionProvider::Type type) {
  switch (type) {
    case EncryptionProvider::Type::kAesGcm:
      return "k8s:enc:aesgcm:v1:";
    case EncryptionProvider::Type::kAesCbc:
      return "k8s:enc:aescbc:v1:";
    case EncryptionProvider::Type::kSecretbox:
      return "k8s:enc:secretbox:v1:";
    case EncryptionProvider::Type::kKms:
      return "k8s:enc:kms:v2:";
    case EncryptionProvider::Type::kIdentity:
      return {};
  }
  return {};
}

// Where built-in resources are stored ("/registry/services/specs/"), and which they are.
std::map<std::string, EncryptedResource, std::less<>> BuiltinPlaces() {
  std::map<std::string, EncryptedResource, std::less<>> places;
  for (const auto& kind : api::BuiltinKinds()) {
    // Events are of the core group in the store, whatever group they are read through.
    if (kind.group == "events.k8s.io") continue;
    places.try_emplace(StoragePrefix(kind.group, kind.plural),
                       EncryptedResource{std::string(kind.group), std::string(kind.plural)});
  }
  return places;
}

// The part of a key up to and including its n-th slash after the root; empty if it has fewer.
std::string_view PlaceOf(std::string_view key, int slashes) {
  std::size_t end = kRoot.size();
  for (int i = 0; i < slashes; ++i) {
    end = key.find('/', end);
    if (end == std::string_view::npos) return {};
    ++end;
  }
  return key.substr(0, end);
}

bool IsEncrypted(std::string_view stored) {
  return stored.starts_with(kEncrypted);
}

std::string NoMatchingKey(EncryptionProvider::Type type) {
  // Each KMS provider is a transformer of its own.
  if (type == EncryptionProvider::Type::kKms) return "no matching prefix found";
  return std::string("no matching key was found for the provided ") +
         (type == EncryptionProvider::Type::kSecretbox ? "Secretbox" : "AES") + " transformer";
}

}  // namespace

EncryptedResource ResourceOfKey(std::string_view key) {
  static const auto kPlaces = BuiltinPlaces();
  if (!key.starts_with(kRoot)) return {};
  for (const int slashes : {1, 2}) {
    const auto it = kPlaces.find(PlaceOf(key, slashes));
    if (it != kPlaces.end()) return it->second;
  }
  // A custom resource: /registry/GROUP/PLURAL/..
  const std::string_view group = PlaceOf(key, 1), plural = PlaceOf(key, 2);
  if (plural.empty()) return {};
  return {std::string(group.substr(kRoot.size(), group.size() - kRoot.size() - 1)),
          std::string(plural.substr(group.size(), plural.size() - group.size() - 1))};
}

void ValueEncryption::Use(const EncryptionConfig& config) {
  auto table = MakeTable(config);
  MutexLock lock(mu_);
  table_ = std::move(table);
}

Status ValueEncryption::UseIfHealthy(const EncryptionConfig& config) {
  auto table = MakeTable(config);
  for (const auto& [resource, sealers] : *table)
    for (const Sealer& sealer : sealers)
      if (sealer.kms) FLYBALL_TRY(sealer.kms->health());
  MutexLock lock(mu_);
  table_ = std::move(table);
  return {};
}

std::shared_ptr<const ValueEncryption::Table> ValueEncryption::MakeTable(const EncryptionConfig& config) {
  auto table = std::make_shared<Table>();
  for (const EncryptionRule& rule : config.rules) {
    Sealers sealers;
    for (const EncryptionProvider& provider : rule.providers) {
      const std::string prefix = ProviderPrefix(provider.type);
      if (provider.type == EncryptionProvider::Type::kIdentity)
        sealers.push_back({provider.type, prefix, prefix, {}, nullptr});
      if (provider.type == EncryptionProvider::Type::kKms)
        sealers.push_back(
            {provider.type, prefix, prefix + provider.kms.name + ":", {}, kms_.Get(provider.kms)});
      for (const EncryptionKey& key : provider.keys)
        sealers.push_back({provider.type, prefix, prefix + key.name + ":", key.secret, nullptr});
    }
    for (const EncryptedResource& resource : rule.resources) {
      Sealers& all = (*table)[resource];
      all.insert(all.end(), sealers.begin(), sealers.end());
    }
  }
  return table;
}

std::shared_ptr<const ValueEncryption::Table> ValueEncryption::table() const {
  MutexLock lock(mu_);
  return table_;
}

const ValueEncryption::Sealers* ValueEncryption::Find(const Table& table, const EncryptedResource& resource) {
  for (const EncryptedResource& wanted :
       {resource, EncryptedResource{resource.group, "*"}, EncryptedResource{"*", "*"}}) {
    const auto it = table.find(wanted);
    if (it != table.end()) return &it->second;
  }
  return nullptr;
}

Result<std::string> ValueEncryption::Seal(const Sealer& sealer, std::string_view key,
                                          std::string_view plain) {
  switch (sealer.type) {
    case EncryptionProvider::Type::kAesGcm:
      return crypto::SealAesGcm(sealer.secret, plain, key);
    case EncryptionProvider::Type::kAesCbc:
      return crypto::SealAesCbc(sealer.secret, plain);
    case EncryptionProvider::Type::kSecretbox:
      return crypto::SealSecretbox(sealer.secret, plain);
    case EncryptionProvider::Type::kKms:
      return sealer.kms->Seal(key, plain);
    case EncryptionProvider::Type::kIdentity:
      break;
  }
  return std::string(plain);
}

Result<std::string> ValueEncryption::Open(const Sealer& sealer, std::string_view key,
                                          std::string_view stored) {
  const std::string_view sealed = stored.substr(sealer.prefix.size());
  switch (sealer.type) {
    case EncryptionProvider::Type::kAesGcm:
      return crypto::OpenAesGcm(sealer.secret, sealed, key);
    case EncryptionProvider::Type::kAesCbc:
      return crypto::OpenAesCbc(sealer.secret, sealed);
    case EncryptionProvider::Type::kSecretbox:
      return crypto::OpenSecretbox(sealer.secret, sealed);
    case EncryptionProvider::Type::kKms:
      return sealer.kms->Open(key, sealed);
    case EncryptionProvider::Type::kIdentity:
      break;
  }
  return std::string(sealed);
}

Result<Bytes> ValueEncryption::ToStorage(std::string_view key, const Bytes& value) const {
  const auto current = table();
  if (current->empty()) return value;
  const EncryptedResource resource = ResourceOfKey(key);
  const Sealers* sealers = Find(*current, resource);
  if (!sealers || sealers->front().type == EncryptionProvider::Type::kIdentity) return value;
  const Sealer& writer = sealers->front();
  auto sealed = Seal(writer, key, *value);
  Count(resource, "to_storage", writer.provider_prefix, sealed.has_value());
  if (!sealed) return Unexpected(sealed.error());
  std::string stored;
  stored.reserve(writer.prefix.size() + sealed->size());
  return MakeBytes(stored.append(writer.prefix).append(*sealed));
}

// Never ends at a key whose prefix fits but that does not open the value: two keys may have one name while
// one is rotated to and the other away from.
Result<Bytes> ValueEncryption::Read(const Sealers& sealers, std::string_view key, const Bytes& stored) {
  Error problem = InternalError("no matching prefix found");
  for (const Sealer& sealer : sealers) {
    if (sealer.type == EncryptionProvider::Type::kIdentity) {
      if (!IsEncrypted(*stored)) return stored;
    } else if (stored->starts_with(sealer.prefix)) {
      auto plain = Open(sealer, key, *stored);
      if (plain) return MakeBytes(std::move(*plain));
      problem = plain.error();
    } else if (stored->starts_with(sealer.provider_prefix)) {
      problem = InternalError(NoMatchingKey(sealer.type));
    }
  }
  return Unexpected(problem);
}

Result<Bytes> ValueEncryption::FromStorage(std::string_view key, const Bytes& stored) const {
  const auto current = table();
  if (current->empty() && !IsEncrypted(*stored)) return stored;
  const EncryptedResource resource = ResourceOfKey(key);
  const Sealers* sealers = Find(*current, resource);
  if (!sealers) {
    if (!IsEncrypted(*stored)) return stored;
    return Unexpected(InternalError("identity transformer tried to read encrypted data"));
  }
  auto plain = Read(*sealers, key, stored);
  const auto used = std::find_if(sealers->begin(), sealers->end(), [&](const Sealer& sealer) {
    return sealer.type != EncryptionProvider::Type::kIdentity && stored->starts_with(sealer.provider_prefix);
  });
  const bool identity = !IsEncrypted(*stored);
  Count(resource, "from_storage",
        used != sealers->end() ? used->provider_prefix : std::string(identity ? "identity" : "unknown"),
        plain.has_value());
  return plain;
}

bool ValueEncryption::IsTransformed(std::string_view stored) const {
  return IsEncrypted(stored);
}

bool ValueEncryption::IsStale(std::string_view key, std::string_view stored) const {
  const auto current = table();
  const Sealers* sealers = Find(*current, ResourceOfKey(key));
  if (!sealers) return false;
  const Sealer& writer = sealers->front();
  if (writer.type == EncryptionProvider::Type::kIdentity) return IsEncrypted(stored);
  if (!stored.starts_with(writer.prefix)) return true;
  if (writer.kms) return writer.kms->IsStale(stored.substr(writer.prefix.size()));
  const auto same_name = [&](const Sealer& sealer) { return sealer.prefix == writer.prefix; };
  return std::count_if(sealers->begin(), sealers->end(), same_name) > 1 && !Open(writer, key, stored);
}

void ValueEncryption::Count(const EncryptedResource& resource, const char* type, const std::string& prefix,
                            bool ok) const {
  metrics_
      .GetCounter("apiserver_storage_transformation_operations_total",
                  "Total number of transformations. Successful transformation will have a status 'OK' and a "
                  "varied status string when the transformation fails.",
                  {{"resource", resource.ToString()},
                   {"status", ok ? "OK" : "Unknown"},
                   {"transformation_type", type},
                   {"transformer_prefix", prefix}})
      .Add();
}

}  // namespace flyball::server
