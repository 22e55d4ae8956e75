#include "cel/syntax/source.h"

#include <algorithm>

#include "cel/text/utf8.h"

namespace flyball::cel {
namespace {

constexpr std::size_t kMaxSnippet = 16384;
constexpr std::size_t kMaxIssues = 100;

}  // namespace

Source::Place Source::PlaceOf(std::size_t offset) const {
  if (offset == Issue::kNowhere) return {-1, -1};
  Place place{1, 0};
  for (std::size_t i = 0; i < offset && i < text_.size();) {
    if (text_[i] == '\n') {
      ++place.line;
      place.column = 0;
      ++i;
    } else {
      i += DecodeRune(text_, i).length;
      ++place.column;
    }
  }
  return place;
}

std::string Source::DescribeOne(const Issue& issue) const {
  Place place = PlaceOf(issue.offset);
  place.column += issue.column_shift;
  std::string out = "ERROR: <input>:" + std::to_string(place.line) + ":" + std::to_string(place.column + 1) +
                    ": " + issue.message;
  if (place.line < 1 || text_.empty()) return out;
  std::size_t start = 0;
  for (int line = 1; line < place.line; ++line) start = text_.find('\n', start) + 1;
  std::string snippet(text_.substr(start, text_.find('\n', start) - start));
  if (snippet.size() > kMaxSnippet) return out;
  std::replace(snippet.begin(), snippet.end(), '\t', ' ');
  out += "\n | " + snippet + "\n | ";
  std::size_t at = 0;
  for (int i = 0; i < place.column && at < snippet.size(); ++i) {
    const std::size_t length = DecodeRune(snippet, at).length;
    out += length > 1 ? "\xef\xbc\x8e" : ".";
    at += length;
  }
  out += at < snippet.size() && DecodeRune(snippet, at).length > 1 ? "\xef\xbc\xbe" : "^";
  return out;
}

std::string Source::Describe(std::vector<Issue> issues) const {
  const auto before = [this](const Issue& a, const Issue& b) {
    const Place p = PlaceOf(a.offset), q = PlaceOf(b.offset);
    return p.line != q.line ? p.line < q.line : p.column < q.column;
  };
  const std::size_t total = issues.size();
  if (total > kMaxIssues) issues.resize(kMaxIssues);
  std::stable_sort(issues.begin(), issues.end(), before);
  std::string out;
  for (const Issue& issue : issues) out += (out.empty() ? "" : "\n") + DescribeOne(issue);
  if (total > kMaxIssues) out += "\n" + std::to_string(total - kMaxIssues) + " more errors were truncated";
  return out;
}

}  // namespace flyball::cel
