#include "api/rules/checks.h"

#include <algorithm>
#include <vector>

#include "api/rules/access.h"
#include "api/rules/format.h"
#include "api/values/int_or_string.h"
#include "api/values/ip_address.h"

namespace flyball::api {

using json::Value;

void CheckOneOf(std::string_view value, std::initializer_list<std::string_view> supported,
                const FieldPath& path, FieldErrors& errors) {
  if (std::find(supported.begin(), supported.end(), value) != supported.end()) return;
  errors.NotSupported(path, value, std::vector<std::string>(supported.begin(), supported.end()));
}

void RequireOneOf(std::string_view value, std::initializer_list<std::string_view> supported,
                  const FieldPath& path, FieldErrors& errors) {
  if (value.empty()) return errors.Required(path);
  CheckOneOf(value, supported, path, errors);
}

void CheckNotNegative(const Value& value, const FieldPath& path, FieldErrors& errors) {
  if (value.int_or(0) < 0) errors.Invalid(path, value, kNotNegativeText);
}

void CheckNotNegative(const Value& object, std::initializer_list<std::string_view> members,
                      const FieldPath& path, FieldErrors& errors) {
  for (const std::string_view member : members) CheckNotNegative(object[member], path.Child(member), errors);
}

void RequireMembers(const Value& object, std::initializer_list<std::string_view> members,
                    const FieldPath& path, FieldErrors& errors) {
  for (const std::string_view member : members) {
    if (IsZero(object[member])) errors.Required(path.Child(member));
  }
}

void CheckFormat(std::string_view format, std::string_view value, const FieldPath& path,
                 FieldErrors& errors) {
  AddProblems(FormatProblems(format, value), path, value, errors);
}

void CheckPortNumberOrName(const Value& port, const FieldPath& path, FieldErrors& errors) {
  if (port.is_string()) {
    AddProblems(PortNameProblems(port.as_string()), path, port, errors);
  } else {
    AddProblems(PortNumberProblems(port.int_or(0)), path, port.int_or(0), errors);
  }
}

void CheckProtocol(std::string_view protocol, const FieldPath& path, FieldErrors& errors) {
  RequireOneOf(protocol, {"SCTP", "TCP", "UDP"}, path, errors);
}

void CheckIntOrPercent(const Value& value, const FieldPath& path, FieldErrors& errors) {
  if (value.is_string()) {
    AddProblems(PercentProblems(value.as_string()), path, value, errors);
  } else {
    CheckNotNegative(value, path, errors);
  }
}

void CheckAtMost100Percent(const Value& value, const FieldPath& path, FieldErrors& errors) {
  std::int64_t percent = 0;
  if (!value.is_string() || !ParsePercent(value.as_string(), percent) || percent <= 100) return;
  errors.Invalid(path, value, "must not be greater than 100%");
}

void CheckNoBacksteps(std::string_view text, const FieldPath& path, FieldErrors& errors) {
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t slash = std::min(text.find('/', at), text.size());
    if (text.substr(at, slash - at) == "..") return errors.Invalid(path, text, "must not contain '..'");
    at = slash + 1;
  }
}

void CheckDescendingPath(std::string_view text, const FieldPath& path, FieldErrors& errors) {
  if (text.starts_with('/')) errors.Invalid(path, text, "must be a relative path");
  CheckNoBacksteps(text, path, errors);
}

void CheckLocalPath(std::string_view text, const FieldPath& path, FieldErrors& errors) {
  CheckDescendingPath(text, path, errors);
  if (text.starts_with("..") && !text.starts_with("../"))
    errors.Invalid(path, text, "must not start with '..'");
}

void CheckNonSpecialIp(std::string_view text, const FieldPath& path, FieldErrors& errors) {
  const auto ip = ParseIp(text);
  if (!ip) return errors.Invalid(path, text, "must be a valid IP address");
  if (ip->IsUnspecified()) errors.Invalid(path, text, "may not be unspecified (" + std::string(text) + ")");
  if (ip->IsLoopback()) errors.Invalid(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)");
  if (ip->IsLinkLocalUnicast()) {
    errors.Invalid(path, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
  }
  if (ip->IsLinkLocalMulticast()) {
    errors.Invalid(path, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
  }
}

bool IsEmptySelector(const Value& selector) {
  return selector["matchLabels"].size() + selector["matchExpressions"].size() == 0;
}

bool SelectorMatches(const Value& selector, const Value& labels) {
  for (const auto& [key, value] : Entries(selector["matchLabels"])) {
    const Value* label = labels.Find(key);
    if (label == nullptr || *label != value) return false;
  }
  for (const Value& expression : Items(selector["matchExpressions"])) {
    const Value* label = labels.Find(Text(expression, "key"));
    const std::string_view op = Text(expression, "operator");
    const bool listed = label != nullptr && Contains(expression["values"], label->string_or({}));
    if ((op == "In" && !listed) || (op == "NotIn" && listed)) return false;
    if ((op == "Exists" && label == nullptr) || (op == "DoesNotExist" && label != nullptr)) return false;
  }
  return true;
}

}  // namespace flyball::api
