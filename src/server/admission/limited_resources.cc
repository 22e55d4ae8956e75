#include "server/admission/limited_resources.h"

#include "server/admission/basis/requests.h"
#include "server/config/strict_object.h"

namespace flyball::server {
namespace {

std::set<std::string> LimitedNames(const AdmissionRequest& request,
                                   const std::vector<LimitedResource>& limited,
                                   const api::ResourceAmounts& use) {
  std::set<std::string> names;
  for (const auto& row : limited) {
    if (!IsAbout(request, row.group, row.plural)) continue;
    for (const auto& [name, amount] : use)
      for (const auto& part : row.contains)
        if (amount.Sign() > 0 && name.find(part) != std::string::npos) names.insert(name);
  }
  return names;
}

// As Go prints the struct: "{PriorityClass In [high]}".
std::string ScopeText(const api::QuotaScope& scope) {
  std::string values;
  for (const auto& value : scope.values) values += (values.empty() ? "" : " ") + value;
  return "{" + scope.name + " " + scope.op + " [" + values + "]}";
}

std::string JoinedNames(const std::set<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

}  // namespace

Result<std::vector<LimitedResource>> ReadLimitedResources(const std::optional<std::string>& configuration) {
  std::vector<LimitedResource> limited;
  if (!configuration) return limited;
  auto parsed =
      ParseStrictObject(*configuration, {"apiserver.config.k8s.io/v1"}, "ResourceQuotaConfiguration");
  if (auto older = ParseStrictObject(
          *configuration,
          {"resourcequota.admission.k8s.io/v1beta1", "resourcequota.admission.k8s.io/v1alpha1"},
          "Configuration");
      older)
    parsed = std::move(older);
  FLYBALL_ASSIGN(const json::Value file, std::move(parsed));
  std::vector<std::string> problems;
  api::FieldErrors errors;
  {
    StrictObject object(file, "", problems);
    object.String("apiVersion");
    object.String("kind");
    const auto& rows = object.List("limitedResources");
    for (std::size_t i = 0; i < rows.size(); ++i) {
      StrictObject row(rows[i], object.PathOf("limitedResources", i), problems);
      LimitedResource out{row.String("apiGroup"), row.String("resource"), row.Strings("matchContains"), {}};
      if (out.plural.empty()) errors.Required(api::FieldPath(row.PathOf("resource")));
      row.List("matchScopes");
      out.scopes = api::QuotaScopesOf(rows[i]["matchScopes"]);
      limited.push_back(std::move(out));
    }
  }
  if (!problems.empty()) return Unexpected(StrictDecodingError(problems));
  if (!errors.empty()) return Unexpected(BadRequest(AggregateText(errors)));
  return limited;
}

Status CheckQuotaCover(const AdmissionRequest& request, const std::vector<LimitedResource>& limited,
                       const api::ResourceAmounts& use, const QuotaCover& cover) {
  auto names = LimitedNames(request, limited, use);
  std::erase_if(names, [&](const auto& name) { return cover.resources.contains(name); });
  if (!names.empty())
    return Unexpected(AdmissionForbidden(request, "insufficient quota to consume: " + JoinedNames(names)));
  const api::QuotaKind kind{request.resource.kind->group, request.resource.kind->plural};
  std::string uncovered;
  for (const auto& row : limited)
    for (const auto& scope : row.scopes)
      if (api::InQuotaScope(scope, kind, *request.object) && !cover.scopes.contains(scope.name))
        uncovered += (uncovered.empty() ? "" : " ") + ScopeText(scope);
  if (uncovered.empty()) return {};
  return Unexpected(PlainError("insufficient quota to match these scopes: [" + uncovered + "]"));
}

}  // namespace flyball::server
