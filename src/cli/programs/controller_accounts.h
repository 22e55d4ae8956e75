// The service accounts that the built-in controllers act as (upstream: --use-service-account-credentials), so
// that each has the rights of its own bootstrap role and no more.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/values/result.h"
#include "client/client.h"
#include "client/config.h"
#include "json/value.h"

namespace flyball::cli {

// The account of a controller, and who that is to the server.
json::Value ControllerAccount(const std::string& name);
std::string ControllerUser(const std::string& name);
std::vector<std::string> ControllerGroups();

// What the loops of this program need beyond upstream's roles: to approve the serving certificates of nodes.
std::vector<json::Value> ControllerRoles();

// Clients that act as such accounts, over one connection, with tokens they ask for through `root` and renew.
// An account is made if it is not there. `config` says how the server is reached; its own credentials are not
// used.
Result<std::function<Client(const std::string& account)>> AccountClients(const Client& root,
                                                                         ClientConfig config);

}  // namespace flyball::cli
