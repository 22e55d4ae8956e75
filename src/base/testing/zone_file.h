// Files of the time zone database, made for tests.
#pragma once

#include <string>

namespace flyball {

// A file as in RFC 8536: no transitions, one type, and a rule that applies forever.
inline std::string ZoneFile(const std::string& rule) {
  const auto header = [](char types, char chars) {
    std::string out = "TZif2" + std::string(15, '\0');
    for (const char count : {char{0}, char{0}, char{0}, char{0}, types, chars})
      out += std::string(3, '\0') + count;
    return out;
  };
  const std::string body = std::string(6, '\0') + std::string("UTC\0", 4);
  return header(1, 4) + body + header(1, 4) + body + "\n" + rule + "\n";
}

}  // namespace flyball
