#include "server/admission/pods/service_account.h"

#include <algorithm>
#include <string>
#include <utility>

#include "server/admission/basis/requests.h"
#include "server/auth/pod_references.h"

namespace flyball::server {
namespace {

constexpr std::string_view kMountPath = "/var/run/secrets/kubernetes.io/serviceaccount";
// Seven seconds over an hour, as upstream: a kubelet can tell that it was chosen by default.
constexpr std::int64_t kTokenSeconds = 3607;

constexpr std::string_view kTokenVolume = "kube-api-access-";

// The pod's own volume for it, as of a pod that was read from a server; "" if it has none.
std::string GivenTokenVolume(const json::Value& spec) {
  const auto& volumes = spec["volumes"];
  if (!volumes.is_array()) return "";
  for (const auto& volume : volumes.as_array()) {
    const auto name = volume["name"].string_or("");
    if (!volume["projected"].is_null() && name.starts_with(kTokenVolume)) return std::string(name);
  }
  return "";
}

json::Value TokenVolume(const std::string& name) {
  json::Value token = json::Object{
      {"serviceAccountToken", json::Object{{"expirationSeconds", kTokenSeconds}, {"path", "token"}}}};
  json::Value ca = json::Object{
      {"configMap",
       json::Object{{"name", "kube-root-ca.crt"},
                    {"items", json::Array{json::Object{{"key", "ca.crt"}, {"path", "ca.crt"}}}}}}};
  json::Value reference = json::Object{{"apiVersion", "v1"}, {"fieldPath", "metadata.namespace"}};
  json::Value space = json::Object{
      {"downwardAPI",
       json::Object{
           {"items", json::Array{json::Object{{"path", "namespace"}, {"fieldRef", std::move(reference)}}}}}}};
  json::Array sources;
  sources.push_back(std::move(token));
  sources.push_back(std::move(ca));
  sources.push_back(std::move(space));
  return json::Object{{"name", name},
                      {"projected", json::Object{{"sources", std::move(sources)}, {"defaultMode", 420}}}};
}

bool MountsAt(const json::Value& container, std::string_view path) {
  const auto& mounts = container["volumeMounts"];
  if (!mounts.is_array()) return false;
  for (const auto& mount : mounts.as_array())
    if (mount["mountPath"].string_or("") == path) return true;
  return false;
}

// Mounts the volume where nothing else is; true if any container got it.
bool MountInAll(json::Value& spec, std::string_view list, const std::string& volume) {
  auto* containers = spec.Find(list);
  if (!containers || !containers->is_array()) return false;
  bool mounted = false;
  for (auto& container : containers->as_array()) {
    if (MountsAt(container, kMountPath)) continue;
    auto& mounts = container["volumeMounts"];
    if (!mounts.is_array()) mounts = json::Array{};
    mounts.as_array().push_back(
        json::Object{{"name", volume}, {"readOnly", true}, {"mountPath", kMountPath}});
    mounted = true;
  }
  return mounted;
}

// As Go's ParseBool reads it.
bool IsTrue(std::string_view text) {
  return text == "1" || text == "t" || text == "T" || text == "true" || text == "TRUE" || text == "True";
}

bool Names(const json::Value& references, std::string_view name) {
  if (!references.is_array()) return false;
  const auto& list = references.as_array();
  return std::any_of(list.begin(), list.end(),
                     [&](const json::Value& one) { return one["name"].string_or("") == name; });
}

// The first secret that a container's variables use and the account does not name; "" if there is none.
std::string ForeignVariable(const json::Value& container, const json::Value& account, std::string_view what) {
  const std::string who = std::string(what) + " " + std::string(container["name"].string_or("")) + " with ";
  const std::string end = "\" is not allowed because service account " +
                          std::string(account["metadata"]["name"].string_or("")) +
                          " does not reference that secret";
  if (const auto& variables = container["env"]; variables.is_array())
    for (const auto& variable : variables.as_array()) {
      const auto& secret = variable["valueFrom"]["secretKeyRef"];
      const std::string name(secret["name"].string_or(""));
      if (secret.is_object() && !Names(account["secrets"], name))
        return who + "envVar " + std::string(variable["name"].string_or("")) +
               " referencing secret.secretName=\"" + name + end;
    }
  if (const auto& sources = container["envFrom"]; sources.is_array())
    for (const auto& source : sources.as_array()) {
      const std::string name(source["secretRef"]["name"].string_or(""));
      if (source["secretRef"].is_object() && !Names(account["secrets"], name))
        return who + "envFrom referencing secret.secretName=\"" + name + end;
    }
  return "";
}

// Why the account does not let a pod with this spec be; "" if it does.
std::string ForeignSecret(const json::Value& spec, const json::Value& account) {
  const std::string account_name(account["metadata"]["name"].string_or(""));
  if (const auto& volumes = spec["volumes"]; volumes.is_array())
    for (const auto& volume : volumes.as_array()) {
      const std::string name(volume["secret"]["secretName"].string_or(""));
      if (volume["secret"].is_object() && !Names(account["secrets"], name))
        return "volume with secret.secretName=\"" + name + "\" is not allowed because service account " +
               account_name + " does not reference that secret";
    }
  for (const auto& [list, what] :
       {std::pair("initContainers", "init container"), {"containers", "container"}})
    if (const auto& containers = spec[list]; containers.is_array())
      for (const auto& container : containers.as_array())
        if (auto problem = ForeignVariable(container, account, what); !problem.empty()) return problem;
  const auto& pulls = spec["imagePullSecrets"];
  for (std::size_t i = 0; i < pulls.size(); ++i) {
    const std::string name(pulls.as_array()[i]["name"].string_or(""));
    if (!Names(account["imagePullSecrets"], name))
      return "imagePullSecrets[" + std::to_string(i) + "].name=\"" + name +
             "\" is not allowed because service account " + account_name +
             " does not reference that imagePullSecret";
  }
  return "";
}

class ServiceAccountAdmission final : public AdmissionPlugin {
 public:
  ServiceAccountAdmission(const Catalog& catalog, Random& random)
      : accounts_(catalog.Find("", "v1", "serviceaccounts")), random_(random) {}
  std::string_view name() const override { return "ServiceAccount"; }

