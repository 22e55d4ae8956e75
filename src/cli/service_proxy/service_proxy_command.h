// `flyball service-proxy`: Services on a node, as kube-proxy does it, for any cluster.
#pragma once

namespace CLI {
class App;
}

namespace flyball::cli {

void AddServiceProxyCommand(CLI::App& app, int& exit_code);

}  // namespace flyball::cli
