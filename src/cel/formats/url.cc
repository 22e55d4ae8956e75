#include "cel/formats/url.h"

#include <algorithm>
#include <cstdint>

#include "base/values/ascii.h"
#include "cel/formats/net_address.h"
#include "cel/text/number_text.h"

namespace flyball::cel {
namespace {

enum class UrlPart { kPath, kUser, kQuery, kFragment, kHost, kZone };

bool IsUrlAlphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool IsOneOf(char c, std::string_view set) {
  return set.find(c) != std::string_view::npos;
}

bool MustEscape(char c, UrlPart part) {
  if (IsUrlAlphanumeric(c) || IsOneOf(c, "-_.~")) return false;
  if ((part == UrlPart::kHost || part == UrlPart::kZone) && IsOneOf(c, "!$&'()*+,;=:[]<>\"")) return false;
  if (IsOneOf(c, "$&+,/:;=?@")) {
    switch (part) {
      case UrlPart::kPath:
        return c == '?';
      case UrlPart::kUser:
        return IsOneOf(c, "@/?:");
      case UrlPart::kFragment:
        return false;
      default:
        return true;
    }
  }
  return !(part == UrlPart::kFragment && IsOneOf(c, "!()*"));
}

std::string EscapeUrl(std::string_view s, UrlPart part) {
  constexpr std::string_view kUpperHex = "0123456789ABCDEF";
  std::string out;
  for (char c : s) {
    const auto byte = static_cast<unsigned char>(c);
    if (!MustEscape(c, part)) {
      out += c;
    } else {
      out += '%';
      out += kUpperHex[byte >> 4];
      out += kUpperHex[byte & 15];
    }
  }
  return out;
}

int UrlHexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> UnescapeUrl(std::string_view s, UrlPart part, std::string* problem) {
  std::string out;
  const bool host = part == UrlPart::kHost || part == UrlPart::kZone;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '%') {
      const auto fail = [&] {
        *problem = "invalid URL escape " + QuoteGo(s.substr(i, 3));
        return std::nullopt;
      };
      if (i + 2 >= s.size() || UrlHexDigit(s[i + 1]) < 0 || UrlHexDigit(s[i + 2]) < 0) return fail();
      const auto byte = static_cast<char>(UrlHexDigit(s[i + 1]) << 4 | UrlHexDigit(s[i + 2]));
      const bool percent = s.substr(i, 3) == "%25";
      if (part == UrlPart::kHost && UrlHexDigit(s[i + 1]) < 8 && !percent) return fail();
      if (part == UrlPart::kZone && !percent && byte != ' ' && MustEscape(byte, UrlPart::kHost))
        return fail();
      out += byte;
      i += 2;
    } else if (s[i] == '+' && part == UrlPart::kQuery) {
      out += ' ';
    } else {
      if (host && static_cast<unsigned char>(s[i]) < 0x80 && MustEscape(s[i], part)) {
        *problem = "invalid character " + QuoteGo(s.substr(i, 1)) + " in host name";
        return std::nullopt;
      }
      out += s[i];
    }
  }
  return out;
}

