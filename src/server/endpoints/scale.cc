#include "server/endpoints/scale.h"

#include "api/apply/apply.h"
#include "api/apply/scale_managed_fields.h"
#include "api/rules/field_error.h"
#include "api/schema/decode.h"
#include "api/select/selector.h"
#include "api/tables/table.h"
#include "json/json.h"
#include "server/catalog/scale_paths.h"
#include "server/catalog/served_forms.h"
#include "server/registry/object_codec.h"
#include "server/registry/patch.h"
#include "server/registry/write_options.h"
#include "server/request/api_errors.h"
#include "server/request/negotiation.h"

namespace flyball::server {
namespace {

constexpr std::string_view kScaleVersion = "autoscaling/v1";
constexpr std::string_view kScaleType = "io.k8s.api.autoscaling.v1.Scale";

const api::TypeInfo& ScaleType() {
  static const api::TypeInfo& type = *api::FindType(kScaleType);
  return type;
}

// Scale is no resource of its own: its table is described here, like that of a custom kind (name first).
constexpr api::ColumnInfo kScaleColumns[] = {
    {"Desired", "integer", "", "How many there should be.", ".spec.replicas"},
    {"Available", "integer", "", "How many are available.", ".status.replicas"},
    {"Age", "date", "", "Time since it was made.", ".metadata.creationTimestamp"},
};
constexpr api::KindInfo kScaleKind{
    .group = "autoscaling", .version = "v1", .kind = "Scale", .columns = kScaleColumns, .custom = true};

// The value at ".spec.replicas"; null if absent.
const json::Value* At(const json::Value& object, std::string_view path) {
  const json::Value* value = &object;
  while (!path.empty() && value) {
    path.remove_prefix(1);
    const auto dot = path.find('.');
    value = value->Find(path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot);
  }
  return value;
}

void Set(json::Value& object, std::string_view path, json::Value value) {
  json::Value* place = &object;
  while (!path.empty()) {
    path.remove_prefix(1);
    const auto dot = path.find('.');
    place = &(*place)[path.substr(0, dot)];
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot);
  }
  *place = std::move(value);
}

std::string SelectorText(const json::Value* selector) {
  if (!selector || selector->is_null()) return {};
  if (selector->is_string()) return std::string(selector->as_string());
  if (selector->Find("matchLabels") || selector->Find("matchExpressions")) {
    const auto parsed = api::LabelSelector::FromObject(*selector);
    return parsed ? parsed->ToString() : "";
  }
  return api::LabelSelector::FromMap(*selector).ToString();
}

json::Value ScaleOf(const ServedResource& resource, const json::Value& object) {
  const ScalePaths paths = ScalePathsOf(resource);
  const auto& metadata = object["metadata"];
  json::Object meta;
  for (const auto key : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"})
    if (const auto* value = metadata.Find(key)) meta.Set(key, *value);
  const auto* wanted = At(object, paths.spec_replicas);
  const auto* actual = At(object, paths.status_replicas);
  json::Object status{{"replicas", actual ? actual->int_or(0) : 0}};
  if (auto text = paths.selector.empty() ? "" : SelectorText(At(object, paths.selector)); !text.empty())
    status.Set("selector", std::move(text));
  json::Value scale = json::Object{{"kind", "Scale"},
                                   {"apiVersion", "autoscaling/v1"},
                                   {"metadata", std::move(meta)},
                                   {"spec", json::Object{{"replicas", wanted ? wanted->int_or(0) : 0}}},
                                   {"status", std::move(status)}};
  api::Canonicalize(ScaleType(), scale);
  return scale;
}

std::vector<api::PathElement> ReplicasPath(const ServedResource& resource) {
  const std::string paths = ScalePathsOf(resource).spec_replicas;
  std::vector<api::PathElement> elements;
  std::string_view path = paths;
  while (!path.empty()) {
    path.remove_prefix(1);
    const auto dot = path.find('.');
    elements.push_back(api::PathElement::Field(path.substr(0, dot)));
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot);
  }
  return elements;
}

Status CheckScale(const json::Value& scale, std::string_view name) {
  const auto replicas = scale["spec"]["replicas"].int_or(0);
  if (replicas >= 0) return {};
  api::FieldErrors errors;
  errors.Invalid(api::FieldPath("spec.replicas"), replicas, "must be greater than or equal to 0");
  return Unexpected(errors.ToError("autoscaling", "Scale", name));
}

// A custom object need not say how many it wants; then there is no scale to show.
Status CheckReplicasField(const ServedResource& resource, const json::Value& object) {
  if (!resource.custom) return {};
  const std::string path = ScalePathsOf(resource).spec_replicas;
  if (At(object, path) != nullptr) return {};
  return Unexpected(Error(Reason::kInternalError, "Internal error occurred: the spec replicas field \"" +
                                                      path + "\" does not exist"));
}

class ScaleEndpoint final : public Endpoint {
 public:
  Task<Result<std::optional<Answer>>> Handle(ServerState& state, RequestScope& scope,
                                             const net::Request& request,
                                             std::shared_ptr<net::ResponseStream>) override {
    const auto& resource = *scope.resource;
    if (scope.info.verb == "get") {
      const auto object =
          resource.cache->Get(ServedResource::CacheKey(scope.info.namespace_name, scope.info.name));
      if (!object) co_return Unexpected(NotFound(*resource.kind, scope.info.name));
      FLYBALL_CO_ASSIGN(const json::Value value, co_await WorkingValue(resource, *object, scope.executor));
      FLYBALL_CO_TRY(CheckReplicasField(resource, value));
      co_return Present(scope, request, value);
    }
    FLYBALL_CO_ASSIGN(const Change change, ReadChange(scope, request));
    UpdateOptions options;
    options.subresource = "scale";
    options.conflict_retries = !change.names_version;
    options.track_fields = false;
    options.body =
        AdmittedBody{[&resource](const json::Value& object) { return ScaleOf(resource, object); },
                     [&resource](const json::Value& body, json::Value& object) {
                       Set(object, ScalePathsOf(resource).spec_replicas, body["spec"]["replicas"].int_or(0));
                     }};
    Registry::Transform transform = [&](const json::Value& current) {
      return Rescale(scope, change, current);
    };
    FLYBALL_CO_ASSIGN(
        const UpdateOutcome outcome,
        co_await state.registry.Update(scope, resource, scope.info.namespace_name, scope.info.name,
                                       std::move(transform), std::move(options)));
    FLYBALL_CO_ASSIGN(const json::Value value,
                      co_await WorkingValue(resource, *outcome.object, scope.executor));
    co_return Present(scope, request, value);
  }

