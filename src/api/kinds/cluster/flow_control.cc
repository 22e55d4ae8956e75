// API priority and fairness: what FlowSchemas and PriorityLevelConfigurations must be.
#include <algorithm>
#include <string>
#include <vector>

#include "api/kinds/shared/hooks.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::int64_t kMaxPrecedence = 10'000;
constexpr std::int64_t kMaxQueues = 10'000'000;
constexpr std::string_view kAnything = "*";

// "must contain at least one", and nothing beside "*". True if the members are worth a look of their own.
bool CheckWildcardList(const Value& list, const FieldPath& path, std::string_view none, std::string_view noun,
                       FieldErrors& errors) {
  if (list.size() == 0) {
    errors.Required(path, none);
    return false;
  }
  if (!Contains(list, kAnything)) return true;
  if (list.size() > 1)
    errors.Invalid(path, list, "if '*' is present, must not specify other " + std::string(noun));
  return false;
}

void CheckVerbs(const Value& verbs, const FieldPath& path, FieldErrors& errors) {
  static const std::vector<std::string> kVerbs = {"create", "delete", "deletecollection", "get",  "list",
                                                  "patch",  "proxy",  "update",           "watch"};
  if (!CheckWildcardList(verbs, path, "verbs must contain at least one value", "verbs", errors)) return;
  for (const Value& verb : Items(verbs)) {
    if (std::find(kVerbs.begin(), kVerbs.end(), verb.string_or({})) == kVerbs.end())
      return errors.NotSupported(path, verbs, kVerbs);
  }
}

void CheckRuleNamespaces(const Value& rule, const FieldPath& path, FieldErrors& errors) {
  const Value& namespaces = rule["namespaces"];
  if (namespaces.size() == 0 && rule["clusterScope"].bool_or(false)) return;
  if (!CheckWildcardList(namespaces, path,
                         "resource rules that are not cluster scoped must supply at least one namespace",
                         "namespaces", errors))
    return;
  for (std::size_t i = 0; i < namespaces.size(); ++i) {
    const std::string_view name = namespaces.as_array()[i].string_or({});
    for (const std::string& problem : DnsLabelProblems(name))
      errors.Invalid(path.Index(i), name,
                     "each member of this list must be '*' or a DNS-1123 label; " + problem);
  }
}

void ValidateResourceRule(const Value& rule, const FieldPath& path, FieldErrors& errors) {
  CheckVerbs(rule["verbs"], path.Child("verbs"), errors);
  CheckWildcardList(rule["apiGroups"], path.Child("apiGroups"),
                    "resource rules must supply at least one api group", "api groups", errors);
  CheckWildcardList(rule["resources"], path.Child("resources"),
                    "resource rules must supply at least one resource", "resources", errors);
  CheckRuleNamespaces(rule, path.Child("namespaces"), errors);
}

void ValidateNonResourceRule(const Value& rule, const FieldPath& path, FieldErrors& errors) {
  CheckVerbs(rule["verbs"], path.Child("verbs"), errors);
  CheckWildcardList(rule["nonResourceURLs"], path.Child("nonResourceURLs"),
                    "nonResourceURLs must contain at least one value", "non-resource URLs", errors);
}

struct SubjectKind {
  std::string_view kind, member;
};
constexpr SubjectKind kSubjectKinds[] = {
    {"ServiceAccount", "serviceAccount"}, {"User", "user"}, {"Group", "group"}};

void ValidateFlowSubject(const Value& subject, const FieldPath& path, FieldErrors& errors) {
  const std::string_view kind = Text(subject, "kind");
  bool known = false;
  for (const SubjectKind& one : kSubjectKinds) known |= one.kind == kind;
  if (!known) return errors.NotSupported(path.Child("kind"), kind, {"Group", "ServiceAccount", "User"});
  for (const SubjectKind& one : kSubjectKinds) {
    const bool given = Has(subject, one.member);
    const std::string member(one.member), quoted = "'" + std::string(one.kind) + "'";
    if (one.kind == kind && !given)
      errors.Required(path.Child(member), member + " is required when subject kind is " + quoted);
    if (one.kind != kind && given)
      errors.Forbidden(path.Child(member), member + " is forbidden when subject kind is not " + quoted);
  }
}

