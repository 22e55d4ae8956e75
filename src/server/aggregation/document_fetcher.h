// DocumentFetcher: gets the discovery and OpenAPI documents of one group version from the server behind its
// APIService (upstream: the discovery manager and the OpenAPI aggregation controllers).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/run/executor.h"
#include "base/run/task.h"
#include "server/aggregation/remote_client.h"
#include "server/aggregation/remote_discovery.h"
#include "server/aggregation/remote_documents.h"

namespace flyball::server {

// Confined to the one who fetches: a fetch at a time.
class DocumentFetcher {
 public:
  // `workers`: where documents, which may be large, are read.
  DocumentFetcher(std::shared_ptr<RemoteClient> client, Executor& executor, Executor& workers)
      : client_(std::move(client)), executor_(executor), workers_(workers) {}

  // The documents as they are now. What cannot be had is left out: discovery is then stale, an OpenAPI
  // document the one of the last time.
  Task<RemoteDocumentPtr> Fetch(RemoteApiPtr api);

 private:
  Task<Result<net::Response>> Get(const RemoteApi& api, std::string path, net::Headers headers,
                                  const User& user, Duration timeout);
  Task<Result<json::Array>> FetchDiscovery(const RemoteApi& api);
  Task<Result<json::Array>> FetchResourceList(const RemoteApi& api);
  Task<Status> FetchOpenApiV2(const RemoteApi& api);
  // True if the other server has none at all.
  Task<Result<bool>> FetchOpenApiV3(const RemoteApi& api);

  const std::shared_ptr<RemoteClient> client_;
  Executor& executor_;
  Executor& workers_;
  std::string discovery_etag_, v2_etag_;
  DiscoveredVersions discovered_;  // what discovery_etag_ is of
  RemoteDocument last_;
};

}  // namespace flyball::server
