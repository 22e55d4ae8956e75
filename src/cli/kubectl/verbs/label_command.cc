#include <memory>

#include "cli/command/error_text.h"
#include "cli/kubectl/print/printers.h"
#include "cli/kubectl/session/manifests.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/session.h"
#include "cli/kubectl/verbs.h"
#include "json/json.h"

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
  ManifestFlags files;
  Selection selection;
  PrintFlags print;
  std::string dry_run, field_manager, resource_version;
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

// The object with the changed map: from the server, or as it would be (--dry-run=client).
Result<json::Value> Send(Session& session, const Words& words, const LabelFlags& flags, const ObjectRef& ref,
                         json::Object changed, const json::Value& object) {
  if (flags.dry_run == "client") {
    json::Value after = object;
    for (const auto& [key, value] : changed) {
      if (!std::as_const(after)["metadata"][words.field].is_object())
        after["metadata"][words.field] = json::Object();
      if (value.is_null())
        after["metadata"][words.field].as_object().Erase(key);
      else
        after["metadata"][words.field][key] = value;
    }
    return after;
  }
  json::Value patch;
  patch["metadata"][words.field] = std::move(changed);
  if (!flags.resource_version.empty()) patch["metadata"]["resourceVersion"] = flags.resource_version;
  RestRequest request;
  request.verb = "PATCH";
  request.path = ref.kind.Path(ref.ns, ref.name);
  request.content_type = kMergePatch;
  request.body = json::Write(patch);
  request.Query("fieldManager",
                flags.field_manager.empty() ? std::string("kubectl-") + words.verb : flags.field_manager);
  if (flags.dry_run == "server") request.Query("dryRun", "All");
  return session.Call(std::move(request));
}

// --list: the map alone, sorted.
Status ListMap(Session& session, const Words& words, const json::Value& object) {
  const json::Value& map = object["metadata"][words.field];
  if (!map.is_object()) return {};
  json::Object sorted = map.as_object();
  sorted.SortKeys();
  for (const auto& [key, value] : sorted) session.out() << key << "=" << value.string_or("") << "\n";
  return {};
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
  json::Value after = object;
  if (changed) {
    FLYBALL_ASSIGN(after, Send(session, words, flags, ref, std::move(patch), object));
  }
  if (flags.list) return ListMap(session, words, after);
  FLYBALL_ASSIGN(const auto printer, NewObjectPrinter(flags.print));
  if (printer) return PrintTo(session.out(), *printer, after);
  const bool only_removed = removed && changes.set.empty();
  session.out() << DisplayName(ref.kind, ref.name) << " "
                << (!changed       ? std::string("not ") + words.set
                    : only_removed ? words.removed
                                   : words.set)
                << DryRunNote(flags.dry_run) << "\n";
  return {};
}

Status RunLabel(Session& session, const Words& words, const LabelFlags& flags) {
  FLYBALL_TRY(CheckDryRun(flags.dry_run));
  const Changes changes = SplitArgs(flags.args);
  if (changes.objects.empty() && flags.files.empty())
    return Unexpected(
        LocalError("one or more resources must be specified as <resource> <name> or <resource>/<name>"));
  if (changes.set.empty() && changes.remove.empty() && !flags.list)
    return Unexpected(LocalError(std::string("at least one ") + words.verb + " update is required"));
  FLYBALL_ASSIGN(const auto objects, NamedObjects(session, flags.files, changes.objects, flags.selection));
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
  AddManifestFlags(command, &flags->files);
  AddPrintFlags(command, &flags->print);
  AddDryRunFlag(command, &flags->dry_run);
  command.Option("--field-selector", &flags->selection.field_selector, "Those with these field values");
  command.Option("--field-manager", &flags->field_manager, "Who is said to own the fields");
  command.Option("--resource-version", &flags->resource_version, "Only if the object has this version");
  command.Flag("--list", &flags->list, "Show what is there after the change");
  command.Flag("--overwrite", &flags->overwrite, "Change a value that is already there");
  RunVerb(command, [flags, &words](Session& session) { return RunLabel(session, words, *flags); });
}

}  // namespace

void AddLabelCommands(const Command& root) {
  Add(root, kLabel, "Set or remove labels", "flyball label pod web-0 tier=front");
  Add(root, kAnnotate, "Set or remove annotations", "flyball annotate deploy web note=hello");
}

}  // namespace flyball::cli
