#include "server/endpoints/api_endpoints.h"

#include "server/endpoints/finalize.h"
#include "server/endpoints/nodes/pod_log.h"
#include "server/endpoints/nodes/pod_streams.h"
#include "server/endpoints/nodes/proxy.h"
#include "server/endpoints/pod_endpoints.h"
#include "server/endpoints/reviews.h"
#include "server/endpoints/scale.h"
#include "server/endpoints/token.h"

namespace flyball::server {

void AddApiEndpoints(EndpointTable& table, const std::shared_ptr<TransportCache>& nodes,
                     ServiceAccountTokens& tokens, std::shared_ptr<const LocalComponents> components) {
  AddReviewEndpoints(table);
  AddScaleEndpoint(table);
  AddPodEndpoints(table);
  AddTokenEndpoint(table, tokens);
  AddFinalizeEndpoints(table);
  AddPodLogEndpoint(table, nodes);
  AddPodStreamEndpoints(table, nodes);
  AddProxyEndpoints(table, nodes);
  AddComponentStatusEndpoint(table, std::move(components));
}

}  // namespace flyball::server
