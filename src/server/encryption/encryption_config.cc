#include "server/encryption/encryption_config.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "api/rules/field_error.h"
#include "api/values/duration.h"
#include "base/files/durable_file.h"
#include "crypto/sealing.h"
#include "net/http/origin.h"
#include "net/tls/pki.h"
#include "server/config/strict_object.h"

namespace flyball::server {
namespace {

using api::FieldErrors;
using api::FieldPath;

const EncryptedResource kAnything{"*", "*"};

json::Value StringArray(const std::vector<std::string>& texts) {
  return json::Array(texts.begin(), texts.end());
}

void CheckOverlap(const std::vector<std::string>& names, const FieldPath& path, FieldErrors& errors) {
  bool overlaps = false, repeated = false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (std::size_t j = 0; j < names.size(); ++j) {
      if (i == j) continue;
      const auto a = ParseEncryptedResource(names[i]), b = ParseEncryptedResource(names[j]);
      if (a == b)
        repeated = true;
      else if (a == kAnything || (a.group == b.group && (a.resource == "*" || b.resource == "*")))
        overlaps = true;
    }
  }
  if (repeated)
    errors.Invalid(path, StringArray(names), "the same resource cannot be specified multiple times");
  if (overlaps)
    errors.Invalid(path, StringArray(names),
                   "using overlapping resources such as 'secrets' and '*.' in the same resource list is not "
                   "allowed as they will be masked");
}

// What is wrong with the name of a resource; empty: nothing.
std::string_view ResourceProblem(const std::string& name) {
  const auto upper = [](unsigned char c) { return std::isupper(c) != 0; };
  if (std::any_of(name.begin(), name.end(), upper)) return "resource name should not contain capital letters";
  if (name == "*")
    return "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources";
  if (name == "apiserveripinfo" || name == "serviceipallocations" || name == "servicenodeportallocations")
    return "resources which do not have REST API/s cannot be encrypted";
  const auto resource = ParseEncryptedResource(name);
  if (resource.group == "events.k8s.io")
    return "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead "
           "in the config file";
  if (resource.group == "extensions")
    return "'extensions' group has been removed and cannot be used for encryption";
  if (resource.group == "*" && resource.resource != "*")
    return "encrypting the same resource across groups is not supported";
  return {};
}

// Reads one file; collects syntax problems and field errors apart, as upstream finds them apart.
class EncryptionReader {
 public:
  EncryptionConfig Read(const json::Value& value) {
    EncryptionConfig config;
    StrictObject root(value, "", problems);
    root.String("apiVersion");
    root.String("kind");
    const auto& rules = root.List("resources");
    if (rules.empty()) errors.Required(FieldPath("resources"), "at least one resources is required");
    for (std::size_t i = 0; i < rules.size(); ++i)
      config.rules.push_back(ReadRule(rules[i], root.PathOf("resources", i)));
    return config;
  }

  std::vector<std::string> problems;
  FieldErrors errors;
  bool uses_kms_v1 = false;

 private:
  std::set<std::string> kms_names;

  EncryptionRule ReadRule(const json::Value& value, const std::string& path) {
    EncryptionRule rule;
    StrictObject object(value, path, problems);
    const auto names = object.Strings("resources");
    const std::string resources = object.PathOf("resources");
    if (names.empty()) errors.Required(FieldPath(resources), "at least one " + resources + " is required");
    CheckOverlap(names, FieldPath(resources), errors);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (const auto problem = ResourceProblem(names[i]); !problem.empty())
        errors.Invalid(FieldPath(object.PathOf("resources", i)), names[i], problem);
      rule.resources.push_back(ParseEncryptedResource(names[i]));
    }
    const auto& providers = object.List("providers");
    const std::string provider_path = object.PathOf("providers");
    if (providers.empty())
      errors.Required(FieldPath(provider_path), "at least one " + provider_path + " is required");
    for (std::size_t i = 0; i < providers.size(); ++i)
      rule.providers.push_back(ReadProvider(providers[i], object.PathOf("providers", i)));
    return rule;
  }

