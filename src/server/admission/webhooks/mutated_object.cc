#include "server/admission/webhooks/mutated_object.h"

#include "api/schema/decode.h"
#include "api/schema/defaults.h"
#include "api/schema/schema.h"
#include "server/registry/object_codec.h"
#include "server/request/api_errors.h"

namespace flyball::server {
namespace {

// A body that is of another kind than the resource: a Scale, an Eviction.
Result<json::Value> DecodeBodyOfItsOwn(const GroupVersionKind& kind, json::Value object) {
  const api::TypeInfo* type = api::FindKindType(kind.group, kind.version, kind.kind);
  if (type == nullptr) return object;
  api::DecodeContext context;
  if (auto decoded = api::Decode(*type, object, context); !decoded)
    return Unexpected(MutationFailed(decoded.error().message()));
  api::ApplyDefaults(*type, object);
  return object;
}

}  // namespace

Error MutationFailed(const std::string& why) {
  return Error(Reason::kInternalError, 500, "Internal error occurred: " + why, {.causes = {{"", why, ""}}});
}

Result<json::Value> DecodeMutated(const AdmissionAttributes& attributes, const ServedResource& matched,
                                  json::Value object) {
  const auto kind = attributes.KindIn(matched);
  if (attributes.HasOwnBody()) return DecodeBodyOfItsOwn(kind, std::move(object));
  auto decoded = DecodeAdmitted(attributes.request().scope, matched, std::move(object));
  if (!decoded) return Unexpected(MutationFailed(DecodingProblem(decoded.error())));
  return decoded;
}

}  // namespace flyball::server
