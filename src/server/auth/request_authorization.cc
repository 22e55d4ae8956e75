#include "server/auth/request_authorization.h"

namespace flyball::server {

AuthorizationAttributes AttributesOf(const RequestScope& scope) {
  const auto& info = scope.info;
  AuthorizationAttributes attributes;
  attributes.user = &scope.user;
  attributes.verb = info.verb;
  attributes.is_resource = info.is_resource;
  attributes.namespace_name = info.namespace_name;
  attributes.group = info.group;
  attributes.version = info.version;
  attributes.resource = info.resource;
  attributes.subresource = info.subresource;
  attributes.name = info.name.empty() ? info.selector_name : info.name;
  attributes.path = info.path;
  attributes.field_terms = info.field_terms;
  if (info.verb == "list" || info.verb == "watch" || info.verb == "deletecollection")
    attributes.label_selector = info.query.Get("labelSelector");
  return attributes;
}

Task<Status> AuthorizeVerb(const Authorizer& authorizer, const RequestScope& scope, std::string_view verb) {
  AuthorizationAttributes attributes = AttributesOf(scope);
  attributes.verb = verb;
  const auto verdict = co_await authorizer.Authorize(attributes, scope.executor);
  if (verdict.decision == Decision::kAllow) co_return Status();
  if (verdict.error) co_return Unexpected(*verdict.error);
  co_return Unexpected(ForbiddenError(attributes, verdict.reason));
}

}  // namespace flyball::server
