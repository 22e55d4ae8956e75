#include "node/pod/pull_secrets.h"

#include "base/run/mutex.h"
#include "net/tls/pki.h"
#include "node/registry/registry_credentials.h"

namespace flyball::node {
namespace {

// What one of them says; an error if it is damaged.
Result<std::vector<RegistryCredentials>> ReadSecret(const json::Value& secret) {
  const std::string_view type = secret["type"].string_or("");
  const bool legacy = type == "kubernetes.io/dockercfg";
  if (!legacy && type != "kubernetes.io/dockerconfigjson") return std::vector<RegistryCredentials>();
  const std::string_view data = secret["data"][legacy ? ".dockercfg" : ".dockerconfigjson"].string_or("");
  FLYBALL_ASSIGN(const std::string text, net::Base64Decode(data));
  FLYBALL_ASSIGN(auto read, legacy ? ParseLegacyDockerConfig(text) : ParseDockerConfig(text));
  for (RegistryCredentials& one : read) one.of_pod = true;
  return read;
}

// Of all secrets, in the pod's order.
class SecretCollector {
 public:
  SecretCollector(std::vector<std::string> names, std::function<void(PullSecrets)> done)
      : names_(std::move(names)), read_(names_.size()), left_(names_.size()), done_(std::move(done)) {}

  void Have(std::size_t index, const Result<json::Value>& secret) {
    auto read = secret ? ReadSecret(*secret) : Unexpected(secret.error());
    MutexLock lock(mu_);
    read_[index] = std::move(read);
    if (--left_ > 0) return;
    PullSecrets all;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (!*read_[i]) all.missing.push_back(names_[i]);
      if (*read_[i]) all.credentials.insert(all.credentials.end(), (*read_[i])->begin(), (*read_[i])->end());
    }
    done_(std::move(all));
  }

 private:
  const std::vector<std::string> names_;
  Mutex mu_;
  std::vector<std::optional<Result<std::vector<RegistryCredentials>>>> read_ FLYBALL_GUARDED_BY(mu_);
  std::size_t left_ FLYBALL_GUARDED_BY(mu_);
  const std::function<void(PullSecrets)> done_;
};

}  // namespace

void FetchPullSecrets(const Client& client, const std::shared_ptr<const Pod>& pod,
                      std::function<void(PullSecrets)> done) {
  const std::string& ns = pod->metadata.namespace_;
  std::vector<std::string> names;
  for (const auto& secret : pod->spec.image_pull_secrets) names.push_back(ns + "/" + secret.name);
  const auto collector = std::make_shared<SecretCollector>(names, std::move(done));
  for (std::size_t i = 0; i < names.size(); ++i)
    client.Of<Secret>().GetAsync(
        ns, pod->spec.image_pull_secrets[i].name,
        [collector, i](const Result<json::Value>& secret) { collector->Have(i, secret); });
}

}  // namespace flyball::node
