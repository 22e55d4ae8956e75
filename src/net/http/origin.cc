#include "net/http/origin.h"

#include <charconv>

namespace flyball::net {

namespace {

Unexpected BadUrl(std::string_view url) {
  return Unexpected(BadRequest("not a usable URL: \"" + std::string(url) + "\""));
}

bool ParsePort(std::string_view text, int& port) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port > 0 && port < 65536;
}

// "unix:///run/x.sock": HTTP/2 by prior knowledge, which is what those who listen there speak.
Result<Origin> UnixOrigin(std::string_view url, std::string_view path) {
  if (!path.starts_with('/') || path.size() < 2) return BadUrl(url);
  if (path[1] == '@') path.remove_prefix(1);
  Origin origin;
  origin.h2_prior_knowledge = true;
  origin.host = "localhost";
  origin.port = 80;
  origin.socket_path = path;
  return origin;
}

}  // namespace

std::string Origin::authority() const {
  std::string out = host.find(':') == std::string::npos ? host : "[" + host + "]";
  if (port != (tls ? 443 : 80)) out += ":" + std::to_string(port);
  return out;
}

Result<Origin> ParseOrigin(std::string_view url) {
  Origin origin;
  std::string_view rest = url;
  const auto skip = [&rest](std::string_view prefix) {
    if (rest.substr(0, prefix.size()) != prefix) return false;
    rest.remove_prefix(prefix.size());
    return true;
  };
  if (skip("unix://")) return UnixOrigin(url, rest);
  if (skip("https://"))
    origin.tls = true;
  else if (skip("h2c://"))
    origin.h2_prior_knowledge = true;
  else if (!skip("http://"))
    return BadUrl(url);
  origin.port = origin.tls ? 443 : 80;

  const std::size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view authority = rest.substr(0, slash);
  origin.path_prefix = rest.substr(slash);
  while (!origin.path_prefix.empty() && origin.path_prefix.back() == '/') origin.path_prefix.pop_back();

  std::size_t host_end = authority.find(':');
  if (!authority.empty() && authority[0] == '[') {
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos) return BadUrl(url);
    origin.host = authority.substr(1, close - 1);
    host_end = close + 1 < authority.size() ? close + 1 : std::string_view::npos;
  } else {
    origin.host = authority.substr(0, host_end);
  }
  if (origin.host.empty() || origin.host.find_first_of(" \r\n\t@") != std::string::npos) return BadUrl(url);
  if (host_end != std::string_view::npos &&
      (authority[host_end] != ':' || !ParsePort(authority.substr(host_end + 1), origin.port)))
    return BadUrl(url);
  return origin;
}

}  // namespace flyball::net
