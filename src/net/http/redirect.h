// Redirects: which answers are some, and where they lead.
#pragma once

#include <string>

namespace flyball::net {

// 301, 302, 303, 307 and 308.
bool IsRedirect(int status);
// Where a Location leads from a URL, which has a scheme.
std::string ResolveLocation(const std::string& url, const std::string& location);

}  // namespace flyball::net
