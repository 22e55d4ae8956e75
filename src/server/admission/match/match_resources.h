// MatchResources: the requests that a webhook, a policy or a binding is about, by rules and selectors
// (upstream: webhook/predicates, policy/matching). Read once from the object; immutable afterwards and
// thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/select/selector.h"
#include "base/values/result.h"
#include "json/value.h"
#include "server/admission/match/admission_attributes.h"
#include "server/catalog/catalog.h"

namespace flyball::server {

// One of the rules: operations, groups, versions, resources, scope and, in policies, names.
class AdmissionRule {
 public:
  explicit AdmissionRule(const json::Value& rule);
  // Whether it is about the request if that were made in this version of the resource. Names are not looked
  // at.
  bool Matches(const AdmissionAttributes& attributes, const ServedResource& version) const;
  // Whether it names the object, or no object at all.
  bool MatchesName(std::string_view name) const;

 private:
  enum class Scope : std::uint8_t { kAll, kNamespaced, kCluster };
  // "pods", "pods/*", "*/scale", "*/*".
  struct Resource {
    std::string plural, subresource;
  };
  bool MatchesScope(const AdmissionAttributes& attributes) const;
  bool MatchesResource(std::string_view plural, std::string_view subresource) const;

  std::vector<std::string> operations_, groups_, versions_, names_;
  std::vector<Resource> resources_;
  Scope scope_ = Scope::kAll;
};

class MatchResources {
 public:
  // A policy's matchConstraints or a binding's matchResources.
  static MatchResources OfPolicy(const json::Value& match);
  // An entry of webhooks: rules, matchPolicy and selectors. Without rules it matches nothing.
  static MatchResources OfWebhook(const json::Value& webhook);

  // The version of the resource in which a rule matched: the request's own, or under matchPolicy Equivalent
  // another one, to which the objects are to be converted (AdmissionAttributes::In, KindIn). Null: the
  // request does not match. An error if it would, but a selector cannot be evaluated: the namespace is not
  // there (404), or the selector is malformed (500). `attributes` keeps the version alive.
  Result<const ServedResource*> Match(AdmissionAttributes& attributes) const;

 private:
  using Selector = Result<api::LabelSelector>;

  static std::vector<AdmissionRule> Rules(const json::Value& rules);
  void ReadSelectors(const json::Value& match);
  Result<bool> MatchNamespace(const AdmissionAttributes& attributes) const;
  Result<bool> MatchObject(const AdmissionAttributes& attributes) const;
  const ServedResource* MatchRules(const std::vector<AdmissionRule>& rules,
                                   AdmissionAttributes& attributes) const;

  std::vector<AdmissionRule> rules_, exclude_;
  bool matches_without_rules_ = false;
  bool equivalent_ = false;
  Selector namespace_selector_ = api::LabelSelector(), object_selector_ = api::LabelSelector();
};

}  // namespace flyball::server
