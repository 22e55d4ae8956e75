#include "cli/kubectl/verbs/auth_reconcile.h"

#include <algorithm>
#include <memory>

#include "cli/command/error_text.h"
#include "cli/kubectl/print/printers.h"
#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/session/manifests.h"
#include "json/json.h"

namespace flyball::cli {
namespace {

struct ReconcileFlags {
  ManifestFlags files;
  PrintFlags print;
  std::string dry_run;
  bool remove_permissions = false, remove_subjects = false;
};

const char* const kRuleLists[] = {"verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs"};

// Rules that allow one verb on one resource of one group (and one name), or on one path: what a rule is made
// of.
std::vector<json::Value> BreakDown(const json::Value& rule) {
  std::vector<json::Value> out;
  const auto each = [&](const char* list, bool required) {
    json::Array values = Elements(rule[list]);
    if (values.empty() && !required) values.emplace_back(nullptr);
    return values;
  };
  const auto make = [](std::initializer_list<std::pair<const char*, json::Value>> parts) {
    json::Value small = json::Object();
    for (const auto& [list, value] : parts)
      if (!value.is_null()) small[list] = json::Array{value};
    return small;
  };
  for (const json::Value& group : Elements(rule["apiGroups"]))
    for (const json::Value& resource : Elements(rule["resources"]))
      for (const json::Value& verb : Elements(rule["verbs"]))
        for (const json::Value& name : each("resourceNames", false))
          out.push_back(make(
              {{"verbs", verb}, {"apiGroups", group}, {"resources", resource}, {"resourceNames", name}}));
  for (const json::Value& url : Elements(rule["nonResourceURLs"]))
    for (const json::Value& verb : Elements(rule["verbs"]))
      out.push_back(make({{"verbs", verb}, {"nonResourceURLs", url}}));
  return out;
}

// One of the rule's entries covers the wanted one: itself or "*".
bool Covers(const json::Value& owner, const json::Value& wanted, const char* list, bool star) {
  if (!wanted[list].is_array()) return true;
  const json::Array& have = Elements(owner[list]);
  if (std::string_view(list) == "resourceNames" && have.empty()) return true;
  const json::Value& value = wanted[list].as_array()[0];
  return std::any_of(have.begin(), have.end(), [&](const json::Value& entry) {
    return entry == value || (star && entry.string_or("") == "*");
  });
}

bool IsAllowed(const json::Array& rules, const json::Value& small) {
  return std::any_of(rules.begin(), rules.end(), [&](const json::Value& rule) {
    if (Elements(small["resourceNames"]).empty() && small["resources"].is_array() &&
        !Elements(rule["resourceNames"]).empty())
      return false;
    return std::all_of(std::begin(kRuleLists), std::end(kRuleLists), [&](const char* list) {
      return Covers(rule, small, list, std::string_view(list) != "resourceNames");
    });
  });
}

// The parts of `wanted` that `rules` do not allow.
std::vector<json::Value> Uncovered(const json::Array& rules, const json::Array& wanted) {
  std::vector<json::Value> missing;
  for (const json::Value& rule : wanted)
    for (json::Value& small : BreakDown(rule))
      if (!IsAllowed(rules, small)) missing.push_back(std::move(small));
  return missing;
}

bool SameSubjectAs(const json::Value& a, const json::Value& b) {
  for (const char* field : {"kind", "name", "namespace"})
    if (a[field].string_or("") != b[field].string_or("")) return false;
  return true;
}

std::vector<json::Value> MissingSubjects(const json::Array& have, const json::Array& wanted) {
  std::vector<json::Value> missing;
  for (const json::Value& subject : wanted)
    if (std::none_of(have.begin(), have.end(),
                     [&](const json::Value& there) { return SameSubjectAs(there, subject); }))
      missing.push_back(subject);
  return missing;
}

std::string ListText(const json::Value& list) {
  std::string text = "[";
  for (const json::Value& item : Elements(list))
    text += (text.size() > 1 ? " " : "") + std::string(item.string_or(""));
  return text + "]";
}

std::string RuleText(const json::Value& rule) {
  return "{Verbs:" + ListText(rule["verbs"]) + " APIGroups:" + ListText(rule["apiGroups"]) +
         " Resources:" + ListText(rule["resources"]) + " ResourceNames:" + ListText(rule["resourceNames"]) +
         " NonResourceURLs:" + ListText(rule["nonResourceURLs"]) + "}";
}

std::string SubjectText(const json::Value& subject) {
  const auto field = [&](const char* name) { return std::string(subject[name].string_or("")); };
  return "{Kind:" + field("kind") + " APIGroup:" + field("apiGroup") + " Name:" + field("name") +
         " Namespace:" + field("namespace") + "}";
}

// What is to be done to one object, and why.
struct Plan {
  std::string operation;  // "create", "update", "recreate"; empty: nothing
  json::Value object;
  std::vector<std::string> added, removed;
};

Plan PlanRole(const ReconcileFlags& flags, const Manifest& manifest, const json::Value* live) {
  Plan plan{.object = live ? *live : manifest.object};
  const json::Array& wanted = Elements(manifest.object["rules"]);
  const json::Array have = live ? Elements((*live)["rules"]) : json::Array();
  for (const json::Value& rule :
       live ? Uncovered(have, wanted) : std::vector<json::Value>(wanted.begin(), wanted.end()))
    plan.added.push_back(RuleText(rule));
  if (!live) {
    plan.operation = "create";
    return plan;
  }
  const std::vector<json::Value> extra = Uncovered(wanted, have);
  if (flags.remove_permissions && !extra.empty()) {
    for (const json::Value& rule : extra) plan.removed.push_back(RuleText(rule));
    plan.object["rules"] = wanted;
  } else {
    json::Array rules = have;
    for (json::Value& rule : Uncovered(have, wanted)) rules.push_back(std::move(rule));
    plan.object["rules"] = std::move(rules);
  }
  if (!plan.added.empty() || !plan.removed.empty()) plan.operation = "update";
  return plan;
}

Plan PlanBinding(const ReconcileFlags& flags, const Manifest& manifest, const json::Value* live) {
  Plan plan{.object = live ? *live : manifest.object};
  const json::Array& wanted = Elements(manifest.object["subjects"]);
  if (live && !((*live)["roleRef"]["kind"] == manifest.object["roleRef"]["kind"] &&
                (*live)["roleRef"]["name"] == manifest.object["roleRef"]["name"])) {
    plan.operation = "recreate";
    plan.object = manifest.object;
    return plan;
  }
  const json::Array have = live ? Elements((*live)["subjects"]) : json::Array();
  json::Array subjects = have;
  for (json::Value& subject : MissingSubjects(have, wanted)) {
    plan.added.push_back(SubjectText(subject));
    subjects.push_back(std::move(subject));
  }
  if (flags.remove_subjects)
    for (const json::Value& extra : MissingSubjects(wanted, have)) {
      plan.removed.push_back(SubjectText(extra));
      std::erase_if(subjects, [&](const json::Value& there) { return SameSubjectAs(there, extra); });
    }
  plan.object["subjects"] = std::move(subjects);
  plan.operation = !live ? "create" : plan.added.empty() && plan.removed.empty() ? "" : "update";
  return plan;
}

Result<json::Value> Write(Session& session, const ReconcileFlags& flags, const Manifest& manifest,
                          const Plan& plan) {
  const bool dry = flags.dry_run == "server";
  if (plan.operation.empty() || flags.dry_run == "client") return plan.object;
  if (plan.operation == "create") return session.Create(manifest.kind, manifest.ns, plan.object, "", dry);
  if (plan.operation == "recreate") {
    RestRequest gone;
    gone.verb = "DELETE";
    gone.path = manifest.kind.Path(manifest.ns, manifest.name);
    if (dry) gone.Query("dryRun", "All");
    FLYBALL_TRY(session.Call(std::move(gone)));
    if (dry) return plan.object;
    return session.Create(manifest.kind, manifest.ns, plan.object, "");
  }
  RestRequest request;
  request.verb = "PUT";
  request.path = manifest.kind.Path(manifest.ns, manifest.name);
  request.body = json::Write(plan.object);
  if (dry) request.Query("dryRun", "All");
  return session.Call(std::move(request));
}

void Explain(Session& session, const ReconcileFlags& flags, const Manifest& manifest, const Plan& plan) {
  const bool binding = manifest.kind.kind.ends_with("Binding");
  const char* what = binding ? "subjects" : "rules";
  const auto list = [&](const char* title, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    session.err() << "\t" << title << "\n";
    for (const std::string& line : lines) session.err() << "\t\t" << line << "\n";
  };
  session.out() << DisplayName(manifest.kind, manifest.name) << " reconciled" << DryRunNote(flags.dry_run)
                << "\n";
  if (!plan.operation.empty()) session.err() << "\treconciliation required " << plan.operation << "\n";
  list((std::string("missing ") + what + " added:").c_str(), plan.added);
  list((std::string("extra ") + what + " removed:").c_str(), plan.removed);
}

Status ReconcileOne(Session& session, const ReconcileFlags& flags, const Manifest& manifest) {
  const bool rbac = manifest.kind.group == "rbac.authorization.k8s.io";
  if (!rbac) return {};
  auto live = session.Get(manifest.kind, manifest.ns, manifest.name);
  if (!live && !live.error().Is(Reason::kNotFound)) return Unexpected(live.error());
  const json::Value* there = live ? &*live : nullptr;
  const Plan plan = manifest.kind.kind.ends_with("Binding") ? PlanBinding(flags, manifest, there)
                                                            : PlanRole(flags, manifest, there);
  FLYBALL_ASSIGN(const json::Value after, Write(session, flags, manifest, plan));
  FLYBALL_ASSIGN(const auto printer, NewObjectPrinter(flags.print));
  if (printer) return PrintTo(session.out(), *printer, after);
  Explain(session, flags, manifest, plan);
  return {};
}

Status RunReconcile(Session& session, const ReconcileFlags& flags) {
  FLYBALL_TRY(CheckDryRun(flags.dry_run));
  if (flags.files.empty()) return Unexpected(LocalError("must specify one of -f and -k"));
  FLYBALL_ASSIGN(const auto manifests, ReadManifests(session, flags.files));
  for (const Manifest& manifest : manifests) FLYBALL_TRY(ReconcileOne(session, flags, manifest));
  return {};
}

}  // namespace

void AddAuthReconcileCommand(const Command& auth) {
  auto flags = std::make_shared<ReconcileFlags>();
  const Command command = auth.Sub("reconcile", "Make roles and bindings allow what files say",
                                   "flyball auth reconcile -f rbac.yaml");
  AddManifestFlags(command, &flags->files);
  AddPrintFlags(command, &flags->print);
  AddDryRunFlag(command, &flags->dry_run);
  command.Flag("--remove-extra-permissions", &flags->remove_permissions,
               "Take away what the files do not say");
  command.Flag("--remove-extra-subjects", &flags->remove_subjects,
               "Take away subjects that the files do not name");
  RunVerb(command, [flags](Session& session) { return RunReconcile(session, *flags); });
}

}  // namespace flyball::cli
