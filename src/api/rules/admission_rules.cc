#include "api/rules/admission_rules.h"

#include <set>
#include <string>

#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "base/values/ascii.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::size_t kAdmissionRulesMaxConditions = 64;

// A list that must not be empty, in which '*' stands alone.
void CheckAdmissionRulesList(const Value& list, std::string_view what, const FieldPath& path,
                             FieldErrors& errors) {
  if (list.size() == 0) errors.Required(path);
  if (list.size() > 1 && Contains(list, "*")) {
    errors.Invalid(path, list, "if '*' is present, must not specify other " + std::string(what));
  }
}

void CheckResources(const Value& resources, const FieldPath& path, FieldErrors& errors) {
  if (resources.size() == 0) errors.Required(path);
  std::set<std::string> with_wildcard;  // "pods" for "pods/*"
  bool all = false, plain = false, other_plain = false;
  for (std::size_t i = 0; i < resources.size(); ++i) {
    const std::string resource(resources.as_array()[i].string_or({}));
    if (resource.empty()) errors.Required(path.Index(i));
    all = all || resource == "*/*";
    plain = plain || resource == "*";
    const std::size_t slash = resource.find('/');
    other_plain = other_plain || (slash == std::string::npos && resource != "*");
    if (slash == std::string::npos) continue;
    const std::string name = resource.substr(0, slash), sub = resource.substr(slash + 1);
    if (with_wildcard.contains(name)) {
      errors.Invalid(path.Index(i), resource, "if '" + name + "/*' is present, must not specify " + resource);
    } else if (sub != "*" && with_wildcard.contains("*/" + sub)) {
      errors.Invalid(path.Index(i), resource, "if '*/" + sub + "' is present, must not specify " + resource);
    }
    if (sub == "*") with_wildcard.insert(name);
    if (name == "*" && sub != "*") with_wildcard.insert("*/" + sub);
  }
  if (resources.size() > 1 && all) {
    errors.Invalid(path, resources, "if '*/*' is present, must not specify other resources");
  }
  if (plain && other_plain) {
    errors.Invalid(path, resources,
                   "if '*' is present, must not specify other resources without subresources");
  }
}

void CheckUrlSegments(std::string_view url_path, const FieldPath& path, FieldErrors& errors) {
  std::string_view rest = url_path.substr(1);
  if (rest.ends_with('/')) rest.remove_suffix(1);
  for (std::size_t i = 0;; ++i) {
    const std::size_t end = rest.find('/');
    const std::string_view segment = rest.substr(0, end);
    const std::string name = "segment[" + std::to_string(i) + "]";
    if (segment.empty()) {
      errors.Invalid(path, url_path, name + " may not be empty");
    } else {
      for (const std::string& problem : DnsSubdomainProblems(segment))
        errors.Invalid(path, url_path, name + ": " + problem);
    }
    if (end == std::string_view::npos) return;
    rest.remove_prefix(end + 1);
  }
}

void ValidateAdmissionRulesService(const Value& service, const FieldPath& path, FieldErrors& errors) {
  RequireMembers(service, {"name", "namespace"}, path, errors);
  if (Has(service, "port")) {
    for (const std::string& problem : PortNumberProblems(Number(service, "port"))) {
      errors.Invalid(path.Child("port"), service["port"], "port is not valid: " + problem);
    }
  }
  if (!Has(service, "path")) return;
  const std::string_view url_path = Text(service, "path");
  const FieldPath here = path.Child("path");
  if (url_path == "/" || url_path.empty()) return;
  if (url_path == "//") return errors.Invalid(here, url_path, "segment[0] may not be empty");
  if (!url_path.starts_with('/')) errors.Invalid(here, url_path, "must start with a '/'");
  CheckUrlSegments(url_path, here, errors);
}

void ValidateUrl(std::string_view url, const FieldPath& path, FieldErrors& errors) {
  constexpr std::string_view kForm = "; desired format: https://host[/path]";
  const std::size_t colon = url.find("://");
  const std::string scheme(colon == std::string_view::npos ? std::string_view() : url.substr(0, colon));
  if (scheme != "https") {
    errors.Invalid(path, scheme, "'https' is the only allowed URL scheme" + std::string(kForm));
  }
  const std::string_view rest = colon == std::string_view::npos ? std::string_view() : url.substr(colon + 3);
  if (rest.substr(0, rest.find('/')).empty())
    errors.Invalid(path, "", "host must be specified" + std::string(kForm));
  if (rest.find('@') != std::string_view::npos)
    errors.Invalid(path, url, "user information is not permitted in the URL");
  if (rest.find('#') != std::string_view::npos) {
    errors.Invalid(path, std::string(rest.substr(rest.find('#') + 1)),
                   "fragments are not permitted in the URL");
  }
  if (rest.find('?') != std::string_view::npos) {
    errors.Invalid(path, std::string(rest.substr(rest.find('?') + 1)),
                   "query parameters are not permitted in the URL");
  }
}

}  // namespace

