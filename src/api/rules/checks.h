// Checks that many kinds make, each with upstream's words.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "api/rules/field_error.h"
#include "json/value.h"

namespace flyball::api {

// Required if "", else Unsupported unless it is one of `supported`.
void RequireOneOf(std::string_view value, std::initializer_list<std::string_view> supported,
                  const FieldPath& path, FieldErrors& errors);
// Unsupported unless it is one of `supported`; "" is checked like everything else.
void CheckOneOf(std::string_view value, std::initializer_list<std::string_view> supported,
                const FieldPath& path, FieldErrors& errors);
// "must be greater than or equal to 0"; absent is 0.
void CheckNotNegative(const json::Value& value, const FieldPath& path, FieldErrors& errors);
// Every member named, in order.
void CheckNotNegative(const json::Value& object, std::initializer_list<std::string_view> members,
                      const FieldPath& path, FieldErrors& errors);
// Required for each of these string members that is empty.
void RequireMembers(const json::Value& object, std::initializer_list<std::string_view> members,
                    const FieldPath& path, FieldErrors& errors);
// A named format (format.h) on a string.
void CheckFormat(std::string_view format, std::string_view value, const FieldPath& path, FieldErrors& errors);
// A number from 1 to 65535, or a port name.
void CheckPortNumberOrName(const json::Value& port, const FieldPath& path, FieldErrors& errors);
// SCTP, TCP or UDP, required.
void CheckProtocol(std::string_view protocol, const FieldPath& path, FieldErrors& errors);

// A count or a percentage that is not negative (upstream: ValidatePositiveIntOrPercent).
void CheckIntOrPercent(const json::Value& value, const FieldPath& path, FieldErrors& errors);
// No percentage above 100 (upstream: IsNotMoreThan100Percent).
void CheckAtMost100Percent(const json::Value& value, const FieldPath& path, FieldErrors& errors);

// Paths in volumes. "must be a relative path", "must not contain '..'", "must not start with '..'".
void CheckNoBacksteps(std::string_view text, const FieldPath& path, FieldErrors& errors);
void CheckDescendingPath(std::string_view text, const FieldPath& path, FieldErrors& errors);
void CheckLocalPath(std::string_view text, const FieldPath& path, FieldErrors& errors);

// Neither unspecified, loopback nor link-local (upstream: ValidateNonSpecialIP).
void CheckNonSpecialIp(std::string_view ip, const FieldPath& path, FieldErrors& errors);

// True if a metav1.LabelSelector selects nothing in particular: everything.
bool IsEmptySelector(const json::Value& selector);
// True if the labels match a valid metav1.LabelSelector.
bool SelectorMatches(const json::Value& selector, const json::Value& labels);

}  // namespace flyball::api
