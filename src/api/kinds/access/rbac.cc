#include "api/kinds/shared/hooks.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/rules/object_meta.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::string_view kRbacGroup = "rbac.authorization.k8s.io";

void ValidateRbacRule(const Value& rule, bool namespaced, const FieldPath& path, FieldErrors& errors) {
  if (rule["verbs"].size() == 0) errors.declarative().Required(path.Child("verbs"));
  const Value& urls = rule["nonResourceURLs"];
  if (urls.size() > 0) {
    const FieldPath here = path.Child("nonResourceURLs");
    if (namespaced) errors.Invalid(here, urls, "namespaced rules cannot apply to non-resource URLs");
    if (rule["apiGroups"].size() + rule["resources"].size() + rule["resourceNames"].size() > 0) {
      errors.Invalid(here, urls, "rules cannot apply to both regular resources and non-resource URLs");
    }
    return;
  }
  if (rule["apiGroups"].size() == 0) {
    errors.Required(path.Child("apiGroups"), "resource rules must supply at least one api group");
  }
  if (rule["resources"].size() == 0) {
    errors.Required(path.Child("resources"), "resource rules must supply at least one resource");
  }
}

void ValidateRbacRules(const Value& rules, bool namespaced, FieldErrors& errors) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    ValidateRbacRule(rules.as_array()[i], namespaced, FieldPath("rules").Index(i), errors);
  }
}

void ValidateRole(const Value& object, FieldErrors& errors) {
  ValidateRbacRules(object["rules"], true, errors);
}

void ValidateClusterRole(const Value& object, FieldErrors& errors) {
  ValidateRbacRules(object["rules"], false, errors);
  const Value& aggregation = object["aggregationRule"];
  if (aggregation.is_null()) return;
  const FieldPath path("aggregationRule.clusterRoleSelectors");
  const Value& selectors = aggregation["clusterRoleSelectors"];
  if (selectors.size() == 0) {
    return errors.Required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil");
  }
  for (std::size_t i = 0; i < selectors.size(); ++i) {
    const Value& selector = selectors.as_array()[i];
    ValidateLabelSelector(selector, path.Index(i), errors);
    if (!IsUsableSelector(selector)) errors.Invalid(path.Index(i), Value(), "invalid label selector.");
  }
}

void SetBindingDefaults(Value& object) {
  if (Value* ref = object.Find("roleRef"); ref != nullptr && ref->is_object())
    SetIfZero(*ref, "apiGroup", kRbacGroup);
  Value* subjects = object.Find("subjects");
  if (subjects == nullptr || !subjects->is_array()) return;
  for (Value& subject : subjects->as_array()) {
    const std::string_view kind = Text(subject, "kind");
    if (kind == "User" || kind == "Group") SetIfZero(subject, "apiGroup", kRbacGroup);
  }
}

void ValidateSubject(const Value& subject, bool namespaced, const FieldPath& path, FieldErrors& errors) {
  const std::string_view name = Text(subject, "name");
  const std::string_view kind = Text(subject, "kind");
  if (name.empty()) errors.declarative().Required(path.Child("name"));
  if (kind == "ServiceAccount") {
    if (!name.empty()) CheckFormat("dns-subdomain", name, path.Child("name"), errors);
    CheckOneOf(Text(subject, "apiGroup"), {""}, path.Child("apiGroup"), errors);
    if (!namespaced && Text(subject, "namespace").empty()) errors.Required(path.Child("namespace"));
  } else if (kind == "User" || kind == "Group") {
    CheckOneOf(Text(subject, "apiGroup"), {kRbacGroup}, path.Child("apiGroup"), errors);
  } else {
    errors.NotSupported(path.Child("kind"), kind, {"ServiceAccount", "User", "Group"});
  }
}

void ValidateRbacBinding(const Value& object, bool namespaced, FieldErrors& errors) {
  const FieldPath path("roleRef");
  const Value& ref = object["roleRef"];
  CheckOneOf(Text(ref, "apiGroup"), {kRbacGroup}, path.Child("apiGroup"), errors);
  if (namespaced) {
    CheckOneOf(Text(ref, "kind"), {"Role", "ClusterRole"}, path.Child("kind"), errors);
  } else {
    CheckOneOf(Text(ref, "kind"), {"ClusterRole"}, path.Child("kind"), errors);
  }
  const std::string_view name = Text(ref, "name");
  if (name.empty()) {
    errors.declarative().Required(path.Child("name"));
  } else {
    CheckFormat("path-segment", name, path.Child("name"), errors);
  }
  const Value& subjects = object["subjects"];
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    ValidateSubject(subjects.as_array()[i], namespaced, FieldPath("subjects").Index(i), errors);
  }
}

void ValidateRoleBinding(const Value& object, FieldErrors& errors) {
  ValidateRbacBinding(object, true, errors);
}

void ValidateClusterRoleBinding(const Value& object, FieldErrors& errors) {
  ValidateRbacBinding(object, false, errors);
}

void ValidateBindingUpdate(const Value& object, const Value& old, FieldErrors& errors) {
  const Value& ref = object["roleRef"];
  if (ref == old["roleRef"]) return;
  errors.Invalid(FieldPath("roleRef"),
                 json::Object{{"APIGroup", ref["apiGroup"]}, {"Kind", ref["kind"]}, {"Name", ref["name"]}},
                 kImmutableText);
}

}  // namespace

const KindHooks kRoleHooks = {
    .group = kRbacGroup,
    .kind = "Role",
    .validate = ValidateRole,
    .name_format = "path-segment",
    .allow_create_on_update = true,
};
const KindHooks kClusterRoleHooks = {
    .group = kRbacGroup,
    .kind = "ClusterRole",
    .validate = ValidateClusterRole,
    .name_format = "path-segment",
    .allow_create_on_update = true,
};
const KindHooks kRoleBindingHooks = {
    .group = kRbacGroup,
    .kind = "RoleBinding",
    .set_defaults = SetBindingDefaults,
    .validate = ValidateRoleBinding,
    .validate_update = ValidateBindingUpdate,
    .name_format = "path-segment",
    .allow_create_on_update = true,
};
const KindHooks kClusterRoleBindingHooks = {
    .group = kRbacGroup,
    .kind = "ClusterRoleBinding",
    .set_defaults = SetBindingDefaults,
    .validate = ValidateClusterRoleBinding,
    .validate_update = ValidateBindingUpdate,
    .name_format = "path-segment",
    .allow_create_on_update = true,
};

}  // namespace flyball::api
