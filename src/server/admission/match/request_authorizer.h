// RequestAuthorizer: the variable `authorizer` of expressions. Expressions are evaluated without waiting, but
// an authorizer may have to ask another server. So a question that has no answer yet is noted, and the caller
// gets the answers and evaluates once more:
//
//   for (;;) {
//     auto result = Evaluate(authorizer);
//     if (!authorizer.HasQuestions()) co_return result;
//     co_await authorizer.Ask();
//   }
//
// Every round answers at least one question more, and what an expression may cost bounds how many it has. The
// same question is asked once in a request (upstream: plugin/authorizer/caching_authorizer.go).
//
// Confined to the request's coroutine.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/run/task.h"
#include "cel/values/authorizer.h"
#include "server/auth/authorization.h"
#include "server/request/request_scope.h"

namespace flyball::server {

class RequestAuthorizer final : public cel::Authorizer {
 public:
  // Both must outlive it.
  RequestAuthorizer(const server::Authorizer& authorizer, const RequestScope& scope)
      : authorizer_(authorizer), scope_(scope) {}

  cel::AuthorizerDecision Check(const cel::AuthorizerQuery& query) override;
  bool HasQuestions() const { return !questions_.empty(); }
  Task<void> Ask();

 private:
  const server::Authorizer& authorizer_;
  const RequestScope& scope_;
  std::map<std::string, cel::AuthorizerDecision> answers_;
  std::map<std::string, cel::AuthorizerQuery> questions_;
};

}  // namespace flyball::server
