// `flyball apiserver`: the API alone.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace flyball::cli {

// Adds the subcommand. Its exit status goes to `exit_code`.
void AddApiServerCommand(CLI::App& app, int& exit_code);

}  // namespace flyball::cli
