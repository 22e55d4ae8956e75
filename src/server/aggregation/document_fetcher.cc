#include "server/aggregation/document_fetcher.h"

#include <utility>

#include "api/openapi/merge.h"
#include "json/json.h"

namespace flyball::server {
namespace {

constexpr Duration kDiscoveryTimeout = std::chrono::seconds(5), kOpenApiTimeout = std::chrono::minutes(1);
// Several times the size of Kubernetes' own documents.
constexpr std::size_t kMaxDocument = 32u << 20;
// OpenAPI documents nest schemas, but not without end.
constexpr std::size_t kMaxDocumentDepth = 200;
constexpr int kOk = 200, kNotModified = 304, kNotFound = 404, kUnavailable = 503;

constexpr char kAcceptDiscovery[] = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

const User kDiscoveryUser{"system:kube-aggregator", "", {std::string(kMastersGroup)}, {}};
const User kResourceListUser{"system:kube-aggregator", "", {}, {}};
const User kOpenApiUser{"system:aggregator", "", {}, {}};

Error BadStatus(const std::string& path, int status) {
  return Error(Reason::kUnknown, path + " was answered with " + std::to_string(status));
}

Result<json::Value> ParseDocument(const std::string& text) {
  return json::Parse(text, {.max_depth = kMaxDocumentDepth});
}

}  // namespace

Task<Result<net::Response>> DocumentFetcher::Get(const RemoteApi& api, std::string path, net::Headers headers,
                                                 const User& user, Duration timeout) {
  FLYBALL_CO_ASSIGN(std::string url, client_->Resolve(api));
  auto get = client_->Get(api, std::move(url), std::move(path), std::move(headers), user,
                          {.timeout = timeout, .max_response_bytes = kMaxDocument}, executor_);
  auto response = co_await std::move(get);
  co_await ResumeOn(workers_);
  co_return response;
}

Task<Result<json::Array>> DocumentFetcher::FetchDiscovery(const RemoteApi& api) {
  net::Headers headers{{"accept", kAcceptDiscovery}};
  if (!discovery_etag_.empty()) headers.Set("if-none-match", discovery_etag_);
  auto get = Get(api, "/apis", std::move(headers), kDiscoveryUser, kDiscoveryTimeout);
  const auto response = co_await std::move(get);
  if (!response) co_return Unexpected(response.error());
  if (response->status == kUnavailable) co_return Unexpected(BadStatus("/apis", response->status));
  if (response->status != kNotModified || discovery_etag_.empty()) {
    if (response->status != kOk || !IsAggregatedDiscovery(response->headers.Get("content-type"))) {
      auto list = FetchResourceList(api);
      co_return co_await std::move(list);
    }
    FLYBALL_CO_ASSIGN(discovered_, ReadAggregatedDiscovery(response->body));
    discovery_etag_ = response->headers.Get("etag");
  }
  const auto found = discovered_.find({api.group, api.version});
  if (found == discovered_.end()) co_return json::Array();
  co_return found->second;
}

Task<Result<json::Array>> DocumentFetcher::FetchResourceList(const RemoteApi& api) {
  auto get = Get(api, api.Path(), {{"accept", "application/json"}}, kResourceListUser, kDiscoveryTimeout);
  const auto response = co_await std::move(get);
  if (!response) co_return Unexpected(response.error());
  if (response->status != kOk) co_return Unexpected(BadStatus(api.Path(), response->status));
  co_return ReadResourceList(response->body);
}

Task<Status> DocumentFetcher::FetchOpenApiV2(const RemoteApi& api) {
  net::Headers headers{{"accept", "application/json"}};
  if (!v2_etag_.empty()) headers.Set("if-none-match", v2_etag_);
  auto get = Get(api, "/openapi/v2", std::move(headers), kOpenApiUser, kOpenApiTimeout);
  const auto response = co_await std::move(get);
  if (!response) co_return Unexpected(response.error());
  if (response->status == kNotModified && !v2_etag_.empty()) co_return Status();
  v2_etag_.clear();
  if (response->status == kNotFound) last_.open_api_v2.clear();
  if (response->status == kNotFound) co_return Status();
  if (response->status != kOk) co_return Unexpected(BadStatus("/openapi/v2", response->status));
  FLYBALL_CO_ASSIGN(json::Value document, ParseDocument(response->body));
  api::FilterOpenApiV2(document, api.Path() + "/");
  last_.open_api_v2 = json::Write(document);
  v2_etag_ = response->headers.Get("etag");
  co_return Status();
}

Task<Result<bool>> DocumentFetcher::FetchOpenApiV3(const RemoteApi& api) {
  auto get = Get(api, "/openapi/v3", {{"accept", "application/json"}}, kOpenApiUser, kOpenApiTimeout);
  const auto response = co_await std::move(get);
  if (!response) co_return Unexpected(response.error());
  last_.open_api_v3_url.clear();
  if (response->status == kNotFound) co_return true;
  if (response->status != kOk) co_return Unexpected(BadStatus("/openapi/v3", response->status));
  FLYBALL_CO_ASSIGN(const json::Value index, ParseDocument(response->body));
  last_.open_api_v3_url = index["paths"][api.Path().substr(1)]["serverRelativeURL"].string_or("");
  co_return false;
}

Task<RemoteDocumentPtr> DocumentFetcher::Fetch(RemoteApiPtr api) {
  last_.discovery = {api->group, api->version, api->priority, {}, true};
  auto discovery = FetchDiscovery(*api);
  auto resources = co_await std::move(discovery);
  if (resources) {
    last_.discovery.resources = std::move(*resources);
    last_.discovery.stale = false;
    auto version_2 = FetchOpenApiV2(*api);
    const Status fetched = co_await std::move(version_2);
    auto version_3 = FetchOpenApiV3(*api);
    const auto none = co_await std::move(version_3);
    last_.open_api_v3.clear();
    if (const auto document = ParseDocument(last_.open_api_v2); none && *none && document)
      last_.open_api_v3 = json::Write(api::ConvertOpenApiV2ToV3(*document));
  }
  co_return std::make_shared<const RemoteDocument>(last_);
}

}  // namespace flyball::server
