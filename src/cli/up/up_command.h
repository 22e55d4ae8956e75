// `flyball up`: a whole cluster in one process.
#pragma once

namespace CLI {
class App;
}

namespace flyball::cli {

void AddUpCommand(CLI::App& app, int& exit_code);

}  // namespace flyball::cli
