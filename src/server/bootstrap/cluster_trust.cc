#include "server/bootstrap/cluster_trust.h"

#include <algorithm>

#include "base/observe/log.h"
#include "json/json.h"
#include "net/tls/authorities.h"
#include "server/auth/trusted_authorities.h"
#include "server/registry/object_codec.h"

namespace flyball::server {
namespace {

constexpr std::string_view kTrustNamespace = "kube-system", kTrustName = "extension-apiserver-authentication";
constexpr Duration kExpiredGrace = std::chrono::minutes(5);

std::vector<std::string> ListIn(const json::Value& text) {
  std::vector<std::string> out;
  const auto list = json::Parse(text.string_or("[]"));
  if (list && list->is_array())
    for (const auto& item : list->as_array()) out.emplace_back(item.string_or(""));
  return out;
}

// Both, each name once, as the JSON text that the ConfigMap has.
std::string CombinedList(const json::Value& existing, const std::vector<std::string>& ours) {
  std::vector<std::string> all;
  for (const auto& list : {ListIn(existing), ours})
    for (const auto& name : list)
      if (std::find(all.begin(), all.end(), name) == all.end()) all.push_back(name);
  return json::Write(json::Array(all.begin(), all.end()));
}

}  // namespace

json::Value ClusterTrustData(const json::Value& existing, const AuthenticationOptions& options,
                             TimePoint now) {
  const auto combined = [&](const char* key, const std::shared_ptr<TrustedAuthorities>& ours) {
    std::vector<std::string> texts{std::string(existing[key].string_or(""))};
    if (ours) texts.push_back(ours->pem());
    return net::CombineCertificates(texts, now - kExpiredGrace);
  };
  json::Object data;
  if (auto pem = combined("client-ca-file", options.client_authorities); !pem.empty())
    data.Set("client-ca-file", std::move(pem));
  auto proxies = combined("requestheader-client-ca-file", options.proxy_authorities);
  if (proxies.empty()) return data;
  const auto& headers = options.request_header;
  const auto add = [&](const char* key, const std::vector<std::string>& ours) {
    data.Set(key, CombinedList(existing[key], ours));
  };
  add("requestheader-username-headers", headers.username_headers);
  if (!headers.uid_headers.empty() || !ListIn(existing["requestheader-uid-headers"]).empty())
    add("requestheader-uid-headers", headers.uid_headers);
  add("requestheader-group-headers", headers.group_headers);
  add("requestheader-extra-headers-prefix", headers.extra_header_prefixes);
  data.Set("requestheader-client-ca-file", std::move(proxies));
  add("requestheader-allowed-names", headers.allowed_names);
  return data;
}

struct ClusterTrust::Writer : std::enable_shared_from_this<Writer> {
  Writer(ServerState& s, const AuthenticationOptions& o)
      : state(s), options(o), maps(s.catalog.Find("", "v1", "configmaps")) {}

  ServerState& state;
  const AuthenticationOptions options;
  const ResourcePtr maps;

  void Publish() { SpawnOwn(Write(shared_from_this()), "publishing the cluster's trust"); }

  static Task<void> Write(std::shared_ptr<Writer> self) {
    RequestScope scope = OwnScope(self->state);
    scope.resource = self->maps;
    scope.info.namespace_name = kTrustNamespace;
    const auto existing = self->maps->cache->Get(ServedResource::CacheKey(kTrustNamespace, kTrustName));
    if (!existing) {
      const json::Value map =
          json::Object{{"apiVersion", "v1"},
                       {"kind", "ConfigMap"},
                       {"metadata", json::Object{{"name", kTrustName}, {"namespace", kTrustNamespace}}},
                       {"data", ClusterTrustData({}, self->options, self->state.clock().Now())}};
      auto object = DecodeValue(scope, *self->maps, map);
      if (!object) co_return Report(object.error());
      const auto made = co_await self->state.registry.Create(scope, *self->maps, std::move(*object));
      if (!made) Report(made.error());
      co_return;
    }
    Registry::Transform transform = [self](const json::Value& current) -> Result<json::Value> {
      json::Value next = current;
      next["data"] = ClusterTrustData(current["data"], self->options, self->state.clock().Now());
      return next;
    };
    UpdateOptions update{.conflict_retries = true, .skip_admission = true};
    const auto written =
        co_await self->state.registry.Update(scope, *self->maps, kTrustNamespace, std::string(kTrustName),
                                             std::move(transform), std::move(update));
    if (!written) Report(written.error());
  }

  static void Report(const Error& error) {
    if (error.Is(Reason::kNotFound) || error.Is(Reason::kAlreadyExists) || error.Is(Reason::kConflict))
      return;
    log::Error("cannot write configmaps/extension-apiserver-authentication", {{"error", error.message()}});
  }
};

ClusterTrust::ClusterTrust(ServerState& state, const AuthenticationOptions& options)
    : writer_(std::make_shared<Writer>(state, options)) {}

ClusterTrust::~ClusterTrust() = default;

void ClusterTrust::Start() {
  writer_->maps->cache->Observe([weak = std::weak_ptr(writer_)](const Change& change) {
    if (change.object || change.previous->name() != kTrustName ||
        change.previous->namespace_name() != kTrustNamespace)
      return;
    if (const auto writer = weak.lock()) writer->Publish();
  });
  Publish();
}

void ClusterTrust::Publish() {
  if (writer_->options.client_authorities || writer_->options.proxy_authorities) writer_->Publish();
}

}  // namespace flyball::server
