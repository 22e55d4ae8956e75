#include "server/admission/match/request_authorizer.h"

#include "api/select/selector.h"

namespace flyball::server {
namespace {

std::string KeyOf(const cel::AuthorizerQuery& q) {
  std::string key;
  for (const std::string* part :
       {&q.service_account_namespace, &q.service_account_name, &q.path, &q.group, &q.resource, &q.subresource,
        &q.name_space, &q.name, &q.field_selector, &q.label_selector, &q.verb}) {
    key += *part;
    key += '\0';
  }
  return key;
}

User ServiceAccountUser(const std::string& space, const std::string& name) {
  User user;
  user.name = std::string(kServiceAccountPrefix) + space + ":" + name;
  user.groups = {"system:serviceaccounts", "system:serviceaccounts:" + space};
  return user;
}

AuthorizationAttributes AttributesOf(const cel::AuthorizerQuery& query) {
  AuthorizationAttributes attributes;
  attributes.verb = query.verb;
  if (!query.path.empty()) {
    attributes.is_resource = false;
    attributes.path = query.path;
    return attributes;
  }
  attributes.namespace_name = query.name_space;
  attributes.group = query.group;
  attributes.version = "*";
  attributes.resource = query.resource;
  attributes.subresource = query.subresource;
  attributes.name = query.name;
  if (auto terms = api::ParseFieldTerms(query.field_selector)) attributes.field_terms = std::move(*terms);
  return attributes;
}

}  // namespace

cel::AuthorizerDecision RequestAuthorizer::Check(const cel::AuthorizerQuery& query) {
  std::string key = KeyOf(query);
  if (const auto found = answers_.find(key); found != answers_.end()) return found->second;
  questions_.try_emplace(std::move(key), query);
  return {.allowed = false, .reason = "", .error = "the question is not answered yet"};
}

Task<void> RequestAuthorizer::Ask() {
  for (const auto& [key, query] : questions_) {
    const User account = ServiceAccountUser(query.service_account_namespace, query.service_account_name);
    AuthorizationAttributes attributes = AttributesOf(query);
    attributes.user = query.service_account_name.empty() ? &scope_.user : &account;
    const Verdict verdict = co_await authorizer_.Authorize(attributes, scope_.executor);
    answers_[key] = {.allowed = verdict.decision == Decision::kAllow,
                     .reason = verdict.reason,
                     .error = verdict.error ? std::string(verdict.error->message()) : std::string()};
  }
  questions_.clear();
}

}  // namespace flyball::server
