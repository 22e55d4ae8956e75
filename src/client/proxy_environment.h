// Which proxy the environment asks for: HTTPS_PROXY, HTTP_PROXY and NO_PROXY, read as Go programs (kubectl
// among them) read them.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace flyball {

// The value of a variable; "" if it is not set.
using EnvironmentReader = std::function<std::string(const char* name)>;
EnvironmentReader ProcessEnvironment();

// The proxy for a server at `url` (scheme://host[:port][/...]); "" for none. Names in capitals count before
// small ones. Never one for localhost and loopback addresses; NO_PROXY excludes further hosts: "*", a host
// with all below it, ".domain" with only what is below it, an address or a CIDR block, each with an optional
// port.
std::string ProxyFor(std::string_view url, const EnvironmentReader& environment);

}  // namespace flyball
