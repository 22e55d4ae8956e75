#include "cli/kubectl/apply/managers_upgrade.h"

#include <algorithm>
#include <set>

#include "api/apply/last_applied.h"
#include "cli/kubectl/apply/apply_object.h"
#include "json/json.h"

namespace flyball::cli {
namespace {

constexpr const char* kAnnotationManager = "kubectl-last-applied";

bool IsPlainUpdate(const json::Value& entry) {
  return entry["operation"].string_or("") == "Update" && entry["subresource"].string_or("").empty();
}

bool OwnsLastApplied(const json::Value& entry) {
  const std::string field = "f:" + std::string(api::kLastAppliedAnnotation);
  return !entry["fieldsV1"]["f:metadata"]["f:annotations"][field].is_null();
}

// Whoever updates the annotation is the one that applied client-side.
std::set<std::string> ClientSideManagers(const json::Array& entries) {
  std::set<std::string> managers;
  for (const json::Value& entry : entries)
    if (IsPlainUpdate(entry) && OwnsLastApplied(entry)) managers.emplace(entry["manager"].string_or(""));
  return managers;
}

// Merges two field sets, which are trees of names.
void Unite(json::Value& fields, const json::Value& more) {
  if (!more.is_object()) return;
  for (const auto& [name, below] : more.as_object()) {
    if (fields.Find(name))
      Unite(fields[name], below);
    else
      fields[name] = below;
  }
}

json::Value* FindApplied(json::Array& entries, const std::string& manager) {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const json::Value& entry) {
    return entry["manager"].string_or("") == manager && entry["operation"].string_or("") == "Apply" &&
           entry["subresource"].string_or("").empty();
  });
  return found == entries.end() ? nullptr : &*found;
}

// Applies the annotation alone, under a manager of its own, so that it survives the move.
Result<json::Value> KeepLastApplied(Session& session, const Manifest& manifest, const json::Value& object) {
  json::Value annotation;
  annotation["apiVersion"] = object["apiVersion"];
  annotation["kind"] = object["kind"];
  for (const char* field : {"name", "namespace", "resourceVersion"})
    if (!object["metadata"][field].is_null()) annotation["metadata"][field] = object["metadata"][field];
  annotation["metadata"]["annotations"][api::kLastAppliedAnnotation] = LastAppliedIn(object);
  return session.Patch(manifest.kind, manifest.ns, manifest.name, kApplyPatch, annotation,
                       kAnnotationManager);
}

json::Value ReplaceManagedFields(const json::Value& object, json::Value managed_fields) {
  json::Array patch;
  patch.emplace_back(json::Object{
      {"op", "replace"}, {"path", "/metadata/managedFields"}, {"value", std::move(managed_fields)}});
  patch.emplace_back(json::Object{{"op", "replace"},
                                  {"path", "/metadata/resourceVersion"},
                                  {"value", object["metadata"]["resourceVersion"]}});
  return patch;
}

}  // namespace

json::Value HandOver(const json::Value& managed_fields, const std::string& manager) {
  if (!managed_fields.is_array()) return managed_fields;
  json::Array entries = managed_fields.as_array();
  const std::set<std::string> from = ClientSideManagers(entries);
  const auto handed_over = [&](const json::Value& entry) {
    return IsPlainUpdate(entry) && from.count(std::string(entry["manager"].string_or(""))) > 0;
  };
  for (json::Value& entry : entries) {
    if (!handed_over(entry)) continue;
    if (json::Value* applied = FindApplied(entries, manager)) {
      Unite((*applied)["fieldsV1"], std::as_const(entry)["fieldsV1"]);
    } else {
      entry["manager"] = manager;
      entry["operation"] = "Apply";
    }
  }
  entries.erase(std::remove_if(entries.begin(), entries.end(), handed_over), entries.end());
  return entries;
}

Result<bool> UpgradeManagers(Session& session, const Manifest& manifest, json::Value object,
                             const std::string& manager) {
  const auto managed = [&]() -> const json::Value& {
    return std::as_const(object)["metadata"]["managedFields"];
  };
  if (!managed().is_array() || ClientSideManagers(managed().as_array()).empty()) return false;
  if (manager == kServerSideManager && LastAppliedIn(object).is_string()) {
    FLYBALL_ASSIGN(object, KeepLastApplied(session, manifest, object));
  }
  const json::Value patch = ReplaceManagedFields(object, HandOver(managed(), manager));
  FLYBALL_TRY(session.Patch(manifest.kind, manifest.ns, manifest.name, kJsonPatch, patch, manager));
  return true;
}

}  // namespace flyball::cli
