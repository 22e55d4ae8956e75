// Url: as Go's net/url parses and writes them. A value; thread-compatible.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flyball::cel {

struct Url {
  std::string scheme, opaque, host, path, raw_path, raw_query, fragment, raw_fragment;
  std::string user_name, password;
  bool has_user = false, has_password = false, force_query = false, omit_host = false;

  std::string Hostname() const;
  std::string Port() const;
  std::string EscapedPath() const;
  std::string ToString() const;
  // The query's keys with their values, in the order they come first.
  std::vector<std::pair<std::string, std::vector<std::string>>> Query() const;
};

// url.ParseRequestURI and url.Parse. `problem` gets Go's message ("parse \"x\": invalid URI for request").
bool IsRequestUri(std::string_view text, std::string* problem);
std::optional<Url> ParseUrl(std::string_view text, std::string* problem);

}  // namespace flyball::cel
