#include <algorithm>
#include <memory>
#include <set>

#include "api/rules/format.h"
#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/nodes/node_marks.h"
#include "cli/kubectl/print/printers.h"
#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/session/manifests.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/verbs.h"
#include "json/json.h"

namespace flyball::cli {
namespace {

struct Taint {
  std::string key, value, effect;
  bool operator==(const Taint& other) const { return key == other.key && effect == other.effect; }
};

struct TaintFlags {
  std::vector<std::string> args;
  std::string selector, dry_run, field_manager = "kubectl-taint", validate = "strict";
  bool all = false, overwrite = false;
  PrintFlags print;
};

struct TaintChanges {
  std::vector<std::string> objects;
  std::vector<Taint> add, remove;
};

Error BadTaint(const std::string& spec, const std::vector<std::string>& problems = {}) {
  std::string text = "invalid taint spec: " + spec;
  for (std::size_t i = 0; i < problems.size(); ++i) text += (i == 0 ? ", " : "; ") + problems[i];
  return LocalError(text);
}

// <key>=<value>:<effect>, <key>:<effect> or <key>.
Result<Taint> ParseTaint(const std::string& spec) {
  const auto parts = SplitText(spec, ':');
  if (parts.size() > 2) return Unexpected(BadTaint(spec));
  Taint taint;
  taint.key = parts[0];
  if (parts.size() == 2) {
    taint.effect = parts[1];
    static const std::set<std::string> kEffects{"NoSchedule", "PreferNoSchedule", "NoExecute"};
    if (!kEffects.contains(taint.effect))
      return Unexpected(
          LocalError("invalid taint effect: " + taint.effect +
                     ", unsupported taint effect\nSee 'kubectl taint -h' for help and examples"));
    const auto pair = SplitText(parts[0], '=');
    if (pair.size() > 2) return Unexpected(BadTaint(spec));
    taint.key = pair[0];
    if (pair.size() == 2) taint.value = pair[1];
    if (const auto problems = api::LabelValueFormatProblems(taint.value); !problems.empty())
      return Unexpected(BadTaint(spec, problems));
  }
  if (const auto problems = api::QualifiedNameProblems(taint.key); !problems.empty())
    return Unexpected(BadTaint(spec, problems));
  return taint;
}

Status AddChange(const std::string& spec, TaintChanges& changes) {
  const bool remove = spec.ends_with("-");
  FLYBALL_ASSIGN(Taint taint, ParseTaint(remove ? spec.substr(0, spec.size() - 1) : spec));
  if (remove) {
    changes.remove.push_back(std::move(taint));
    return {};
  }
  if (taint.effect.empty()) return Unexpected(BadTaint(spec));
  if (std::find(changes.add.begin(), changes.add.end(), taint) != changes.add.end())
    return Unexpected(LocalError("duplicated taints with the same key and effect: {" + taint.key + " " +
                                 taint.value + " " + taint.effect + " <nil>}"));
  changes.add.push_back(std::move(taint));
  return {};
}

Status CheckConflicts(const TaintChanges& changes) {
  std::string conflicts;
  for (const Taint& add : changes.add)
    for (const Taint& remove : changes.remove)
      if (add.key == remove.key && (remove.effect.empty() || add.effect == remove.effect))
        conflicts += (conflicts.empty() ? "" : ", ") + remove.key + "=" + remove.effect;
  if (conflicts.empty()) return {};
  return Unexpected(
      LocalError("can not both modify and remove the following taint(s) in the same command: " + conflicts));
}

Result<TaintChanges> ParseChanges(const std::vector<std::string>& args) {
  TaintChanges changes;
  bool seen = false;
  for (const std::string& arg : args) {
    const bool is_taint = arg.find_first_of("=:") != std::string::npos || arg.ends_with("-");
    if (!is_taint && seen)
      return Unexpected(LocalError("all resources must be specified before taint changes: " + arg));
    seen |= is_taint;
    if (is_taint)
      FLYBALL_TRY(AddChange(arg, changes));
    else
      changes.objects.push_back(arg);
  }
  if (changes.objects.empty())
    return Unexpected(LocalError("one or more resources must be specified as <resource> <name>"));
  if (!seen) return Unexpected(LocalError("at least one taint update is required"));
  FLYBALL_TRY(CheckConflicts(changes));
  return changes;
}

Taint FromJson(const json::Value& taint) {
  return {std::string(taint["key"].string_or("")), std::string(taint["value"].string_or("")),
          std::string(taint["effect"].string_or(""))};
}

// The node's taints after the changes, and the word for what happened.
struct NewTaints {
  json::Array list;
  std::string operation;
};

bool Matches(const Taint& pattern, const json::Value& taint) {
  const Taint other = FromJson(taint);
  return pattern.key == other.key && (pattern.effect.empty() || pattern.effect == other.effect);
}

Result<NewTaints> Reorganize(const json::Value& node, const TaintChanges& changes, bool overwrite) {
  const json::Array& old = Elements(node["spec"]["taints"]);
  std::string existing;
  NewTaints out;
  for (const Taint& add : changes.add) {
    json::Value taint;
    taint["effect"] = add.effect;
    taint["key"] = add.key;
    if (!add.value.empty()) taint["value"] = add.value;
    out.list.push_back(std::move(taint));
    for (const json::Value& taint_before : old)
      if (Matches(add, taint_before)) existing += (existing.empty() ? "" : ",") + add.key;
  }
  if (!overwrite && !existing.empty())
    return Unexpected(LocalError("node " + std::string(node["metadata"]["name"].string_or("")) +
                                 " already has " + existing +
                                 " taint(s) with same effect(s) and --overwrite is false"));
  for (const json::Value& taint : old)
    if (std::find(changes.add.begin(), changes.add.end(), FromJson(taint)) == changes.add.end())
      out.list.push_back(taint);
  const bool added = out.list.size() != old.size();
  bool removed = false;
  std::string missing;
  for (const Taint& remove : changes.remove) {
    removed = std::erase_if(out.list, [&](const json::Value& taint) { return Matches(remove, taint); }) > 0;
    if (!removed)
      missing += (missing.empty() ? "" : ", ") + std::string("taint \"") + remove.key +
                 (remove.effect.empty() ? "" : ":" + remove.effect) + "\" not found";
  }
  if (!missing.empty()) return Unexpected(LocalError(missing));
  out.operation = (added && removed) || overwrite ? "modified" : added ? "tainted" : "untainted";
  return out;
}

// How often a node that somebody else changes at the same time is read again.
constexpr int kMostTaintConflicts = 10;

Status TaintNode(Session& session, const TaintFlags& flags, const TaintChanges& changes,
                 const json::Value& node, int conflicts = 0) {
  const std::string name(node["metadata"]["name"].string_or(""));
  FLYBALL_ASSIGN(NewTaints taints, Reorganize(node, changes, flags.overwrite));
  json::Value after = node;
  if (flags.dry_run == "client") {
    after["spec"]["taints"] = std::move(taints.list);
  } else {
    RestRequest request;
    request.verb = "PATCH";
    request.path = kNodes.Path("", name);
    request.content_type = kMergePatch;
    json::Value patch;
    // A conflict rather than a lost taint of somebody else's: the list is written whole.
    patch["metadata"]["resourceVersion"] = node["metadata"]["resourceVersion"];
    patch["spec"]["taints"] =
        taints.list.empty() ? json::Value(nullptr) : json::Value(std::move(taints.list));
    request.body = json::Write(patch);
    FLYBALL_ASSIGN(const std::string validation, ValidationOf(flags.validate));
    request.Query("fieldManager", flags.field_manager).Query("fieldValidation", validation);
    if (flags.dry_run == "server") request.Query("dryRun", "All");
    auto patched = session.Call(std::move(request));
    if (!patched && patched.error().Is(Reason::kConflict) && conflicts < kMostTaintConflicts) {
      FLYBALL_ASSIGN(const json::Value latest, session.Get(kNodes, "", name));
      return TaintNode(session, flags, changes, latest, conflicts + 1);
    }
    if (!patched) return Unexpected(patched.error());
    after = std::move(*patched);
  }
  FLYBALL_ASSIGN(const auto printer, NewObjectPrinter(flags.print));
  if (!printer) {
    session.out() << "node/" << name << " " << taints.operation << DryRunNote(flags.dry_run) << "\n";
    return {};
  }
  return PrintTo(session.out(), *printer, after);
}

Result<std::vector<json::Value>> NodesToTaint(Session& session, const TaintFlags& flags,
                                              const std::vector<std::string>& objects) {
  FLYBALL_ASSIGN(const KindRef kind, session.mapper().ForResource(LowerCase(objects[0])));
  if (!(kind == kNodes))
    return Unexpected(
        LocalError("invalid resource type " + LowerCase(objects[0]) + ", only node types are supported"));
  if (flags.all && !flags.selector.empty())
    return Unexpected(LocalError("setting 'all' parameter with a non empty selector is prohibited"));
  if (flags.all || !flags.selector.empty()) return ListObjects(session, kNodes, "", flags.selector);
  if (objects.size() < 2)
    return Unexpected(
        LocalError("at least one resource name must be specified since 'all' parameter is not set"));
  std::vector<json::Value> nodes;
  for (std::size_t i = 1; i < objects.size(); ++i) {
    FLYBALL_ASSIGN(json::Value node, session.Get(kNodes, "", objects[i]));
    nodes.push_back(std::move(node));
  }
  return nodes;
}

Status RunTaint(Session& session, const TaintFlags& flags) {
  FLYBALL_ASSIGN(const TaintChanges changes, ParseChanges(flags.args));
  FLYBALL_ASSIGN(const auto nodes, NodesToTaint(session, flags, changes.objects));
  for (const json::Value& node : nodes)
    if (const Status done = TaintNode(session, flags, changes, node); !done) session.Report(done.error());
  return {};
}

}  // namespace

void AddTaintCommand(const Command& root) {
  auto flags = std::make_shared<TaintFlags>();
  const Command command = root.Sub("taint", "Set or remove taints of nodes",
                                   "flyball taint node node-0 dedicated=db:NoSchedule\n"
                                   "  flyball taint node node-0 dedicated-");
  command.Args("node NAME KEY=VALUE:EFFECT", &flags->args,
               "Nodes, then taints to set (k=v:NoSchedule) or remove (k-)");
  command.Option("-l,--selector", &flags->selector, "Nodes with these labels");
  AddPrintFlags(command, &flags->print);
  AddDryRunFlag(command, &flags->dry_run);
  command.Option("--field-manager", &flags->field_manager, "Who owns the changed fields");
  command.Option("--validate", &flags->validate, "strict, warn or ignore: what to do about unknown fields",
                 "strict");
  command.Flag("--all", &flags->all, "All nodes");
  command.Flag("--overwrite", &flags->overwrite, "Replace taints that are there");
  RunVerb(command, [flags](Session& session) { return RunTaint(session, *flags); });
}

}  // namespace flyball::cli
