#include <unistd.h>

#include <iostream>
#include <memory>

#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/command/kuberc_file.h"
#include "cli/kubectl/print/printers.h"
#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/verbs.h"

namespace flyball::cli {
namespace {

constexpr std::string_view kDefaults = "defaults", kAliases = "aliases", kPlugins = "credentialplugin";

struct KubercFlags {
  std::string section, command, alias, policy;
  std::vector<std::string> options, prepended, appended, allowed;
  bool overwrite = false;
  PrintFlags print{.output = "yaml"};
};

Error Refusal(const std::string& message) {
  return LocalError(message);
}

json::Value EmptyPreference() {
  return json::Object{{"apiVersion", "kubectl.config.k8s.io/v1beta1"}, {"kind", "Preference"}};
}

// What somebody begins with who has no file.
json::Value DefaultPreference() {
  const auto always = [](const char* command, const char* option) {
    return json::Value(json::Object{
        {"command", command}, {"options", json::Array{json::Object{{"name", option}, {"default", "true"}}}}});
  };
  json::Value preference = EmptyPreference();
  preference["defaults"] = json::Array{always("apply", "server-side"), always("delete", "interactive")};
  return preference;
}

// As the API's type writes it: members in its order, lists that are always there.
json::Value InOrder(const json::Value& preference) {
  json::Object out;
  for (const char* name :
       {"aliases", "apiVersion", "credentialPluginAllowlist", "credentialPluginPolicy", "defaults", "kind"}) {
    const json::Value* there = preference.Find(name);
    const bool list = std::string_view(name) == kAliases || std::string_view(name) == kDefaults;
    if (there && !there->is_null())
      out.Set(name, *there);
    else if (list)
      out.Set(name, nullptr);
  }
  return out;
}

Result<KubercPath> FileInUse(const Invocation& invocation) {
  FLYBALL_ASSIGN(const KubercPath file, FindKuberc(invocation.connection.kuberc));
  if (file.path.empty()) return Unexpected(Refusal("KUBERC is disabled via KUBERC=off environment variable"));
  return file;
}

Status Save(const std::string& path, const json::Value& preference) {
  FLYBALL_TRY(WriteKuberc(path, InOrder(preference)));
  std::cout << "Updated " << path << "\n";
  return {};
}

Status OfferDefault(const KubercPath& file) {
  if (file.named) return Unexpected(Refusal("kuberc file not found at " + file.path));
  std::cout << "kuberc file not found at " << file.path << "\n"
            << "Would you like to generate a default kuberc file with recommended options? (y/N): "
            << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  if (LowerCase(answer) != "y") return {};
  return Save(file.path, DefaultPreference());
}

Status View(const Invocation& invocation, const KubercFlags& flags) {
  FLYBALL_ASSIGN(const KubercPath file, FileInUse(invocation));
  FLYBALL_ASSIGN(const auto printer, NewObjectPrinter(flags.print));
  auto kuberc = ReadKuberc(file.path);
  if (!kuberc && kuberc.error().Is(Reason::kNotFound)) return OfferDefault(file);
  if (!kuberc) return Unexpected(Refusal("error reading kuberc file: " + kuberc.error().message()));
  json::Value preference = InOrder(*kuberc ? (*kuberc)->preference : EmptyPreference());
  for (const std::string_view list : {kAliases, kDefaults})
    if (preference[list].is_null()) preference[list] = json::Array();
  return PrintTo(std::cout, *printer, preference);
}

Status CheckPolicyFlags(const KubercFlags& flags) {
  const std::string section = "--section=" + std::string(kPlugins);
  if (flags.policy.empty()) return Unexpected(Refusal("--policy is required when " + section));
  if (flags.policy == "Allowlist") {
    if (!flags.allowed.empty()) return {};
    return Unexpected(Refusal("--allowlist-entry is required when " + section + " and --policy=Allowlist"));
  }
  if (flags.policy != "AllowAll" && flags.policy != "DenyAll")
    return Unexpected(
        Refusal(" --policy must be  \"AllowAll\", \"DenyAll\", or \"Allowlist\", got: " + flags.policy));
  if (flags.allowed.empty()) return {};
  return Unexpected(
      Refusal("--allowlist-entry may only be used when " + section + " and --policy=Allowlist"));
}

Status CheckSet(const KubercFlags& flags) {
  const bool defaults = flags.section == kDefaults;
  if (!defaults && flags.section != kAliases && flags.section != kPlugins)
    return Unexpected(Refusal("--section must be \"defaults\", \"aliases\", or \"credentialplugin\", got: " +
                              flags.section));
  if (flags.section == kAliases && flags.alias.empty())
    return Unexpected(Refusal("--name is required when --section=aliases"));
  if (defaults && !flags.alias.empty())
    return Unexpected(Refusal("--name should not be specified when --section=defaults"));
  if (defaults && (!flags.prepended.empty() || !flags.appended.empty()))
    return Unexpected(Refusal("--prependarg and --appendarg are only valid for --section=aliases"));
  if (flags.section == kPlugins) return CheckPolicyFlags(flags);
  if (!flags.command.empty()) return {};
  return Unexpected(Refusal("--command is required when --section=aliases or --section=defaults"));
}

Result<json::Array> OptionsIn(const std::vector<std::string>& options) {
  json::Array out;
  for (const std::string& option : options) {
    const std::size_t equals = option.find('=');
    if (equals == std::string::npos)
      return Unexpected(Refusal("invalid option format \"" + option + "\", expected flag=value"));
    const std::string name = option.substr(0, equals);
    const std::size_t dashes = std::min(name.find_first_not_of('-'), name.size());
    out.emplace_back(json::Object{{"default", option.substr(equals + 1)}, {"name", name.substr(dashes)}});
  }
  return out;
}

json::Array WordArray(const std::vector<std::string>& words) {
  return {words.begin(), words.end()};
}

// The entry of the list whose `member` has this value; a new one, if there is none.
json::Value& EntryOf(json::Value& preference, std::string_view list, const char* member,
                     const std::string& value, bool* found) {
  if (!std::as_const(preference)[list].is_array()) preference[list] = json::Array();
  json::Array& entries = preference[list].as_array();
  for (json::Value& entry : entries) {
    *found = std::as_const(entry)[member].string_or("") == value;
    if (*found) return entry;
  }
  entries.emplace_back(json::Object{});
  return entries.back();
}

Status SetDefaults(json::Value& preference, const KubercFlags& flags, json::Array options) {
  bool found = false;
  json::Value& entry = EntryOf(preference, kDefaults, "command", flags.command, &found);
  if (found && !flags.overwrite)
    return Unexpected(
        Refusal("defaults for command \"" + flags.command + "\" already exist, use --overwrite to replace"));
  entry["command"] = flags.command;
  if (!options.empty() || !found) entry["options"] = std::move(options);
  return {};
}

Status SetAlias(json::Value& preference, const KubercFlags& flags, json::Array options) {
  bool found = false;
  json::Value& entry = EntryOf(preference, kAliases, "name", flags.alias, &found);
  if (found && !flags.overwrite)
    return Unexpected(Refusal("alias \"" + flags.alias + "\" already exists, use --overwrite to replace"));
  // What is not given stays.
  if (!flags.appended.empty()) entry["appendArgs"] = WordArray(flags.appended);
  entry["command"] = flags.command;
  entry["name"] = flags.alias;
  if (!options.empty()) entry["options"] = std::move(options);
  if (!flags.prepended.empty()) entry["prependArgs"] = WordArray(flags.prepended);
  entry.as_object().SortKeys();
  return {};
}

// What is wrong with "command=NAME"; "" if nothing is.
std::string AllowedFault(const std::string& pair) {
  const std::size_t equals = pair.find('=');
  if (equals == std::string::npos) return "improperly formatted allowlist entry: \"" + pair + "\"";
  const std::string field = pair.substr(0, equals);
  if (field == "name") return "allowlist entry field \"name\" is deprecated, use \"command\" instead";
  if (field != "command") return "unrecognized allowlist entry field: \"" + field + "\"";
  if (Trimmed(pair.substr(equals + 1)).empty()) return "empty value in allowlist entry for field \"command\"";
  return {};
}

Status SetPolicy(json::Value& preference, const KubercFlags& flags) {
  json::Array entries;
  std::vector<std::string> faults;
  for (const std::string& list : flags.allowed)
    for (const std::string& pair : SplitText(list, ',')) {
      if (std::string fault = AllowedFault(pair); !fault.empty())
        faults.push_back(std::move(fault));
      else
        entries.emplace_back(json::Object{{"command", pair.substr(pair.find('=') + 1)}});
    }
  if (!faults.empty()) {
    std::string all;
    for (const std::string& fault : faults) all += (all.empty() ? "" : "\n") + fault;
    return Unexpected(faults.size() == 1 ? LocalError(all) : PlainError(all));
  }
  if (flags.policy == "Allowlist") preference["credentialPluginAllowlist"] = std::move(entries);
  preference["credentialPluginPolicy"] = flags.policy;
  return {};
}

Status Set(const Invocation& invocation, const KubercFlags& flags) {
  FLYBALL_ASSIGN(const KubercPath file, FileInUse(invocation));
  FLYBALL_TRY(CheckSet(flags));
  auto kuberc = ReadKuberc(file.path);
  if (!kuberc && !kuberc.error().Is(Reason::kNotFound))
    return Unexpected(Refusal("error reading kuberc file: " + kuberc.error().message()));
  json::Value preference = kuberc && *kuberc ? (*kuberc)->preference : EmptyPreference();
  FLYBALL_ASSIGN(json::Array options, OptionsIn(flags.options));
  if (flags.section == kDefaults)
    FLYBALL_TRY(SetDefaults(preference, flags, std::move(options)));
  else if (flags.section == kAliases)
    FLYBALL_TRY(SetAlias(preference, flags, std::move(options)));
  else
    FLYBALL_TRY(SetPolicy(preference, flags));
  return Save(file.path, preference);
}

void RunWith(const Command& command, const std::shared_ptr<KubercFlags>& flags,
             Status (*verb)(const Invocation&, const KubercFlags&)) {
  command.RunLocal([flags, verb, invocation = &command.invocation()] {
    const Status done = verb(*invocation, *flags);
    if (done) return 0;
    std::cerr << ErrorText(done.error()) << "\n";
    return 1;
  });
}

}  // namespace

void AddKubercCommand(const Command& root) {
  const Command kuberc =
      root.Sub("kuberc",
               "Show and change your preferences (kuberc): aliases, defaults of flags, the policy of "
               "credential plugins",
               "flyball kuberc view");
  kuberc.RequireSub();
  auto flags = std::make_shared<KubercFlags>();
  const Command view = kuberc.Sub("view", "Print the preferences", "flyball kuberc view -o json");
  AddPrintFlags(view, &flags->print);
  RunWith(view, flags, &View);
  const Command set = kuberc.Sub(
      "set", "Change the preferences",
      "flyball kuberc set --section defaults --command get --option output=wide\n"
      "  flyball kuberc set --section aliases --name getn --command get --prependarg nodes\n"
      "  flyball kuberc set --section credentialplugin --policy Allowlist --allowlist-entry command=helper");
  set.Option("--section", &flags->section, "defaults, aliases or credentialplugin").Required("--section");
  set.Option("--command", &flags->command, "The command: get, set env");
  set.Option("--name", &flags->alias, "Name of the alias");
  set.Option("--policy", &flags->policy, "AllowAll, DenyAll or Allowlist: which credential plugins may run");
  set.Option("--option", &flags->options, "flag=value; may be repeated");
  set.Option("--prependarg", &flags->prepended,
             "Of an alias: argument before what is given; may be repeated");
  set.Option("--appendarg", &flags->appended, "Of an alias: argument after what is given; may be repeated");
  set.Option("--allowlist-entry", &flags->allowed, "command=NAME of a plugin that may run; may be repeated");
  set.Flag("--overwrite", &flags->overwrite, "Change what is there already");
  RunWith(set, flags, &Set);
}

}  // namespace flyball::cli
