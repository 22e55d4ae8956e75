#include "server/registry/admission.h"

namespace flyball::server {

Task<Status> AdmissionPlugin::Admit(AdmissionRequest&) {
  co_return Status();
}
Task<Status> AdmissionPlugin::Validate(const AdmissionRequest&) {
  co_return Status();
}

Task<Status> AdmissionChain::Admit(AdmissionRequest& request) const {
  for (const auto& plugin : plugins_) FLYBALL_CO_TRY(co_await plugin->Admit(request));
  co_return Status();
}

Task<Status> AdmissionChain::Validate(const AdmissionRequest& request) const {
  for (const auto& plugin : plugins_) FLYBALL_CO_TRY(co_await plugin->Validate(request));
  co_return Status();
}

Error AdmissionForbidden(const AdmissionRequest& request, std::string_view message) {
  const auto& kind = *request.resource.kind;
  std::string name(request.name);
  if (name.empty() && request.object) name = (*request.object)["metadata"]["name"].string_or("");
  std::string text = kind.GroupResource();
  if (!name.empty()) text += " \"" + name + "\"";
  text += " is forbidden: ";
  text += message;
  return Error(Reason::kForbidden, 403, std::move(text),
               {.name = name, .group = std::string(kind.group), .kind = std::string(kind.plural)});
}

}  // namespace flyball::server
