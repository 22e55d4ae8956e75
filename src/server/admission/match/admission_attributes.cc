#include "server/admission/match/admission_attributes.h"

#include <algorithm>
#include <array>

#include "server/registry/registry.h"
#include "server/request/api_errors.h"

namespace flyball::server {
namespace {

using Operation = AdmissionRequest::Operation;

json::Object KindValue(const GroupVersionKind& kind) {
  json::Object out;
  out.Set("group", std::string(kind.group));
  out.Set("version", std::string(kind.version));
  out.Set("kind", std::string(kind.kind));
  return out;
}

json::Object ResourceValue(const ServedResource& resource) {
  json::Object out;
  out.Set("group", std::string(resource.kind->group));
  out.Set("version", std::string(resource.kind->version));
  out.Set("resource", std::string(resource.kind->plural));
  return out;
}

void SetUnlessEmpty(json::Object& object, std::string_view key, std::string_view text) {
  if (!text.empty()) object.Set(key, std::string(text));
}

json::Array TextArray(const std::vector<std::string>& list) {
  json::Array out;
  for (const auto& item : list) out.push_back(item);
  return out;
}

json::Object UserValue(const User& user) {
  json::Object out;
  SetUnlessEmpty(out, "username", user.name);
  SetUnlessEmpty(out, "uid", user.uid);
  if (!user.groups.empty()) out.Set("groups", TextArray(user.groups));
  if (user.extra.empty()) return out;
  json::Object extra;
  for (const auto& [key, values] : user.extra) extra.Set(key, TextArray(values));
  out.Set("extra", std::move(extra));
  return out;
}

void AddDeleteOptions(const DeleteOptions& options, json::Object& out) {
  if (options.grace_seconds) out.Set("gracePeriodSeconds", *options.grace_seconds);
  if (options.uid || options.resource_version) {
    json::Object preconditions;
    if (options.uid) preconditions.Set("uid", *options.uid);
    if (options.resource_version) preconditions.Set("resourceVersion", *options.resource_version);
    out.Set("preconditions", std::move(preconditions));
  }
  if (options.orphan_dependents) out.Set("orphanDependents", *options.orphan_dependents);
  if (options.propagation_policy) out.Set("propagationPolicy", *options.propagation_policy);
}

// What upstream shows of a Namespace.
json::Value ShownNamespace(const StoredObject& object) {
  json::Value value = object.ToValue();
  auto& members = value.as_object();
  members.Erase("apiVersion");
  members.Erase("kind");
  if (json::Value* metadata = members.Find("metadata"); metadata && metadata->is_object())
    for (const char* hidden : {"managedFields", "ownerReferences", "selfLink"})
      metadata->as_object().Erase(hidden);
  return value;
}

}  // namespace

std::string_view AdmissionAttributes::operation() const {
  switch (request_.operation) {
    case Operation::kCreate:
      return "CREATE";
    case Operation::kUpdate:
      return "UPDATE";
    case Operation::kDelete:
      return "DELETE";
    case Operation::kConnect:
      return "CONNECT";
  }
  return {};
}

bool AdmissionAttributes::IsNamespaces() const {
  return resource().kind->group.empty() && resource().kind->plural == "namespaces";
}

std::string_view AdmissionAttributes::name() const {
  const json::Value* object = request_.object;
  if (request_.operation == Operation::kCreate && request_.subresource.empty() && object)
    return (*object)["metadata"]["name"].string_or(request_.name);
  return request_.name;
}

std::string_view AdmissionAttributes::namespace_name() const {
  if (IsNamespaces()) return name();
  return resource().kind->namespaced ? request_.namespace_name : std::string_view();
}

bool AdmissionAttributes::HasOwnBody() const {
  if (request_.subresource.empty()) return false;
  const auto* info = resource().kind->FindSubresource(request_.subresource);
  return info && !info->kind.empty() && info->kind != resource().kind->kind;
}

GroupVersionKind AdmissionAttributes::KindIn(const ServedResource& version) const {
  const auto& kind = *version.kind;
  if (const auto* info = request_.subresource.empty() ? nullptr : kind.FindSubresource(request_.subresource);
      info && !info->kind.empty()) {
    if (info->version.empty()) return {kind.group, kind.version, info->kind};
    return {info->group, info->version, info->kind};
  }
  return {kind.group, kind.version, kind.kind};
}

const api::TypeInfo* AdmissionAttributes::TypeIn(const ServedResource& version) const {
  if (!HasOwnBody()) return &version.kind->Type();
  const auto kind = KindIn(version);
  return api::FindKindType(kind.group, kind.version, kind.kind);
}

const std::vector<ResourcePtr>& AdmissionAttributes::Equivalents() {
  if (equivalents_) return *equivalents_;
  auto& found = equivalents_.emplace();
  if (resource().prefix.empty()) return found;
  for (const auto& other : catalog_.snapshot()->ordered) {
    if (other->prefix != resource().prefix || other->disabled) continue;
    if (request_.subresource.empty() || other->kind->HasSubresource(request_.subresource))
      found.push_back(other);
  }
  return found;
}

// Objects of custom kinds are in the version of the request, those of others as they are stored.
Task<Status> AdmissionAttributes::Convert(const ServedResource& version) {
  const bool own = version.kind->version == resource().kind->version;
  if (own || HasOwnBody() || !version.converter || converted_.contains(&version)) co_return Status();
  std::vector<json::Value> objects;
  if (request_.object != nullptr) objects.push_back(*request_.object);
  if (request_.old_object != nullptr) objects.push_back(*request_.old_object);
  const std::string api_version = version.kind->ApiVersion();
  auto converting = version.converter->Convert(std::move(objects), api_version, request_.scope.executor);
  FLYBALL_CO_ASSIGN(std::vector<json::Value> there, co_await std::move(converting));
  Converted& converted = converted_[&version];
  if (request_.object != nullptr) converted.object = std::move(there.front());
  if (request_.old_object != nullptr) converted.old_object = std::move(there.back());
  co_return Status();
}

Task<Result<json::Value>> AdmissionAttributes::BackToRequest(const ServedResource& version,
                                                             json::Value object) const {
  if (HasOwnBody()) co_return object;
  if (version.conversion) co_return version.conversion->to_stored(std::move(object));
  if (!resource().converter || version.kind->version == resource().kind->version) co_return object;
  std::vector<json::Value> one;
  one.push_back(std::move(object));
  const std::string api_version = resource().kind->ApiVersion();
  auto converting = resource().converter->Convert(std::move(one), api_version, request_.scope.executor);
  FLYBALL_CO_ASSIGN(std::vector<json::Value> there, co_await std::move(converting));
  co_return std::move(there.front());
}

AdmissionAttributes::Objects AdmissionAttributes::In(const ServedResource& version) {
  const Objects stored{request_.object, request_.old_object};
  if (HasOwnBody() || !(version.conversion || converted_.contains(&version))) return stored;
  auto [entry, is_new] = converted_.try_emplace(&version);
  Converted& converted = entry->second;
  if (is_new) {
    const auto& convert = version.conversion->from_stored;
    if (stored.object) converted.object = convert(*stored.object);
    if (stored.old_object) converted.old_object = convert(*stored.old_object);
  }
  return {converted.object ? &*converted.object : nullptr,
          converted.old_object ? &*converted.old_object : nullptr};
}

Result<LabelList> AdmissionAttributes::NamespaceLabels() const {
  const bool written = request_.operation == Operation::kCreate || request_.operation == Operation::kUpdate;
  const json::Value* object = request_.object;
  if (IsNamespaces() && request_.subresource.empty() && written && object) {
    LabelList labels;
    if (const auto& own = (*object)["metadata"]["labels"]; own.is_object())
      for (const auto& [key, value] : own.as_object()) labels.emplace_back(key, value.string_or(""));
    std::sort(labels.begin(), labels.end());
    return labels;
  }
  const auto namespaces = catalog_.Find("", "v1", "namespaces");
  const auto found = namespaces->cache->Get(namespace_name());
  if (!found) return Unexpected(NotFound(*namespaces->kind, namespace_name()));
  return found->labels();
}

Result<const json::Value*> AdmissionAttributes::NamespaceObject() {
  if (IsNamespaces() || namespace_name().empty()) return nullptr;
  if (!namespace_object_) {
    const auto namespaces = catalog_.Find("", "v1", "namespaces");
    const auto found = namespaces->cache->Get(namespace_name());
    if (!found) return Unexpected(NotFound(*namespaces->kind, namespace_name()));
    namespace_object_ = ShownNamespace(*found);
  }
  return &*namespace_object_;
}

json::Value AdmissionAttributes::RequestValue(const ServedResource& matched,
                                              const ServedResource& kind_of) const {
  json::Object out;
  out.Set("uid", "");
  out.Set("kind", KindValue(KindIn(kind_of)));
  out.Set("resource", ResourceValue(matched));
  SetUnlessEmpty(out, "subResource", subresource());
  out.Set("requestKind", KindValue(KindIn(resource())));
  out.Set("requestResource", ResourceValue(resource()));
  SetUnlessEmpty(out, "requestSubResource", subresource());
  SetUnlessEmpty(out, "name", name());
  SetUnlessEmpty(out, "namespace", namespace_name());
  out.Set("operation", std::string(operation()));
  out.Set("userInfo", UserValue(request_.scope.user));
  out.Set("object", json::Value());
  out.Set("oldObject", json::Value());
  out.Set("dryRun", request_.scope.dry_run);
  out.Set("options", Options());
  return out;
}

json::Value AdmissionAttributes::Options() const {
  if (request_.operation == Operation::kConnect) return {};
  const bool deletes = request_.operation == Operation::kDelete;
  json::Object out;
  out.Set("kind", deletes                                    ? "DeleteOptions"
                  : request_.operation == Operation::kCreate ? "CreateOptions"
                                                             : "UpdateOptions");
  out.Set("apiVersion", "meta.k8s.io/v1");
  if (deletes && request_.delete_options) AddDeleteOptions(*request_.delete_options, out);
  if (request_.scope.dry_run) out.Set("dryRun", json::Array{"All"});
  if (deletes) return out;
  SetUnlessEmpty(out, "fieldManager", request_.scope.field_manager);
  SetUnlessEmpty(out, "fieldValidation", request_.scope.info.query.Get("fieldValidation"));
  return out;
}

cel::AuthorizerQuery AdmissionAttributes::RequestResource() const {
  cel::AuthorizerQuery query;
  query.group = resource().kind->group;
  query.resource = resource().kind->plural;
  query.subresource = subresource();
  query.name_space = namespace_name();
  query.name = name();
  return query;
}

bool IsAdmissionConfiguration(const ServedResource& resource) {
  static constexpr std::array<std::string_view, 6> kKinds = {
      "ValidatingWebhookConfiguration",   "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy",
      "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy",      "MutatingAdmissionPolicyBinding"};
  return resource.kind->group == "admissionregistration.k8s.io" &&
         std::find(kKinds.begin(), kKinds.end(), resource.kind->kind) != kKinds.end();
}

bool IsExcludedReview(const ServedResource& resource) {
  const auto& kind = *resource.kind;
  if (kind.group == "authentication.k8s.io")
    return kind.plural == "selfsubjectreviews" || kind.plural == "tokenreviews";
  return kind.group == "authorization.k8s.io" &&
         (kind.plural == "localsubjectaccessreviews" || kind.plural == "selfsubjectaccessreviews" ||
          kind.plural == "selfsubjectrulesreviews" || kind.plural == "subjectaccessreviews");
}

}  // namespace flyball::server
