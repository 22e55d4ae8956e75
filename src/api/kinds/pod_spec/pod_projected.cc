#include <algorithm>
#include <set>
#include <string>

#include "api/kinds/pod_spec/pod_spec.h"
#include "api/kinds/shared/certificates.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/rules/object_meta.h"

namespace flyball::api {
namespace {

using json::Value;
using Paths = std::set<std::string_view>;

constexpr std::int64_t kMinTokenSeconds = 600;
constexpr std::int64_t kMaxTokenSeconds = std::int64_t{1} << 32;

void CheckUnique(std::string_view file, const Value& shown, Paths& seen, const FieldPath& path,
                 FieldErrors& errors) {
  if (!seen.insert(file).second) errors.Invalid(path, shown, "conflicting duplicate paths");
}

void ValidateKeyed(const Value& source, const FieldPath& path, const FieldPath& volume, Paths& seen,
                   FieldErrors& errors) {
  RequireMembers(source, {"name"}, path, errors);
  const Value& items = source["items"];
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Value& item = items.as_array()[i];
    ValidateKeyToPath(item, path.Child("items").Index(i), errors);
    if (!Text(item, "path").empty())
      CheckUnique(Text(item, "path"), Text(source, "name"), seen, volume, errors);
  }
}

void ValidateToken(const Value& token, const FieldPath& path, const FieldPath& volume, FieldErrors& errors) {
  const std::int64_t seconds = Number(token, "expirationSeconds");
  const FieldPath seconds_path = path.Child("expirationSeconds");
  if (seconds < kMinTokenSeconds) {
    errors.Invalid(seconds_path, seconds, "may not specify a duration less than 10 minutes");
  }
  if (seconds > kMaxTokenSeconds) {
    errors.Invalid(seconds_path, seconds, "may not specify a duration larger than 2^32 seconds");
  }
  const std::string_view file = Text(token, "path");
  if (file.empty()) return errors.Required(volume.Child("path"));
  CheckLocalPath(file, volume.Child("path"), errors);
}

// As upstream's internal type, whose fields are in another order than the API's.
Value ShownTrustBundle(const Value& bundle) {
  json::Object shown;
  for (const auto& [name, field] : {std::pair{"Name", "name"},
                                    {"SignerName", "signerName"},
                                    {"LabelSelector", "labelSelector"},
                                    {"Optional", "optional"},
                                    {"Path", "path"},
                                    {"User", "user"}})
    shown.Append(name, bundle[field]);
  return shown;
}

void CheckTrustBundleName(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  if (name.empty()) errors.Required(path, "must be a valid object name");
  std::string signer(name.substr(0, name.find(':') == std::string_view::npos ? 0 : name.rfind(':')));
  std::replace(signer.begin(), signer.end(), ':', '/');
  for (const std::string& problem : TrustBundleNameProblems(name, signer))
    errors.Invalid(path, name, "not a valid clustertrustbundlename: " + problem);
}

// Certificates of signers of Kubernetes itself live a day, those of others a quarter of a year.
void CheckLifetime(const Value& certificate, const FieldPath& path, FieldErrors& errors) {
  constexpr std::int64_t kHour = 3600, kDay = 24 * kHour;
  const Value& seconds = certificate["maxExpirationSeconds"];
  if (seconds.is_null()) return;
  const std::string_view signer = Text(certificate, "signerName");
  const std::string_view domain = signer.substr(0, signer.find('/'));
  const std::int64_t most =
      domain == "kubernetes.io" || domain.ends_with(".kubernetes.io") ? kDay : 91 * kDay;
  if (seconds.int_or(0) < kHour)
    errors.Invalid(path, seconds, "if provided, maxExpirationSeconds must be >= 3600");
  if (seconds.int_or(0) > most)
    errors.Invalid(path, seconds, "if provided, maxExpirationSeconds must be <= " + std::to_string(most));
}

void ValidatePodCertificate(const Value& certificate, const FieldPath& path, const FieldPath& volume,
                            Paths& seen, FieldErrors& errors) {
  ValidateSigner(Text(certificate, "signerName"), path.Child("signerName"), errors);
  ValidateUserAnnotations(certificate["userAnnotations"], path.Child("userAnnotations"), errors);
  CheckOneOf(Text(certificate, "keyType"),
             {"RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"}, path.Child("keyType"),
             errors);
  CheckLifetime(certificate, path.Child("maxExpirationSeconds"), errors);
  int files = 0;
  for (const char* field : {"credentialBundlePath", "keyPath", "certificateChainPath"}) {
    const std::string_view file = Text(certificate, field);
    if (file.empty()) continue;
    ++files;
    CheckLocalPath(file, path.Child(field), errors);
    CheckUnique(file, certificate[field], seen, volume, errors);
  }
  if (files == 0)
    errors.Required(path, "specify at least one of credentialBundlePath, keyPath, and certificateChainPath");
}

void ValidateTrustBundle(const Value& bundle, const FieldPath& path, const FieldPath& volume, Paths& seen,
                         FieldErrors& errors) {
  const bool named = Has(bundle, "name"), signed_by = Has(bundle, "signerName");
  if (named && signed_by) {
    errors.Invalid(path, ShownTrustBundle(bundle), "only one of name and signerName may be used");
  } else if (named) {
    CheckTrustBundleName(Text(bundle, "name"), path.Child("name"), errors);
    if (Has(bundle, "labelSelector")) {
      errors.Invalid(path.Child("labelSelector"), bundle["labelSelector"],
                     "labelSelector must be unset if name is specified");
    }
  } else if (signed_by) {
    if (Text(bundle, "signerName").empty()) {
      errors.Required(path.Child("signerName"), "must be a valid signer name");
    }
    ValidateSigner(Text(bundle, "signerName"), path.Child("signerName"), errors);
    ValidateLabelSelector(bundle["labelSelector"], path.Child("labelSelector"), errors);
  } else {
    errors.Required(path, "either name or signerName must be specified");
  }
  RequireMembers(bundle, {"path"}, path, errors);
  CheckLocalPath(Text(bundle, "path"), path.Child("path"), errors);
  CheckUnique(Text(bundle, "path"), bundle["path"], seen, volume, errors);
}

void ValidatePodProjectedSource(const Value& source, const FieldPath& path, const FieldPath& volume,
                                Paths& seen, FieldErrors& errors) {
  int sources = 0;
  for (const char* name : {"secret", "configMap"}) {
    if (!Has(source, name)) continue;
    ++sources;
    ValidateKeyed(source[name], path.Child(name), volume, seen, errors);
  }
  if (Has(source, "downwardAPI")) {
    ++sources;
    for (const Value& file : Items(source["downwardAPI"]["items"])) {
      ValidateDownwardFile(file, path.Child("downwardAPI"), errors);
      if (!Text(file, "path").empty()) CheckUnique(Text(file, "path"), file["path"], seen, volume, errors);
    }
  }
  if (Has(source, "serviceAccountToken")) {
    ++sources;
    ValidateToken(source["serviceAccountToken"], path.Child("serviceAccountToken"), volume, errors);
  }
  if (Has(source, "clusterTrustBundle")) {
    ++sources;
    ValidateTrustBundle(source["clusterTrustBundle"], path.Child("clusterTrustBundle"), volume, seen, errors);
  }
  if (Has(source, "podCertificate")) {
    ++sources;
    ValidatePodCertificate(source["podCertificate"], path.Child("podCertificate"), volume, seen, errors);
  }
  if (sources > 1) errors.Forbidden(path, "may not specify more than 1 volume type per source");
}

}  // namespace

