#include "cli/kubectl/change/set_env.h"

#include <algorithm>
#include <memory>

#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/change/object_change.h"
#include "cli/kubectl/change/pod_spec.h"
#include "net/tls/pki.h"

namespace flyball::cli {

ChangeWords SplitChanges(const std::vector<std::string>& args) {
  ChangeWords out;
  for (const std::string& arg : args) {
    const bool change = arg.find('=') != std::string::npos || (arg.size() > 1 && arg.back() == '-');
    (change ? out.changes : out.objects).push_back(arg);
  }
  return out;
}

namespace {

struct EnvFlags {
  ChangeFlags change;
  std::string containers = "*", from, prefix;
  std::vector<std::string> env, keys;
  bool list = false, resolve = false, overwrite = true;
};

struct EnvChanges {
  json::Array set;  // variables
  std::vector<std::string> remove;
};

// A key as the name of a variable: log.level becomes LOG_LEVEL.
std::string VariableName(const std::string& key) {
  std::string name;
  for (const char c : key) name += c == '-' || c == '.' ? '_' : c;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return name;
}

bool WantsKey(const std::vector<std::string>& keys, const std::string& key) {
  return keys.empty() || std::find(keys.begin(), keys.end(), key) != keys.end();
}

// A variable for each key of the ConfigMap or Secret.
Status AddFrom(Session& session, const EnvFlags& flags, EnvChanges& changes) {
  FLYBALL_ASSIGN(const auto refs, ResolveObjects(session, {flags.from}, {}));
  for (const ObjectRef& ref : refs) {
    const bool secret = ref.kind.kind == "Secret";
    if (!secret && ref.kind.kind != "ConfigMap")
      return Unexpected(LocalError("unsupported resource specified in --from"));
    FLYBALL_ASSIGN(const json::Value source, session.Get(ref.kind, ref.ns, ref.name));
    if (!source["data"].is_object()) continue;
    json::Object data = source["data"].as_object();
    data.SortKeys();
    for (const auto& [key, value] : data) {
      if (!WantsKey(flags.keys, key)) continue;
      const std::string name = VariableName(key);
      if (name != key) session.err() << "Warning: key " << key << " transferred to " << name << "\n";
      changes.set.emplace_back(
          json::Object{{"name", flags.prefix + name},
                       {"valueFrom", json::Object{{secret ? "secretKeyRef" : "configMapKeyRef",
                                                   json::Object{{"key", key}, {"name", ref.name}}}}}});
    }
  }
  return {};
}

EnvChanges ChangesIn(const std::vector<std::string>& words) {
  EnvChanges changes;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos)
      changes.remove.push_back(word.substr(0, word.size() - 1));
    else
      changes.set.emplace_back(
          json::Object{{"name", word.substr(0, equals)}, {"value", word.substr(equals + 1)}});
  }
  return changes;
}

Status ChangeContainer(json::Value& container, const EnvChanges& changes, bool overwrite) {
  if (!std::as_const(container)["env"].is_array()) container["env"] = json::Array();
  json::Array& env = container["env"].as_array();
  const auto find = [&](const json::Value& name) {
    return std::find_if(env.begin(), env.end(),
                        [&](const json::Value& there) { return there["name"] == name; });
  };
  for (const json::Value& variable : changes.set) {
    const auto there = find(variable["name"]);
    if (there == env.end())
      env.push_back(variable);
    else if (overwrite)
      *there = variable;
    else
      return Unexpected(LocalError(
          "'" + std::string(variable["name"].string_or("")) + "' already has a value (" +
          std::string(std::as_const(*there)["value"].string_or("")) + "), and --overwrite is false"));
  }
  for (const std::string& name : changes.remove)
    if (const auto there = find(json::Value(name)); there != env.end()) env.erase(there);
  if (env.empty()) container.as_object().Erase("env");
  return {};
}

// What a reference to a ConfigMap or Secret holds; an error if it cannot be read.
Result<std::string> Resolved(Session& session, const std::string& ns, const json::Value& from) {
  const bool secret = from.Find("secretKeyRef") != nullptr;
  const json::Value& ref = from[secret ? "secretKeyRef" : "configMapKeyRef"];
  const KindRef kind = secret ? KindRef{"", "v1", "Secret", "secrets", true}
                              : KindRef{"", "v1", "ConfigMap", "configmaps", true};
  FLYBALL_ASSIGN(const json::Value source, session.Get(kind, ns, ref["name"].string_or("")));
  const std::string text(source["data"][ref["key"].string_or("")].string_or(""));
  if (!secret) return text;
  FLYBALL_ASSIGN(std::string decoded, net::Base64Decode(text));
  return decoded;
}

// "configmap c1, key a", "field path metadata.name".
std::string Origin(const json::Value& from) {
  const auto keyed = [](const char* what, const json::Value& ref) {
    return std::string(what) + " " + std::string(ref["name"].string_or("")) + ", key " +
           std::string(ref["key"].string_or(""));
  };
  if (from.Find("secretKeyRef")) return keyed("secret", from["secretKeyRef"]);
  if (from.Find("configMapKeyRef")) return keyed("configmap", from["configMapKeyRef"]);
  if (from.Find("fieldRef")) return "field path " + std::string(from["fieldRef"]["fieldPath"].string_or(""));
  return "resource " + std::string(from["resourceFieldRef"]["resource"].string_or(""));
}