  EncryptionProvider ReadProvider(const json::Value& value, const std::string& path) {
    static const std::map<std::string_view, EncryptionProvider::Type> kTypes = {
        {"aesgcm", EncryptionProvider::Type::kAesGcm},
        {"aescbc", EncryptionProvider::Type::kAesCbc},
        {"secretbox", EncryptionProvider::Type::kSecretbox},
        {"identity", EncryptionProvider::Type::kIdentity}};
    EncryptionProvider provider;
    StrictObject object(value, path, problems);
    int found = 0;
    if (const json::Value* kms = object.Object("kms")) {
      ++found;
      provider.type = EncryptionProvider::Type::kKms;
      provider.kms = ReadKms(*kms, object.PathOf("kms"));
    }
    for (const auto& [name, type] : kTypes) {
      const json::Value* body = object.Object(name);
      if (!body) continue;
      ++found;
      provider.type = type;
      StrictObject members(*body, object.PathOf(name), problems);
      if (type != EncryptionProvider::Type::kIdentity) provider.keys = ReadKeys(members, type);
    }
    if (found == 0)
      errors.InvalidOmitted(FieldPath(path),
                            "provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, "
                            "Secretbox, Identity");
    if (found > 1)
      errors.InvalidOmitted(FieldPath(path),
                            "more than one provider specified in a single element, should split into "
                            "different list elements");
    return provider;
  }

  KmsConfig ReadKms(const json::Value& value, const std::string& path) {
    KmsConfig kms;
    StrictObject object(value, path, problems);
    const FieldPath at(path);
    const std::string given = object.String("apiVersion"), version = given.empty() ? "v1" : given;
    kms.name = object.String("name");
    kms.endpoint = object.String("endpoint");
    kms.timeout = object.Time("timeout").value_or(kms.timeout);
    const bool has_cache_size = object.Has("cachesize");
    CheckKmsName(kms.name, version, at.Child("name"));
    if (kms.timeout <= Duration::zero())
      errors.Invalid(at.Child("timeout"), api::FormatDuration(kms.timeout),
                     "timeout should be a positive value");
    CheckEndpoint(kms.endpoint, at.Child("endpoint"));
    if (version != "v1" && has_cache_size)
      errors.Invalid(at.Child("cachesize"), value["cachesize"], "cachesize is not supported in v2");
    if (version != "v1" && version != "v2")
      errors.Invalid(at.Child("apiVersion"), version,
                     "unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported");
    uses_kms_v1 |= version == "v1";
    return kms;
  }

  void CheckKmsName(const std::string& name, const std::string& version, const FieldPath& path) {
    if (name.empty()) errors.Required(path, "name is a mandatory field for a provider");
    if (version == "v1") return;
    if (name.find(':') != std::string::npos)
      errors.Invalid(path, name, "invalid KMS provider name " + name + ", must not contain ':'");
    if (!kms_names.insert(name).second)
      errors.Invalid(path, name, "duplicate KMS provider name " + name + ", names must be unique");
  }

  void CheckEndpoint(const std::string& endpoint, const FieldPath& path) {
    if (endpoint.empty()) return errors.Invalid(path, "", "endpoint is a mandatory field for a kms");
    const auto colon = endpoint.find(':');
    const std::string scheme = colon == std::string::npos ? "" : endpoint.substr(0, colon);
    if (scheme != "unix")
      return errors.Invalid(path, endpoint,
                            "unsupported scheme \"" + scheme + "\" for KMS provider, only unix is supported");
    if (!net::ParseOrigin(endpoint))
      errors.Invalid(path, endpoint, "invalid endpoint for kms provider, error: no absolute path");
  }

  std::vector<EncryptionKey> ReadKeys(StrictObject& provider, EncryptionProvider::Type type) {
    std::vector<EncryptionKey> keys;
    const auto& list = provider.List("keys");
    if (list.empty()) errors.Required(FieldPath(provider.PathOf("keys")), "at least one keys is required");
    for (std::size_t i = 0; i < list.size(); ++i) {
      StrictObject object(list[i], provider.PathOf("keys", i), problems);
      const FieldPath path(provider.PathOf("keys", i));
      EncryptionKey key{object.String("name"), {}};
      if (key.name.empty()) errors.Required(path.Child("name"), "name is a mandatory field for a key");
      key.secret = ReadSecret(object.String("secret"), path.Child("secret"), type);
      keys.push_back(std::move(key));
    }
    return keys;
  }

