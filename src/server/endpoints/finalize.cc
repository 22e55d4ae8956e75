#include "server/endpoints/finalize.h"

#include "server/handlers/read_handlers.h"
#include "server/handlers/write_handlers.h"
#include "server/registry/object_codec.h"
#include "server/registry/patch.h"
#include "server/registry/write_options.h"
#include "server/request/api_errors.h"

namespace flyball::server {
namespace {

using Carry = json::Value (*)(const json::Value& current, const json::Value& given);

json::Value TakeFinalizers(const json::Value& current, const json::Value& given) {
  json::Value next = current;
  next["metadata"]["resourceVersion"] = given["metadata"]["resourceVersion"];
  if (next["metadata"]["resourceVersion"].is_null()) next["metadata"].as_object().Erase("resourceVersion");
  if (const auto* finalizers = given["spec"].Find("finalizers")) {
    next["spec"]["finalizers"] = *finalizers;
  } else {
    next["spec"].as_object().Erase("finalizers");
  }
  return next;
}

json::Value TakeConditions(const json::Value& current, const json::Value& given) {
  json::Value next = current;
  next["metadata"] = given["metadata"];
  next["status"]["conditions"] = given["status"]["conditions"];
  if (next["status"]["conditions"].is_null()) next["status"].as_object().Erase("conditions");
  return next;
}

class PartEndpoint final : public Endpoint {
 public:
  explicit PartEndpoint(Carry carry) : carry_(carry) {}

  Task<Result<std::optional<Answer>>> Handle(ServerState& state, RequestScope& scope,
                                             const net::Request& request,
                                             std::shared_ptr<net::ResponseStream>) override {
    if (scope.info.verb == "get") {
      auto got = co_await HandleGet(state, scope, request);
      if (!got) co_return Unexpected(got.error());
      co_return std::optional(std::move(*got));
    }
    Registry::Transform transform;
    UpdateOptions options;
    options.subresource = scope.info.subresource;
    json::Value given;
    Patch patch;
    if (scope.info.verb == "patch") {
      FLYBALL_CO_ASSIGN(const PatchType type,
                        PatchTypeOf(request.headers.Get("content-type"), *scope.resource));
      FLYBALL_CO_TRY(ReadWriteOptions(scope, "PatchOptions"));
      FLYBALL_CO_TRY(CheckPatchOptions(scope, type));
      FLYBALL_CO_ASSIGN(patch, ParsePatch(type, request.body));
      options.conflict_retries = !patch.names_version;
      transform = [&](const json::Value& current) -> Result<json::Value> {
        FLYBALL_ASSIGN(const json::Value patched, ApplyPatch(scope, patch, current));
        FLYBALL_TRY(CheckName(scope, patched));
        return carry_(current, patched);
      };
    } else {
      FLYBALL_CO_TRY(ReadWriteOptions(scope, "UpdateOptions"));
      FLYBALL_CO_ASSIGN(
          given, DecodeObject(scope, *scope.resource, request.headers.Get("content-type"), request.body));
      FLYBALL_CO_TRY(CheckName(scope, given));
      transform = [&](const json::Value& current) -> Result<json::Value> { return carry_(current, given); };
    }
    FLYBALL_CO_ASSIGN(
        const UpdateOutcome outcome,
        co_await state.registry.Update(scope, *scope.resource, scope.info.namespace_name, scope.info.name,
                                       std::move(transform), std::move(options)));
    FLYBALL_CO_ASSIGN(Answer answer, ObjectAnswer(scope, request, *outcome.object, 200));
    co_return std::optional(std::move(answer));
  }

 private:
  const Carry carry_;
};

}  // namespace

void AddFinalizeEndpoints(EndpointTable& table) {
  table.Add("namespaces/finalize", std::make_unique<PartEndpoint>(&TakeFinalizers));
  table.Add("certificatesigningrequests.certificates.k8s.io/approval",
            std::make_unique<PartEndpoint>(&TakeConditions));
}

}  // namespace flyball::server