void ValidateAdmissionRule(const Value& rule, const FieldPath& path, FieldErrors& errors) {
  const Value& operations = rule["operations"];
  CheckAdmissionRulesList(operations, "operations", path.Child("operations"), errors);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    CheckOneOf(operations.as_array()[i].string_or({}), {"*", "CONNECT", "CREATE", "DELETE", "UPDATE"},
               path.Child("operations").Index(i), errors);
  }
  CheckAdmissionRulesList(rule["apiGroups"], "API groups", path.Child("apiGroups"), errors);
  const Value& versions = rule["apiVersions"];
  CheckAdmissionRulesList(versions, "API versions", path.Child("apiVersions"), errors);
  for (std::size_t i = 0; i < versions.size(); ++i) {
    if (versions.as_array()[i].string_or({}).empty()) errors.Required(path.Child("apiVersions").Index(i));
  }
  CheckResources(rule["resources"], path.Child("resources"), errors);
  if (Has(rule, "scope"))
    CheckOneOf(Text(rule, "scope"), {"*", "Cluster", "Namespaced"}, path.Child("scope"), errors);
}

void ValidateWebhookClient(const Value& client, const FieldPath& path, FieldErrors& errors) {
  if (Has(client, "url") == Has(client, "service")) {
    errors.Required(path, "exactly one of url or service is required");
  } else if (Has(client, "url")) {
    ValidateUrl(Text(client, "url"), path.Child("url"), errors);
  } else {
    ValidateAdmissionRulesService(client["service"], path.Child("service"), errors);
  }
}

void CheckCompiled(const cel::PolicyExpression& expression, std::string_view shown, const FieldPath& path,
                   FieldErrors& errors) {
  switch (expression.failure) {
    case cel::PolicyExpression::Failure::kNone:
      return;
    case cel::PolicyExpression::Failure::kInvalid:
      return errors.Invalid(path, shown, expression.error);
    case cel::PolicyExpression::Failure::kInternal:
      return errors.Internal(path, expression.error);
  }
}

void AddStoredExpressions(const Value& conditions, StoredExpressions& stored) {
  for (const Value& condition : Items(conditions)) stored.insert(Text(condition, "expression"));
}

void ValidateMatchConditions(const Value& conditions, bool params, const StoredExpressions& stored,
                             const FieldPath& path, FieldErrors& errors) {
  if (conditions.size() > kAdmissionRulesMaxConditions)
    errors.TooMany(path, conditions.size(), kAdmissionRulesMaxConditions);
  cel::PolicyCompiler compiler(cel::PolicyCompiler::Composition::kNone);
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const Value& condition = conditions.as_array()[i];
    const FieldPath here = path.Index(i);
    const std::string_view expression = Trimmed(Text(condition, "expression"));
    if (expression.empty()) {
      errors.Required(here.Child("expression"));
    } else {
      const auto compiled = compiler.Compile(
          expression,
          {.params = params, .authorizer = true, .stored = stored.contains(expression), .wanted = {"bool"}});
      CheckCompiled(compiled, expression, here.Child("expression"), errors);
    }
    const std::string_view name = Text(condition, "name");
    if (name.empty()) {
      errors.Required(here.Child("name"));
      continue;
    }
    CheckFormat("qualified-name", name, here.Child("name"), errors);
    if (!names.insert(name).second) errors.Duplicate(here.Child("name"), name);
  }
}

void WarnOfStaticName(const Value& object, std::vector<std::string>& out) {
  constexpr std::string_view kSuffix = ".static.k8s.io";
  if (!Text(object["metadata"], "name").ends_with(kSuffix)) return;
  out.push_back("metadata.name: names ending with \"" + std::string(kSuffix) +
                "\" are reserved for static manifest-based configurations and cannot be managed via the API");
}

}  // namespace flyball::api
