// `flyball controllers` and `flyball scheduler`: these parts of a cluster as processes of their own, over
// HTTPS.
#pragma once

namespace CLI {
class App;
}

namespace flyball::cli {

void AddComponentCommands(CLI::App& app, int& exit_code);

}  // namespace flyball::cli
