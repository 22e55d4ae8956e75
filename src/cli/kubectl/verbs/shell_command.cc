#include <unistd.h>

#include <iostream>
#include <map>
#include <memory>

#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/command/plugins.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/session.h"
#include "cli/kubectl/verbs.h"

namespace flyball::cli {
namespace {

// @ is the program's name. Each script asks `@ __complete WORDS...`, which prints a candidate a line and then
// a number after a colon (RunProgram).
constexpr const char* kBash = R"sh(# bash completion of @
__@_complete() {
  local IFS=$'\n' out directive
  out=$("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:$COMP_CWORD}" 2>/dev/null)
  directive=${out##*:}
  COMPREPLY=($(compgen -W "${out%:*}" -- "${COMP_WORDS[COMP_CWORD]}"))
  if (( directive & 2 )); then compopt -o nospace; fi
}
complete -o default -F __@_complete @
)sh";
constexpr const char* kZsh = R"sh(#compdef @
_@() {
  local -a candidates
  candidates=(${(f)"$(${words[1]} __complete ${words[2,$CURRENT]} 2>/dev/null | grep -v '^:')"})
  compadd -- $candidates
}
compdef _@ @
)sh";
constexpr const char* kFish = R"sh(# fish completion of @
function __@_complete
  set -l words (commandline -opc)
  $words[1] __complete $words[2..-1] (commandline -ct) 2>/dev/null | string match -v ':*'
end
complete -c @ -f -a '(__@_complete)'
)sh";

std::string ScriptFor(const std::string& shell, const std::string& program) {
  std::string text = shell == "bash" ? kBash : shell == "zsh" ? kZsh : shell == "fish" ? kFish : "";
  for (std::size_t at = 0; (at = text.find('@', at)) != std::string::npos; at += program.size()) {
    // ${words[@]} is the shell's.
    if (at > 0 && text[at - 1] == '[')
      ++at;
    else
      text.replace(at, 1, program);
  }
  return text;
}

int PrintScript(const std::vector<std::string>& args, const Invocation& invocation) {
  const auto fail = [&](const std::string& message) {
    std::cerr << "error: " << message << "\nSee '" << invocation.path << " -h' for help and examples\n";
    return 1;
  };
  if (args.empty()) return fail("Shell not specified.");
  if (args.size() > 1) return fail("Too many arguments. Expected only the shell type.");
  const std::string script = ScriptFor(args[0], invocation.program);
  if (script.empty()) return fail("Unsupported shell type \"" + args[0] + "\".");
  std::cout << script;
  return 0;
}

// Types first, then the names of objects of the type.
std::vector<std::string> LiveCandidates(const Invocation& invocation, const std::vector<std::string>& command,
                                        const std::vector<std::string>& arguments) {
  std::vector<std::string> out;
  auto session = Session::Open(invocation);
  if (!session || command.empty()) return out;
  const bool pods_first =
      command[0] == "logs" || command[0] == "exec" || command[0] == "attach" || command[0] == "port-forward";
  const bool nodes_first = command[0] == "cordon" || command[0] == "uncordon" || command[0] == "drain";
  if (arguments.empty() && !pods_first && !nodes_first) {
    const auto resources = (*session)->mapper().Resources();
    if (resources)
      for (const ApiResource& resource : *resources) out.push_back(resource.ref.plural);
    return out;
  }
  const auto kind = (*session)->mapper().ForResource(pods_first    ? "pods"
                                                     : nodes_first ? "nodes"
                                                                   : arguments[0]);
  if (!kind) return out;
  const auto items = ListObjects(**session, *kind, (*session)->NamespaceFor(*kind));
  if (items)
    for (const json::Value& item : *items) out.emplace_back(item["metadata"]["name"].string_or(""));
  return out;
}

// What is wrong with a plugin: nobody can start it, or something else is started in its place.
std::vector<std::string> PluginWarnings(const Command& root, const std::string& path,
                                        std::map<std::string, std::string>& seen) {
  std::vector<std::string> warnings;
  const std::string name = path.substr(path.rfind('/') + 1);
  if (::access(path.c_str(), X_OK) != 0)
    warnings.push_back("warning: " + path + " identified as a kubectl plugin, but it is not executable");
  if (const auto [earlier, fresh] = seen.emplace(name, path); !fresh)
    warnings.push_back("warning: " + path +
                       " is overshadowed by a similarly named plugin: " + earlier->second);
  auto words = SplitText(name, '-');
  words.erase(words.begin());
  if (const std::string command = root.PathOf(words); !command.empty())
    warnings.push_back("warning: " + name + " overwrites existing command: \"" + command + "\"");
  return warnings;
}

int ListPlugins(const Command& root, bool name_only) {
  const auto plugins = FindPlugins();
  if (plugins.empty()) {
    std::cerr << "error: unable to find any kubectl plugins in your PATH\n";
    return 1;
  }
  std::cout << "The following compatible plugins are available:\n\n";
  std::map<std::string, std::string> seen;
  std::size_t count = 0;
  for (const std::string& path : plugins) {
    std::cout << (name_only ? path.substr(path.rfind('/') + 1) : path) << "\n" << std::flush;
    for (const std::string& warning : PluginWarnings(root, path, seen)) {
      std::cerr << "  - " << warning << "\n";
      ++count;
    }
  }
  if (count == 0) return 0;
  std::cerr << "error: "
            << (count == 1 ? "one plugin warning was found"
                           : std::to_string(count) + " plugin warnings were found")
            << "\n";
  return 1;
}

}  // namespace

void AddShellCommands(const Command& root) {
  Invocation& invocation = root.invocation();
  invocation.complete = [&invocation](const auto& command, const auto& arguments) {
    return LiveCandidates(invocation, command, arguments);
  };
  auto args = std::make_shared<std::vector<std::string>>();
  const Command completion = root.Sub("completion", "Print the completion of a shell: bash, zsh or fish",
                                      "source <(flyball completion bash)");
  completion.Args("SHELL", args.get(), "bash, zsh or fish");
  completion.RunLocal([args, &invocation] { return PrintScript(*args, invocation); });
  const Command plugin = root.Sub("plugin", "Programs named kubectl-NAME on the PATH are commands");
  plugin.RequireSub();
  const Command list = plugin.Sub("list", "List them", "flyball plugin list");
  auto name_only = std::make_shared<bool>(false);
  list.Flag("--name-only", name_only.get(), "Only their names");
  list.RunLocal([name_only, root] { return ListPlugins(root, *name_only); });
  root.Sub("alpha", "Commands that may change").Hidden().RunLocal([] {
    std::cerr << "No alpha commands are available in this version of kubectl\n";
    return 0;
  });
}

}  // namespace flyball::cli
