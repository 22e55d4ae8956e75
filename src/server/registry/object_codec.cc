#include "server/registry/object_codec.h"

#include "api/custom/custom_kind.h"
#include "api/custom/custom_object.h"
#include "api/rules/object_meta.h"
#include "api/rules/validate.h"
#include "api/schema/decode.h"
#include "api/schema/defaults.h"
#include "api/wire/protobuf.h"
#include "json/json.h"
#include "json/yaml/yaml.h"
#include "net/tls/pki.h"
#include "server/catalog/scale_paths.h"
#include "server/catalog/served_forms.h"
#include "server/registry/certificate_requests.h"
#include "server/registry/strict_decode.h"

namespace flyball::server {
namespace {

constexpr std::size_t kSummaryLength = 30;  // upstream: summarizeData

// The start of a body for an error message: text if it looks like JSON, else hexadecimal.
std::string Summary(std::string_view body) {
  if (body.empty()) return "<empty>";
  const bool cut = body.size() > kSummaryLength;
  const auto head = body.substr(0, kSummaryLength);
  return (body[0] == '{' ? std::string(head) : net::HexEncode(head)) + (cut ? " ..." : "");
}

struct Expected {
  const api::TypeInfo& type;
  std::string api_version;
  std::string_view kind;
  AcceptsVersion also = nullptr;
};

Error Unrecognized(const Expected& expected, std::string_view cause, std::string_view body) {
  return BadRequest("the object provided is unrecognized (must be of type " + std::string(expected.kind) +
                    "): " + std::string(cause) + " (" + Summary(body) + ")");
}

Result<ParsedObject> ParseJson(const Expected& expected, std::string_view body) {
  ParsedObject parsed;
  json::ParseOptions options;
  options.duplicates = &parsed.duplicates;
  auto value = json::Parse(body, options);
  if (!value)
    return Unexpected(Unrecognized(
        expected, "couldn't get version/kind; json parse error: " + value.error().message(), body));
  parsed.value = std::move(*value);
  parsed.text = body;
  return parsed;
}

Result<ParsedObject> ParseYaml(const Expected& expected, std::string_view body) {
  ParsedObject parsed;
  auto value = json::ParseYaml(body, &parsed.yaml_errors);
  if (!value)
    return Unexpected(Unrecognized(
        expected, "couldn't get version/kind; json parse error: " + value.error().message(), body));
  parsed.value = std::move(*value);
  SortAllKeys(parsed.value);
  return parsed;
}

// A body of another type: one this server does not know, or one that cannot become the expected one.
Status CheckForeignType(const Expected& expected, std::string_view version, std::string_view kind) {
  const auto slash = version.find('/');
  const auto group = slash == std::string_view::npos ? std::string_view{} : version.substr(0, slash);
  const auto short_version = version.substr(slash + 1);
  const auto item = kind.ends_with("List") ? kind.substr(0, kind.size() - 4) : kind;
  // Known, though it is not served any more.
  const bool old_definition = version == "apiextensions.k8s.io/v1beta1" && kind == "CustomResourceDefinition";
  const bool known = api::FindKindType(group, short_version, kind) != nullptr || old_definition ||
                     api::FindKindType(group, short_version, item) != nullptr;
  std::string why;
  if (!known) {
    why = "no kind \"" + std::string(kind) + "\" is registered for version \"" + std::string(version) +
          "\" in scheme \"kubernetes/pkg/api/legacyscheme/scheme.go:30\"";
  } else if (kind != expected.kind) {
    const auto expected_slash = expected.api_version.find('/');
    const std::string package =
        expected_slash == std::string::npos
            ? "core"
            : expected.api_version.substr(0, expected.api_version.find_first_of("./"));
    why = "converting (" + std::string(short_version) + "." + std::string(kind) + ") to (" + package + "." +
          std::string(expected.kind) + "): unknown conversion";
  } else {
    return {};
  }
  return Unexpected(api::CannotBeHandled(kind, short_version, expected.kind, why));
}

// Upstream reads apiVersion and kind before anything else, with a reader that wants an object with texts.
Status CheckTypeIsText(const Expected& expected, const json::Value& value, std::string_view body) {
  const auto refuse = [&](const json::Value& wrong, const std::string& where) {
    return Unexpected(Unrecognized(expected,
                                   "couldn't get version/kind; json parse error: json: cannot unmarshal " +
                                       std::string(json::GoKindName(wrong)) + " into Go " + where,
                                   body));
  };
  if (!value.is_object())
    return refuse(
        value,
        "value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string "
        "\"json:\\\"kind,omitempty\\\"\" }");
  for (const auto& [name, member] : value.as_object())
    if ((name == "apiVersion" || name == "kind") && !member.is_string() && !member.is_null())
      return refuse(member, "struct field ." + name + " of type string");
  return {};
}

// Custom objects must say their kind. Another kind is refused as a wrong value, and so is a version that a
// patch has made another one; a version that is sent is not of this endpoint.
Status CheckCustomType(const Expected& expected, const json::Value& value, std::string_view body) {
  const auto version = value["apiVersion"].string_or(""), kind = value["kind"].string_or("");
  if (kind.empty() && !body.empty())
    return Unexpected(
        Unrecognized(expected, "Object 'Kind' is missing in '" + std::string(body) + "'", body));
  const bool other_version = version != expected.api_version;
  if (other_version && !body.empty())
    return Unexpected(BadRequest("the API version in the data (" + std::string(version) +
                                 ") does not match the expected API version (" + expected.api_version + ")"));
  api::FieldErrors errors;
  if (other_version && !version.empty())
    errors.Invalid(api::FieldPath("apiVersion"), version, "must be " + expected.api_version);
  if (!kind.empty() && kind != expected.kind)
    errors.Invalid(api::FieldPath("kind"), kind, "must be " + std::string(expected.kind));
  if (errors.empty()) return {};
  const auto slash = version.find('/');
  const auto group = slash == std::string_view::npos ? std::string_view() : version.substr(0, slash);
  return Unexpected(errors.ToError(group, kind, value["metadata"]["name"].string_or("")));
}

// apiVersion and kind: absent ones are taken to be right, as upstream's decoder does with its defaults.
Status CheckType(const Expected& expected, json::Value& value, std::string_view body) {
  if (value.is_null()) value = json::Object{};
  FLYBALL_TRY(CheckTypeIsText(expected, value, body));
  if (expected.type.schema) return CheckCustomType(expected, value, body);
  const auto version = value["apiVersion"].string_or("");
  const auto kind = value["kind"].string_or("");
  if (expected.also && expected.also(version) && (kind.empty() || kind == expected.kind)) return {};
  if (!kind.empty() && (kind != expected.kind || version != expected.api_version) && !version.empty()) {
    if (auto checked = CheckForeignType(expected, version, kind); !checked) return checked;
  }
  if (!kind.empty() && kind != expected.kind)
    return Unexpected(BadRequest(std::string(kind) + " in version \"" +
                                 std::string(version.substr(version.rfind('/') + 1)) +
                                 "\" cannot be handled as a " + std::string(expected.kind)));
  if (!version.empty() && version != expected.api_version)
    return Unexpected(BadRequest("the API version in the data (" + std::string(version) +
                                 ") does not match the expected API version (" + expected.api_version + ")"));
  return {};
}

Result<json::Value> DecodeAs(RequestScope& scope, const Expected& expected, ParsedObject parsed,
                             const api::CustomKind* custom = nullptr) {
  const auto version = std::string_view(expected.api_version).substr(expected.api_version.rfind('/') + 1);
  const auto refuse = [&](std::string_view why) {
    return Unexpected(api::CannotBeHandled(expected.kind, version, expected.kind, why));
  };
  api::DecodeContext context;
  const ObjectType type{expected.type, expected.api_version, expected.kind, custom};
  if (const Status decoded = DecodeParsed(scope, type, parsed, context); !decoded)
    return refuse(decoded.error().message());
  scope.disabled_fields |= context.disabled_fields;
  if (!context.strict_errors.empty()) {
    if (scope.field_validation == FieldValidation::kStrict) return refuse(api::StrictErrorText(context));
    if (scope.field_validation == FieldValidation::kWarn)
      for (auto& text : context.strict_errors) scope.warnings.push_back(std::move(text));
  }
  return std::move(parsed.value);
}

// What is wrong with the envelope is said as of any body that is no object; what is wrong in it, of the
// object.
Result<json::Value> ParseProtobuf(const Expected& expected, std::string_view body) {
  if (body.empty()) return Unexpected(Unrecognized(expected, "empty data", body));
  const auto envelope = api::ReadProtobufEnvelope(body);
  if (!envelope) return Unexpected(Unrecognized(expected, envelope.error().message(), body));
  if (envelope->raw.empty() && envelope->kind.empty() && envelope->api_version.empty())
    return Unexpected(Unrecognized(expected, "empty body", body));
  auto value = api::DecodeProtobuf(body, expected.type);
  if (value) return value;
  const auto version = std::string_view(expected.api_version).substr(expected.api_version.rfind('/') + 1);
  return Unexpected(api::CannotBeHandled(expected.kind, version, expected.kind, value.error().message()));
}

Result<ParsedObject> ParseBody(const Expected& expected, std::string_view content_type,
                               std::string_view body) {
  FLYBALL_ASSIGN(const MediaType media, BodyMediaType(content_type));
  ParsedObject parsed;
  switch (media) {
    case MediaType::kJson: {
      FLYBALL_ASSIGN(parsed, ParseJson(expected, body));
      break;
    }
    case MediaType::kYaml: {
      FLYBALL_ASSIGN(parsed, ParseYaml(expected, body));
      break;
    }
    case MediaType::kProtobuf: {
      FLYBALL_ASSIGN(parsed.value, ParseProtobuf(expected, body));
      break;
    }
  }
  FLYBALL_TRY(CheckType(expected, parsed.value, body));
  return parsed;
}

Expected ExpectedOf(const ServedResource& resource) {
  return {resource.kind->Type(), resource.kind->ApiVersion(), resource.kind->kind};
}

// Defaults of the schema, then those of the kind, then the canonical form of what they added.
void SetDefaults(const ServedResource& resource, json::Value& object) {
  if (resource.custom) {
    api::DefaultCustomObject(resource.custom->schema(), object);
    return;
  }
  api::ApplyDefaults(resource.kind->Type(), object);
  if (const auto& hooks = api::HooksFor(resource.kind->group, resource.kind->kind); hooks.set_defaults)
    hooks.set_defaults(object);
  api::Canonicalize(resource.kind->Type(), object);
}

Result<json::Value> Finish(RequestScope& scope, const ServedResource& resource, ParsedObject parsed) {
  FLYBALL_ASSIGN(json::Value object,
                 DecodeAs(scope, ExpectedOf(resource), std::move(parsed), resource.custom.get()));
  SetDefaults(resource, object);
  if (resource.conversion) object = resource.conversion->to_stored(std::move(object));
  return object;
}

}  // namespace

Result<MediaType> BodyMediaType(std::string_view content_type) {
  auto type = content_type.substr(0, content_type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  if (type.empty() || type == "application/json") return MediaType::kJson;
  if (type == "application/yaml") return MediaType::kYaml;
  if (type == "application/vnd.kubernetes.protobuf") return MediaType::kProtobuf;
  return Unexpected(Error(Reason::kUnsupportedMediaType,
                          "the body of the request was in an unknown format - accepted media types include: "
                          "application/json, application/yaml, application/vnd.kubernetes.protobuf"));
}

Result<json::Value> DecodeObject(RequestScope& scope, const ServedResource& resource,
                                 std::string_view content_type, std::string_view body) {
  FLYBALL_ASSIGN(ParsedObject parsed, ParseBody(ExpectedOf(resource), content_type, body));
  return Finish(scope, resource, std::move(parsed));
}

Result<json::Value> DecodeBody(RequestScope& scope, const api::TypeInfo& type, std::string_view api_version,
                               std::string_view kind, std::string_view content_type, std::string_view body,
                               AcceptsVersion also) {
  const Expected expected{type, std::string(api_version), kind, also};
  FLYBALL_ASSIGN(ParsedObject parsed, ParseBody(expected, content_type, body));
  FLYBALL_ASSIGN(json::Value value, DecodeAs(scope, expected, std::move(parsed)));
  api::ApplyDefaults(type, value);
  return value;
}

Result<json::Value> DecodeValue(RequestScope& scope, const ServedResource& resource, json::Value value,
                                const StrictErrors& errors) {
  FLYBALL_TRY(CheckType(ExpectedOf(resource), value, {}));
  return Finish(scope, resource, {std::move(value), {}, errors.earlier, errors.sorted});
}

namespace {

Status DecodeStrictly(const api::TypeInfo& type, json::Value& value, bool custom) {
  api::DecodeContext context;
  if (auto decoded = api::Decode(type, value, context); !decoded)
    return Unexpected(InternalError("Internal error occurred: " + std::string(decoded.error().message())));
  if (!custom && !context.strict_errors.empty())
    return Unexpected(InternalError("Internal error occurred: " + api::StrictErrorText(context)));
  return {};
}

}  // namespace

Result<json::Value> DecodePatched(const ServedResource& resource, json::Value value) {
  FLYBALL_TRY(DecodeStrictly(resource.kind->Type(), value, resource.custom != nullptr));
  if (resource.custom) api::PruneCustomObject(resource.custom->schema(), value, nullptr);
  SetDefaults(resource, value);
  return value;
}

namespace {

// An object is decoded as what it says it is before it turns out to be of the wrong kind.
Status CheckAsItself(const Expected& expected, json::Value value) {
  const std::string version(std::as_const(value)["apiVersion"].string_or(""));
  const std::string kind(std::as_const(value)["kind"].string_or(""));
  if (kind == expected.kind) return {};
  const auto slash = version.find('/');
  const auto* type = api::FindKindType(slash == std::string::npos ? "" : version.substr(0, slash),
                                       version.substr(slash + 1), kind);
  api::DecodeContext context;
  return type ? api::Decode(*type, value, context) : Status();
}

}  // namespace

Result<json::Value> DecodeAdmitted(RequestScope& scope, const ServedResource& resource, json::Value value) {
  const Expected expected = ExpectedOf(resource);
  FLYBALL_TRY(CheckAsItself(expected, value));
  FLYBALL_TRY(CheckType(expected, value, {}));
  api::DecodeContext context;
  if (auto decoded = api::Decode(expected.type, value, context); !decoded)
    return Unexpected(api::CannotBeHandled(expected.kind, resource.kind->version, expected.kind,
                                           decoded.error().message()));
  if (resource.custom) api::PruneCustomObject(resource.custom->schema(), value);
  scope.disabled_fields |= context.disabled_fields;
  SetDefaults(resource, value);
  return value;
}

Result<json::Value> DecodePatchedBody(const api::TypeInfo& type, json::Value value) {
  FLYBALL_TRY(DecodeStrictly(type, value, false));
  api::ApplyDefaults(type, value);
  return value;
}

void CanonicalizeObject(const ServedResource& resource, json::Value& object) {
  api::Canonicalize(resource.working_kind().Type(), object);
}

namespace {

// Upstream's definitions and APIServices are; all other built-in kinds are protobuf.
bool IsStoredAsJson(const ServedResource& resource) {
  return resource.kind->group == "apiextensions.k8s.io" || resource.kind->group == "apiregistration.k8s.io";
}

}  // namespace

Bytes EncodeObject(const ServedResource& resource, json::Value& object) {
  if (resource.custom) return EncodeStoredCustom(*resource.kind, object);
  object["metadata"].as_object().Erase("resourceVersion");
  const auto& type = resource.working_kind().Type();
  if (IsStoredAsJson(resource))
    api::Canonicalize(type, object);
  else
    api::CanonicalizeStored(type, object);
  return MakeBytes(json::Write(object));
}

namespace {

// A kind's own rules hold everything in upstream's order; the schema's are for kinds without them.
void ValidateBuiltin(const api::KindInfo& kind, const api::KindHooks& hooks, const json::Value& object,
                     api::FieldErrors& errors) {
  if (hooks.validate) return hooks.validate(object, errors);
  api::Validate(kind.Type(), object, api::FieldPath(), errors);
}

// Whether one of the strings in `value` is `text`.
bool HoldsString(const json::Value& value, std::string_view text) {
  if (value.is_string()) return value.as_string() == text;
  if (value.is_array())
    for (const auto& item : value.as_array())
      if (HoldsString(item, text)) return true;
  if (value.is_object())
    for (const auto& [key, item] : value.as_object())
      if (HoldsString(item, text)) return true;
  return false;
}

// Addresses that were accepted by older rules stay valid in the objects that hold them (upstream: ratcheting
// of StrictIPCIDRValidation).
api::FieldErrors WithoutOldAddresses(api::FieldErrors errors, const json::Value& old) {
  const auto is_old = [&](const Cause& cause) {
    constexpr std::string_view kInvalid = "Invalid value: \"";
    const std::string_view message = cause.message;
    const bool strict = message.ends_with(": must not have leading 0s") ||
                        message.ends_with(": must not have leading 0s in IP or prefix length") ||
                        message.ends_with(": must not be an IPv4-mapped IPv6 address") ||
                        message.ends_with(": must not have an IPv4-mapped IPv6 address") ||
                        message.ends_with(": must not have bits set beyond the prefix length");
    if (!strict || !message.starts_with(kInvalid)) return false;
    const auto end = message.find('"', kInvalid.size());
    return HoldsString(old, message.substr(kInvalid.size(), end - kInvalid.size()));
  };
  if (errors.empty()) return errors;
  api::FieldErrors kept;
  for (Cause& cause : errors.causes())
    if (!is_old(cause)) kept.Add(std::move(cause));
  return kept;
}

}  // namespace

Status ValidateNew(const ServedResource& resource, const json::Value& object) {
  const auto& kind = resource.working_kind();
  const bool metadata_last = !resource.custom && resource.hooks->metadata_last;
  api::FieldErrors errors;
  if (!metadata_last) api::ValidateObjectMetaForCreate(kind, *resource.hooks, object["metadata"], errors);
  if (resource.custom) {
    api::ValidateCustomObject(resource.custom->schema(), object, errors, nullptr);
    ValidateCustomScale(resource, object, true, errors);
  } else {
    ValidateBuiltin(kind, *resource.hooks, object, errors);
    if (IsCertificateRequest(resource)) ValidateCertificateRequest(object, errors);
  }
  if (metadata_last && errors.empty())
    api::ValidateObjectMetaForCreate(kind, *resource.hooks, object["metadata"], errors);
  if (errors.empty()) return {};
  return Unexpected(errors.ToError(kind.group, kind.kind, object["metadata"]["name"].string_or("")));
}

Status ValidateChange(const ServedResource& resource, const json::Value& object, const json::Value& old,
                      std::string_view subresource, std::vector<std::string>& warnings) {
  const auto& kind = resource.working_kind();
  const auto& hooks = *resource.hooks;
  api::FieldErrors errors;
  api::ValidateObjectMetaForUpdate(kind, hooks, object["metadata"], old["metadata"], errors);
  if (resource.custom) {
    api::ValidateCustomObject(resource.custom->schema(), object, errors, &old, &warnings);
    ValidateCustomScale(resource, object, subresource != "status", errors);
  } else if (subresource == "status") {
    if (hooks.validate_status_update) hooks.validate_status_update(object, old, errors);
    if (IsCertificateRequest(resource)) ValidateIssuedCertificate(object, old, errors);
  } else {
    const bool alone = hooks.validate_update_alone && subresource.empty();
    if (!alone) {
      ValidateBuiltin(kind, hooks, object, errors);
      errors = WithoutOldAddresses(std::move(errors), old);
    }
    // Endpoints that exist to change what the main one may not: these check the change themselves.
    const bool special = subresource == "binding" || subresource == "finalize";
    if (!subresource.empty() && !special && hooks.validate_part_update) {
      hooks.validate_part_update(subresource, object, old, errors);
    } else if (!special && hooks.validate_update) {
      hooks.validate_update(object, old, errors);
    } else if (!special) {
      api::ValidateImmutable(kind.Type(), object, old, api::FieldPath(), errors);
    }
  }
  if (errors.empty()) return {};
  return Unexpected(errors.ToError(kind.group, kind.kind, object["metadata"]["name"].string_or("")));
}

}  // namespace flyball::server
