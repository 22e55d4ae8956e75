#include "server/registry/field_manager.h"

#include <set>
#include <string>

#include "api/apply/apply.h"
#include "api/apply/field_set.h"
#include "api/apply/managed_fields.h"
#include "json/json.h"
#include "server/registry/certificate_requests.h"
#include "server/registry/object_codec.h"
#include "server/request/api_errors.h"

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
                          const std::string& version, const ChangesElsewhere& elsewhere) {
  return {manager, subresource, version, scope.now, ResetFields(resource, subresource), elsewhere};
}

// The versions, other than that of the object, in which somebody owns fields of it.
std::set<std::string> OwnersVersions(const json::Value& object) {
  std::set<std::string> versions;
  if (const auto& owners = object["metadata"]["managedFields"]; owners.is_array())
    for (const auto& owner : owners.as_array()) versions.emplace(owner["apiVersion"].string_or(""));
  versions.erase(std::string(object["apiVersion"].string_or("")));
  return versions;
}

// What was applied fits the schema, but the object that came of it does not decode: a time that is none.
Error NotConverted(const std::string& version, std::string_view kind, const json::Value& metadata,
                   const Error& why) {
  const std::string gvk =
      (version.find('/') == std::string::npos ? "/" : "") + version + ", Kind=" + std::string(kind);
  const std::string problem = DecodingProblem(why);
  const bool base64 = problem.starts_with("illegal base64");
  return Error(Reason::kUnknown, 500,
               "failed to convert new object (" + std::string(metadata["namespace"].string_or("")) + "/" +
                   std::string(metadata["name"].string_or("")) + "; " + gvk +
                   ") to proper version: unable to convert unstructured object to " + gvk + ": " +
                   (base64 ? "error decoding from json: " : "") + problem);
}

}  // namespace

Task<Result<ChangesElsewhere>> FindChangesElsewhere(RequestScope& scope, const ServedResource& resource,
                                                    const json::Value& old, const json::Value& object) {
  ChangesElsewhere out;
  if (!resource.converter || !resource.converter->IsRemote()) co_return out;
  for (const std::string& version : OwnersVersions(old)) {
    const api::KindInfo* kind = resource.converter->KindOf(version);
    if (kind == nullptr) continue;
    std::vector<json::Value> both{old, object};
    auto converting = resource.converter->Convert(std::move(both), version, scope.executor);
    FLYBALL_CO_ASSIGN(const std::vector<json::Value> there, co_await std::move(converting));
    out.push_back({version, api::CompareObjects(kind->Type(), there[0], there[1])});
  }
  co_return out;
}

void TrackFields(const RequestScope& scope, const ServedResource& resource, const json::Value* old,
                 json::Value& object, std::string_view subresource, const ChangesElsewhere& elsewhere) {
  const std::string manager = scope.Manager();
  const std::string version = resource.kind->ApiVersion();
  const auto writer = WriterOf(scope, resource, subresource, manager, version, elsewhere);
  if (!resource.conversion)
    return api::UpdateManagedFields(resource.working_kind().Type(), old, object, writer);
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
                                       std::string_view subresource, const ChangesElsewhere& elsewhere) {
  const std::string manager = scope.Manager();
  const std::string version = resource.kind->ApiVersion();
  json::Value served;
  if (live && resource.conversion) {
    served = resource.conversion->from_stored(*live);
    live = &served;
  }
  FLYBALL_ASSIGN(
      api::Applied applied,
      api::Apply(resource.kind->Type(), resource.kind->kind, live, config,
                 WriterOf(scope, resource, subresource, manager, version, elsewhere), scope.force));
  // Decoding sets defaults; the managed fields are not its business.
  json::Value managed;
  if (auto* fields = applied.object["metadata"].Find("managedFields")) managed = *fields;
  auto decoded = DecodeValue(scope, resource, std::move(applied.object));
  if (!decoded && decoded.error().code() == 400 && !resource.custom)
    return Unexpected(NotConverted(version, resource.kind->kind, config["metadata"], decoded.error()));
  if (!decoded) return Unexpected(decoded.error());
  json::Value object = std::move(*decoded);
  if (!managed.is_null()) object["metadata"]["managedFields"] = std::move(managed);
  if (live) api::KeepTimesIfUnchanged(*live, object);
  return object;
}

}  // namespace flyball::server
