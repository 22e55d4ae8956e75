// What the expressions of policies see of a request, made for one matched version and param. Confined to the
// request's coroutine.
#pragma once

#include "base/values/result.h"
#include "json/value.h"
#include "server/admission/match/admission_attributes.h"
#include "server/admission/match/request_authorizer.h"
#include "server/admission/policy/validation.h"

namespace flyball::server {

class PolicyRequestInputs {
 public:
  // All must outlive it. NotFound if the request's namespace is not there.
  static Result<PolicyRequestInputs> Make(AdmissionAttributes& attributes, const ServedResource& matched,
                                          const json::Value& param, RequestAuthorizer& authorizer);

  // Valid as long as this object is where it is.
  PolicyEvaluationInputs inputs() const;
  // Another object than the request's, as earlier mutations have left it.
  void SetObject(const json::Value& object) { object_ = &object; }

 private:
  PolicyRequestInputs() = default;

  const json::Value* object_ = nullptr;
  const json::Value* old_object_ = nullptr;
  const json::Value* namespace_object_ = nullptr;
  const json::Value* param_ = nullptr;
  RequestAuthorizer* authorizer_ = nullptr;
  json::Value request_, condition_request_;
  cel::AuthorizerQuery request_resource_;
};

}  // namespace flyball::server
