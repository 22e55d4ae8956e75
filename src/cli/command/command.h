// Command: a verb of the program with its flags. The commands are a tree; words and flags are found and
// refused as cobra does it for kubectl, in its words. Flags are bound to variables that must live as long as
// the command: usually members of a struct held by the function given to Run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/values/result.h"
#include "cli/command/flag_set.h"
#include "client/config.h"
#include "json/value.h"

namespace flyball::cli {

// What every user's verb takes: where the server is and as whom.
struct ConnectionFlags {
  std::string kubeconfig, context, cluster, user, ns, as, as_uid, cache_dir, kuberc;
  std::vector<std::string> as_groups, as_extra;
  // In place of what the kubeconfig says.
  std::string server, token, username, password, certificate_authority, client_certificate, client_key,
      tls_server_name;
  std::string request_timeout = "0";  // of one request; 0: the client's own
  bool ns_given = false;              // -n, which may be empty
  int verbosity = 0;                  // -v: from 6 on, requests are logged
  bool insecure = false;
  bool warnings_as_errors = false, disable_compression = false;
};

struct CommandNode;

// One run of the program.
struct Invocation {
  std::string program;  // "kubectl" or "flyball"
  ConnectionFlags connection;
  std::vector<std::string> after_dashes;  // what follows "--", for commands that take a command of their own
  bool has_dashes = false;
  bool stdin_in_use = false;     // by the command (Command::ReadsStdinIf)
  PluginPolicy plugin_policy{};  // of credential plugins, from the preferences
  std::string path;              // of the command that runs: "kubectl rollout status"
  bool record = false;           // --record
  std::string command_line;      // as --record keeps it: command, arguments, flags
  // What could follow the arguments of a command ("get", "pods"), for a shell.
  std::function<std::vector<std::string>(const std::vector<std::string>& command,
                                         const std::vector<std::string>& arguments)>
      complete;
};

// Thread-compatible; a small value.
class Command {
 public:
  Command(CommandNode* node, std::shared_ptr<Invocation> invocation)
      : node_(node), invocation_(std::move(invocation)) {}

  // `names`: "get", or with aliases "configmap,cm". The example (or several, a line each) is shown under
  // --help.
  Command Sub(const std::string& names, const std::string& summary, const std::string& example = {}) const;
  // A command whose words are parsed by somebody else; `reference` says what they are (reference.h).
  void Foreign(const std::string& name, const std::string& summary,
               std::function<int(const std::vector<std::string>&)> run,
               std::function<json::Value()> reference) const;
  // It does nothing by itself: without a command below it, its help is shown.
  const Command& RequireSub() const;
  // Not listed in help.
  const Command& Hidden() const;
  // Words that people try for it (cobra's SuggestFor): "list", "ls". Any of them is answered with this
  // command.
  const Command& SuggestedFor(std::vector<std::string> words) const;
  // What follows "--" is not an argument but a command (Invocation::after_dashes).
  const Command& TakesCommand() const;
  // Asked when the flags are parsed: whether the command reads objects from standard input, so that no
  // credential plugin may.
  const Command& ReadsStdinIf(std::function<bool()> reads) const;
  // The commands added since the last call are listed under this title.
  void EndSection(const std::string& title) const;

  const Command& Flag(const std::string& names, bool* value, const std::string& help) const;
  const Command& Option(const std::string& names, std::string* value, const std::string& help) const;
  // A value that may be left out: `alone` stands for it then.
  const Command& Option(const std::string& names, std::string* value, const std::string& help,
                        const std::string& alone) const;
  // May be repeated.
  const Command& Option(const std::string& names, std::vector<std::string>* values,
                        const std::string& help) const;
  // May be repeated, and each has several values with commas.
  const Command& List(const std::string& names, std::vector<std::string>* values,
                      const std::string& help) const;
  const Command& Option(const std::string& names, std::optional<std::int64_t>* value,
                        const std::string& help) const;
  const Command& Option(const std::string& names, int* value, const std::string& help) const;
  const Command& Required(const std::string& name) const;
  const Command& Args(const std::string& name, std::vector<std::string>* values,
                      const std::string& help) const;

  // --record: Session::Record keeps the command line in what is changed.
  const Command& RecordFlag() const;
  // Whether one of its flags was given. For use when it runs.
  bool Given(const std::string& flag) const;

  // What the command does; it returns the exit status. Nothing is done if a command below it has run.
  void RunLocal(std::function<int()> verb) const;
  // Asked before what RunLocal was given; true if it has done all there is to do.
  void Before(std::function<bool()> shortcut) const;

  Invocation& invocation() const { return *invocation_; }
  // "kubectl create" for {"create", "x"}; "" if the first word is no command of the program.
  std::string PathOf(std::vector<std::string> words) const;

 private:
  CommandNode* node_;
  std::shared_ptr<Invocation> invocation_;
};

// Parses the arguments and runs what they ask for. `name` is the program's in its help; `define` adds the
// verbs. Returns the exit status.
int RunProgram(const std::string& name, const std::vector<std::string>& arguments,
               const std::function<void(const Command&)>& define);

}  // namespace flyball::cli
