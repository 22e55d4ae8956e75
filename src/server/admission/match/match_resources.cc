#include "server/admission/match/match_resources.h"

#include <algorithm>

namespace flyball::server {
namespace {

std::vector<std::string> RuleTexts(const json::Value& list) {
  std::vector<std::string> out;
  if (list.is_array())
    for (const auto& item : list.as_array()) out.emplace_back(item.string_or(""));
  return out;
}

bool NamesOrAll(const std::vector<std::string>& list, std::string_view item) {
  return std::any_of(list.begin(), list.end(), [&](const auto& i) { return i == "*" || i == item; });
}

bool SelectsLabelsOf(const api::LabelSelector& selector, const json::Value* object) {
  return object && object->is_object() && selector.Matches((*object)["metadata"]["labels"]);
}

bool SameVersion(const ServedResource& a, const ServedResource& b) {
  return a.kind->group == b.kind->group && a.kind->version == b.kind->version;
}

Result<api::LabelSelector> ReadSelector(const json::Value& selector) {
  auto parsed = api::LabelSelector::FromObject(selector);
  if (!parsed)
    return Unexpected(InternalError("Internal error occurred: " + std::string(parsed.error().message())));
  return parsed;
}

}  // namespace

AdmissionRule::AdmissionRule(const json::Value& rule)
    : operations_(RuleTexts(rule["operations"])),
      groups_(RuleTexts(rule["apiGroups"])),
      versions_(RuleTexts(rule["apiVersions"])),
      names_(RuleTexts(rule["resourceNames"])) {
  for (const std::string& resource : RuleTexts(rule["resources"])) {
    const std::size_t slash = resource.find('/');
    resources_.push_back(
        {resource.substr(0, slash), slash == std::string::npos ? std::string() : resource.substr(slash + 1)});
  }
  const auto scope = rule["scope"].string_or("*");
  if (scope == "Namespaced") scope_ = Scope::kNamespaced;
  if (scope == "Cluster") scope_ = Scope::kCluster;
}

bool AdmissionRule::Matches(const AdmissionAttributes& attributes, const ServedResource& version) const {
  const auto& kind = *version.kind;
  return MatchesScope(attributes) && NamesOrAll(operations_, attributes.operation()) &&
         NamesOrAll(groups_, kind.group) && NamesOrAll(versions_, kind.version) &&
         MatchesResource(kind.plural, attributes.subresource());
}

bool AdmissionRule::MatchesName(std::string_view name) const {
  return names_.empty() || std::find(names_.begin(), names_.end(), name) != names_.end();
}

bool AdmissionRule::MatchesScope(const AdmissionAttributes& attributes) const {
  if (scope_ == Scope::kAll) return true;
  const bool cluster = attributes.IsNamespaces() || attributes.namespace_name().empty();
  return cluster == (scope_ == Scope::kCluster);
}

bool AdmissionRule::MatchesResource(std::string_view plural, std::string_view subresource) const {
  return std::any_of(resources_.begin(), resources_.end(), [&](const Resource& r) {
    return (r.plural == "*" || r.plural == plural) && (r.subresource == "*" || r.subresource == subresource);
  });
}

MatchResources MatchResources::OfPolicy(const json::Value& match) {
  MatchResources out;
  out.rules_ = Rules(match["resourceRules"]);
  out.exclude_ = Rules(match["excludeResourceRules"]);
  out.matches_without_rules_ = out.rules_.empty();
  out.ReadSelectors(match);
  return out;
}

MatchResources MatchResources::OfWebhook(const json::Value& webhook) {
  MatchResources out;
  out.rules_ = Rules(webhook["rules"]);
  out.ReadSelectors(webhook);
  return out;
}

std::vector<AdmissionRule> MatchResources::Rules(const json::Value& rules) {
  std::vector<AdmissionRule> out;
  if (rules.is_array())
    for (const auto& rule : rules.as_array()) out.emplace_back(rule);
  return out;
}

void MatchResources::ReadSelectors(const json::Value& match) {
  equivalent_ = match["matchPolicy"].string_or("") == "Equivalent";
  namespace_selector_ = ReadSelector(match["namespaceSelector"]);
  object_selector_ = ReadSelector(match["objectSelector"]);
}

Result<bool> MatchResources::MatchNamespace(const AdmissionAttributes& attributes) const {
  // What is in no namespace is never exempt.
  if (attributes.namespace_name().empty() && !attributes.IsNamespaces()) return true;
  if (!namespace_selector_) return Unexpected(namespace_selector_.error());
  if (namespace_selector_->empty()) return true;
  FLYBALL_ASSIGN(const LabelList labels, attributes.NamespaceLabels());
  return namespace_selector_->Matches(labels);
}

Result<bool> MatchResources::MatchObject(const AdmissionAttributes& attributes) const {
  if (!object_selector_) return Unexpected(object_selector_.error());
  if (object_selector_->empty()) return true;
  return SelectsLabelsOf(*object_selector_, attributes.request().object) ||
         SelectsLabelsOf(*object_selector_, attributes.request().old_object);
}

const ServedResource* MatchResources::MatchRules(const std::vector<AdmissionRule>& rules,
                                                 AdmissionAttributes& attributes) const {
  const auto matches = [&](const AdmissionRule& rule, const ServedResource& version) {
    return rule.Matches(attributes, version) && rule.MatchesName(attributes.name());
  };
  const ServedResource& own = attributes.resource();
  for (const AdmissionRule& rule : rules)
    if (matches(rule, own)) return &own;
  if (!equivalent_ || rules.empty()) return nullptr;
  for (const AdmissionRule& rule : rules)
    for (const ResourcePtr& other : attributes.Equivalents())
      if (!SameVersion(*other, own) && matches(rule, *other)) return other.get();
  return nullptr;
}

// A request that the rules do not match is not refused because of a selector: so errors come last.
Result<const ServedResource*> MatchResources::Match(AdmissionAttributes& attributes) const {
  const auto in_namespace = MatchNamespace(attributes);
  if (in_namespace && !*in_namespace) return nullptr;
  const auto of_object = MatchObject(attributes);
  if (of_object && !*of_object) return nullptr;
  if (MatchRules(exclude_, attributes)) return nullptr;
  const ServedResource* matched =
      matches_without_rules_ ? &attributes.resource() : MatchRules(rules_, attributes);
  if (!matched) return nullptr;
  if (!in_namespace) return Unexpected(in_namespace.error());
  if (!of_object) return Unexpected(of_object.error());
  return matched;
}

}  // namespace flyball::server
