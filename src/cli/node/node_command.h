// `flyball node`.
#pragma once

namespace CLI {
class App;
}

namespace flyball::cli {

void AddNodeCommand(CLI::App& app, int& exit_code);

}  // namespace flyball::cli
