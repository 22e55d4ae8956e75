#include "server/handlers/write_handlers.h"

#include "api/wire/status.h"
#include "base/run/concurrently.h"
#include "json/json.h"
#include "server/auth/request_authorization.h"
#include "server/catalog/served_forms.h"
#include "server/handlers/read_handlers.h"
#include "server/registry/object_codec.h"
#include "server/registry/patch.h"
#include "server/registry/write_options.h"
#include "server/request/api_errors.h"
#include "server/request/list_options.h"
#include "server/request/presentation.h"

namespace flyball::server {
namespace {

// {"kind":"Status","status":"Success","details":{...}}: what DELETE of most kinds answers.
Answer DeletedStatus(const RequestScope& scope, const StoredObject& object) {
  const auto& kind = *scope.resource->kind;
  json::Object details{{"name", object.name()}};
  if (!kind.group.empty()) details.Set("group", kind.group);
  details.Set("kind", kind.plural);
  details.Set("uid", object.uid());
  json::Object status{{"kind", "Status"},
                      {"apiVersion", "v1"},
                      {"metadata", json::Object{}},
                      {"status", "Success"},
                      {"details", std::move(details)}};
  return {200, "application/json", json::Write(json::Value(std::move(status)))};
}

// ReplicationControllers leave their pods too; only Jobs say so.
bool WarnsOfOrphans(const ServedResource& resource) {
  return resource.hooks->orphan_dependents && resource.kind->group == "batch";
}

void WarnOfOrphans(RequestScope& scope, const DeleteOptions& options) {
  if (!WarnsOfOrphans(*scope.resource) || options.propagation_policy || options.orphan_dependents) return;
  scope.warnings.push_back(
      "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to "
      "remove them or set propagationPolicy=Orphan to suppress this warning");
}

// Deletions of one deletecollection under way at a time: as many commits share an fsync.
constexpr std::size_t kDeletionsAtATime = 64;

Task<Status> DeleteAll(ServerState& state, RequestScope& scope, const std::vector<ObjectPtr>& objects,
                       const DeleteOptions& options) {
  const auto delete_one = [&](std::size_t i) -> Task<Status> {
    FLYBALL_CO_TRY(scope.CheckAlive());
    RequestScope own = scope;  // a deletion may change its scope; they run beside each other
    const std::string space = objects[i]->namespace_name(), name = objects[i]->name();
    auto outcome = co_await state.registry.Delete(own, *own.resource, space, name, options);
    if (!outcome && !outcome.error().Is(Reason::kNotFound)) co_return Unexpected(outcome.error());
    co_return Status();
  };
  co_return co_await ForEachAtATime(scope.executor, objects.size(), kDeletionsAtATime, delete_one);
}

}  // namespace

Result<Answer> ObjectAnswer(const RequestScope& scope, const net::Request& request,
                            const StoredObject& object, int code) {
  FLYBALL_ASSIGN(const AnswerFormat format, NegotiateObject(request.headers.Get("accept"), true));
  const Presenter presenter(scope.resource, PresentedFormat(scope, format), scope.now,
                            scope.info.query.Get("includeObject"));
  return presenter.Object(object, code);
}

Task<Result<Answer>> HandleCreate(ServerState& state, RequestScope& scope, const net::Request& request) {
  FLYBALL_CO_TRY(ReadWriteOptions(scope, "CreateOptions"));
  FLYBALL_CO_TRY(NegotiateObject(request.headers.Get("accept"), true));
  FLYBALL_CO_ASSIGN(json::Value object,
                    DecodeObject(scope, *scope.resource, request.headers.Get("content-type"), request.body));
  FLYBALL_CO_ASSIGN(const ObjectPtr created,
                    co_await state.registry.Create(scope, *scope.resource, std::move(object)));
  FLYBALL_CO_ASSIGN(const ObjectPtr shown, co_await ServedForm(*scope.resource, created, scope.executor));
  co_return ObjectAnswer(scope, request, *shown, 201);
}

Task<Result<Answer>> HandleUpdate(ServerState& state, RequestScope& scope, const net::Request& request) {
  FLYBALL_CO_TRY(ReadWriteOptions(scope, "UpdateOptions"));
  FLYBALL_CO_TRY(NegotiateObject(request.headers.Get("accept"), true));
  FLYBALL_CO_ASSIGN(const json::Value object,
                    DecodeObject(scope, *scope.resource, request.headers.Get("content-type"), request.body));
  FLYBALL_CO_TRY(CheckName(scope, object));
  UpdateOptions options;
  options.subresource = scope.info.subresource;
  options.uid_precondition = true;
  options.create_if_absent = scope.resource->hooks->allow_create_on_update && options.subresource.empty();
  options.authorize_create = [&] { return AuthorizeVerb(state.authorizer, scope, "create"); };
  Registry::Transform transform = [&object](const json::Value&) -> Result<json::Value> { return object; };
  FLYBALL_CO_ASSIGN(
      const UpdateOutcome outcome,
      co_await state.registry.Update(scope, *scope.resource, scope.info.namespace_name, scope.info.name,
                                     std::move(transform), std::move(options)));
  FLYBALL_CO_ASSIGN(const ObjectPtr shown,
                    co_await ServedForm(*scope.resource, outcome.object, scope.executor));
  co_return ObjectAnswer(scope, request, *shown, outcome.created ? 201 : 200);
}

Task<Result<Answer>> HandlePatch(ServerState& state, RequestScope& scope, const net::Request& request) {
  FLYBALL_CO_ASSIGN(const PatchType type, PatchTypeOf(request.headers.Get("content-type"), *scope.resource));
  FLYBALL_CO_TRY(ReadWriteOptions(scope, "PatchOptions"));
  FLYBALL_CO_TRY(CheckPatchOptions(scope, type));
  FLYBALL_CO_TRY(NegotiateObject(request.headers.Get("accept"), true));
  FLYBALL_CO_ASSIGN(const Patch patch, ParsePatch(type, request.body));
  UpdateOptions options;
  options.subresource = scope.info.subresource;
  options.create_if_absent = type == PatchType::kApply && options.subresource.empty();
  options.authorize_create = [&] { return AuthorizeVerb(state.authorizer, scope, "create"); };
  options.conflict_retries = !patch.names_version;
  options.track_fields = type != PatchType::kApply;
  ChangesElsewhere elsewhere;
  if (type == PatchType::kApply)
    options.prepare = [&](const json::Value& current) {
      return PrepareApply(scope, patch, current, elsewhere);
    };
  Registry::Transform transform = [&](const json::Value& current) -> Result<json::Value> {
    FLYBALL_ASSIGN(json::Value object, ApplyPatch(scope, patch, current, elsewhere));
    FLYBALL_TRY(CheckName(scope, object));
    return object;
  };
  FLYBALL_CO_ASSIGN(
      const UpdateOutcome outcome,
      co_await state.registry.Update(scope, *scope.resource, scope.info.namespace_name, scope.info.name,
                                     std::move(transform), std::move(options)));
  FLYBALL_CO_ASSIGN(const ObjectPtr shown,
                    co_await ServedForm(*scope.resource, outcome.object, scope.executor));
  co_return ObjectAnswer(scope, request, *shown, outcome.created ? 201 : 200);
}

Task<Result<Answer>> HandleDelete(ServerState& state, RequestScope& scope, const net::Request& request) {
  FLYBALL_CO_TRY(NegotiateObject(request.headers.Get("accept"), true));
  FLYBALL_CO_ASSIGN(DeleteOptions options, ReadDeleteOptions(scope, request));
  WarnOfOrphans(scope, options);
  FLYBALL_CO_ASSIGN(const DeleteOutcome outcome,
                    co_await state.registry.Delete(scope, *scope.resource, scope.info.namespace_name,
                                                   scope.info.name, std::move(options)));
  if (outcome.removed && !scope.resource->hooks->return_deleted_object)
    co_return DeletedStatus(scope, *outcome.object);
  FLYBALL_CO_ASSIGN(const ObjectPtr shown,
                    co_await ServedForm(*scope.resource, outcome.object, scope.executor));
  co_return ObjectAnswer(scope, request, *shown, 200);
}

Task<Result<Answer>> HandleDeleteCollection(ServerState& state, RequestScope& scope,
                                            const net::Request& request) {
  FLYBALL_CO_ASSIGN(const AnswerFormat format, NegotiateObject(request.headers.Get("accept"), true));
  const Presenter presenter(scope.resource, PresentedFormat(scope, format), scope.now,
                            scope.info.query.Get("includeObject"));
  FLYBALL_CO_TRY(ParseListOptions(scope.info, *scope.resource->kind, false));
  FLYBALL_CO_ASSIGN(const DeleteOptions options, ReadDeleteOptions(scope, request));
  WarnOfOrphans(scope, options);
  FLYBALL_CO_ASSIGN(RequestedList list, co_await ListRequested(state, scope));
  if (!list.expired_token.empty()) co_return ExpiredContinue(list.expired_token);
  FLYBALL_CO_TRY(co_await DeleteAll(state, scope, list.snapshot.objects, options));
  Answer answer;
  presenter.AnswerList(std::move(list.snapshot.objects), list.meta, answer);
  co_return answer;
}

}  // namespace flyball::server
