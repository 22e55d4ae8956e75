#include <string>

#include "api/kinds/shared/data_map.h"
#include "api/kinds/shared/hooks.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/object_meta.h"
#include "api/values/base64.h"
#include "json/json.h"

namespace flyball::api {
namespace {

using json::Value;

// stringData is for writing only: it ends up in data.
void SetSecretDefaults(Value& object) {
  Value* strings = object.Find("stringData");
  if (strings == nullptr) return;
  const Value given = *strings;
  Remove(object, "stringData");
  for (const auto& [key, text] : Entries(given)) object["data"][key] = EncodeBase64(text.string_or({}));
}

void RequireKeys(const Value& data, std::initializer_list<const char*> keys, FieldErrors& errors) {
  for (const char* key : keys) {
    if (data.Find(key) == nullptr) errors.Required(FieldPath("data").Key(key));
  }
}

void CheckDockerConfig(const Value& data, const char* key, FieldErrors& errors) {
  const Value* content = data.Find(key);
  if (content == nullptr) return errors.Required(FieldPath("data").Key(key));
  std::string text;
  std::size_t bad = 0;
  DecodeBase64(content->string_or({}), text, bad);
  const Result<Value> parsed = json::Parse(text);
  if (parsed && (parsed->is_object() || parsed->is_null())) return;
  errors.Invalid(FieldPath("data").Key(key), "<secret contents redacted>",
                 parsed ? "json: cannot unmarshal value into Go value of type map[string]interface {}"
                        : parsed.error().message());
}

void ValidateSecretType(const Value& object, FieldErrors& errors) {
  const std::string_view type = Text(object, "type");
  const Value& data = object["data"];
  if (type == "kubernetes.io/service-account-token") {
    constexpr std::string_view kName = "kubernetes.io/service-account.name";
    if (Text(object["metadata"]["annotations"], kName).empty()) {
      errors.Required(FieldPath("metadata.annotations").Key(kName));
    }
  } else if (type == "kubernetes.io/dockercfg") {
    CheckDockerConfig(data, ".dockercfg", errors);
  } else if (type == "kubernetes.io/dockerconfigjson") {
    CheckDockerConfig(data, ".dockerconfigjson", errors);
  } else if (type == "kubernetes.io/basic-auth") {
    if (!Has(data, "username") && !Has(data, "password")) RequireKeys(data, {"username", "password"}, errors);
  } else if (type == "kubernetes.io/ssh-auth") {
    if (Text(data, "ssh-privatekey").empty()) errors.Required(FieldPath("data").Key("ssh-privatekey"));
  } else if (type == "kubernetes.io/tls") {
    RequireKeys(data, {"tls.crt", "tls.key"}, errors);
  }
}

void ValidateSecret(const Value& object, FieldErrors& errors) {
  std::size_t bytes = 0;
  for (const auto& [key, value] : Entries(object["data"])) {
    CheckFormat("config-map-key", key, FieldPath("data").Key(key), errors);
    bytes += DecodedSize(value.string_or({}));
  }
  if (bytes > kMaxDataBytes) errors.TooLong(FieldPath("data"), kMaxDataBytes);
  ValidateSecretType(object, errors);
}

// A write without a type keeps the type there is.
void PrepareSecretForUpdate(Value& object, const Value& old) {
  if (IsZero(Get(object, "type")) && Has(old, "type")) object["type"] = old["type"];
}

void ValidateSecretUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  ValidateUnchanged(object["type"], old["type"], FieldPath("type"), errors);
  CheckImmutableData(object, old, {"data"}, errors);
}

}  // namespace

const KindHooks kSecretHooks = {
    .group = "",
    .kind = "Secret",
    .set_defaults = SetSecretDefaults,
    .prepare_for_update = PrepareSecretForUpdate,
    .validate = ValidateSecret,
    .validate_update = ValidateSecretUpdate,
};

}  // namespace flyball::api
