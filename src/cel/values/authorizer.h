// Authorizer: what the variable `authorizer` of admission policies asks (upstream: cel/library/authz.go). The
// server implements it for one request.
#pragma once

#include <string>

namespace flyball::cel {

struct AuthorizerQuery {
  // Asked for a service account instead of the request's user, if set.
  std::string service_account_namespace, service_account_name;
  std::string path;  // of a non-resource request; the rest is then empty
  std::string group, resource, subresource, name_space, name, field_selector, label_selector;
  std::string verb;
};

struct AuthorizerDecision {
  bool allowed = false;
  std::string reason;
  std::string error;  // why no decision could be made; empty otherwise
};

class Authorizer {
 public:
  virtual ~Authorizer() = default;
  // Called on the thread that evaluates; must not wait for anything.
  virtual AuthorizerDecision Check(const AuthorizerQuery& query) = 0;
};

}  // namespace flyball::cel
