#include "server/bootstrap/bootstrap.h"

#include <algorithm>
#include <map>
#include <span>

#include "api/values/time.h"
#include "base/run/notification.h"
#include "json/json.h"
#include "server/admission/granted_rules.h"
#include "server/registry/object_codec.h"
#include "server/registry/own_object.h"

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

// Since when the use of legacy service account tokens is tracked (upstream: legacytokentracking).
json::Value TokenTrackingValue(TimePoint now) {
  constexpr std::size_t kDateLength = 10;  // 2006-01-02
  return json::Object{
      {"apiVersion", "v1"},
      {"kind", "ConfigMap"},
      {"metadata", json::Object{{"name", "kube-apiserver-legacy-service-account-token-tracking"},
                                {"namespace", "kube-system"}}},
      {"data", json::Object{{"since", api::FormatTime(now).substr(0, kDateLength)}}}};
}

// Whether two objects are the same but for their metadata.
bool SameContent(json::Value a, json::Value b) {
  a.as_object().Erase("metadata");
  b.as_object().Erase("metadata");
  return a == b;
}

// Rules for the rights that the role's own do not give, in whatever words.
bool AddMissingRules(json::Value& role, const json::Value& wanted) {
  const auto missing = MissingRights(GrantedRules(std::as_const(role)["rules"]), GrantedRules(wanted));
  if (missing.empty()) return false;
  if (!role["rules"].is_array()) role["rules"] = json::Array();
  for (const GrantedRule& rule : missing) role["rules"].as_array().push_back(ToJson(rule));
  return true;
}

// Adds what is missing from a role or binding: members of these lists and maps. What is there besides stays.
// False if nothing is missing, or its owner does not want it (upstream: reconciliation of bootstrap roles).
bool Complete(json::Value& current, const json::Value& wanted) {
  const auto& keep = std::as_const(current)["metadata"]["annotations"];
  if (keep["rbac.authorization.kubernetes.io/autoupdate"].string_or("true") == "false") return false;
  // The rules of aggregated roles are a controller's business.
  bool changed = !wanted.Find("aggregationRule") && AddMissingRules(current, wanted["rules"]);
  if (wanted["subjects"].is_array()) {
    if (!current["subjects"].is_array()) current["subjects"] = json::Array();
    auto& members = current["subjects"].as_array();
    for (const auto& member : wanted["subjects"].as_array()) {
      if (std::find(members.begin(), members.end(), member) != members.end()) continue;
      members.push_back(member);
      changed = true;
    }
  }
  for (const char* map : {"labels", "annotations"}) {
    if (!wanted["metadata"][map].is_object()) continue;
    for (const auto& [key, value] : wanted["metadata"][map].as_object()) {
      if (std::as_const(current)["metadata"][map].Find(key)) continue;
      current["metadata"][map][key] = value;
      changed = true;
    }
  }
  return changed;
}

// The write that makes the object what it should be; nullopt if it is that already.
Result<std::optional<store::Operation>> EnsureOperation(ServerState& state, RequestScope& scope,
                                                        json::Value value, Existing mode) {
  FLYBALL_ASSIGN(OwnObject made, MakeOwnObject(state, scope, std::move(value)));
  auto& [resource, key, object] = made;
  FLYBALL_ASSIGN(const auto existing, state.store.Get(key));
  if (!existing) return store::Operation{key, EncodeObject(*resource, object), store::Precondition::Absent()};
  if (mode == Existing::kKeep) return std::nullopt;
  FLYBALL_ASSIGN(json::Value current, json::Parse(*existing->value));
  if (mode == Existing::kComplete) {
    if (!Complete(current, object)) return std::nullopt;
    return store::Operation{key, EncodeObject(*resource, current),
                            store::Precondition::ModRevision(existing->mod_revision)};
  }
  if (SameContent(current, object)) return std::nullopt;
  object["metadata"] = current["metadata"];
  return store::Operation{key, EncodeObject(*resource, object),
                          store::Precondition::ModRevision(existing->mod_revision)};
}

}  // namespace

namespace {

// How many operations etcd takes in one transaction (--max-txn-ops).
constexpr std::size_t kMaxOperationsAtOnce = 100;
// Servers that start together on one store make the same objects.
constexpr int kMaxEnsureTries = 10;

// False: another server was faster with one of them.
Result<bool> CommitInOne(store::Store& store, store::Transaction transaction) {
  const auto done = std::make_shared<Notification<Result<store::CommitOutcome>>>();
  store.Commit(std::move(transaction),
               [done](Result<store::CommitOutcome> outcome) { done->Set(std::move(outcome)); });
  const auto outcome = done->Wait();
  if (!outcome) return Unexpected(outcome.error());
  return outcome->committed;
}

// One transaction for each part of the store that has some of the keys.
Result<bool> CommitAll(store::Store& store, store::Transaction transaction) {
  std::map<store::Store*, store::Transaction> parts;
  for (auto& operation : transaction) parts[&store.PartOf(operation.key)].push_back(std::move(operation));
  for (auto& [part, operations] : parts) {
    FLYBALL_ASSIGN(const bool committed, CommitInOne(*part, std::move(operations)));
    if (!committed) return false;
  }
  return true;
}

// As many of the objects, from the first on, as fit into one transaction; how many that were.
Result<std::size_t> EnsureSome(ServerState& state, std::span<const json::Value> objects, Existing existing) {
  for (int tries = 1;; ++tries) {
    RequestScope scope({}, {}, state.executor, state.clock().Now());
    scope.field_manager = "kube-apiserver";
    store::Transaction transaction;
    std::size_t looked_at = 0;
    while (looked_at < objects.size() && transaction.size() < kMaxOperationsAtOnce) {
      FLYBALL_ASSIGN(auto operation, EnsureOperation(state, scope, objects[looked_at++], existing));
      if (operation) transaction.push_back(std::move(*operation));
    }
    if (transaction.empty()) return looked_at;
    FLYBALL_ASSIGN(const bool committed, CommitAll(state.store, std::move(transaction)));
    if (committed) return looked_at;
    if (tries == kMaxEnsureTries)
      return Unexpected(InternalError("another server is starting on the same store"));
  }
}

}  // namespace

Status EnsureObjects(ServerState& state, const std::vector<json::Value>& objects, Existing existing) {
  std::span<const json::Value> left = objects;
  while (!left.empty()) {
    FLYBALL_ASSIGN(const std::size_t done, EnsureSome(state, left, existing));
    left = left.subspan(done);
  }
  return {};
}

std::vector<json::Value> BootstrapObjects(TimePoint now) {
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
  objects.push_back(TokenTrackingValue(now));
  return objects;
}

}  // namespace flyball::server
