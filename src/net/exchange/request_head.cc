#include "net/exchange/request_head.h"

#include <algorithm>

namespace flyball::net {

namespace {

char LowerLetter(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

std::string_view Trim(std::string_view s) {
  const std::size_t first = s.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(" \t") - first + 1);
}

}  // namespace

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return LowerLetter(x) == LowerLetter(y); });
}

bool HasToken(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view item = list.substr(0, comma);
    if (EqualsIgnoringCase(Trim(item.substr(0, item.find(';'))), word)) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

const char* FaultOfHead(std::string_view method, const Headers& headers, int version) {
  const std::size_t hosts = headers.GetAll("host").size();
  if (version == 11 && hosts == 0) return "missing required Host header";
  if (hosts > 1) return "too many Host headers";
  if (method == "CONNECT") return "CONNECT is not supported";
  return nullptr;
}

bool NormalizeTarget(std::string& target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (target.size() < scheme.size() ||
        !EqualsIgnoringCase(std::string_view(target).substr(0, scheme.size()), scheme))
      continue;
    const std::size_t path = target.find_first_of("/?", scheme.size());
    target = path == std::string::npos ? "/"
             : target[path] == '?'     ? "/" + target.substr(path)
                                       : target.substr(path);
    break;
  }
  if (target.empty() || target[0] != '/') return false;
  return std::none_of(target.begin(), target.end(), [](char c) {
    const auto u = static_cast<unsigned char>(c);
    return u <= 0x20 || u == 0x7f;
  });
}

bool AcceptsGzip(const Headers& headers) {
  for (const std::string_view value : headers.GetAll("accept-encoding"))
    if (HasToken(value, "gzip")) return true;
  return false;
}

void SetWebSocketTraits(const Headers& headers, ServerStream::Traits& traits) {
  traits.websocket_key = headers.Get("sec-websocket-key");
  traits.websocket = HasToken(headers.Get("upgrade"), "websocket") && !traits.websocket_key.empty() &&
                     headers.Get("sec-websocket-version") == "13";
}

std::string_view ReasonOf(int status) {
  switch (status) {
    case 413:
      return "RequestEntityTooLarge";
    case 431:
      return "RequestHeaderFieldsTooLarge";
    case 429:
      return "TooManyRequests";
    default:
      return "BadRequest";
  }
}

std::string MessageOf(int status, const ServerLimits& limits) {
  switch (status) {
    case 413:
      return "Request entity too large: limit is " + std::to_string(limits.max_body_bytes);
    case 431:
      return "Request header fields too large";
    case 429:
      return "Too many requests, please try again later.";
    default:
      return "Bad Request";
  }
}

}  // namespace flyball::net
