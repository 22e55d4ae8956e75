#include "server/aggregation/user_headers.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "base/values/ascii.h"

namespace flyball::server {
namespace {

constexpr std::string_view kRemoteUser = "x-remote-user", kRemoteUid = "x-remote-uid",
                           kRemoteGroup = "x-remote-group", kRemoteExtraPrefix = "x-remote-extra-";

bool IsHeaderValue(std::string_view value) {
  return std::all_of(value.begin(), value.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= 0x20 && byte != 0x7f) || c == '\t';
  });
}

bool IsTokenByte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("!#$&'*+-.^_`|~").find(c) != std::string_view::npos;
}

// As the other side decodes it (upstream: headerKeyEscape).
std::string EscapedKey(std::string_view key) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : key) {
    if (IsTokenByte(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

}  // namespace

Status AddUserHeaders(const User& user, net::Headers& headers) {
  bool sound = IsHeaderValue(user.name) && IsHeaderValue(user.uid);
  for (const auto& group : user.groups) sound = sound && IsHeaderValue(group);
  for (const auto& [key, values] : user.extra)
    for (const auto& value : values) sound = sound && IsHeaderValue(value);
  if (!sound) return Unexpected(InternalError("the user's name or groups cannot be sent in headers"));
  headers.Set(kRemoteUser, user.name);
  if (!user.uid.empty()) headers.Set(kRemoteUid, user.uid);
  for (const auto& group : user.groups) headers.Add(kRemoteGroup, group);
  for (const auto& [key, values] : user.extra)
    for (const auto& value : values)
      headers.Add(std::string(kRemoteExtraPrefix) + LowerCase(EscapedKey(key)), value);
  return {};
}

}  // namespace flyball::server
