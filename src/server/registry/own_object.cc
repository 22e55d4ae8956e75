#include "server/registry/own_object.h"

#include "json/json.h"
#include "server/registry/field_manager.h"
#include "server/registry/object_codec.h"
#include "server/registry/object_rules.h"

namespace flyball::server {

Result<OwnObject> MakeOwnObject(ServerState& state, RequestScope& scope, json::Value value) {
  const std::string version(value["apiVersion"].string_or(""));
  const auto slash = version.find('/');
  auto resource =
      state.catalog.snapshot()->FindKind(slash == std::string::npos ? "" : version.substr(0, slash),
                                         version.substr(slash + 1), value["kind"].string_or(""));
  if (!resource)
    return Unexpected(
        InternalError("an object of the server's own is of an unknown kind: " + json::Write(value)));
  scope.info.namespace_name = value["metadata"]["namespace"].string_or("");
  // Nobody has to come to say how the server's own objects are.
  json::Value status = std::as_const(value)["status"];
  FLYBALL_ASSIGN(json::Value object, DecodeValue(scope, *resource, std::move(value)));
  TrackFields(scope, *resource, nullptr, object, {});
  FLYBALL_TRY(PrepareForCreate(scope, *resource, object));
  FillSystemFields(scope, *resource, state.random, object);
  PrepareKindForCreate(scope, *resource, object);
  if (!status.is_null()) object["status"] = std::move(status);
  std::string key = resource->Key(scope.info.namespace_name, object["metadata"]["name"].string_or(""));
  return OwnObject{std::move(resource), std::move(key), std::move(object)};
}

}  // namespace flyball::server
