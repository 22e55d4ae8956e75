#include "server/admission/policy/policy_inputs.h"

namespace flyball::server {

Result<PolicyRequestInputs> PolicyRequestInputs::Make(AdmissionAttributes& attributes,
                                                      const ServedResource& matched, const json::Value& param,
                                                      RequestAuthorizer& authorizer) {
  PolicyRequestInputs made;
  const auto objects = attributes.In(matched);
  made.object_ = objects.object;
  made.old_object_ = objects.old_object;
  FLYBALL_ASSIGN(made.namespace_object_, attributes.NamespaceObject());
  made.param_ = param.is_null() ? nullptr : &param;
  made.authorizer_ = &authorizer;
  made.request_ = attributes.RequestValue(matched, matched);
  // Match conditions see the resource as it was requested.
  made.condition_request_ = &matched == &attributes.resource()
                                ? json::Value()
                                : attributes.RequestValue(attributes.resource(), matched);
  made.request_resource_ = attributes.RequestResource();
  return made;
}

PolicyEvaluationInputs PolicyRequestInputs::inputs() const {
  cel::PolicyInputs expressions{.object = object_,
                                .old_object = old_object_,
                                .namespace_object = namespace_object_,
                                .request = &request_,
                                .params = param_,
                                .authorizer = authorizer_,
                                .request_resource = request_resource_};
  cel::PolicyInputs conditions = expressions;
  conditions.namespace_object = nullptr;
  if (!condition_request_.is_null()) conditions.request = &condition_request_;
  return {conditions, expressions};
}

}  // namespace flyball::server
