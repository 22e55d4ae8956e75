// Command: a verb of the program with its flags, as CLI11 parses them, behind a header that costs nothing to
// include. Flags are bound to variables that must live as long as the command: usually members of a struct
// held by the function given to Run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/values/result.h"

namespace CLI {
class App;
}

namespace flyball::cli {

// What every user's verb takes: where the server is and as whom.
struct ConnectionFlags {
  std::string kubeconfig, context, ns, as;
  std::vector<std::string> as_groups;
  // In place of what the kubeconfig says.
  std::string server, token, certificate_authority, client_certificate, client_key, tls_server_name;
  std::string request_timeout = "0";  // of one request; 0: the client's own
  bool insecure = false;
};

// One run of the program.
struct Invocation {
  ConnectionFlags connection;
  std::vector<std::string> after_dashes;  // what follows "--"
  bool has_dashes = false;
  int exit_code = 0;
  std::vector<std::pair<CLI::App*, std::function<bool()>>> shortcuts;
};

// Thread-compatible; a small value.
class Command {
 public:
  Command(CLI::App* app, std::shared_ptr<Invocation> invocation)
      : app_(app), invocation_(std::move(invocation)) {}

  // `names`: "get", or with aliases "configmap,cm". The example (or several, a line each) is shown under
  // --help.
  Command Sub(const std::string& names, const std::string& summary, const std::string& example = {}) const;
  // It does nothing by itself: without a command below it, its help is shown.
  const Command& RequireSub() const;
  // The commands added since the last call are listed under this title.
  void EndSection(const std::string& title) const;

  const Command& Flag(const std::string& names, bool* value, const std::string& help) const;
  const Command& Option(const std::string& names, std::string* value, const std::string& help) const;
  const Command& Option(const std::string& names, std::vector<std::string>* values,
                        const std::string& help) const;
  const Command& Option(const std::string& names, std::optional<std::int64_t>* value,
                        const std::string& help) const;
  const Command& Option(const std::string& names, int* value, const std::string& help) const;
  const Command& Required(const std::string& name) const;
  const Command& Args(const std::string& name, std::vector<std::string>* values,
                      const std::string& help) const;

  // --kubeconfig, --context, -n, --as, --server and the like.
  const Command& Connection() const;

  // What the command does; it returns the exit status. Nothing is done if a command below it has run.
  void RunLocal(std::function<int()> verb) const;
  // Asked before what RunLocal was given; true if it has done all there is to do.
  void Before(std::function<bool()> shortcut) const {
    invocation_->shortcuts.push_back({app_, std::move(shortcut)});
  }

  Invocation& invocation() const { return *invocation_; }
  CLI::App& app() const { return *app_; }

 private:
  CLI::App* app_;
  std::shared_ptr<Invocation> invocation_;
};

// Parses the arguments and runs what they ask for. `name` is the program's in its help; `define` adds the
// verbs.
int RunProgram(const std::string& name, int argc, char** argv,
               const std::function<void(const Command&)>& define);

}  // namespace flyball::cli