  std::string ReadSecret(const std::string& text, const FieldPath& path, EncryptionProvider::Type type) {
    if (text.empty()) {
      errors.Required(path, "secret is a mandatory field for a key");
      return {};
    }
    auto secret = net::Base64Decode(text);
    if (!secret) {
      errors.Invalid(path, "REDACTED", "secrets must be base64 encoded");
      return {};
    }
    const std::size_t n = secret->size();
    const bool fits = n == 32 || (type != EncryptionProvider::Type::kSecretbox && (n == 16 || n == 24));
    if (!fits)
      errors.Invalid(path, "REDACTED",
                     "secret is not of the expected length, got " + std::to_string(n) + ", expected one of " +
                         (type == EncryptionProvider::Type::kSecretbox ? "[32]" : "[16 24 32]"));
    return std::move(*secret);
  }
};

// A rule that an earlier one makes useless is a mistake, not a preference.
Status CheckMasking(const EncryptionConfig& config) {
  std::vector<EncryptedResource> earlier;
  for (const EncryptionRule& rule : config.rules) {
    for (const EncryptedResource& resource : rule.resources) {
      for (const EncryptedResource& mask : {EncryptedResource{resource.group, "*"}, kAnything})
        if (std::find(earlier.begin(), earlier.end(), mask) != earlier.end())
          return Unexpected(BadRequest("error while building transformers: resource \"" +
                                       resource.ToString() + "\" is masked by earlier rule \"" +
                                       mask.ToString() + "\""));
      earlier.push_back(resource);
    }
  }
  return {};
}

}  // namespace

std::string EncryptedResource::ToString() const {
  if (group.empty()) return resource == "*" ? "*." : resource;
  return resource + "." + group;
}

EncryptedResource ParseEncryptedResource(std::string_view text) {
  const auto dot = text.find('.');
  if (dot == std::string_view::npos) return {"", std::string(text)};
  return {std::string(text.substr(dot + 1)), std::string(text.substr(0, dot))};
}

Result<EncryptionConfig> ParseEncryptionConfig(std::string_view text, const std::string& path) {
  constexpr std::string_view kParsing = "error while parsing file: ";
  const auto decoding = [&](const Error& error) {
    return Unexpected(BadRequest(std::string(kParsing) +
                                 "error decoding encryption provider configuration file \"" + path +
                                 "\": " + error.message()));
  };
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return Unexpected(BadRequest(std::string(kParsing) +
                                 "error while loading file: encryption provider configuration file \"" +
                                 path + "\" is empty"));
  auto value = ParseStrictObject(text, {"apiserver.config.k8s.io/v1"}, "EncryptionConfiguration");
  if (!value) return decoding(value.error());
  EncryptionReader reader;
  EncryptionConfig config = reader.Read(*value);
  if (!reader.problems.empty()) return decoding(StrictDecodingError(reader.problems));
  if (!reader.errors.empty())
    return Unexpected(BadRequest(std::string(kParsing) + AggregateText(reader.errors)));
  FLYBALL_TRY(CheckMasking(config));
  if (reader.uses_kms_v1)
    return Unexpected(
        BadRequest("error while building transformers: KMSv1 is deprecated and not supported by this server. "
                   "Use KMSv2 instead."));
  return config;
}

Result<EncryptionConfig> LoadEncryptionConfig(const std::string& path) {
  const auto text = ReadFile(path);
  if (!text)
    return Unexpected(
        BadRequest("error while parsing file: error while loading file: error opening "
                   "encryption provider configuration file: " +
                   text.error().message()));
  return ParseEncryptionConfig(*text, path);
}

Result<std::string> NewEncryptionConfigText() {
  FLYBALL_ASSIGN(const std::string key, crypto::RandomKey(32));
  return "# Encryption of Secrets at rest. Whoever has this file can read them; without it nobody can.\n"
         "# To rotate: put a new key before key1, restart, run `flyball store encrypt`, remove key1.\n"
         "apiVersion: apiserver.config.k8s.io/v1\n"
         "kind: EncryptionConfiguration\n"
         "resources:\n"
         "- resources: [secrets]\n"
         "  providers:\n"
         "  - secretbox:\n"
         "      keys:\n"
         "      - name: key1\n"
         "        secret: " +
         net::Base64Encode(key) +
         "\n"
         "  - identity: {}\n";
}

}  // namespace flyball::server
