#include "cli/programs/controller_accounts.h"

#include <optional>

#include "api/values/time.h"
#include "base/run/mutex.h"
#include "client/rest_client.h"
#include "json/json.h"
#include "net/client/http_client.h"

namespace flyball::cli {
namespace {

constexpr std::string_view kAccountsPath = "/api/v1/namespaces/kube-system/serviceaccounts";
// A token is renewed when this part of its life is over.
constexpr double kRenewAt = 0.8;

// Asks for tokens as they are needed. Thread-safe.
class AccountToken final : public Credentials {
 public:
  AccountToken(std::string name, Client root) : name_(std::move(name)), root_(std::move(root)) {}

  Status Authorize(net::Headers& headers) override {
    MutexLock lock(mu_);
    if (!token_ || Now() >= renew_) FLYBALL_TRY(Ask());
    headers.Set("authorization", "Bearer " + *token_);
    return {};
  }
  void Invalidate() override {
    MutexLock lock(mu_);
    token_.reset();
  }

 private:
  TimePoint Now() const { return root_.runtime().executor.clock().Now(); }

  Status Ask() FLYBALL_REQUIRES(mu_) {
    auto answer = RequestToken();
    if (!answer && answer.error().Is(Reason::kNotFound)) {
      RestRequest create{.verb = "POST", .path = std::string(kAccountsPath)};
      create.body = json::Write(ControllerAccount(name_));
      if (const auto made = root_.rest().DoJson(std::move(create));
          !made && !made.error().Is(Reason::kAlreadyExists))
        return Unexpected(made.error());
      answer = RequestToken();
    }
    if (!answer) return Unexpected(answer.error());
    const json::Value& status = (*answer)["status"];
    FLYBALL_ASSIGN(const api::Time end, api::ParseTime(status["expirationTimestamp"].string_or("")));
    token_ = status["token"].string_or("");
    const TimePoint now = Now();
    renew_ = now + std::chrono::duration_cast<Duration>((end.ToTimePoint() - now) * kRenewAt);
    return {};
  }

  Result<json::Value> RequestToken() {
    RestRequest request{.verb = "POST", .path = std::string(kAccountsPath) + "/" + name_ + "/token"};
    request.body = json::Write(json::Object{{"apiVersion", "authentication.k8s.io/v1"},
                                            {"kind", "TokenRequest"},
                                            {"spec", json::Object{{"expirationSeconds", 3600}}}});
    return root_.rest().DoJson(std::move(request));
  }

  const std::string name_;
  const Client root_;
  Mutex mu_;
  std::optional<std::string> token_ FLYBALL_GUARDED_BY(mu_);
  TimePoint renew_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace

json::Value ControllerAccount(const std::string& name) {
  return json::Object{{"apiVersion", "v1"},
                      {"kind", "ServiceAccount"},
                      {"metadata", json::Object{{"name", name}, {"namespace", "kube-system"}}}};
}

std::string ControllerUser(const std::string& name) {
  return "system:serviceaccount:kube-system:" + name;
}

std::vector<std::string> ControllerGroups() {
  return {"system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"};
}

std::vector<json::Value> ControllerRoles() {
  constexpr const char* kName = "flyball:kubelet-serving-approver";
  constexpr const char* kGroup = "rbac.authorization.k8s.io";
  json::Value rule = json::Object{{"apiGroups", json::Array{"certificates.k8s.io"}},
                                  {"resources", json::Array{"signers"}},
                                  {"resourceNames", json::Array{"kubernetes.io/kubelet-serving"}},
                                  {"verbs", json::Array{"approve"}}};
  json::Value role = json::Object{{"apiVersion", "rbac.authorization.k8s.io/v1"},
                                  {"kind", "ClusterRole"},
                                  {"metadata", json::Object{{"name", kName}}},
                                  {"rules", json::Array{std::move(rule)}}};
  json::Value account = json::Object{
      {"kind", "ServiceAccount"}, {"name", "certificate-controller"}, {"namespace", "kube-system"}};
  json::Value binding =
      json::Object{{"apiVersion", "rbac.authorization.k8s.io/v1"},
                   {"kind", "ClusterRoleBinding"},
                   {"metadata", json::Object{{"name", kName}}},
                   {"roleRef", json::Object{{"apiGroup", kGroup}, {"kind", "ClusterRole"}, {"name", kName}}},
                   {"subjects", json::Array{std::move(account)}}};
  return {std::move(role), std::move(binding)};
}

Result<std::function<Client(const std::string& account)>> AccountClients(const Client& root,
                                                                         ClientConfig config) {
  config.http.tls.certificate_pem.clear();
  config.http.tls.private_key_pem.clear();
  FLYBALL_ASSIGN(std::shared_ptr<net::Transport> transport, net::NewHttpClient(config.http));
  return [root, options = config.rest, transport](const std::string& account) {
    return Client(std::make_shared<RestClient>(transport, root.runtime(), options,
                                               std::make_shared<AccountToken>(account, root)));
  };
}

}  // namespace flyball::cli
