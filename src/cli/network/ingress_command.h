// `flyball ingress`: serves a cluster's Ingress objects, as a process of its own.
#pragma once

namespace CLI {
class App;
}

namespace flyball::cli {

void AddIngressCommand(CLI::App& app, int& exit_code);

}  // namespace flyball::cli
