// The user's kubeconfig, to which clusters add a context of their own: everything else in it stays as it is.
#pragma once

#include <functional>
#include <string>

#include "base/values/result.h"
#include "json/value.h"

namespace flyball::cli {

// The first file of $KUBECONFIG, else ~/.kube/config.
std::string UserKubeconfigPath();

// Adds or replaces the cluster, the user and the context of that name, from the only ones of `from`. A
// namespace chosen for the context stays. The context becomes the current one if it is new or there is none.
void AddContext(json::Value& config, const json::Value& from, const std::string& name);
// Removes the three; if the context was the current one, there is none then.
void RemoveContext(json::Value& config, const std::string& name);
// False if there is no such context.
bool UseContextNamed(json::Value& config, const std::string& name);

// Reads the file (or starts with an empty one), changes it and replaces it, under the lock that kubectl uses.
Status ChangeKubeconfig(const std::string& path, const std::function<void(json::Value&)>& change);

}  // namespace flyball::cli
