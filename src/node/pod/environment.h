// The environment of a container: its variables, from wherever they come, and $(NAME) in its command.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/types/core.h"
#include "client/client.h"
#include "node/volumes/pod_fields.h"

namespace flyball::node {

using Variables = std::vector<std::pair<std::string, std::string>>;

// Fetches the ConfigMaps and Secrets the container names, adds what it says to the variables it inherits,
// then gives its variables to `done`, once, from any thread. An error (with kubelet's text) if one is missing
// and not optional.
void ResolveEnvironment(const Client& client, std::shared_ptr<const Pod> pod, const Container& container,
                        const PodAddresses& addresses, const NodeAllocatable& allocatable,
                        Variables inherited, std::function<void(Result<Variables>)> done);

// Replaces $(NAME) by the variable's value; $$ is a dollar sign; an unknown name stays as it is.
std::string Expand(const std::string& text, const Variables& variables);

}  // namespace flyball::node
