#include "server/documents/documents.h"

#include <algorithm>
#include <utility>

#include "api/kubernetes_version.h"
#include "api/schema/feature_gates.h"
#include "api/wire/discovery.h"
#include "base/observe/build_info.h"
#include "json/json.h"
#include "server/documents/document_kinds.h"
#include "server/documents/health.h"
#include "server/request/api_errors.h"
#include "server/request/negotiation.h"

namespace flyball::server {
namespace {

// The OpenAPI document of hundreds of custom resource definitions takes as much memory as all of them, and is
// hardly ever asked for.
constexpr std::size_t kMostKept = 8 << 20;

// The version document: what kubectl version shows.
json::Value VersionValue() {
  const std::string major = std::to_string(api::kKubernetesMajor);
  const int emulated = api::ProcessGates().minor();
  return json::Object{{"major", major},
                      {"minor", std::to_string(api::kKubernetesMinor)},
                      {"emulationMajor", major},
                      {"emulationMinor", std::to_string(emulated)},
                      {"minCompatibilityMajor", major},
                      {"minCompatibilityMinor", std::to_string(emulated - 1)},
                      {"gitVersion", api::kKubernetesVersion},
                      {"gitCommit", Build().commit},
                      {"gitTreeState", Build().tree_state},
                      {"buildDate", Build().date},
                      {"goVersion", "none"},
                      {"compiler", "g++"},
                      {"platform", "linux/amd64"}};
}

// A page of one form only: whether the client takes it.
bool Accepts(std::string_view accept, std::string_view type) {
  return accept.empty() || accept.find(type) != std::string_view::npos ||
         accept.find("*/*") != std::string_view::npos ||
         accept.find("application/*") != std::string_view::npos;
}

}  // namespace

std::vector<std::string> Documents::RootPaths() const {
  const Kinds kinds = KindsOf(state_.catalog);
  const auto remotes = remotes_.snapshot();
  std::vector<std::string> paths{"/.well-known/openid-configuration", "/api", "/api/v1", "/apis", "/apis/"};
  for (const auto group : api::GroupsOf(kinds.list, remotes->versions)) {
    const std::string base = "/apis/" + std::string(group);
    paths.push_back(base);
    for (const auto version : api::VersionsOf(kinds.list, group, remotes->versions))
      paths.push_back(base + "/" + std::string(version));
  }
  for (const auto page : {"/flagz", "/metrics", "/openapi/v2", "/openapi/v3", "/openapi/v3/",
                          "/openid/v1/jwks", "/statusz", "/version"})
    paths.emplace_back(page);
  for (std::string& path : HealthPaths(checks_)) paths.push_back(std::move(path));
  std::sort(paths.begin(), paths.end());
  return paths;
}

Result<std::optional<Answer>> Documents::ComponentPage(std::string_view path, const RequestScope& scope,
                                                       std::string_view accept) const {
  if (path == "/statusz" && api::GateEnabled("ComponentStatusz")) {
    FLYBALL_ASSIGN(Answer page, StatusPage(facts_, RootPaths(), scope.now, accept));
    return std::optional(std::move(page));
  }
  if (path == "/flagz" && api::GateEnabled("ComponentFlagz")) {
    FLYBALL_ASSIGN(Answer page, FlagsPage(facts_, accept));
    return std::optional(std::move(page));
  }
  return std::optional<Answer>();
}

void Documents::AddCheck(std::string name, std::function<Status()> check) {
  checks_.emplace_back(std::move(name), std::move(check));
}

void Documents::AddPage(std::string path, std::function<Answer()> page) {
  pages_[std::move(path)] = std::move(page);
}

Result<std::optional<Answer>> Documents::Get(const RequestScope& scope, const net::Request& request) {
  std::string_view path = scope.info.path;
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const auto accept = request.headers.Get("accept");
  if (const auto page = pages_.find(path); page != pages_.end()) {
    Answer answer = page->second();
    if (answer.content_type == "application/jwk-set+json" && !Accepts(accept, answer.content_type))
      return std::optional(
          Answer{406, "text/plain; charset=utf-8",
                 "406: Not Acceptable\n\nAvailable representations: application/jwk-set+json"});
    return std::optional(std::move(answer));
  }
  if (path == "/statusz" || path == "/flagz") return ComponentPage(path, scope, accept);
  if (auto health = Health(scope)) return health;
  if (path == "/version") return std::optional(Answer{200, "application/json", json::Write(VersionValue())});
  if (path == "/metrics")
    return std::optional(Answer{200, "text/plain; version=0.0.4; charset=utf-8", state_.metrics.Serialize()});
  if (path == "/") {
    const auto paths = RootPaths();
    return std::optional(
        Answer{200, "application/json",
               json::Write(json::Object{{"paths", json::Array(paths.begin(), paths.end())}})});
  }
  if (path.starts_with("/openapi/")) {
    FLYBALL_ASSIGN(Answer answer, OpenApi(path, scope, request));
    return std::optional(std::move(answer));
  }
  if (path == "/api" || path == "/apis" || path.starts_with("/api/") || path.starts_with("/apis/")) {
    FLYBALL_ASSIGN(Answer answer, Discovery(path, request));
    return std::optional(std::move(answer));
  }
  return std::optional<Answer>();
}

void Documents::SetAddress(std::string address) {
  MutexLock lock(mu_);
  address_ = std::move(address);
}

std::string Documents::Address() const {
  MutexLock lock(mu_);
  return address_;
}

Answer Documents::Keep(const std::string& key, const net::Request& request,
                       const std::function<Answer()>& make) {
  const std::pair generation(state_.catalog.snapshot()->generation, remotes_.snapshot()->generation);
  Cached cached;
  {
    MutexLock lock(mu_);
    if (generation_ != generation) {
      kept_.clear();
      generation_ = generation;
    }
    if (const auto it = kept_.find(key); it != kept_.end()) cached = it->second;
  }
  const std::string client_has(request.headers.Get("if-none-match"));
  if (cached.etag.empty() || (!cached.has_body && client_has != cached.etag)) {
    cached.answer = make();
    cached.etag = cached.answer.headers.Get("etag");
    if (cached.etag.empty()) cached.etag = api::DocumentETag(cached.answer.body);
    Cached kept{.answer = {}, .etag = cached.etag, .has_body = cached.answer.body.size() <= kMostKept};
    if (kept.has_body) kept.answer = cached.answer;
    MutexLock lock(mu_);
    if (generation_ == generation) kept_[key] = std::move(kept);
  }
  cached.answer.headers.Set("etag", cached.etag);
  cached.answer.headers.Set("vary", "Accept");
  if (client_has == cached.etag) {
    cached.answer.code = 304;
    cached.answer.body.clear();
  }
  return cached.answer;
}

Result<Answer> Documents::Discovery(std::string_view path, const net::Request& request) {
  const auto parts = SplitPath(path);
  const bool core = parts[0] == "api";
  const auto remotes = remotes_.snapshot();
  if (parts.size() == 1) {
    FLYBALL_ASSIGN(const AnswerFormat format, NegotiateDiscovery(request.headers.Get("accept")));
    if (format.form == AnswerForm::kAggregatedDiscovery) {
      return Keep(std::string(path) + " aggregated", request, [&] {
        const auto kinds = KindsOf(state_.catalog);
        Answer document{200, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
                        api::AggregatedDiscoveryDocument(kinds.list, core, remotes->versions)};
        document.headers.Set("cache-control", "public");
        return document;
      });
    }
    if (core) {
      MutexLock lock(mu_);
      return Answer{200, "application/json", api::ApiVersionsDocument(address_)};
    }
    return Answer{200, "application/json",
                  api::ApiGroupListDocument(KindsOf(state_.catalog).list, remotes->versions)};
  }
  const auto kinds = KindsOf(state_.catalog);
  std::optional<std::string> document;
  if (core && parts.size() == 2) document = api::ApiResourceListDocument(kinds.list, "", parts[1]);
  if (!core && parts.size() == 2) {
    document = api::ApiGroupDocument(kinds.list, parts[1], remotes->versions);
    if (!document) return NotFoundPage();
  }
  if (!core && parts.size() == 3) document = api::ApiResourceListDocument(kinds.list, parts[1], parts[2]);
  if (!document) return Unexpected(NoSuchResource());
  return Answer{200, "application/json", std::move(*document)};
}

std::optional<Answer> Documents::Health(const RequestScope& scope) const {
  std::string_view path = scope.info.path;
  std::string_view which;
  for (const std::string_view root : {"/healthz", "/livez", "/readyz"})
    if (path == root || (path.starts_with(root) && path[root.size()] == '/')) which = root;
  if (which.empty()) return std::nullopt;
  std::string_view single = path.substr(which.size());
  if (single == "/") return NotFoundPage();
  if (!single.empty()) single.remove_prefix(1);
  const auto excluded = scope.info.query.GetAll("exclude");
  std::string report;
  bool healthy = true, found = single.empty();
  const auto checks = HealthChecksOf(which, checks_, [this] {
    return shutting_down_ ? Status(Unexpected(InternalError("process is shutting down"))) : Status();
  });
  for (const auto& [name, check] : checks) {
    if (!single.empty() && name != single) continue;
    found = true;
    if (std::find(excluded.begin(), excluded.end(), name) != excluded.end()) {
      report += "[+]" + name + " excluded: ok\n";
      continue;
    }
    const auto status = check();
    healthy &= status.has_value();
    report += status ? "[+]" + name + " ok\n" : "[-]" + name + " failed: reason withheld\n";
  }
  if (!found) return NotFoundPage();
  const std::string root(which.substr(1));
  if (!healthy) return TextAnswer(500, report + root + " check failed\n");
  if (!scope.info.query.Has("verbose") || !single.empty()) return TextAnswer(200, "ok");
  return TextAnswer(200, report + root + " check passed\n");
}

}  // namespace flyball::server
