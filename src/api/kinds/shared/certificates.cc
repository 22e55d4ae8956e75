#include "api/kinds/shared/certificates.h"

#include <algorithm>
#include <string>

#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "base/values/ascii.h"

namespace flyball::api {

using json::Value;

void ValidateSigner(std::string_view signer, const FieldPath& path, FieldErrors& errors) {
  constexpr std::string_view kForm =
      "must be a fully qualified domain and path of the form 'example.com/signer-name'";
  constexpr std::size_t kMaxSigner = 571;
  if (signer.empty()) return errors.Required(path);
  const std::size_t slash = signer.find('/');
  if (slash == std::string_view::npos || signer.find('/', slash + 1) != std::string_view::npos) {
    return errors.Invalid(path, signer, kForm);
  }
  const std::string_view domain = signer.substr(0, slash), name = signer.substr(slash + 1);
  for (const std::string& problem : DnsSubdomainProblems(domain)) {
    errors.Invalid(path, domain, "validating domain segment: " + problem);
  }
  if (domain.find('.') == std::string_view::npos) {
    errors.Invalid(path, domain, "should be a domain with at least two segments separated by dots");
  }
  for (const std::string& problem : DnsSubdomainProblems(name)) {
    errors.Invalid(path, name, "validating label segment: " + problem);
  }
  if (signer.size() > kMaxSigner) errors.TooLong(path, kMaxSigner);
}

void ValidateUserAnnotations(const Value& annotations, const FieldPath& path, FieldErrors& errors) {
  for (const auto& [name, value] : Entries(annotations)) {
    const std::string key = LowerCase(name);
    const Problems problems = QualifiedNameProblems(key);
    AddProblems(problems, path, key, errors);
    if (problems.empty() && key.find('/') == std::string::npos)
      errors.Invalid(path, key, "must be a domain-prefixed key (such as \"acme.io/foo\")");
  }
}

Problems TrustBundleNameProblems(std::string_view name, std::string_view signer) {
  if (signer.empty()) {
    if (name.find(':') != std::string_view::npos)
      return {"ClusterTrustBundle without signer name must not have \":\" in its name"};
    return DnsSubdomainProblems(name);
  }
  std::string prefix(signer);
  std::replace(prefix.begin(), prefix.end(), '/', ':');
  prefix += ':';
  if (!name.starts_with(prefix))
    return {"ClusterTrustBundle for signerName " + std::string(signer) + " must be named with prefix " +
            prefix};
  return DnsSubdomainProblems(name.substr(prefix.size()));
}

}  // namespace flyball::api
