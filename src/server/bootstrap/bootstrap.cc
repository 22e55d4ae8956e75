#include "server/bootstrap/bootstrap.h"

#include "base/run/notification.h"
#include "json/json.h"
#include "server/registry/field_manager.h"
#include "server/registry/object_codec.h"
#include "server/registry/object_rules.h"

namespace flyball::server {
namespace {

json::Value NamespaceValue(std::string_view name) {
  return json::Object{
      {"apiVersion", "v1"},
      {"kind", "Namespace"},
      {"metadata",
       json::Object{{"name", name}, {"labels", json::Object{{"kubernetes.io/metadata.name", name}}}}}};
}

json::Value PriorityClassValue(std::string_view name, std::int64_t value, std::string_view description) {
  return json::Object{{"apiVersion", "scheduling.k8s.io/v1"},
                      {"kind", "PriorityClass"},
                      {"metadata", json::Object{{"name", name}}},
                      {"value", value},
                      {"description", description}};
}

// Whether two objects are the same but for their metadata.
bool SameContent(json::Value a, json::Value b) {
  a.as_object().Erase("metadata");
  b.as_object().Erase("metadata");
  return a == b;
}

// The write that makes the object what it should be; nullopt if it is that already.
Result<std::optional<store::Operation>> EnsureOperation(ServerState& state, RequestScope& scope,
                                                        json::Value value, Existing mode) {
  const std::string version(value["apiVersion"].string_or(""));
  const auto slash = version.find('/');
  const auto resource =
      state.catalog.snapshot()->FindKind(slash == std::string::npos ? "" : version.substr(0, slash),
                                         version.substr(slash + 1), value["kind"].string_or(""));
  if (!resource) return Unexpected(InternalError("bootstrap object of unknown kind " + json::Write(value)));
  scope.info.namespace_name = value["metadata"]["namespace"].string_or("");
  // Nobody has to come to say how the server's own objects are.
  json::Value status = std::as_const(value)["status"];
  FLYBALL_ASSIGN(json::Value object, DecodeValue(scope, *resource, std::move(value)));
  TrackFields(scope, *resource, nullptr, object, {});
  FLYBALL_TRY(PrepareForCreate(scope, *resource, object));
  FillSystemFields(scope, *resource, state.random, object);
  PrepareKindForCreate(scope, *resource, object);
  if (!status.is_null()) object["status"] = std::move(status);
  const std::string key = resource->Key(scope.info.namespace_name, object["metadata"]["name"].string_or(""));
  FLYBALL_ASSIGN(const auto existing, state.store.Get(key));
  if (!existing) return store::Operation{key, EncodeStored(*resource, object), store::Precondition::Absent()};
  if (mode == Existing::kKeep) return std::nullopt;
  FLYBALL_ASSIGN(const json::Value current, json::Parse(*existing->value));
  if (SameContent(current, object)) return std::nullopt;
  object["metadata"] = current["metadata"];
  return store::Operation{key, EncodeStored(*resource, object),
                          store::Precondition::ModRevision(existing->mod_revision)};
}

}  // namespace

Status EnsureObjects(ServerState& state, const std::vector<json::Value>& objects, Existing existing) {
  RequestScope scope({}, {}, state.executor, state.clock().Now());
  scope.field_manager = "kube-apiserver";
  store::Transaction transaction;
  for (const auto& value : objects) {
    FLYBALL_ASSIGN(auto operation, EnsureOperation(state, scope, value, existing));
    if (operation) transaction.push_back(std::move(*operation));
  }
  if (transaction.empty()) return {};
  const auto done = std::make_shared<Notification<Result<store::CommitOutcome>>>();
  state.store.Commit(std::move(transaction),
                     [done](Result<store::CommitOutcome> outcome) { done->Set(std::move(outcome)); });
  const auto outcome = done->Wait();
  if (!outcome) return Unexpected(outcome.error());
  if (!outcome->committed) return Unexpected(InternalError("another server is starting on the same store"));
  return {};
}

std::vector<json::Value> BootstrapObjects() {
  std::vector<json::Value> objects;
  for (const auto name : {"kube-system", "kube-public", "kube-node-lease", "default"})
    objects.push_back(NamespaceValue(name));
  objects.push_back(
      PriorityClassValue("system-node-critical", 2000001000,
                         "Used for system critical pods that must not be moved from their current node."));
  objects.push_back(
      PriorityClassValue("system-cluster-critical", 2000000000,
                         "Used for system critical pods that must run in the cluster, but can be moved to "
                         "another node if necessary."));
  return objects;
}

}  // namespace flyball::server