void ListContainer(Session& session, const EnvFlags& flags, const ChangeTarget& target,
                   const json::Value& container) {
  session.out() << "# " << target.ref.kind.kind << " " << target.ref.name << ", container "
                << container["name"].string_or("") << "\n";
  if (!container["env"].is_array()) return;
  for (const json::Value& variable : container["env"].as_array()) {
    const std::string name(variable["name"].string_or(""));
    const json::Value& from = variable["valueFrom"];
    const bool keyed = from.is_object() && (from.Find("secretKeyRef") || from.Find("configMapKeyRef"));
    if (!from.is_object()) {
      session.out() << name << "=" << variable["value"].string_or("") << "\n";
    } else if (flags.resolve && keyed) {
      const auto value = Resolved(session, target.ref.ns, from);
      session.out() << name << "=" << (value ? *value : "<" + value.error().message() + ">") << "\n";
    } else {
      session.out() << "# " << name << " from " << Origin(from) << "\n";
    }
  }
}

Status ChangeEnv(const EnvFlags& flags, const EnvChanges& changes, json::Value& object) {
  json::Value* const spec = PodSpecIn(object);
  if (!spec) return Unexpected(LocalError("the object is not a pod or does not have a pod template"));
  for (const char* list : {"initContainers", "containers"}) {
    json::Value* const containers = spec->Find(list);
    if (!containers || !containers->is_array()) continue;
    for (json::Value& container : containers->as_array())
      if (NameMatches(flags.containers, std::as_const(container)["name"].string_or("")))
        FLYBALL_TRY(ChangeContainer(container, changes, flags.overwrite));
  }
  return {};
}

// "-" among the variables: they are lines of standard input, A=b.
Status TakeStdin(const EnvFlags& flags, ChangeWords& words) {
  const auto dash = std::find(words.objects.begin(), words.objects.end(), "-");
  if (dash == words.objects.end()) return {};
  const auto& files = flags.change.files.files;
  if (std::find(files.begin(), files.end(), "-") != files.end())
    return Unexpected(LocalError("standard input cannot be used for multiple arguments"));
  words.objects.erase(dash);
  FLYBALL_ASSIGN(const std::string text, ReadSource("-"));
  for (const std::string& line : SplitText(text, '\n'))
    if (!Trimmed(line).empty()) words.changes.emplace_back(Trimmed(line));
  return {};
}

Status SetEnv(Session& session, const EnvFlags& flags) {
  ChangeWords words = SplitChanges(flags.change.args);
  FLYBALL_TRY(TakeStdin(flags, words));
  words.changes.insert(words.changes.end(), flags.env.begin(), flags.env.end());
  FLYBALL_ASSIGN(const auto targets, ChangeTargets(session, flags.change, words.objects));
  EnvChanges changes = ChangesIn(words.changes);
  if (!flags.from.empty()) FLYBALL_TRY(AddFrom(session, flags, changes));
  for (const ChangeTarget& target : targets) {
    if (flags.list) {
      if (const json::Value* spec = PodSpecIn(target.object))
        for (const json::Value& container : (*spec)["containers"].as_array())
          ListContainer(session, flags, target, container);
      continue;
    }
    json::Value changed = target.object;
    FLYBALL_TRY(ChangeEnv(flags, changes, changed));
    if (changed == target.object && !flags.change.only_prints()) continue;
    FLYBALL_ASSIGN(const json::Value after, SendChange(session, flags.change, target, changed));
    FLYBALL_TRY(SayChange(session, flags.change, target.ref, after, "env updated"));
  }
  return {};
}

}  // namespace

void AddSetEnvCommand(const Command& set) {
  auto flags = std::make_shared<EnvFlags>();
  const Command command = set.Sub("env", "Change environment variables", "flyball set env deploy/web A=b");
  command.Args("TYPE/NAME NAME=VALUE", &flags->change.args,
               "Objects, then variables to set (A=b) or remove (A-)");
  AddChangeFlags(command, &flags->change, "kubectl-set");
  AddSelectionFlags(command, &flags->change.selection);
  command.ReadsStdinIf([flags] {
    const auto& args = flags->change.args;
    return std::find(args.begin(), args.end(), "-") != args.end();
  });
  command.Option("-c,--containers", &flags->containers, "Which container; * is all");
  command.Option("-e,--env", &flags->env, "NAME=VALUE; may be repeated");
  command.Option("--from", &flags->from, "configmap/NAME or secret/NAME: a variable for each key");
  command.Option("--prefix", &flags->prefix, "With --from: before the names of the variables");
  command.List("--keys", &flags->keys, "With --from: only these keys");
  command.Flag("--list", &flags->list, "Show them");
  command.Flag("--resolve", &flags->resolve, "With --list: show what references to other objects hold");
  command.Flag("--overwrite", &flags->overwrite, "Change variables that are there already (default)");
  RunVerb(command, [flags](Session& session) { return SetEnv(session, *flags); });
}

}  // namespace flyball::cli
