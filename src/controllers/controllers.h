// The built-in controllers, with kube-controller-manager's names.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "controller/manager.h"
#include "controllers/certificates/signing_controller.h"
#include "controllers/node/node_health.h"
#include "controllers/nodeipam/node_ipam_controller.h"

namespace flyball::controllers {

struct ControllersOptions {
  // As in --controllers: "*" enables all that are on by default, "name" enables one, "-name" disables one.
  std::vector<std::string> enabled = {"*"};
  // How many reconciles of one controller may run at the same time.
  int workers = 5;
  // Published to every namespace as ConfigMap kube-root-ca.crt; if empty, that controller does nothing.
  std::string root_ca_pem;
  // Which signers sign certificate requests, and for how long.
  CertificateSigningOptions certificate_signing;
  NodeLifecycleOptions node_lifecycle;
  NodeIpamOptions node_ipam;
  // How many ended pods to keep before the oldest are deleted; 0: all.
  int terminated_pod_threshold = 12500;
  // The client with which the controllers of a service account of kube-system act ("deployment-controller";
  // upstream:
  // --use-service-account-credentials). If empty, all act through the manager's.
  std::function<Client(const std::string& account)> client_of_account{};
};

// The service accounts of kube-system that the controllers act as, each once.
std::vector<std::string> ControllerAccounts();

// The names of all controllers, in the order in which they start.
std::vector<std::string_view> ControllerNames();

// "*,-job-controller" -> {"*", "-job-controller"}. Accepts upstream's old short names too ("job",
// "replicaset"). BadRequest, with upstream's message, if a name is unknown.
Result<std::vector<std::string>> ParseControllers(std::string_view text);

// Whether a list returned by ParseControllers enables `name`. "name" and "-name" take precedence over "*".
bool IsEnabled(const std::vector<std::string>& enabled, std::string_view name);

// Adds the enabled controllers to a manager that has not been started.
Status AddControllers(Manager& manager, const ControllersOptions& options);

}  // namespace flyball::controllers
