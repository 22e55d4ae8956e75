// From request bodies to objects and from objects to stored bytes, by a kind's schema.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/values/bytes.h"
#include "base/values/result.h"
#include "json/value.h"
#include "server/request/request_scope.h"

namespace flyball::server {

enum class MediaType : std::uint8_t { kJson, kYaml, kProtobuf };
// Of a Content-Type header ("" is JSON). UnsupportedMediaType if it is none of them.
Result<MediaType> BodyMediaType(std::string_view content_type);

// A body as the object it says it is: parsed, apiVersion and kind checked against `kind`, unknown and
// duplicate fields handled as scope.field_validation says (dropped; warned of; refused), defaults set.
// BadRequest in Kubernetes' words.
Result<json::Value> DecodeObject(RequestScope& scope, const ServedResource& resource,
                                 std::string_view content_type, std::string_view body);
// Whether a body may also say this apiVersion: the type looks the same in it.
using AcceptsVersion = bool (*)(std::string_view api_version);
// The same for a body of another type than the resource's own (Scale, Eviction, TokenRequest, DeleteOptions).
Result<json::Value> DecodeBody(RequestScope& scope, const api::TypeInfo& type, std::string_view api_version,
                               std::string_view kind, std::string_view content_type, std::string_view body,
                               AcceptsVersion also = nullptr);
// How the strict errors of a value in hand are reported: after those of what it was made from; sorted, or in
// the order of its members.
struct StrictErrors {
  std::vector<std::string> earlier;
  bool sorted = false;
};
// The same for a value in hand (the result of a patch).
Result<json::Value> DecodeValue(RequestScope& scope, const ServedResource& resource, json::Value value,
                                const StrictErrors& errors = {});

// The same for an object that admission has patched, in the resource's own version: decoded strictly and
// defaulted, not converted. InternalError (500) if it is no such object any more, as upstream.
Result<json::Value> DecodePatched(const ServedResource& resource, json::Value value);
// The same for an object that a webhook has patched: fields its type does not have are dropped in silence.
// BadRequest if it does not fit its type.
Result<json::Value> DecodeAdmitted(RequestScope& scope, const ServedResource& resource, json::Value value);
// The same for a body of another type.
Result<json::Value> DecodePatchedBody(const api::TypeInfo& type, json::Value value);

// The form Go would write it in: what hooks and admission added in passing (nulls, empty maps) goes.
void CanonicalizeObject(const ServedResource& resource, json::Value& object);
// The canonical bytes of an object in the version it is worked with: fields in order, no resourceVersion.
// `object` is left canonical too.
Bytes EncodeObject(const ServedResource& resource, json::Value& object);

// All that is wrong with a new object; with an update of `old`. Invalid (422) with a cause each.
Status ValidateNew(const ServedResource& resource, const json::Value& object);
// `warnings` gets what is wrong but was so before.
Status ValidateChange(const ServedResource& resource, const json::Value& object, const json::Value& old,
                      std::string_view subresource, std::vector<std::string>& warnings);

}  // namespace flyball::server
