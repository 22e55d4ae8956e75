#include "api/kubernetes_version.h"
#include "api/openapi/openapi.h"
#include "net/http/http_date.h"
#include "server/documents/document_kinds.h"
#include "server/documents/documents.h"

namespace flyball::server {

namespace {

// A year: for ever, in the eyes of a cache.
constexpr Duration kImmutable = std::chrono::hours(24 * 365);

}  // namespace

Answer Documents::GroupOpenApi(const std::string& group, const std::string& version,
                               const RequestScope& scope, const net::Request& request) {
  const std::string path = "/openapi/v3/" + (group.empty() ? "api" : "apis/" + group) + "/" + version;
  Answer answer = Keep(path, request, [&] {
    const auto kinds = KindsOf(state_.catalog);
    Answer document{200, "application/json",
                    api::OpenApiV3Document(kinds.list, group, version, api::kKubernetesVersion).value_or("")};
    document.headers.Set("etag", '"' + api::OpenApiV3Hash(kinds.list, group, version) + '"');
    return document;
  });
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

Result<Answer> Documents::OpenApi(std::string_view path, const RequestScope& scope,
                                  const net::Request& request) {
  if (path == "/openapi/v2") {
    // kubectl before 1.29 asks for protobuf only.
    if (request.headers.Get("accept").find("proto-openapi.spec.v2") != std::string_view::npos &&
        request.headers.Get("accept").find("application/json") == std::string_view::npos)
      return Keep("openapi v2 protobuf", request, [&] {
        const auto kinds = KindsOf(state_.catalog);
        return Answer{200, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
                      api::OpenApiV2Protobuf(api::OpenApiV2Document(kinds.list, api::kKubernetesVersion))};
      });
    return Keep("openapi v2", request, [&] {
      const auto kinds = KindsOf(state_.catalog);
      return Answer{200, "application/json", api::OpenApiV2Document(kinds.list, api::kKubernetesVersion)};
    });
  }
  if (path == "/openapi/v3")
    return Keep("openapi v3", request, [&] {
      const auto kinds = KindsOf(state_.catalog);
      return Answer{200, "application/json", api::OpenApiV3Index(kinds.list)};
    });
  const auto parts = SplitPath(path);
  if (parts.size() < 4 || parts[1] != "v3") return NotFoundPage();
  const bool core = parts[2] == "api" && parts.size() == 4;
  const bool grouped = parts[2] == "apis" && parts.size() == 5;
  if (!core && !grouped) return NotFoundPage();
  const std::string group(core ? "" : parts[3]);
  const std::string version(parts.back());
  if (!state_.catalog.snapshot()->HasGroupVersion(group, version)) return NotFoundPage();
  return GroupOpenApi(group, version, scope, request);
}

}  // namespace flyball::server
