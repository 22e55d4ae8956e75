#include "server/handlers/subresource_admission.h"

namespace flyball::server {

Task<Status> AdmitSubresource(ServerState& state, RequestScope& scope, json::Value& object) {
  AdmissionRequest request{AdmissionRequest::Operation::kCreate,
                           scope,
                           *scope.resource,
                           scope.info.subresource,
                           scope.info.namespace_name,
                           scope.info.name,
                           &object};
  FLYBALL_CO_TRY(co_await state.admission.Admit(request));
  co_return co_await state.admission.Validate(request);
}

}  // namespace flyball::server
