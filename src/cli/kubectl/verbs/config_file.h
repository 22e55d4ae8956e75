// The kubeconfig file that `config` reads and changes.
#pragma once

#include <functional>
#include <string>

#include "base/values/result.h"
#include "cli/command/command.h"
#include "json/value.h"

namespace flyball::cli {

// --kubeconfig, the first of $KUBECONFIG, or ~/.kube/config.
std::string ConfigFilePath(const Invocation& invocation);
// An empty object if there is no file. Fails if it is no YAML.
Result<json::Value> ReadConfigFile(const Invocation& invocation);
// Reads, changes and replaces it; nothing is written if the change fails.
Status ChangeConfigFile(const Invocation& invocation, const std::function<Status(json::Value&)>& change);

// delete-*, get-clusters, get-users, rename-context, set, set-cluster, set-credentials, unset.
void AddConfigEntryCommands(const Command& config);
void AddConfigViewCommand(const Command& config);

}  // namespace flyball::cli
