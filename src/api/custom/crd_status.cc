#include "api/custom/crd_status.h"

#include <algorithm>

namespace flyball::api {

namespace {

using json::Value;

struct Condition {
  std::string_view type, status, reason;
  std::string message;
};

const Value* FindCondition(const Value& definition, std::string_view type) {
  const auto& conditions = definition["status"]["conditions"];
  if (!conditions.is_array()) return nullptr;
  for (const auto& condition : conditions.as_array())
    if (condition["type"].string_or("") == type) return &condition;
  return nullptr;
}

void SetCondition(Value& definition, const Condition& wanted, std::string_view now) {
  const Value* existing = FindCondition(definition, wanted.type);
  const bool moved = existing == nullptr || (*existing)["status"].string_or("") != wanted.status;
  json::Object condition;
  condition.Append("type", wanted.type);
  condition.Append("status", wanted.status);
  condition.Append("lastTransitionTime", moved ? Value(now) : (*existing)["lastTransitionTime"]);
  condition.Append("reason", wanted.reason);
  condition.Append("message", wanted.message);
  auto& conditions = definition["status"]["conditions"];
  if (!conditions.is_array()) conditions = json::Array();
  for (auto& candidate : conditions.as_array()) {
    if (candidate["type"].string_or("") != wanted.type) continue;
    candidate = std::move(condition);
    return;
  }
  conditions.as_array().emplace_back(std::move(condition));
}

// Which names other definitions and built-in kinds of the same group already have.
class TakenNames {
 public:
  TakenNames(std::span<const KindInfo* const> others, std::string_view group, std::string_view own_plural) {
    for (const KindInfo* kind : others) {
      if (kind->group != group || kind->plural == own_plural) continue;
      resources_.emplace_back(kind->plural);
      resources_.emplace_back(kind->singular);
      for (const auto name : kind->short_names) resources_.emplace_back(name);
      kinds_.emplace_back(kind->kind);
      kinds_.push_back(std::string(kind->kind) + "List");
    }
  }
  bool HasResource(std::string_view name) const { return Has(resources_, name); }
  bool HasKind(std::string_view name) const { return Has(kinds_, name); }

