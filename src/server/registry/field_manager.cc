#include "server/registry/field_manager.h"

#include "api/apply/apply.h"
#include "api/apply/field_set.h"
#include "api/apply/managed_fields.h"
#include "json/json.h"
#include "server/registry/certificate_requests.h"
#include "server/registry/object_codec.h"

namespace flyball::server {
namespace {

const api::FieldSet* CertificateResetFields(std::string_view subresource) {
  static const api::FieldSet all({{"spec"}, {"status"}});
  static const api::FieldSet not_certificate({{"spec"}, {"status", "conditions"}});
  static const api::FieldSet not_approval({{"spec"}, {"status", "certificate"}});
  if (subresource.empty()) return &all;
  return subresource == "status" ? &not_certificate : &not_approval;
}

// What an endpoint may not change is never owned through it (upstream: the strategies' GetResetFields).
const api::FieldSet* ResetFields(const ServedResource& resource, std::string_view subresource) {
  static const api::FieldSet status({{"status"}});
  static const api::FieldSet spec({{"spec"}});
  static const api::FieldSet spec_and_metadata({{"spec"}, {"metadata"}});
  if (IsCertificateRequest(resource)) return CertificateResetFields(subresource);
  if (!resource.kind->HasSubresource("status")) return nullptr;
  if (subresource.empty()) return &status;
  if (subresource != "status") return nullptr;
  return resource.custom ? &spec_and_metadata : &spec;
}

api::FieldWriter WriterOf(const RequestScope& scope, const ServedResource& resource,
                          std::string_view subresource, const std::string& manager,
                          const std::string& version) {
  return {manager, subresource, version, scope.now, ResetFields(resource, subresource)};
}

const api::TypeInfo& StoredType(const ServedResource& resource) {
  return resource.cache->kind().Type();
}

}  // namespace

void TrackFields(const RequestScope& scope, const ServedResource& resource, const json::Value* old,
                 json::Value& object, std::string_view subresource) {
  const std::string manager = scope.Manager();
  const std::string version = resource.kind->ApiVersion();
  const auto writer = WriterOf(scope, resource, subresource, manager, version);
  if (!resource.conversion) return api::UpdateManagedFields(StoredType(resource), old, object, writer);
  // Fields are owned in the version they were written in.
  const json::Value old_served = old ? resource.conversion->from_stored(*old) : json::Value();
  json::Value served = resource.conversion->from_stored(object);
  api::UpdateManagedFields(resource.kind->Type(), old ? &old_served : nullptr, served, writer);
  json::Object& metadata = object["metadata"].as_object();
  if (auto* managed = served["metadata"].Find("managedFields"))
    metadata.Set("managedFields", std::move(*managed));
  else
    metadata.Erase("managedFields");
}

Result<json::Value> ApplyConfiguration(RequestScope& scope, const ServedResource& resource,
                                       const json::Value* live, const json::Value& config,
                                       std::string_view subresource) {
  const std::string manager = scope.Manager();
  const std::string version = resource.kind->ApiVersion();
  json::Value served;
  if (live && resource.conversion) {
    served = resource.conversion->from_stored(*live);
    live = &served;
  }
  FLYBALL_ASSIGN(api::Applied applied,
                 api::Apply(resource.kind->Type(), resource.kind->kind, live, config,
                            WriterOf(scope, resource, subresource, manager, version), scope.force));
  // Decoding sets defaults; the managed fields are not its business.
  json::Value managed;
  if (auto* fields = applied.object["metadata"].Find("managedFields")) managed = *fields;
  FLYBALL_ASSIGN(json::Value object, DecodeValue(scope, resource, std::move(applied.object)));
  if (!managed.is_null()) object["metadata"]["managedFields"] = std::move(managed);
  if (live) api::KeepTimesIfUnchanged(*live, object);
  return object;
}

}  // namespace flyball::server
