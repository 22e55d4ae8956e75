// The formats that format.named() knows (upstream: cel/library/format.go). Constant tables; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flyball::cel {

struct NamedFormat {
  std::string_view name;                                        // in expressions: "dns1123Label"
  std::string_view title;                                       // its own: "DNS1123Label"
  int max_regex_size;                                           // what checking a character is charged by
  std::vector<std::string> (*validate)(std::string_view text);  // what is wrong; empty if nothing
};

// Null if there is none of that name.
const NamedFormat* FindNamedFormat(std::string_view name);
const std::vector<NamedFormat>& NamedFormats();

// Names of service accounts and namespaces, for the authorizer.
bool IsServiceAccountName(std::string_view name);
bool IsNamespaceName(std::string_view name);

}  // namespace flyball::cel
