#include "server/registry/admission.h"

namespace flyball::server {

Task<Status> AdmissionPlugin::Admit(AdmissionRequest&) {
  co_return Status();
}
Task<Status> AdmissionPlugin::Validate(const AdmissionRequest&) {
  co_return Status();
}

Task<Status> AdmissionChain::AdmitOnce(AdmissionRequest& request) const {
  for (const auto& plugin : plugins_)
    if (plugin->WantsAdmit(request)) FLYBALL_CO_TRY(co_await plugin->Admit(request));
  co_return Status();
}

Task<Status> AdmissionChain::Admit(AdmissionRequest& request) const {
  FLYBALL_CO_TRY(co_await AdmitOnce(request));
  if (!request.reinvocation.requested()) co_return Status();
  request.reinvocation.Begin();
  co_return co_await AdmitOnce(request);
}

Task<Status> AdmissionChain::Validate(const AdmissionRequest& request) const {
  for (const auto& plugin : plugins_)
    if (plugin->WantsValidate(request)) FLYBALL_CO_TRY(co_await plugin->Validate(request));
  co_return Status();
}

namespace {

// The object's name, or as much of it as is known (upstream: extractResourceName).
std::string NameForError(const AdmissionRequest& request) {
  if (!request.name.empty()) return std::string(request.name);
  const json::Value* object = request.object;
  if (!object) return "Unknown";
  const json::Value& metadata = (*object)["metadata"];
  if (const auto name = metadata["name"].string_or(""); !name.empty()) return std::string(name);
  if (const auto prefix = metadata["generateName"].string_or(""); !prefix.empty()) return std::string(prefix);
  return "Unknown";
}

}  // namespace

Error AdmissionForbidden(const AdmissionRequest& request, std::string_view message) {
  const auto& kind = *request.resource.kind;
  std::string name = NameForError(request);
  std::string text = kind.GroupResource() + " \"" + name + "\" is forbidden: " + std::string(message);
  return Error(Reason::kForbidden, 403, std::move(text),
               {.name = std::move(name), .group = std::string(kind.group), .kind = std::string(kind.plural)});
}

}  // namespace flyball::server