 private:
  // A whole new Scale (PUT), or a patch to the one there is.
  struct Change {
    json::Value scale;
    std::optional<Patch> patch;
    bool names_version = false;
  };

  static Result<std::optional<Answer>> Present(const RequestScope& scope, const net::Request& request,
                                               const json::Value& object) {
    FLYBALL_ASSIGN(const AnswerFormat format, NegotiateObject(request.headers.Get("accept"), true));
    const json::Value scale = ScaleOf(*scope.resource, object);
    if (format.form == AnswerForm::kTable) {
      const api::TableFormat table(kScaleKind);
      return Answer{200, "application/json", table.SingleTable(scale, {.now = scope.now})};
    }
    return Answer{200, "application/json", json::Write(scale)};
  }

  static Result<Change> ReadChange(RequestScope& scope, const net::Request& request) {
    Change change;
    if (scope.info.verb == "update") {
      FLYBALL_TRY(ReadWriteOptions(scope, "UpdateOptions"));
      FLYBALL_ASSIGN(change.scale, DecodeBody(scope, ScaleType(), "autoscaling/v1", "Scale",
                                              request.headers.Get("content-type"), request.body));
      change.names_version = !change.scale["metadata"]["resourceVersion"].string_or("").empty();
      return change;
    }
    FLYBALL_TRY(ReadWriteOptions(scope, "PatchOptions"));
    FLYBALL_ASSIGN(const PatchType type, PatchTypeOf(request.headers.Get("content-type"), *scope.resource));
    FLYBALL_TRY(CheckPatchOptions(scope, type));
    FLYBALL_ASSIGN(change.patch, ParsePatch(type, request.body));
    change.names_version = change.patch->names_version;
    return change;
  }

  // The Scale after the change, with its own managed fields.
  static Result<json::Value> NextScale(RequestScope& scope, const Change& change, const json::Value& before) {
    const std::string manager = scope.Manager();
    const api::FieldWriter writer{manager, "scale", kScaleVersion, scope.now};
    if (change.patch && change.patch->type == PatchType::kApply) {
      FLYBALL_ASSIGN(api::Applied applied,
                     api::Apply(ScaleType(), "Scale", &before, change.patch->value, writer, scope.force));
      FLYBALL_TRY(CheckAppliedText(scope, *change.patch));
      return std::move(applied.object);
    }
    json::Value scale = before;
    if (!change.patch) {
      scale = change.scale;
    } else {
      FLYBALL_ASSIGN(scale, MergePatch(ScaleType(), *change.patch, std::move(scale)));
    }
    api::UpdateManagedFields(ScaleType(), &before, scale, writer);
    return scale;
  }

  static Result<json::Value> Rescale(RequestScope& scope, const Change& change, const json::Value& current) {
    const auto replicas = ReplicasPath(*scope.resource);
    json::Value before = ScaleOf(*scope.resource, current);
    const auto& owners = current["metadata"]["managedFields"];
    FLYBALL_ASSIGN(before["metadata"]["managedFields"], api::ScaleManagedFields(owners, replicas));
    FLYBALL_ASSIGN(const json::Value scale, NextScale(scope, change, before));
    FLYBALL_TRY(CheckName(scope, scale));
    FLYBALL_TRY(CheckScale(scale, scope.info.name));
    json::Value next = current;
    Set(next, ScalePathsOf(*scope.resource).spec_replicas, scale["spec"]["replicas"].int_or(0));
    FLYBALL_ASSIGN(next["metadata"]["managedFields"],
                   api::MergeScaleManagedFields(owners, scale["metadata"]["managedFields"],
                                                scope.resource->kind->ApiVersion(), replicas));
    api::KeepTimesIfUnchanged(current, next);
    if (change.names_version) next["metadata"]["resourceVersion"] = scale["metadata"]["resourceVersion"];
    return next;
  }
};

}  // namespace

void AddScaleEndpoint(EndpointTable& table) {
  table.Add("*/scale", std::make_unique<ScaleEndpoint>());
}

}  // namespace flyball::server