void CheckFileMode(const Value& mode, const FieldPath& path, FieldErrors& errors) {
  constexpr std::int64_t kMaxMode = 0777;
  if (mode.is_null() || (mode.int_or(0) >= 0 && mode.int_or(0) <= kMaxMode)) return;
  errors.Invalid(path, mode, "must be a number between 0 and 0777 (octal), both inclusive");
}

void ValidateKeyToPath(const Value& item, const FieldPath& path, FieldErrors& errors) {
  RequireMembers(item, {"key", "path"}, path, errors);
  CheckLocalPath(Text(item, "path"), path.Child("path"), errors);
  CheckFileMode(item["mode"], path.Child("mode"), errors);
}

void ValidateDownwardFile(const Value& file, const FieldPath& path, FieldErrors& errors) {
  RequireMembers(file, {"path"}, path, errors);
  CheckLocalPath(Text(file, "path"), path.Child("path"), errors);
  if (Has(file, "fieldRef")) {
    ValidateObjectFieldRef(file["fieldRef"], true, path.Child("fieldRef"), errors);
    if (Has(file, "resourceFieldRef")) {
      errors.Invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously");
    }
  } else if (Has(file, "resourceFieldRef")) {
    ValidateResourceFieldRef(file["resourceFieldRef"], true, path.Child("resourceFieldRef"), errors);
  } else {
    errors.Required(path, "one of fieldRef and resourceFieldRef is required");
  }
  CheckFileMode(file["mode"], path.Child("mode"), errors);
}

void ValidateProjectedVolume(const Value& projected, const FieldPath& path, FieldErrors& errors) {
  CheckFileMode(projected["defaultMode"], path.Child("defaultMode"), errors);
  Paths seen;
  const Value& sources = projected["sources"];
  for (std::size_t i = 0; i < sources.size(); ++i) {
    ValidatePodProjectedSource(sources.as_array()[i], path.Child("sources").Index(i), path, seen, errors);
  }
}

}  // namespace flyball::api
