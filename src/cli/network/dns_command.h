// `flyball dns`: the cluster's name server as a process of its own.
#pragma once

namespace CLI {
class App;
}

namespace flyball::cli {

void AddDnsCommand(CLI::App& app, int& exit_code);

}  // namespace flyball::cli
