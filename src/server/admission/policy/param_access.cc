#include "server/admission/policy/param_access.h"

#include "api/rules/field_error.h"

namespace flyball::server {
namespace {

// Go's %v of a *user.DefaultInfo.
std::string GoUser(const User& user) {
  std::string out = "&{" + user.name + " " + user.uid + " [";
  for (std::size_t i = 0; i < user.groups.size(); ++i) out += (i ? " " : "") + user.groups[i];
  out += "] map[";
  bool first = true;
  for (const auto& [key, values] : user.extra) {
    out += (first ? "" : " ") + key + ":[";
    for (std::size_t i = 0; i < values.size(); ++i) out += (i ? " " : "") + values[i];
    out += "]";
    first = false;
  }
  return out + "]}";
}

bool IsPolicyKind(const AdmissionRequest& request) {
  const auto& kind = *request.resource.kind;
  return kind.group == "admissionregistration.k8s.io" &&
         kind.kind.find("AdmissionPolicy") != kind.kind.npos && request.subresource.empty() && request.object;
}

class ParamAccessCheck final : public AdmissionPlugin {
 public:
  ParamAccessCheck(const Catalog& catalog, const Authorizer& authorizer)
      : catalog_(catalog), authorizer_(authorizer) {}
  std::string_view name() const override { return "ParamAccessCheck"; }
  bool WantsAdmit(const AdmissionRequest&) const override { return false; }
  bool WantsValidate(const AdmissionRequest& request) const override {
    return IsPolicyKind(request) && !request.scope.user.InGroup(kMastersGroup);
  }

  Task<Status> Validate(const AdmissionRequest& request) override {
    const bool binding = request.resource.kind->kind.ends_with("Binding");
    const json::Value& object = *request.object;
    const json::Value& spec = object["spec"];
    const json::Value old = request.old_object ? (*request.old_object)["spec"] : json::Value();
    const char* member = binding ? "paramRef" : "paramKind";
    if (spec[member].is_null()) co_return Status();
    const bool same = spec[member] == old[member] && spec["policyName"] == old["policyName"];
    if (same) co_return Status();
    Question question = binding ? OfBinding(request, spec) : OfPolicy(request, spec["paramKind"]);
    question.attributes.user = &request.scope.user;
    const Verdict verdict = co_await authorizer_.Authorize(question.attributes, request.scope.executor);
    if (verdict.decision == Decision::kAllow) co_return Status();
    api::FieldErrors errors;
    errors.Forbidden(api::FieldPath("spec").Child(member),
                     verdict.error ? std::string(verdict.error->message()) : question.refusal);
    co_return Unexpected(errors.ToError(request.resource.kind->group, request.resource.kind->kind,
                                        object["metadata"]["name"].string_or("")));
  }

 private:
  struct Question {
    AuthorizationAttributes attributes;
    std::string refusal;
  };

  // The resource of a kind, as far as it can be told; everything otherwise. False if it is not served.
  bool Resolve(const json::Value& kind, AuthorizationAttributes& attributes) const {
    const std::string version(kind["apiVersion"].string_or(""));
    const std::size_t slash = version.find('/');
    attributes.group = slash == std::string::npos ? "" : version.substr(0, slash);
    attributes.version = slash == std::string::npos ? version : version.substr(slash + 1);
    attributes.resource = "*";
    const auto found =
        catalog_.snapshot()->FindKind(attributes.group, attributes.version, kind["kind"].string_or(""));
    if (!found || found->disabled) return false;
    attributes.resource = found->kind->plural;
    return true;
  }

  Question OfPolicy(const AdmissionRequest& request, const json::Value& kind) const {
    Question question;
    Resolve(kind, question.attributes);
    question.attributes.verb = "get";
    question.attributes.name = question.attributes.namespace_name = "*";
    question.refusal = "user " + GoUser(request.scope.user) +
                       " must have \"get\" permission on all objects of the referenced paramKind (kind=" +
                       std::string(kind["kind"].string_or("")) +
                       ", apiVersion=" + std::string(kind["apiVersion"].string_or("")) + ")";
    return question;
  }

  Question OfBinding(const AdmissionRequest& request, const json::Value& spec) const {
    Question question;
    auto& attributes = question.attributes;
    attributes.group = attributes.version = attributes.resource = "*";
    const json::Value& ref = spec["paramRef"];
    attributes.name = ref["name"].string_or("");
    attributes.namespace_name = ref["namespace"].string_or("");
    attributes.verb = attributes.name.empty() ? "list" : "get";
    const std::string policy_name(spec["policyName"].string_or(""));
    const bool mutating = request.resource.kind->kind.starts_with("Mutating");
    const auto policies =
        catalog_.Find("admissionregistration.k8s.io", "v1",
                      mutating ? "mutatingadmissionpolicies" : "validatingadmissionpolicies");
    const auto policy = policies->cache->Get(policy_name);
    const std::string who = "user " + GoUser(request.scope.user);
    const std::string everything = " to determine minimum required permissions and " + who +
                                   " does not have \"" + attributes.verb +
                                   "\" permission for all groups, versions and resources";
    // Upstream has user and verb the other way round in what it says of mutating bindings.
    const std::string user = GoUser(request.scope.user);
    question.refusal = "user " + (mutating ? attributes.verb : user) + " does not have \"" +
                       (mutating ? user : attributes.verb) +
                       "\" permission on the object referenced by paramRef";
    if (!policy) {
      question.refusal = "unable to get policy " + policy_name + everything;
      return question;
    }
    const json::Value kind = policy->ToValue()["spec"]["paramKind"];
    if (!kind.is_null() && !Resolve(kind, attributes))
      question.refusal = "unable to resolve paramKind &ParamKind{APIVersion:" +
                         std::string(kind["apiVersion"].string_or("")) +
                         ",Kind:" + std::string(kind["kind"].string_or("")) + ",}" + everything;
    return question;
  }

  const Catalog& catalog_;
  const Authorizer& authorizer_;
};

}  // namespace

std::unique_ptr<AdmissionPlugin> NewParamAccessCheck(const Catalog& catalog, const Authorizer& authorizer) {
  return std::make_unique<ParamAccessCheck>(catalog, authorizer);
}

}  // namespace flyball::server
