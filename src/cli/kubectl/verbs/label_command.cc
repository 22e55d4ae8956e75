#include <memory>

#include "cli/command/error_text.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/session.h"
#include "cli/kubectl/verbs.h"

namespace flyball::cli {
namespace {

// `label` and `annotate` are the same command on two maps of the metadata.
struct Words {
  const char* verb;
  const char* field;
  const char* set;
  const char* removed;
};
constexpr Words kLabel{"label", "labels", "labeled", "unlabeled"};
constexpr Words kAnnotate{"annotate", "annotations", "annotated", "annotated"};

struct LabelFlags {
  std::vector<std::string> args;
  Selection selection;
  bool overwrite = false, list = false;
};

struct Changes {
  std::vector<std::string> objects;                      // the arguments that name objects
  std::vector<std::pair<std::string, std::string>> set;  // key=value
  std::vector<std::string> remove;                       // key-
};

Changes SplitArgs(const std::vector<std::string>& args) {
  Changes changes;
  for (const std::string& arg : args) {
    const std::size_t equals = arg.find('=');
    if (equals != std::string::npos)
      changes.set.emplace_back(arg.substr(0, equals), arg.substr(equals + 1));
    else if (arg.size() > 1 && arg.back() == '-')
      changes.remove.push_back(arg.substr(0, arg.size() - 1));
    else
      changes.objects.push_back(arg);
  }
  return changes;
}

Status ChangeOne(Session& session, const Words& words, const LabelFlags& flags, const Changes& changes,
                 const ObjectRef& ref) {
  FLYBALL_ASSIGN(const json::Value object, session.Get(ref.kind, ref.ns, ref.name));
  const json::Value& present = object["metadata"][words.field];
  json::Object patch;
  bool changed = false, removed = false;
  for (const auto& [key, value] : changes.set) {
    const json::Value& old = present[key];
    if (old.is_string() && !flags.overwrite && old.as_string() != value)
      return Unexpected(LocalError("'" + key + "' already has a value (" + std::string(old.as_string()) +
                                   "), and --overwrite is false"));
    changed |= !old.is_string() || old.as_string() != value;
    patch.Set(key, value);
  }
  for (const std::string& key : changes.remove) {
    if (present[key].is_null()) {
      session.out() << words.verb << " \"" << key << "\" not found.\n";
      continue;
    }
    patch.Set(key, nullptr);
    changed = removed = true;
  }
  if (changed) {
    json::Value body;
    body["metadata"][words.field] = std::move(patch);
    FLYBALL_TRY(
        session.Patch(ref.kind, ref.ns, ref.name, kMergePatch, body, std::string("kubectl-") + words.verb));
  }
  const bool only_removed = removed && changes.set.empty();
  session.out() << DisplayName(ref.kind, ref.name) << " "
                << (!changed       ? std::string("not ") + words.set
                    : only_removed ? words.removed
                                   : words.set)
                << "\n";
  return {};
}

Status RunLabel(Session& session, const Words& words, const LabelFlags& flags) {
  const Changes changes = SplitArgs(flags.args);
  if (changes.set.empty() && changes.remove.empty() && !flags.list)
    return Unexpected(LocalError(std::string("at least one ") + words.verb + " update is required"));
  FLYBALL_ASSIGN(const auto objects, ResolveObjects(session, changes.objects, flags.selection));
  for (const ObjectRef& object : objects)
    if (Status s = ChangeOne(session, words, flags, changes, object); !s) session.Report(s.error());
  return {};
}

void Add(const Command& root, const Words& words, const std::string& summary, const std::string& example) {
  auto flags = std::make_shared<LabelFlags>();
  const Command command = root.Sub(words.verb, summary, example);
  command.Args("TYPE/NAME KEY=VALUE", &flags->args, "Objects, then what to set (key=value) or remove (key-)");
  command.Option("-l,--selector", &flags->selection.label_selector, "Those with these labels");
  command.Flag("--all", &flags->selection.all, "All of the kind in the namespace");
  command.Flag("-A,--all-namespaces", &flags->selection.all_namespaces, "In every namespace");
  command.Flag("--overwrite", &flags->overwrite, "Change a value that is already there");
  RunVerb(command, [flags, &words](Session& session) { return RunLabel(session, words, *flags); });
}

}  // namespace

void AddLabelCommands(const Command& root) {
  Add(root, kLabel, "Set or remove labels", "flyball label pod web-0 tier=front");
  Add(root, kAnnotate, "Set or remove annotations", "flyball annotate deploy web note=hello");
}

}  // namespace flyball::cli