bool IsOptionalPort(std::string_view port) {
  if (port.empty()) return true;
  return port[0] == ':' &&
         std::all_of(port.begin() + 1, port.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool IsValidEncoded(std::string_view s, UrlPart part) {
  return std::all_of(s.begin(), s.end(),
                     [&](char c) { return IsOneOf(c, "!$&'()*+,;=:@[]%") || !MustEscape(c, part); });
}

bool IsValidUserinfo(std::string_view s) {
  return std::all_of(s.begin(), s.end(),
                     [](char c) { return IsUrlAlphanumeric(c) || IsOneOf(c, "-._:~!$&'()*+,;=%@"); });
}

// One parse (url.parse). Fails with a message without the URL.
class UrlParser {
 public:
  UrlParser(std::string_view text, bool via_request) : text_(text), via_request_(via_request) {}

  std::optional<Url> Parse(std::string* problem) {
    if (ParseAll()) return std::move(url_);
    *problem = std::move(problem_);
    return std::nullopt;
  }

 private:
  bool Fail(std::string message) {
    problem_ = std::move(message);
    return false;
  }
  bool ParseAll() {
    for (char c : text_)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
        return Fail("net/url: invalid control character in URL");
    if (text_.empty() && via_request_) return Fail("empty url");
    if (text_ == "*") {
      url_.path = "*";
      return true;
    }
    std::string_view rest;
    if (!TakeScheme(&rest)) return false;
    if (rest.ends_with('?') && std::count(rest.begin(), rest.end(), '?') == 1) {
      url_.force_query = true;
      rest.remove_suffix(1);
    } else if (const std::size_t mark = rest.find('?'); mark != std::string_view::npos) {
      url_.raw_query = rest.substr(mark + 1);
      rest = rest.substr(0, mark);
    }
    if (!rest.starts_with('/')) {
      if (!url_.scheme.empty()) {
        url_.opaque = rest;
        return true;
      }
      if (via_request_) return Fail("invalid URI for request");
      if (rest.substr(0, rest.find('/')).find(':') != std::string_view::npos)
        return Fail("first path segment in URL cannot contain colon");
    }
    if ((!url_.scheme.empty() || (!via_request_ && !rest.starts_with("///"))) && rest.starts_with("//")) {
      std::string_view authority = rest.substr(2);
      const std::size_t slash = authority.find('/');
      rest = slash == std::string_view::npos ? std::string_view() : authority.substr(slash);
      if (!ParseAuthority(authority.substr(0, slash))) return false;
    } else if (!url_.scheme.empty() && rest.starts_with('/')) {
      url_.omit_host = true;
    }
    return SetPath(rest);
  }
  bool TakeScheme(std::string_view* rest) {
    *rest = text_;
    for (std::size_t i = 0; i < text_.size(); ++i) {
      const char c = text_[i];
      if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) continue;
      if ((c >= '0' && c <= '9') || IsOneOf(c, "+-.")) {
        if (i == 0) return true;
        continue;
      }
      if (c != ':') return true;
      if (i == 0) return Fail("missing protocol scheme");
      url_.scheme = LowerCase(text_.substr(0, i));
      *rest = text_.substr(i + 1);
      return true;
    }
    return true;
  }
  bool ParseAuthority(std::string_view authority) {
    const std::size_t at = authority.rfind('@');
    if (!ParseHost(at == std::string_view::npos ? authority : authority.substr(at + 1))) return false;
    if (at == std::string_view::npos) return true;
    const std::string_view user = authority.substr(0, at);
    if (!IsValidUserinfo(user)) return Fail("net/url: invalid userinfo");
    const std::size_t colon = user.find(':');
    url_.has_user = true;
    const auto name = UnescapeUrl(user.substr(0, colon), UrlPart::kUser, &problem_);
    if (!name) return false;
    url_.user_name = *name;
    if (colon == std::string_view::npos) return true;
    const auto password = UnescapeUrl(user.substr(colon + 1), UrlPart::kUser, &problem_);
    if (!password) return false;
    url_.has_password = true;
    url_.password = *password;
    return true;
  }
  bool ParseHost(std::string_view host) {
    const std::size_t bracket = host.rfind('[');
    if (bracket != std::string_view::npos && bracket > 0) return Fail("invalid IP-literal");
    if (bracket == 0) return ParseIpLiteral(host);
    if (std::size_t colon = host.find(':'); colon != std::string_view::npos) {
      if (url_.scheme != "http" && url_.scheme != "https") colon = host.rfind(':');
      if (!IsOptionalPort(host.substr(colon)))
        return Fail("invalid port " + QuoteGo(host.substr(colon)) + " after host");
    }
    const auto unescaped = UnescapeUrl(host, UrlPart::kHost, &problem_);
    if (!unescaped) return false;
    url_.host = *unescaped;
    return true;
  }
  bool ParseIpLiteral(std::string_view host) {
    const std::size_t end = host.rfind(']');
    if (end == std::string_view::npos) return Fail("missing ']' in host");
    const std::string_view port = host.substr(end + 1);
    if (!IsOptionalPort(port)) return Fail("invalid port " + QuoteGo(port) + " after host");
    const std::string_view name = host.substr(1, end - 1);
    const std::size_t zone = name.find("%25");
    const auto address = UnescapeUrl(name.substr(0, zone), UrlPart::kHost, &problem_);
    if (!address) return false;
    std::string literal = *address;
    if (zone != std::string_view::npos) {
      const auto zone_text = UnescapeUrl(name.substr(zone), UrlPart::kZone, &problem_);
      if (!zone_text) return false;
      literal += *zone_text;
    }
    std::string wrong;
    const auto ip = ParseIpAddr(*address, &wrong);
    // Only the text of the address matters here: mapped and zoned ones are fine in a URL.
    if (!ip && wrong.find("is not allowed") == std::string::npos)
      return Fail("invalid host: " + wrong.substr(wrong.find("ParseAddr(")));
    if (ip && ip->v4) return Fail("invalid IP-literal");
    url_.host = "[" + literal + "]" + std::string(port);
    return true;
  }
  bool SetPath(std::string_view path) {
    const auto unescaped = UnescapeUrl(path, UrlPart::kPath, &problem_);
    if (!unescaped) return false;
    url_.path = *unescaped;
    if (EscapeUrl(url_.path, UrlPart::kPath) != path) url_.raw_path = path;
    return true;
  }

  std::string_view text_;
  bool via_request_;
  Url url_;
  std::string problem_;
};

std::string EscapedFragmentOf(const Url& url) {
  std::string ignored;
  if (!url.raw_fragment.empty() && IsValidEncoded(url.raw_fragment, UrlPart::kFragment) &&
      UnescapeUrl(url.raw_fragment, UrlPart::kFragment, &ignored) == url.fragment)
    return url.raw_fragment;
  return EscapeUrl(url.fragment, UrlPart::kFragment);
}

}  // namespace

