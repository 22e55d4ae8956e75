// Documents: everything the server says of itself: discovery, OpenAPI, version, health, metrics. Built when
// first asked for and kept until the catalog changes.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/run/mutex.h"
#include "net/http/http.h"
#include "server/aggregation/remote_documents.h"
#include "server/documents/component_pages.h"
#include "server/registry/server_state.h"
#include "server/request/answer.h"

namespace flyball::server {

// Thread-safe.
class Documents {
 public:
  // `remotes`: the documents of servers behind this one, which become parts of its own; it outlives this.
  Documents(ServerState& state, const RemoteDocuments& remotes) : state_(state), remotes_(remotes) {}

  // "host:port" where clients find the server, shown in /api.
  void SetAddress(std::string address);
  std::string Address() const;

  // Health checks by name ("ping", "etcd", "poststarthook/..."), in this order. Before serving.
  void AddCheck(std::string name, std::function<Status()> check);
  // From now on /readyz says that the server is about to end ("shutdown"); it is alive all the same.
  void SetShuttingDown() { shutting_down_ = true; }
  // Verbatim answers for paths of other modules (/openid/v1/jwks, ...). Before serving.
  void AddPage(std::string path, std::function<Answer()> page);

  // What /statusz and /flagz show. Before serving.
  void SetFacts(ComponentFacts facts) { facts_ = std::move(facts); }

  // The answer to a request for none of the resources; nullopt: there is no such page.
  Result<std::optional<Answer>> Get(const RequestScope& scope, const net::Request& request);

 private:
  struct Cached {
    Answer answer;
    std::string etag;
    bool has_body = true;  // otherwise it is too large to be kept, and made again
  };
  Result<Answer> Discovery(std::string_view path, const net::Request& request);
  Result<Answer> OpenApi(std::string_view path, const RequestScope& scope, const net::Request& request);
  // The OpenAPI v3 document of one group and version, under the address with its hash for ever.
  Answer GroupOpenApi(const std::string& group, const std::string& version, const RequestScope& scope,
                      const net::Request& request);
  std::optional<Answer> InformationOpenApi(std::string_view path, const RequestScope& scope,
                                           const net::Request& request);
  static Answer ByHash(const std::string& path, Answer answer, const RequestScope& scope);
  // The OpenAPI v2 document with those of other servers.
  std::string WholeOpenApiV2() const;
  // The index of OpenAPI v3 documents with those of other servers.
  std::string OpenApiV3Index() const;
  std::optional<Answer> Health(const RequestScope& scope) const;
  std::vector<std::string> RootPaths() const;
  // /statusz and /flagz, where their gates are on.
  Result<std::optional<Answer>> ComponentPage(std::string_view path, const RequestScope& scope,
                                              std::string_view accept) const;
  // The document under `key`, made by `make` if this generation of the catalog has none; its ETag is the one
  // `make` set, or a hash of it. 304 if the client has it. Of a very large document only the ETag is kept.
  Answer Keep(const std::string& key, const net::Request& request, const std::function<Answer()>& make);

  ServerState& state_;
  const RemoteDocuments& remotes_;
  std::vector<std::pair<std::string, std::function<Status()>>> checks_;
  std::atomic<bool> shutting_down_{false};
  std::map<std::string, std::function<Answer()>, std::less<>> pages_;
  ComponentFacts facts_;
  mutable Mutex mu_;
  std::string address_ FLYBALL_GUARDED_BY(mu_) = "127.0.0.1:6443";
  // Of the catalog and of the remote documents: what is kept was made of these.
  std::pair<std::uint64_t, std::uint64_t> generation_ FLYBALL_GUARDED_BY(mu_) = {};
  std::map<std::string, Cached> kept_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball::server
