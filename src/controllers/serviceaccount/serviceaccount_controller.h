// Maintains what every namespace has: the ServiceAccount `default` and the ConfigMap kube-root-ca.crt.
#pragma once

#include <string>

#include "base/values/result.h"
#include "controller/manager.h"

namespace flyball::controllers {

Status AddServiceAccountController(Manager& manager);
// Does nothing if ca_pem is empty.
Status AddRootCaPublisher(Manager& manager, const std::string& ca_pem);

}  // namespace flyball::controllers