std::string Url::Port() const {
  const std::size_t bracket = host.rfind(']');
  const std::size_t colon = host.rfind(':');
  if (colon == std::string::npos || (bracket != std::string::npos && colon < bracket)) return "";
  return host.substr(colon + 1);
}

std::string Url::Hostname() const {
  std::string name = host;
  const std::size_t bracket = host.rfind(']');
  const std::size_t colon = host.rfind(':');
  if (colon != std::string::npos && (bracket == std::string::npos || colon > bracket) &&
      IsOptionalPort(std::string_view(host).substr(colon)))
    name = host.substr(0, colon);
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  return name;
}

std::string Url::EscapedPath() const {
  std::string ignored;
  if (!raw_path.empty() && IsValidEncoded(raw_path, UrlPart::kPath) &&
      UnescapeUrl(raw_path, UrlPart::kPath, &ignored) == path)
    return raw_path;
  if (path == "*") return "*";
  return EscapeUrl(path, UrlPart::kPath);
}

std::string Url::ToString() const {
  std::string out;
  if (!scheme.empty()) out += scheme + ":";
  if (!opaque.empty()) {
    out += opaque;
  } else {
    if (!scheme.empty() || !host.empty() || has_user) {
      if (!(omit_host && host.empty() && !has_user)) {
        if (!host.empty() || !path.empty() || has_user) out += "//";
        if (has_user) {
          out += EscapeUrl(user_name, UrlPart::kUser);
          if (has_password) out += ":" + EscapeUrl(password, UrlPart::kUser);
          out += "@";
        }
        out += EscapeUrl(host, UrlPart::kHost);
      }
    }
    const std::string escaped = EscapedPath();
    if (!escaped.empty() && escaped[0] != '/' && !host.empty()) out += '/';
    if (out.empty() &&
        std::string_view(escaped).substr(0, escaped.find('/')).find(':') != std::string_view::npos)
      out += "./";
    out += escaped;
  }
  if (force_query || !raw_query.empty()) out += "?" + raw_query;
  if (!fragment.empty()) out += "#" + EscapedFragmentOf(*this);
  return out;
}

std::vector<std::pair<std::string, std::vector<std::string>>> Url::Query() const {
  std::vector<std::pair<std::string, std::vector<std::string>>> result;
  std::string_view rest = raw_query;
  while (!rest.empty()) {
    const std::size_t ampersand = rest.find('&');
    const std::string_view pair = rest.substr(0, ampersand);
    rest = ampersand == std::string_view::npos ? std::string_view() : rest.substr(ampersand + 1);
    if (pair.empty() || pair.find(';') != std::string_view::npos) continue;
    const std::size_t equals = pair.find('=');
    std::string ignored;
    const auto key = UnescapeUrl(pair.substr(0, equals), UrlPart::kQuery, &ignored);
    const auto value =
        UnescapeUrl(equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1),
                    UrlPart::kQuery, &ignored);
    if (!key || !value) continue;
    auto it =
        std::find_if(result.begin(), result.end(), [&](const auto& entry) { return entry.first == *key; });
    if (it == result.end()) it = result.insert(result.end(), {*key, {}});
    it->second.push_back(*value);
  }
  return result;
}

bool IsRequestUri(std::string_view text, std::string* problem) {
  if (UrlParser(text, true).Parse(problem)) return true;
  *problem = "parse " + QuoteGo(text) + ": " + *problem;
  return false;
}

std::optional<Url> ParseUrl(std::string_view text, std::string* problem) {
  const std::size_t hash = text.find('#');
  const std::string_view before = text.substr(0, hash);
  auto url = UrlParser(before, false).Parse(problem);
  if (!url) {
    *problem = "parse " + QuoteGo(before) + ": " + *problem;
    return std::nullopt;
  }
  if (hash == std::string_view::npos || hash + 1 == text.size()) return url;
  const std::string_view fragment = text.substr(hash + 1);
  const auto unescaped = UnescapeUrl(fragment, UrlPart::kFragment, problem);
  if (!unescaped) {
    *problem = "parse " + QuoteGo(text) + ": " + *problem;
    return std::nullopt;
  }
  url->fragment = *unescaped;
  if (EscapeUrl(url->fragment, UrlPart::kFragment) != fragment) url->raw_fragment = fragment;
  return url;
}

}  // namespace flyball::cel