void ValidateFlowRule(const Value& rule, const FieldPath& path, FieldErrors& errors) {
  const json::Array& subjects = Items(rule["subjects"]);
  if (subjects.empty()) errors.Required(path.Child("subjects"), "subjects must contain at least one value");
  for (std::size_t i = 0; i < subjects.size(); ++i)
    ValidateFlowSubject(subjects[i], path.Child("subjects").Index(i), errors);
  const json::Array& resources = Items(rule["resourceRules"]);
  const json::Array& others = Items(rule["nonResourceRules"]);
  if (resources.empty() && others.empty())
    errors.Required(path, "at least one of resourceRules and nonResourceRules has to be non-empty");
  for (std::size_t i = 0; i < resources.size(); ++i)
    ValidateResourceRule(resources[i], path.Child("resourceRules").Index(i), errors);
  for (std::size_t i = 0; i < others.size(); ++i)
    ValidateNonResourceRule(others[i], path.Child("nonResourceRules").Index(i), errors);
}

void CheckPrecedence(const Value& object, const FieldPath& path, FieldErrors& errors) {
  const std::int64_t precedence = Number(object["spec"], "matchingPrecedence");
  if (precedence <= 0) errors.Invalid(path, precedence, "must be a positive value");
  if (precedence > kMaxPrecedence) errors.Invalid(path, precedence, "must not be greater than 10000");
  if (precedence == 1 && Text(object["metadata"], "name") != "exempt")
    errors.Invalid(path, precedence, "only the schema named 'exempt' may have matchingPrecedence 1");
}

void CheckDistinguisher(const Value& method, const FieldPath& path, FieldErrors& errors) {
  const std::string_view type = Text(method, "type");
  if (type == "ByNamespace" || type == "ByUser") return;
  errors.NotSupported(path, json::Object{{"Type", type}}, {"ByNamespace", "ByUser"});
}

void ValidateFlowSchema(const Value& object, FieldErrors& errors) {
  const Value& spec = object["spec"];
  const FieldPath path("spec");
  CheckPrecedence(object, path.Child("matchingPrecedence"), errors);
  if (Has(spec, "distinguisherMethod"))
    CheckDistinguisher(spec["distinguisherMethod"], path.Child("distinguisherMethod").Child("type"), errors);
  const FieldPath level = path.Child("priorityLevelConfiguration").Child("name");
  if (const std::string_view name = Text(spec["priorityLevelConfiguration"], "name"); name.empty()) {
    errors.Required(level, "must reference a priority level");
  } else {
    CheckFormat("dns-subdomain", name, level, errors);
  }
  const json::Array& rules = Items(spec["rules"]);
  for (std::size_t i = 0; i < rules.size(); ++i)
    ValidateFlowRule(rules[i], path.Child("rules").Index(i), errors);
}

void CheckPositive(const Value& object, const char* field, const FieldPath& path, FieldErrors& errors) {
  if (Number(object, field) <= 0)
    errors.Invalid(path.Child(field), Number(object, field), "must be positive");
}

void ValidateQueuing(const Value& queuing, const FieldPath& path, FieldErrors& errors) {
  const std::int64_t queues = Number(queuing, "queues"), hand = Number(queuing, "handSize");
  CheckPositive(queuing, "queueLengthLimit", path, errors);
  CheckPositive(queuing, "queues", path, errors);
  if (queues > kMaxQueues)
    errors.Invalid(path.Child("queues"), queues, "must not be greater than " + std::to_string(kMaxQueues));
  CheckPositive(queuing, "handSize", path, errors);
  if (hand > 0 && hand > queues)
    errors.Invalid(path.Child("handSize"), hand,
                   "should not be greater than queues (" + std::to_string(queues) + ")");
}

