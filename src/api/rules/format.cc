#include "api/rules/format.h"

#include <algorithm>
#include <utility>

#include "api/schema/feature_gates.h"
#include "api/values/go_text.h"
#include "api/values/ip_address.h"
#include "base/values/ascii.h"

namespace flyball::api {
namespace {

constexpr std::size_t kMaxLabel = 63;
constexpr std::size_t kMaxSubdomain = 253;
constexpr std::size_t kMaxPortName = 15;
constexpr std::int64_t kMaxPort = 65535;
constexpr std::int64_t kMaxUserId = 2147483647;

constexpr std::string_view kLabelRule =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
    "and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kSubdomainRule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view k1035Rule =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kWildcardRule =
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must "
    "consist of lower "
    "case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', "
    "regex used "
    "for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kNameRule =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view kLabelValueRule =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
    "validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
constexpr std::string_view kIdentifierRule =
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric "
    "characters "
    "or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is "
    "'[A-Za-z_][A-Za-z0-9_]*')";
constexpr std::string_view kEnvVarRule =
    "a valid environment variable name must consist only of printable ASCII characters other than '='";
constexpr std::string_view kConfigKeyRule =
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or "
    "'KEY_NAME',  or "
    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
constexpr std::string_view kHeaderRule =
    "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used "
    "for "
    "validation is '[-A-Za-z0-9]+')";
constexpr std::string_view kPercentRule =
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex "
    "used for "
    "validation is '[0-9]+%')";

bool IsLowerAlphanumeric(char c) {
  return IsLowerLetter(c) || IsDigit(c);
}
bool IsNameChar(char c) {
  return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.';
}

template <typename Predicate>
bool All(std::string_view s, Predicate predicate) {
  return std::all_of(s.begin(), s.end(), predicate);
}

bool IsLabel(std::string_view s) {
  return !s.empty() && IsLowerAlphanumeric(s.front()) && IsLowerAlphanumeric(s.back()) &&
         All(s, [](char c) { return IsLowerAlphanumeric(c) || c == '-'; });
}

bool IsSubdomain(std::string_view s) {
  while (true) {
    const std::size_t dot = s.find('.');
    if (!IsLabel(s.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    s.remove_prefix(dot + 1);
  }
}

bool IsName(std::string_view s) {
  return !s.empty() && IsAlphanumeric(s.front()) && IsAlphanumeric(s.back()) && All(s, IsNameChar);
}

void AddIf(bool wrong, std::string_view problem, Problems& problems) {
  if (wrong) problems.emplace_back(problem);
}

void AddMaxLength(std::string_view value, std::size_t max, std::string_view prefix, Problems& problems) {
  if (value.size() > max) problems.push_back(std::string(prefix) + MaxLengthText(max));
}

// Label keys and values are measured in another word (upstream: validate/content).
void AddMaxBytes(std::string_view value, std::size_t max, std::string_view prefix, Problems& problems) {
  if (value.size() > max)
    problems.push_back(std::string(prefix) + "must be no more than " + std::to_string(max) + " bytes");
}

// Keys become file names.
void AddDirectoryProblems(std::string_view value, Problems& problems) {
  if (value == ".") {
    problems.emplace_back("must not be '.'");
  } else if (value == "..") {
    problems.emplace_back("must not be '..'");
  } else if (value.starts_with("..")) {
    problems.emplace_back("must not start with '..'");
  }
}

void ValidateDomain(std::string_view name, std::size_t min_parts, std::string_view too_few,
                    const FieldPath& path, FieldErrors& errors) {
  const Problems problems = DnsSubdomainProblems(name);
  if (!problems.empty()) {
    std::string all;
    for (const std::string& problem : problems) all += (all.empty() ? "" : ",") + problem;
    errors.Invalid(path, name, all);
    return;
  }
  const auto parts = static_cast<std::size_t>(std::count(name.begin(), name.end(), '.')) + 1;
  if (parts < min_parts) errors.Invalid(path, name, too_few);
}

// A part of a dotted decimal, or a prefix length, with a zero before it.
bool HasLeadingZero(std::string_view text) {
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    const bool starts = i == 0 || text[i - 1] == '.' || text[i - 1] == ':' || text[i - 1] == '/';
    if (starts && text[i] == '0' && IsDigit(text[i + 1])) return true;
  }
  return false;
}

// Groups of IPv6 may have zeros before them, dotted decimals may not.
bool HasSloppyZeros(std::string_view ip) {
  const std::size_t colon = ip.rfind(':');
  if (ip.find('.') == std::string_view::npos) return false;
  return HasLeadingZero(colon == std::string_view::npos ? ip : ip.substr(colon + 1));
}

// What older objects may hold and new ones may not (upstream: gate StrictIPCIDRValidation).
Problems StrictIpProblems(std::string_view value) {
  Problems problems = IpProblems(value);
  if (!problems.empty() || !GateEnabled("StrictIPCIDRValidation")) return problems;
  if (HasSloppyZeros(value)) problems.emplace_back("must not have leading 0s");
  if (ParseIp(value)->is_v4 && value.find(':') != std::string_view::npos)
    problems.emplace_back("must not be an IPv4-mapped IPv6 address");
  return problems;
}

Problems StrictCidrProblems(std::string_view value) {
  Problems problems = CidrProblems(value);
  if (!problems.empty() || !GateEnabled("StrictIPCIDRValidation")) return problems;
  const auto cidr = ParseCidr(value);
  const std::size_t slash = value.find('/');
  if (HasSloppyZeros(value.substr(0, slash)) || HasLeadingZero(value.substr(slash + 1))) {
    problems.emplace_back("must not have leading 0s in IP or prefix length");
  } else if (cidr->address.is_v4 && value.find(':') != std::string_view::npos) {
    problems.emplace_back("must not have an IPv4-mapped IPv6 address");
  } else if (!(cidr->Network() == cidr->address)) {
    problems.emplace_back("must not have bits set beyond the prefix length");
  }
  return problems;
}

// For fields that have always been strict.
Problems CanonicalIpProblems(std::string_view value) {
  Problems problems = StrictIpProblems(value);
  if (!problems.empty()) return problems;
  const std::string canonical = ParseIp(value)->ToString();
  if (value != canonical) problems.push_back("must be in canonical form (" + GoQuote(canonical) + ")");
  return problems;
}

Problems CanonicalCidrProblems(std::string_view value) {
  Problems problems = StrictCidrProblems(value);
  if (!problems.empty()) return problems;
  const auto cidr = ParseCidr(value);
  const std::string canonical = cidr->Network().ToString() + "/" + std::to_string(cidr->prefix);
  if (value != canonical) problems.push_back("must be in canonical form (" + GoQuote(canonical) + ")");
  return problems;
}

struct NamedFormat {
  std::string_view name;
  Problems (*check)(std::string_view);
};
constexpr NamedFormat kFormats[] = {
    {"dns-subdomain", DnsSubdomainProblems},
    {"dns-label", DnsLabelProblems},
    {"dns-1035-label", Dns1035LabelProblems},
    {"wildcard-subdomain", WildcardSubdomainProblems},
    {"qualified-name", QualifiedNameProblems},
    {"label-value", LabelValueFormatProblems},
    {"c-identifier", CIdentifierProblems},
    {"env-var-name", EnvVarNameProblems},
    {"config-map-key", ConfigMapKeyProblems},
    {"http-header-name", HttpHeaderNameProblems},
    {"port-name", PortNameProblems},
    {"ip", StrictIpProblems},
    {"cidr", StrictCidrProblems},
    {"canonical-ip", CanonicalIpProblems},
    {"canonical-cidr", CanonicalCidrProblems},
    {"percent", PercentProblems},
    {"path-segment", PathSegmentProblems},
    {"rbac-name", PathSegmentProblems},
};

}  // namespace

Problems FormatProblems(std::string_view format, std::string_view value) {
  for (const NamedFormat& known : kFormats) {
    if (known.name == format) return known.check(value);
  }
  return {};
}

std::string MaxLengthText(std::size_t max) {
  return "must be no more than " + std::to_string(max) + " characters";
}

std::string RangeText(std::int64_t min, std::int64_t max) {
  return "must be between " + std::to_string(min) + " and " + std::to_string(max) + ", inclusive";
}

Problems DnsLabelProblems(std::string_view value) {
  Problems problems;
  AddMaxLength(value, kMaxLabel, {}, problems);
  if (!IsLabel(value)) problems.emplace_back(IsSubdomain(value) ? "must not contain dots" : kLabelRule);
  return problems;
}

Problems DnsSubdomainProblems(std::string_view value) {
  Problems problems;
  AddMaxLength(value, kMaxSubdomain, {}, problems);
  AddIf(!IsSubdomain(value), kSubdomainRule, problems);
  return problems;
}

Problems Dns1035LabelProblems(std::string_view value) {
  Problems problems;
  AddMaxLength(value, kMaxLabel, {}, problems);
  AddIf(!IsLabel(value) || !IsLowerLetter(value[0]), k1035Rule, problems);
  return problems;
}

Problems WildcardSubdomainProblems(std::string_view value) {
  Problems problems;
  AddMaxLength(value, kMaxSubdomain, {}, problems);
  AddIf(!value.starts_with("*.") || !IsSubdomain(value.substr(2)), kWildcardRule, problems);
  return problems;
}

Problems QualifiedNameProblems(std::string_view value) {
  Problems problems;
  std::string_view name = value;
  if (const std::size_t slash = value.find('/'); slash != std::string_view::npos) {
    const std::string_view prefix = value.substr(0, slash);
    name = value.substr(slash + 1);
    if (name.find('/') != std::string_view::npos) {
      return {"a valid label key " + std::string(kNameRule) +
              " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"};
    }
    if (prefix.empty()) {
      problems.emplace_back("prefix part must be non-empty");
    } else {
      AddMaxBytes(prefix, kMaxSubdomain, "prefix part ", problems);
      if (!IsSubdomain(prefix)) problems.push_back("prefix part " + std::string(kSubdomainRule));
    }
  }
  AddIf(name.empty(), "name part must be non-empty", problems);
  AddMaxBytes(name, kMaxLabel, "name part ", problems);
  AddIf(!IsName(name), "name part " + std::string(kNameRule), problems);
  return problems;
}

Problems LabelValueFormatProblems(std::string_view value) {
  Problems problems;
  AddMaxBytes(value, kMaxLabel, {}, problems);
  AddIf(!value.empty() && !IsName(value), kLabelValueRule, problems);
  return problems;
}

Problems CIdentifierProblems(std::string_view value) {
  const bool ok = !value.empty() && !IsDigit(value[0]) &&
                  All(value, [](char c) { return IsAlphanumeric(c) || c == '_'; });
  return ok ? Problems{} : Problems{std::string(kIdentifierRule)};
}

Problems EnvVarNameProblems(std::string_view value) {
  Problems problems;
  AddIf(value.empty(), "environment variable name must be non-empty", problems);
  AddIf(!All(value, [](char c) { return c >= ' ' && c <= '~' && c != '='; }), kEnvVarRule, problems);
  return problems;
}

Problems ConfigMapKeyProblems(std::string_view value) {
  Problems problems;
  AddMaxLength(value, kMaxSubdomain, {}, problems);
  AddIf(value.empty() || !All(value, IsNameChar), kConfigKeyRule, problems);
  AddDirectoryProblems(value, problems);
  return problems;
}

Problems HttpHeaderNameProblems(std::string_view value) {
  const bool ok = !value.empty() && All(value, [](char c) { return IsAlphanumeric(c) || c == '-'; });
  return ok ? Problems{} : Problems{std::string(kHeaderRule)};
}

Problems PortNameProblems(std::string_view value) {
  Problems problems;
  AddMaxLength(value, kMaxPortName, {}, problems);
  AddIf(value.empty() || !All(value, [](char c) { return IsLowerAlphanumeric(c) || c == '-'; }),
        "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)", problems);
  AddIf(std::none_of(value.begin(), value.end(), IsLowerLetter), "must contain at least one letter (a-z)",
        problems);
  AddIf(value.find("--") != std::string_view::npos, "must not contain consecutive hyphens", problems);
  AddIf(!value.empty() && (value.front() == '-' || value.back() == '-'),
        "must not begin or end with a hyphen", problems);
  return problems;
}

Problems RangeProblems(std::int64_t value, std::int64_t min, std::int64_t max) {
  return value >= min && value <= max ? Problems{} : Problems{RangeText(min, max)};
}

Problems PortNumberProblems(std::int64_t value) {
  return RangeProblems(value, 1, kMaxPort);
}

Problems UserIdProblems(std::int64_t value) {
  return RangeProblems(value, 0, kMaxUserId);
}

Problems IpProblems(std::string_view value) {
  if (ParseIp(value)) return {};
  return {"must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"};
}

Problems CidrProblems(std::string_view value) {
  if (ParseCidr(value)) return {};
  return {"must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"};
}

Problems PercentProblems(std::string_view value) {
  const bool ok = value.size() > 1 && value.back() == '%' && All(value.substr(0, value.size() - 1), IsDigit);
  return ok ? Problems{} : Problems{std::string(kPercentRule)};
}

Problems PathSegmentProblems(std::string_view value) {
  if (value == "." || value == "..") return {"may not be '" + std::string(value) + "'"};
  Problems problems;
  for (const char c : {'/', '%'}) {
    if (value.find(c) != std::string_view::npos)
      problems.push_back(std::string("may not contain '") + c + "'");
  }
  return problems;
}

std::string MaskTrailingDash(std::string_view prefix) {
  if (prefix.size() > 1 && prefix.back() == '-')
    return std::string(prefix.substr(0, prefix.size() - 2)) + "a";
  return std::string(prefix);
}

void AddProblems(const Problems& problems, const FieldPath& path, const json::Value& value,
                 FieldErrors& errors) {
  for (const std::string& problem : problems) errors.Invalid(path, value, problem);
}

void ValidateFullyQualifiedDomain(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  if (name.empty()) return errors.Required(path);
  if (name.ends_with('.')) name.remove_suffix(1);
  ValidateDomain(name, 2, "should be a domain with at least two segments separated by dots", path, errors);
}

void ValidateFullyQualifiedName(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  if (name.empty()) return errors.Required(path);
  ValidateDomain(name, 3, "should be a domain with at least three segments separated by dots", path, errors);
}

bool IsIpv4(std::string_view value) {
  const auto ip = ParseIp(value);
  return ip && ip->is_v4;
}

bool IsIpv6(std::string_view value) {
  const auto ip = ParseIp(value);
  return ip && !ip->is_v4;
}

}  // namespace flyball::api
