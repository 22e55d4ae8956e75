#include <algorithm>
#include <optional>
#include <utility>

#include "api/kubernetes_version.h"
#include "api/openapi/merge.h"
#include "api/openapi/openapi.h"
#include "json/json.h"
#include "net/http/http_date.h"
#include "server/documents/document_kinds.h"
#include "server/documents/documents.h"

namespace flyball::server {

namespace {

// A year: for ever, in the eyes of a cache.
constexpr Duration kImmutable = std::chrono::hours(24 * 365);

// "1.37" of "v1.37.1": what documents say of themselves.
std::string_view DocumentVersion() {
  constexpr std::string_view kVersion = api::kKubernetesVersion;
  return kVersion.substr(1, kVersion.rfind('.') - 1);
}

RemoteDocumentPtr FindRemote(const RemoteDocuments::Snapshot& remotes, std::string_view group,
                             std::string_view version) {
  for (const auto& document : remotes.documents)
    if (document->discovery.group == group && document->discovery.version == version) return document;
  return nullptr;
}

// "apis/<group>/<version>", or "api/v1".
std::string IndexKey(const api::RemoteVersion& version) {
  return (version.group.empty() ? "api/" : "apis/" + version.group + "/") + version.version;
}

}  // namespace

std::string Documents::WholeOpenApiV2() const {
  std::string own = api::OpenApiV2Document(KindsOf(state_.catalog).list, DocumentVersion());
  const auto remotes = remotes_.snapshot();
  const auto has_one = [](const RemoteDocumentPtr& document) { return !document->open_api_v2.empty(); };
  if (std::none_of(remotes->documents.begin(), remotes->documents.end(), has_one)) return own;
  auto whole = json::Parse(own);
  if (!whole) return own;
  for (const auto& document : remotes->documents)
    if (auto other = json::Parse(document->open_api_v2)) api::MergeOpenApiV2(*whole, std::move(*other));
  return json::Write(*whole);
}

std::string Documents::OpenApiV3Index() const {
  std::string own = api::OpenApiV3Index(KindsOf(state_.catalog).list);
  const auto remotes = remotes_.snapshot();
  if (remotes->documents.empty()) return own;
  auto index = json::Parse(own);
  if (!index) return own;
  for (const auto& document : remotes->documents) {
    const std::string key = IndexKey(document->discovery);
    std::string url = document->open_api_v3_url;
    if (url.empty() && !document->open_api_v3.empty())
      url = "/openapi/v3/" + key + "?hash=" + api::DocumentHash(document->open_api_v3);
    if (!url.empty()) (*index)["paths"][key]["serverRelativeURL"] = url;
  }
  return json::Write(*index);
}

Answer Documents::GroupOpenApi(const std::string& group, const std::string& version,
                               const RequestScope& scope, const net::Request& request) {
  const std::string path = "/openapi/v3/" + (group.empty() ? "api" : "apis/" + group) + "/" + version;
  Answer answer = Keep(path, request, [&] {
    const auto kinds = KindsOf(state_.catalog);
    Answer document{200, "application/json",
                    api::OpenApiV3Document(kinds.list, group, version, DocumentVersion()).value_or("")};
    document.headers.Set("etag", '"' + api::OpenApiV3Hash(kinds.list, group, version) + '"');
    return document;
  });
  return ByHash(path, std::move(answer), scope);
}

// Whoever asks for the hash of the index may keep the document for ever; an old hash leads to the new one.
Answer Documents::ByHash(const std::string& path, Answer answer, const RequestScope& scope) {
  const auto asked = scope.info.query.Get("hash");
  if (asked.empty()) return answer;
  const auto etag = answer.headers.Get("etag");
  if ('"' + std::string(asked) + '"' != etag) {
    answer.headers.Set("location", path + "?hash=" + std::string(etag.substr(1, etag.size() - 2)));
    answer.code = 301;
    answer.body.clear();
    return answer;
  }
  answer.headers.Set("cache-control", "public, immutable");
  answer.headers.Set("expires", std::string(net::HttpDate(scope.now + kImmutable)));
  return answer;
}

// The documents of paths that serve no kind.
std::optional<Answer> Documents::InformationOpenApi(std::string_view path, const RequestScope& scope,
                                                    const net::Request& request) {
  constexpr std::string_view kPrefix = "/openapi/v3/";
  if (!path.starts_with(kPrefix)) return std::nullopt;
  const auto kinds = KindsOf(state_.catalog);
  const std::string name(path.substr(kPrefix.size()));
  auto text = api::OpenApiV3Information(kinds.list, name, DocumentVersion());
  if (!text) return std::nullopt;
  Answer answer = Keep(std::string(path), request, [&] {
    Answer document{200, "application/json", std::move(*text)};
    document.headers.Set("etag", '"' + api::OpenApiV3InformationHash(name) + '"');
    return document;
  });
  return ByHash(std::string(path), std::move(answer), scope);
}

Result<Answer> Documents::OpenApi(std::string_view path, const RequestScope& scope,
                                  const net::Request& request) {
  if (path == "/openapi/v2") {
    // kubectl before 1.29 asks for protobuf only.
    if (request.headers.Get("accept").find("proto-openapi.spec.v2") != std::string_view::npos &&
        request.headers.Get("accept").find("application/json") == std::string_view::npos)
      return Keep("openapi v2 protobuf", request, [&] {
        return Answer{200, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
                      api::OpenApiV2Protobuf(WholeOpenApiV2())};
      });
    return Keep("openapi v2", request, [&] { return Answer{200, "application/json", WholeOpenApiV2()}; });
  }
  if (path == "/openapi/v3")
    return Keep("openapi v3", request, [&] { return Answer{200, "application/json", OpenApiV3Index()}; });
  if (auto information = InformationOpenApi(path, scope, request)) return std::move(*information);
  const auto parts = SplitPath(path);
  if (parts.size() < 4 || parts[1] != "v3") return NotFoundPage();
  const bool core = parts[2] == "api" && parts.size() == 4;
  const bool grouped = parts[2] == "apis" && parts.size() == 5;
  if (!core && !grouped) return NotFoundPage();
  const std::string group(core ? "" : parts[3]);
  const std::string version(parts.back());
  if (const auto remote = FindRemote(*remotes_.snapshot(), group, version))
    return remote->open_api_v3.empty() ? NotFoundPage()
                                       : Answer{200, "application/json", remote->open_api_v3};
  if (!state_.catalog.snapshot()->HasGroupVersion(group, version)) return NotFoundPage();
  return GroupOpenApi(group, version, scope, request);
}

}  // namespace flyball::server