void ValidateLimitResponse(const Value& response, const FieldPath& path, FieldErrors& errors) {
  const std::string_view type = Text(response, "type");
  const FieldPath queuing = path.Child("queuing");
  if (type == "Reject") {
    if (Has(response, "queuing")) errors.Forbidden(queuing, "");
  } else if (type.empty()) {
    errors.declarative().Required(path.Child("type"));
  } else if (type != "Queue") {
    errors.NotSupported(path.Child("type"), type, {"Queue", "Reject"});
  } else if (!Has(response, "queuing")) {
    errors.Required(queuing, "must not be empty if limited.limitResponse.type is Limited");
  } else {
    ValidateQueuing(response["queuing"], queuing, errors);
  }
}

void CheckShares(const Value& level, const FieldPath& path, FieldErrors& errors) {
  if (Number(level, "nominalConcurrencyShares") < 0)
    errors.Invalid(path.Child("nominalConcurrencyShares"), level["nominalConcurrencyShares"],
                   "must be a non-negative integer");
}

void CheckLendable(const Value& level, const FieldPath& path, FieldErrors& errors) {
  const std::int64_t percent = Number(level, "lendablePercent");
  if (percent < 0 || percent > 100)
    errors.Invalid(path.Child("lendablePercent"), percent, "must be between 0 and 100, inclusive");
}

void ValidateLimited(const Value& limited, const FieldPath& path, FieldErrors& errors) {
  CheckShares(limited, path, errors);
  ValidateLimitResponse(limited["limitResponse"], path.Child("limitResponse"), errors);
  CheckLendable(limited, path, errors);
  if (Has(limited, "borrowingLimitPercent") && Number(limited, "borrowingLimitPercent") < 0)
    errors.Invalid(path.Child("borrowingLimitPercent"), limited["borrowingLimitPercent"],
                   "if specified, must be a non-negative integer");
}

// Which member belongs to which type (upstream: declarative validation).
void CheckLevelMembers(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  const std::string_view type = Text(spec, "type");
  if (Has(spec, "exempt") && type != "Exempt") errors.Forbidden(path.Child("exempt"), "");
  if (Has(spec, "limited") && type != "Limited") errors.Forbidden(path.Child("limited"), "");
  if (!Has(spec, "limited") && type == "Limited") errors.Required(path.Child("limited"));
  if (type.empty()) errors.Required(path.Child("type"));
}

void ValidatePriorityLevel(const Value& object, FieldErrors& errors) {
  const Value& spec = object["spec"];
  const std::string_view type = Text(spec, "type");
  const FieldPath path("spec");
  if ((Text(object["metadata"], "name") == "exempt") != (type == "Exempt"))
    errors.Invalid(path.Child("type"), type, "must be 'Exempt' if and only if `name` is 'exempt'");
  if (type == "Exempt") {
    CheckShares(spec["exempt"], path.Child("exempt"), errors);
    CheckLendable(spec["exempt"], path.Child("exempt"), errors);
  } else if (type == "Limited") {
    if (Has(spec, "limited")) ValidateLimited(spec["limited"], path.Child("limited"), errors);
  } else if (!type.empty()) {
    errors.NotSupported(path.Child("type"), type, {"Exempt", "Limited"});
  }
  CheckLevelMembers(spec, path, errors.declarative());
}

}  // namespace

const KindHooks kFlowSchemaHooks = {.group = "flowcontrol.apiserver.k8s.io",
                                    .kind = "FlowSchema",
                                    .validate = ValidateFlowSchema,
                                    .status_keeps_metadata = true,
                                    .generation = true};
const KindHooks kPriorityLevelConfigurationHooks = {.group = "flowcontrol.apiserver.k8s.io",
                                                    .kind = "PriorityLevelConfiguration",
                                                    .validate = ValidatePriorityLevel,
                                                    .status_keeps_metadata = true,
                                                    .generation = true};

}  // namespace flyball::api
