#include "cel/formats/regex.h"

#include <re2/re2.h>

#include "cel/text/utf8.h"

namespace flyball::cel {
namespace {

std::string_view GoRegexProblem(re2::RE2::ErrorCode code) {
  switch (code) {
    case re2::RE2::ErrorBadEscape:
      return "invalid escape sequence";
    case re2::RE2::ErrorBadCharClass:
      return "invalid character class";
    case re2::RE2::ErrorBadCharRange:
      return "invalid character class range";
    case re2::RE2::ErrorMissingBracket:
      return "missing closing ]";
    case re2::RE2::ErrorMissingParen:
      return "missing closing )";
    case re2::RE2::ErrorUnexpectedParen:
      return "unexpected )";
    case re2::RE2::ErrorTrailingBackslash:
      return "trailing backslash at end of expression";
    case re2::RE2::ErrorRepeatArgument:
      return "missing argument to repetition operator";
    case re2::RE2::ErrorRepeatSize:
      return "invalid repeat count";
    case re2::RE2::ErrorRepeatOp:
      return "invalid nested repetition operator";
    case re2::RE2::ErrorBadPerlOp:
      return "invalid or unsupported Perl syntax";
    case re2::RE2::ErrorBadUTF8:
      return "invalid UTF-8";
    case re2::RE2::ErrorBadNamedCapture:
      return "invalid named capture";
    default:
      return "expression too large";
  }
}

constexpr std::int64_t kRegexMemory = 8 << 20;

}  // namespace

Regex::Regex(std::unique_ptr<re2::RE2> re) : re_(std::move(re)) {}
Regex::~Regex() = default;

std::string Re2Pattern(std::string_view pattern) {
  std::string out;
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const std::string_view rest = pattern.substr(i);
    const bool named =
        !in_class && rest.starts_with("(?<") && !rest.starts_with("(?<=") && !rest.starts_with("(?<!");
    if (named) {
      out += "(?P";
      ++i;
      continue;
    }
    if (pattern[i] == '[') in_class = true;
    if (pattern[i] == ']') in_class = false;
    out += pattern[i];
    if (pattern[i] == '\\' && i + 1 < pattern.size()) out += pattern[++i];
  }
  return out;
}

std::shared_ptr<const Regex> Regex::Compile(std::string_view pattern, std::string* problem) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kRegexMemory);
  auto re = std::make_unique<re2::RE2>(Re2Pattern(pattern), options);
  if (!re->ok()) {
    *problem = "error parsing regexp: " + std::string(GoRegexProblem(re->error_code())) + ": `" +
               (re->error_code() == re2::RE2::ErrorMissingParen ? std::string(pattern) : re->error_arg()) +
               "`";
    return nullptr;
  }
  return std::shared_ptr<const Regex>(new Regex(std::move(re)));
}

bool Regex::Matches(std::string_view text) const {
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *re_);
}

std::string_view Regex::Find(std::string_view text) const {
  re2::StringPiece match;
  const re2::StringPiece piece(text.data(), text.size());
  if (!re_->Match(piece, 0, piece.size(), re2::RE2::UNANCHORED, &match, 1)) return {};
  return {match.data(), match.size()};
}

std::vector<std::string_view> Regex::FindAll(std::string_view text, std::int64_t limit) const {
  std::vector<std::string_view> matches;
  const re2::StringPiece piece(text.data(), text.size());
  std::size_t at = 0;
  std::size_t previous_end = static_cast<std::size_t>(-1);
  while (at <= text.size() && (limit < 0 || static_cast<std::int64_t>(matches.size()) < limit)) {
    re2::StringPiece match;
    if (!re_->Match(piece, at, piece.size(), re2::RE2::UNANCHORED, &match, 1)) break;
    const auto start = static_cast<std::size_t>(match.data() - piece.data());
    const std::size_t end = start + match.size();
    // Go does not report an empty match right after the one before.
    const bool accept = !(match.empty() && start == previous_end);
    if (end > at)
      at = end;
    else
      at += at < text.size() ? DecodeRune(text, at).length : 1;
    previous_end = end;
    if (accept) matches.emplace_back(match.data(), match.size());
  }
  return matches;
}

}  // namespace flyball::cel