  Task<Status> Admit(AdmissionRequest& request) override {
    if (!CreatesPod(request)) co_return Status();
    json::Value& pod = *request.object;
    auto& spec = pod["spec"];
    if (!spec.is_object()) co_return Status();
    if (IsMirrorPod(pod)) co_return CheckMirrorPod(request);
    std::string account_name(spec["serviceAccountName"].string_or(""));
    if (account_name.empty()) account_name = "default";
    spec["serviceAccountName"] = account_name;
    spec["serviceAccount"] = account_name;
    const auto account =
        accounts_->cache->Get(ServedResource::CacheKey(request.namespace_name, account_name));
    if (!account)
      co_return Unexpected(AdmissionForbidden(
          request, "error looking up service account " + std::string(request.namespace_name) + "/" +
                       account_name + ": serviceaccount \"" + account_name + "\" not found"));
    const json::Value& value = account->Parsed();
    if (WantsToken(spec, value)) MountToken(spec);
    if (!spec.Find("imagePullSecrets") && !value["imagePullSecrets"].empty())
      spec["imagePullSecrets"] = value["imagePullSecrets"];
    co_return Status();
  }

  // An account may hold its pods to the secrets that it names itself.
  Task<Status> Validate(const AdmissionRequest& request) override {
    if (!CreatesPod(request) || IsMirrorPod(*request.object)) co_return Status();
    const json::Value& spec = (*request.object)["spec"];
    const auto account = accounts_->cache->Get(
        ServedResource::CacheKey(request.namespace_name, spec["serviceAccountName"].string_or("")));
    if (!account) co_return Status();
    const json::Value& value = account->Parsed();
    if (!IsTrue(value["metadata"]["annotations"]["kubernetes.io/enforce-mountable-secrets"].string_or("")))
      co_return Status();
    const std::string problem = ForeignSecret(spec, value);
    if (problem.empty()) co_return Status();
    co_return Unexpected(AdmissionForbidden(request, problem));
  }

 private:
  // Nothing is added to a mirror pod: its node would not know it again. So it may not ask for anything
  // either.
  static Status CheckMirrorPod(const AdmissionRequest& request) {
    const PodReferences references = ReferencesOf(*request.object);
    if (!references.service_accounts.empty())
      return Unexpected(AdmissionForbidden(request, "a mirror pod may not reference service accounts"));
    if (!references.secrets.empty())
      return Unexpected(AdmissionForbidden(request, "a mirror pod may not reference secrets"));
    const auto& volumes = (*request.object)["spec"]["volumes"];
    if (!volumes.is_array()) return {};
    for (const auto& volume : volumes.as_array()) {
      if (!volume["projected"]["sources"].is_array()) continue;
      for (const auto& source : volume["projected"]["sources"].as_array())
        if (source["serviceAccountToken"].is_object())
          return Unexpected(
              AdmissionForbidden(request, "a mirror pod may not use ServiceAccountToken volume projections"));
    }
    return {};
  }

  static bool WantsToken(const json::Value& spec, const json::Value& account) {
    if (const auto* asked = spec.Find("automountServiceAccountToken")) return asked->bool_or(true);
    return account["automountServiceAccountToken"].bool_or(true);
  }

  void MountToken(json::Value& spec) const {
    const std::string given = GivenTokenVolume(spec);
    const std::string volume = given.empty() ? std::string(kTokenVolume) + random_.NameSuffix() : given;
    bool used = MountInAll(spec, "initContainers", volume);
    used |= MountInAll(spec, "containers", volume);
    if (!used || !given.empty()) return;
    auto& volumes = spec["volumes"];
    if (!volumes.is_array()) volumes = json::Array{};
    volumes.as_array().push_back(TokenVolume(volume));
  }

  const ResourcePtr accounts_;
  Random& random_;
};

}  // namespace

std::unique_ptr<AdmissionPlugin> NewServiceAccountAdmission(const Catalog& catalog, Random& random) {
  return std::make_unique<ServiceAccountAdmission>(catalog, random);
}

}  // namespace flyball::server
