// Regular expressions: RE2's, with Go's messages. Immutable; thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace re2 {
class RE2;
}

namespace flyball::cel {

// Go's syntax as RE2 has it: a group may be named in two ways in Go, (?P<name>...) and (?<name>...).
std::string Re2Pattern(std::string_view pattern);

class Regex {
 public:
  // Null and Go's message ("error parsing regexp: missing closing ]: `[`") if `pattern` is none.
  static std::shared_ptr<const Regex> Compile(std::string_view pattern, std::string* problem);
  ~Regex();

  bool Matches(std::string_view text) const;  // anywhere in it
  // The first match; empty if there is none.
  std::string_view Find(std::string_view text) const;
  // All of them, at most `limit` if that is not negative.
  std::vector<std::string_view> FindAll(std::string_view text, std::int64_t limit) const;

 private:
  explicit Regex(std::unique_ptr<re2::RE2> re);
  std::unique_ptr<re2::RE2> re_;
};

}  // namespace flyball::cel
