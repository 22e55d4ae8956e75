#include "api/kinds/shared/iscsi.h"

#include <re2/re2.h>

#include <algorithm>
#include <string>

#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "base/values/ascii.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::size_t kMaxDriverName = 63;

bool IsIscsiName(std::string_view name) {
  static const RE2 kIqn(R"(iqn\.\d{4}-\d{2}\.([[:alnum:]-.]+)(:[^,;*&$|\s]+)$)");
  static const RE2 kEui(R"(^eui.[[:alnum:]]{16}$)");
  static const RE2 kNaa(R"(^naa.[[:alnum:]]{32}$)");
  const re2::StringPiece text(name.data(), name.size());
  if (name.starts_with("iqn")) return RE2::PartialMatch(text, kIqn);
  if (name.starts_with("eui")) return RE2::PartialMatch(text, kEui);
  return name.starts_with("naa") && RE2::PartialMatch(text, kNaa);
}

void CheckIscsiName(std::string_view name, std::string_view wrong_start, const FieldPath& path,
                    FieldErrors& errors) {
  if (IsIscsiName(name)) return;
  const bool known = name.starts_with("iqn") || name.starts_with("eui") || name.starts_with("naa");
  errors.Invalid(path, name, known ? "must be valid format" : wrong_start);
}

void CheckIscsi(const Value& source, std::string_view wrong_start, const FieldPath& path,
                FieldErrors& errors) {
  const std::string_view iqn = Text(source, "iqn");
  if (iqn.empty()) {
    errors.Required(path.Child("iqn"));
  } else {
    CheckIscsiName(iqn, wrong_start, path.Child("iqn"), errors);
  }
  const std::int64_t lun = Number(source, "lun");
  AddProblems(RangeProblems(lun, 0, 255), path.Child("lun"), lun, errors);
  const bool chap = source["chapAuthDiscovery"].bool_or(false) || source["chapAuthSession"].bool_or(false);
  if (chap && !Has(source, "secretRef")) errors.Required(path.Child("secretRef"));
}

void CheckInitiator(const Value& source, std::string_view wrong_start, const FieldPath& path,
                    FieldErrors& errors) {
  if (!Has(source, "initiatorName")) return;
  CheckIscsiName(Text(source, "initiatorName"), wrong_start, path.Child("initiatorname"), errors);
}

}  // namespace

void ValidateIscsiVolume(const Value& source, const FieldPath& path, FieldErrors& errors) {
  constexpr std::string_view kWrongStart = "must be valid format starting with iqn, eui, or naa";
  RequireMembers(source, {"targetPortal"}, path, errors);
  CheckIscsi(source, kWrongStart, path, errors);
  CheckInitiator(source, kWrongStart, path, errors);
}

void ValidateIscsiPersistentVolume(const Value& source, std::string_view volume_name, const FieldPath& path,
                                   FieldErrors& errors) {
  constexpr std::string_view kWrongStart = "must be valid format";
  constexpr std::size_t kMaxTotal = 64;
  RequireMembers(source, {"targetPortal"}, path, errors);
  const std::string_view portal = Text(source, "targetPortal");
  if (Has(source, "initiatorName") && volume_name.size() + 1 + portal.size() > kMaxTotal) {
    errors.Invalid(path.Child("targetportal"), portal,
                   "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if "
                   "iscsi.initiatorName is specified.");
  }
  CheckIscsi(source, kWrongStart, path, errors);
  if (Has(source, "secretRef"))
    RequireMembers(source["secretRef"], {"name"}, path.Child("secretRef"), errors);
  CheckInitiator(source, kWrongStart, path, errors);
}

void ValidateFibreChannel(const Value& source, const FieldPath& path, FieldErrors& errors) {
  const Value& targets = source["targetWWNs"];
  const bool worldwide = source["wwids"].size() > 0;
  if (targets.size() == 0 && !worldwide) {
    errors.Required(path.Child("targetWWNs"), "must specify either targetWWNs or wwids, but not both");
  }
  if (targets.size() == 0) return;
  if (worldwide) {
    errors.Invalid(path.Child("targetWWNs"), targets,
                   "targetWWNs and wwids can not be specified simultaneously");
  }
  const Value& lun = source["lun"];
  if (lun.is_null()) return errors.Required(path.Child("lun"), "lun is required if targetWWNs is specified");
  AddProblems(RangeProblems(lun.int_or(0), 0, 255), path.Child("lun"), lun, errors);
}

void ValidateFlexVolume(const Value& source, const FieldPath& path, FieldErrors& errors) {
  RequireMembers(source, {"driver"}, path, errors);
  for (const auto& [key, value] : Entries(source["options"])) {
    const std::string domain = "." + LowerCase(key.substr(0, key.find('/')));
    if (!domain.ends_with(".kubernetes.io") && !domain.ends_with(".k8s.io")) continue;
    errors.Invalid(path.Child("options").Key(key), key, "kubernetes.io and k8s.io namespaces are reserved");
  }
}

void ValidateCsiDriverName(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  if (name.empty()) return errors.Required(path);
  if (name.size() > kMaxDriverName) errors.TooLong(path, kMaxDriverName);
  AddProblems(DnsSubdomainProblems(LowerCase(name)), path, name, errors);
}

void ValidateCaselessDriverName(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  if (name.empty()) return errors.Required(path);
  if (name.size() > kMaxDriverName) errors.TooLong(path, kMaxDriverName);
  if (!DnsSubdomainProblems(LowerCase(name)).empty())
    errors.Invalid(
        path, name,
        "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start "
        "and end with an alphanumeric character (e.g. 'Example.com', regex used for validation is "
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')");
}

}  // namespace flyball::api
