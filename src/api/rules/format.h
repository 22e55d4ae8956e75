// Formats: what names, keys, addresses and the like may look like, with the words upstream refuses them in
// (apimachinery util/validation). Each function returns what is wrong, one text a problem; nothing if all is
// well.
//
// Functions only; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/rules/field_error.h"

namespace flyball::api {

using Problems = std::vector<std::string>;

// The format of that name, or nothing wrong if there is no such format. Names: dns-label, dns-subdomain,
// dns-1035-label, wildcard-subdomain, qualified-name, label-value, c-identifier, env-var-name,
// config-map-key, http-header-name, port-name, ip, cidr, percent, path-segment, rbac-name.
Problems FormatProblems(std::string_view format, std::string_view value);

Problems DnsLabelProblems(std::string_view value);
Problems DnsSubdomainProblems(std::string_view value);
Problems Dns1035LabelProblems(std::string_view value);
Problems WildcardSubdomainProblems(std::string_view value);
Problems QualifiedNameProblems(std::string_view value);
Problems LabelValueFormatProblems(std::string_view value);
Problems CIdentifierProblems(std::string_view value);
// Any printable ASCII but '=' (upstream since v1.34).
Problems EnvVarNameProblems(std::string_view value);
Problems ConfigMapKeyProblems(std::string_view value);
Problems HttpHeaderNameProblems(std::string_view value);
Problems PortNameProblems(std::string_view value);
Problems PortNumberProblems(std::int64_t value);
Problems UserIdProblems(std::int64_t value);
Problems RangeProblems(std::int64_t value, std::int64_t min, std::int64_t max);
Problems IpProblems(std::string_view value);
Problems CidrProblems(std::string_view value);
Problems PercentProblems(std::string_view value);
// What every name in a URL must obey.
Problems PathSegmentProblems(std::string_view value);

// A name that still gets a suffix (generateName) may end in '-': the name to check instead.
std::string MaskTrailingDash(std::string_view prefix);

// The words themselves, for those who make a message of their own.
std::string MaxLengthText(std::size_t max);
std::string RangeText(std::int64_t min, std::int64_t max);
inline constexpr std::string_view kNotNegativeText = "must be greater than or equal to 0";
inline constexpr std::string_view kImmutableText = "field is immutable";

// Invalid(path, value, problem) for every problem.
void AddProblems(const Problems& problems, const FieldPath& path, const json::Value& value,
                 FieldErrors& errors);

// A domain of at least two (name) or three (qualified name) parts, as upstream's IsFullyQualifiedDomainName
// and IsFullyQualifiedName check it.
void ValidateFullyQualifiedDomain(std::string_view name, const FieldPath& path, FieldErrors& errors);
void ValidateFullyQualifiedName(std::string_view name, const FieldPath& path, FieldErrors& errors);

bool IsIpv4(std::string_view value);
bool IsIpv6(std::string_view value);

}  // namespace flyball::api
