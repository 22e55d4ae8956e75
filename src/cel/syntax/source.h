// Source: the text of an expression, and messages that point into it. Immutable; thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace flyball::cel {

// What is wrong with an expression, and where.
struct Issue {
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
  std::size_t offset = kNowhere;  // in bytes
  std::string message;
  int column_shift = 0;  // one message upstream reports a column early
};

class Source {
 public:
  explicit Source(std::string_view text) : text_(text) {}

  std::string_view text() const { return text_; }
  // Lines are counted from 1, columns in characters from 0.
  struct Place {
    int line, column;
  };
  Place PlaceOf(std::size_t offset) const;
  // "ERROR: <input>:1:5: undefined field 'x'\n | self.x\n | ....^" for each, in the order of their places. At
  // most 100 are shown.
  std::string Describe(std::vector<Issue> issues) const;

 private:
  std::string DescribeOne(const Issue& issue) const;
  std::string_view text_;
};

}  // namespace flyball::cel
