#include "dns/forward/upstream.h"

#include <charconv>

#include "api/values/ip_address.h"
#include "base/values/ascii.h"

namespace flyball::dns {
namespace {

Unexpected BadUpstream(std::string_view text) {
  return Unexpected(
      BadRequest("\"" + std::string(text) + "\" is no name server: write its IP address, or address:port"));
}

// Splits "address:port" and "[address]:port"; a bare IPv6 address has several colons.
bool SplitPort(std::string_view text, std::string_view& ip, std::string_view& port) {
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return false;
    ip = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    if (!text.empty() && text[0] != ':') return false;
    port = text.empty() ? text : text.substr(1);
    return true;
  }
  const std::size_t colon = text.find(':');
  const bool one = colon != std::string_view::npos && text.find(':', colon + 1) == std::string_view::npos;
  ip = one ? text.substr(0, colon) : text;
  port = one ? text.substr(colon + 1) : std::string_view();
  return true;
}

}  // namespace

std::string Upstream::ToString() const {
  const bool v6 = ip.find(':') != std::string::npos;
  return (v6 ? "[" + ip + "]" : ip) + ":" + std::to_string(port);
}

Result<Upstream> ParseUpstream(std::string_view text) {
  std::string_view ip, port;
  if (!SplitPort(text, ip, port) || !api::ParseIp(ip)) return BadUpstream(text);
  Upstream upstream{.ip = std::string(ip)};
  if (port.empty()) return upstream;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), upstream.port);
  if (error != std::errc() || end != port.data() + port.size() || upstream.port < 1 || upstream.port > 65535)
    return BadUpstream(text);
  return upstream;
}

std::vector<Upstream> UpstreamsOf(std::string_view resolv_conf) {
  std::vector<Upstream> upstreams;
  for (const std::string& line : SplitText(resolv_conf, '\n')) {
    const std::vector<std::string> words = SplitWords(line);
    if (words.size() < 2 || words[0] != "nameserver") continue;
    if (api::ParseIp(words[1])) upstreams.push_back({.ip = words[1]});
  }
  return upstreams;
}

}  // namespace flyball::dns
