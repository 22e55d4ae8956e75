// The built-in controllers, as kube-controller-manager names them.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "controller/manager.h"
#include "controllers/certificates/signing_controller.h"
#include "controllers/node/node_health.h"

namespace flyball::controllers {

struct ControllersOptions {
  // As --controllers: "*" is all that are on by default, "name" turns one on, "-name" one off.
  std::vector<std::string> enabled = {"*"};
  // Reconciles of one controller that run at the same time.
  int workers = 5;
  // Published to every namespace as ConfigMap kube-root-ca.crt; empty: that controller does nothing.
  std::string root_ca_pem;
  // Whose requests for certificates are signed, and for how long.
  CertificateSigningOptions certificate_signing;
  NodeLifecycleOptions node_lifecycle;
  // Ended pods kept before the oldest are deleted; 0: all.
  int terminated_pod_threshold = 12500;
};

// The names of all controllers there are, in the order they are started.
std::vector<std::string_view> ControllerNames();

// "*,-job-controller" -> {"*", "-job-controller"}. Upstream's old short names ("job", "replicaset") are taken
// too. BadRequest, with upstream's text, if a name is unknown.
Result<std::vector<std::string>> ParseControllers(std::string_view text);

// Whether a list as ParseControllers gives it turns `name` on. Its own name or "-name" counts before "*".
bool IsEnabled(const std::vector<std::string>& enabled, std::string_view name);

// Describes the enabled controllers to a manager that has not been started.
Status AddControllers(Manager& manager, const ControllersOptions& options);

}  // namespace flyball::controllers
