#include <memory>

#include "api/rules/format.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/change/object_change.h"
#include "cli/kubectl/verbs.h"

namespace flyball::cli {
namespace {

// `label` and `annotate` are the same command on two maps of the metadata.
struct Words {
  const char* verb;
  const char* field;
  const char* set;
  const char* removed;
  bool checks_values;  // values of labels have a form
};
constexpr Words kLabel{"label", "labels", "labeled", "unlabeled", true};
constexpr Words kAnnotate{"annotate", "annotations", "annotated", "annotated", false};

struct LabelFlags {
  ChangeFlags change;
  std::string resource_version;
  bool overwrite = false, list = false;
};

struct Changes {
  std::vector<std::pair<std::string, std::string>> set;
  std::vector<std::string> remove;
  std::vector<std::string> objects;  // the arguments before the changes
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

Status CheckValues(const Changes& changes) {
  for (const auto& [key, value] : changes.set)
    if (const api::Problems problems = api::LabelValueFormatProblems(value); !problems.empty())
      return Unexpected(LocalError("invalid label value: \"" + key + "=" + value + "\": " + problems[0]));
  return {};
}

Status CheckOverwrites(const Words& words, const LabelFlags& flags, const Changes& changes,
                       const json::Value& map) {
  if (flags.overwrite || !map.is_object()) return {};
  for (const auto& [key, value] : changes.set) {
    const json::Value* there = map.Find(key);
    if (!there || there->string_or("") == value) continue;
    const std::string text = "'" + key + "' already has a value (" + std::string(there->string_or("")) + ")";
    return Unexpected(
        LocalError(words.checks_values
                       ? text + ", and --overwrite is false"
                       : "--overwrite is false but found the following declared annotation(s): " + text));
  }
  return {};
}

// The object with the changes in its map. Says which labels to remove were not there.
json::Value Change(Session& session, const Words& words, const Changes& changes, const json::Value& object) {
  json::Value after = object;
  json::Object map;
  if (object["metadata"][words.field].is_object()) map = object["metadata"][words.field].as_object();
  for (const auto& [key, value] : changes.set) map.Set(key, value);
  for (const std::string& key : changes.remove) {
    if (!map.contains(key)) session.out() << words.verb << " \"" << key << "\" not found.\n";
    map.Erase(key);
  }
  if (map.empty())
    after["metadata"].as_object().Erase(words.field);
  else
    after["metadata"][words.field] = std::move(map);
  return after;
}

// --list: the map alone, sorted.
void ListMap(Session& session, const Words& words, const json::Value& object) {
  const json::Value& map = object["metadata"][words.field];
  if (!map.is_object()) return;
  json::Object sorted = map.as_object();
  sorted.SortKeys();
  for (const auto& [key, value] : sorted) session.out() << key << "=" << value.string_or("") << "\n";
}

Status ChangeOne(Session& session, const Words& words, const LabelFlags& flags, const Changes& changes,
                 const ChangeTarget& target) {
  FLYBALL_TRY(CheckOverwrites(words, flags, changes, target.object["metadata"][words.field]));
  json::Value after = Change(session, words, changes, target.object);
  session.Record(after);
  const bool changed = !(after == target.object);
  if (changed && !flags.change.only_prints()) {
    json::Value patch;
    json::Value& map = patch["metadata"][words.field];
    for (const auto& [key, value] : changes.set) map[key] = value;
    for (const std::string& key : changes.remove) map[key] = nullptr;
    session.Record(patch);
    if (!flags.resource_version.empty()) patch["metadata"]["resourceVersion"] = flags.resource_version;
    FLYBALL_ASSIGN(after, SendPatch(session, flags.change, target.ref, kMergePatch, patch));
  }
  if (flags.list) {
    ListMap(session, words, after);
    return {};
  }
  const bool only_removed = changes.set.empty() && !changes.remove.empty();
  return SayChange(session, flags.change, target.ref, after,
                   !changed       ? std::string("not ") + words.set
                   : only_removed ? words.removed
                                  : words.set);
}

Status RunLabel(Session& session, const Words& words, const LabelFlags& flags) {
  const Changes changes = SplitArgs(flags.change.args);
  if (changes.objects.empty() && flags.change.files.empty())
    return Unexpected(
        LocalError("one or more resources must be specified as <resource> <name> or <resource>/<name>"));
  if (changes.set.empty() && changes.remove.empty() && !flags.list)
    return Unexpected(LocalError(std::string("at least one ") + words.verb + " update is required"));
  if (words.checks_values) FLYBALL_TRY(CheckValues(changes));
  FLYBALL_ASSIGN(const auto targets, ChangeTargets(session, flags.change, changes.objects));
  for (const ChangeTarget& target : targets)
    if (Status s = ChangeOne(session, words, flags, changes, target); !s) session.Report(s.error());
  return {};
}

void Add(const Command& root, const Words& words, const std::string& summary, const std::string& example) {
  auto flags = std::make_shared<LabelFlags>();
  const Command command = root.Sub(words.verb, summary, example);
  command.Args("TYPE/NAME KEY=VALUE", &flags->change.args, "Objects, then what to set (a=b) or remove (a-)");
  AddChangeFlags(command, &flags->change, std::string("kubectl-") + words.verb);
  AddSelectionFlags(command, &flags->change.selection);
  command.RecordFlag();
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