 private:
  static bool Has(const std::vector<std::string>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }
  std::vector<std::string> resources_, kinds_;
};

std::string InUse(std::string_view name) {
  return '"' + std::string(name) + "\" is already in use";
}

// Which of the short names are taken; several in brackets, "" for none.
std::string ShortNamesProblem(const Value& short_names, const TakenNames& taken) {
  std::vector<std::string> problems;
  if (short_names.is_array())
    for (const auto& name : short_names.as_array())
      if (taken.HasResource(name.string_or(""))) problems.push_back(InUse(name.string_or("")));
  if (problems.size() < 2) return problems.empty() ? "" : problems.front();
  std::string all;
  for (const auto& problem : problems) all += (all.empty() ? "[" : ", ") + problem;
  return all + "]";
}

// Accepts each requested name that is free; says which was not.
Condition AcceptNames(Value& definition, const TakenNames& taken) {
  const Value names = definition["spec"]["names"];
  Value accepted = definition["status"]["acceptedNames"];
  if (!accepted.is_object()) accepted = json::Object();
  Condition result{"NamesAccepted", "True", "NoConflicts", "no conflicts found"};
  // Of several conflicts, the last is told.
  const auto refuse = [&](std::string_view reason, std::string message) {
    result = {"NamesAccepted", "False", reason, std::move(message)};
  };
  const auto take = [&](const char* member, bool free, std::string_view reason) {
    const auto name = names[member].string_or("");
    if (free)
      accepted[member] = name;
    else
      refuse(reason, InUse(name));
  };
  const auto take_list = [&](const char* member) {
    if (names[member].empty())
      accepted.as_object().Erase(member);
    else
      accepted[member] = names[member];
  };
  take("plural", !taken.HasResource(names["plural"].string_or("")), "PluralConflict");
  take("singular", !taken.HasResource(names["singular"].string_or("")), "SingularConflict");
  if (const auto problem = ShortNamesProblem(names["shortNames"], taken); problem.empty())
    take_list("shortNames");
  else
    refuse("ShortNamesConflict", problem);
  take("kind", !taken.HasKind(names["kind"].string_or("")), "KindConflict");
  take("listKind", !taken.HasKind(names["listKind"].string_or("")), "ListKindConflict");
  take_list("categories");
  definition["status"]["acceptedNames"] = std::move(accepted);
  return result;
}

Condition EstablishedCondition(const Value& definition, bool names_accepted) {
  // Once established it stays so: objects may exist.
  if (IsEstablished(definition) || names_accepted)
    return {"Established", "True", "InitialNamesAccepted", "the initial names have been accepted"};
  return {"Established", "False", "NotAccepted", "not all names are accepted"};
}

Condition ApprovalCondition(const Value& definition) {
  auto approval = ApprovalOf(definition);
  constexpr std::string_view kType = "KubernetesAPIApprovalPolicyConformant";
  switch (approval.state) {
    case Approval::kApproved:
      return {kType, "True", "ApprovedAnnotation", std::move(approval.message)};
    case Approval::kBypassed:
      return {kType, "False", "UnapprovedAnnotation", std::move(approval.message)};
    case Approval::kMissing:
      return {kType, "False", "MissingAnnotation", std::move(approval.message)};
    case Approval::kMalformed:
      break;
  }
  return {kType, "False", "InvalidAnnotation", std::move(approval.message)};
}

}  // namespace

std::vector<std::string> StoredVersions(const Value& definition) {
  std::vector<std::string> out;
  if (const auto& stored = definition["status"]["storedVersions"]; stored.is_array())
    for (const auto& version : stored.as_array()) out.emplace_back(version.string_or(""));
  if (const auto& versions = definition["spec"]["versions"]; versions.is_array())
    for (const auto& version : versions.as_array())
      if (const auto name = version["name"].string_or("");
          version["storage"].bool_or(false) && std::find(out.begin(), out.end(), name) == out.end())
        out.emplace_back(name);
  return out;
}

Value InitialDefinitionStatus(const Value& definition) {
  json::Object names, status;
  names.Append("plural", "");
  names.Append("kind", "");
  json::Array stored;
  const Value spec_only = [&] {
    json::Object o;
    o.Append("spec", definition["spec"]);
    return Value(std::move(o));
  }();
  for (const auto& version : StoredVersions(spec_only)) stored.emplace_back(version);
  status.Append("conditions", Value());
  status.Append("acceptedNames", std::move(names));
  status.Append("storedVersions", std::move(stored));
  return status;
}

bool UpdateDefinitionStatus(Value& definition, std::span<const KindInfo* const> others,
                            std::string_view now) {
  const Value before = definition["status"];
  const auto& spec = std::as_const(definition)["spec"];
  const std::string group(spec["group"].string_or(""));
  const TakenNames taken(others, group, spec["names"]["plural"].string_or(""));
  const auto names = AcceptNames(definition, taken);
  SetCondition(definition, names, now);
  SetCondition(definition, EstablishedCondition(definition, names.status == "True"), now);
  if (IsProtectedGroup(group)) SetCondition(definition, ApprovalCondition(definition), now);
  json::Array stored;
  for (const auto& version : StoredVersions(definition)) stored.emplace_back(version);
  definition["status"]["storedVersions"] = std::move(stored);
  return !(before == definition["status"]);
}

bool MarkTerminating(Value& definition, std::string_view now) {
  const Value* condition = FindCondition(definition, "Terminating");
  if (condition != nullptr && (*condition)["status"].string_or("") == "True") return false;
  SetCondition(
      definition,
      {"Terminating", "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress"}, now);
  return true;
}

bool IsEstablished(const Value& definition) {
  const Value* condition = FindCondition(definition, "Established");
  return condition != nullptr && (*condition)["status"].string_or("") == "True";
}

bool IsProtectedGroup(std::string_view group) {
  for (const std::string_view domain : {"k8s.io", "kubernetes.io"}) {
    if (group == domain) return true;
    if (group.ends_with(domain) && group[group.size() - domain.size() - 1] == '.') return true;
  }
  return false;
}

Approval ApprovalOf(const Value& definition) {
  constexpr std::string_view kSee = ", see https://github.com/kubernetes/enhancements/pull/1111";
  const auto text = definition["metadata"]["annotations"][kApprovalAnnotation].string_or("");
  const std::string must =
      "protected groups must have approval annotation \"" + std::string(kApprovalAnnotation) + '"';
  if (text.empty()) return {Approval::kMissing, must + std::string(kSee)};
  if (text.starts_with("unapproved"))
    return {Approval::kBypassed, "not approved: \"" + std::string(text) + '"'};
  if (text.find("://") == std::string_view::npos)
    return {Approval::kMalformed,
            must + " with either a URL or a reason starting with \"unapproved\"" + std::string(kSee)};
  return {Approval::kApproved, "approved in " + std::string(text)};
}

}  // namespace flyball::api
