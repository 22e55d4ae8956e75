#include "server/encryption/stored_media_type.h"

#include <utility>

#include "api/rules/kind_hooks.h"
#include "api/schema/decode.h"
#include "api/schema/defaults.h"
#include "api/schema/schema.h"
#include "api/wire/protobuf.h"
#include "json/json.h"
#include "server/encryption/stored_definition.h"

namespace flyball::server {
namespace {

constexpr std::string_view kProtobufMagic("k8s\0", 4);

// Upstream's definitions, APIServices and custom objects are JSON. Keys of custom objects have their group
// first, which contains a dot; of built-in ones only these two have.
bool IsAlwaysJson(std::string_view key) {
  constexpr std::string_view kRegistry = "/registry/";
  if (key.starts_with(kRegistry)) key.remove_prefix(kRegistry.size());
  return key.substr(0, key.find('/')).find('.') != std::string_view::npos;
}

struct GroupVersion {
  std::string_view group, version;
};
GroupVersion SplitApiVersion(std::string_view api_version) {
  const auto slash = api_version.find('/');
  if (slash == std::string_view::npos) return {"", api_version};
  return {api_version.substr(0, slash), api_version.substr(slash + 1)};
}

// The form an object has today: kube-apiserver sets defaults when it reads, so some are in no stored object.
json::Value WithDefaults(std::string_view group, std::string_view kind, const api::TypeInfo& type,
                         json::Value object) {
  api::ApplyDefaults(type, object);
  if (const auto& hooks = api::HooksFor(group, kind); hooks.set_defaults) hooks.set_defaults(object);
  return object;
}

Result<Bytes> FromProtobuf(std::string_view body) {
  FLYBALL_ASSIGN(const auto envelope, api::ReadProtobufEnvelope(body));
  const auto [group, version] = SplitApiVersion(envelope.api_version);
  const api::TypeInfo* type = api::FindKindType(group, version, envelope.kind);
  if (!type)
    return Unexpected(InternalError("no kind \"" + envelope.kind + "\" is registered for version \"" +
                                    envelope.api_version + "\""));
  FLYBALL_ASSIGN(json::Value object, api::DecodeProtobuf(body, *type));
  object = WithDefaults(group, envelope.kind, *type, std::move(object));
  api::CanonicalizeStored(*type, object);
  return MakeBytes(json::Write(object));
}

// Of kube-apiserver: a kind of ours gets its defaults, a custom object stays as it is.
Bytes FromStoredJson(std::string_view key, json::Value object) {
  if (IsOldDefinition(object)) object = DefinitionFromOld(std::move(object));
  const std::string version(std::as_const(object)["apiVersion"].string_or(""));
  const std::string kind(std::as_const(object)["kind"].string_or(""));
  const auto [group, name] = SplitApiVersion(version);
  const api::TypeInfo* type = api::FindKindType(group, name, kind);
  if (type) {
    object = WithDefaults(group, kind, *type, std::move(object));
    IsAlwaysJson(key) ? api::Canonicalize(*type, object) : api::CanonicalizeStored(*type, object);
  }
  return MakeBytes(json::Write(object));
}

}  // namespace

bool StoredMediaType::IsTransformed(std::string_view stored) const {
  // Go's JSON encoder ends with a new line.
  return stored.starts_with(kProtobufMagic) || stored.ends_with('\n');
}

Result<Bytes> StoredMediaType::ToStorage(std::string_view key, const Bytes& value) const {
  if (!protobuf_ || IsAlwaysJson(key)) return value;
  FLYBALL_ASSIGN(const json::Value object, json::Parse(*value));
  auto message = api::EncodeProtobufAnswer(object);
  return message ? MakeBytes(std::move(*message)) : value;
}

Result<Bytes> StoredMediaType::FromStorage(std::string_view key, const Bytes& stored) const {
  if (stored->starts_with(kProtobufMagic)) return FromProtobuf(*stored);
  if (!stored->ends_with('\n')) return stored;
  FLYBALL_ASSIGN(json::Value object, json::Parse(*stored));
  return FromStoredJson(key, std::move(object));
}

bool StoredMediaType::IsStale(std::string_view key, std::string_view stored) const {
  return protobuf_ && !IsAlwaysJson(key) && !stored.starts_with(kProtobufMagic);
}

}  // namespace flyball::server
