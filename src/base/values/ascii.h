// ASCII text functions for names and protocols, independent of the locale.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace flyball {

constexpr bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool IsLowerLetter(char c) {
  return c >= 'a' && c <= 'z';
}
constexpr bool IsUpperLetter(char c) {
  return c >= 'A' && c <= 'Z';
}
constexpr bool IsAlphanumeric(char c) {
  return IsDigit(c) || IsLowerLetter(c) || IsUpperLetter(c);
}

// Bytes that are not letters stay unchanged.
inline std::string LowerCase(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (IsUpperLetter(c)) c = static_cast<char>(c - 'A' + 'a');
  return out;
}
inline std::string UpperCase(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (IsLowerLetter(c)) c = static_cast<char>(c - 'a' + 'A');
  return out;
}

inline constexpr std::string_view kWhiteSpace = " \t\n\v\f\r";

// Removes these bytes from both ends.
constexpr std::string_view Trimmed(std::string_view text, std::string_view ends = kWhiteSpace) {
  const std::size_t begin = text.find_first_not_of(ends);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(ends) - begin + 1);
}

// Returns the parts between the separators, including empty ones: "a,,b" has three parts, "" has one.
inline std::vector<std::string> SplitText(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t at; (at = text.find(separator)) != std::string_view::npos; text.remove_prefix(at + 1))
    parts.emplace_back(text.substr(0, at));
  parts.emplace_back(text);
  return parts;
}
// Returns the non-empty parts between any of the separators.
inline std::vector<std::string> SplitWords(std::string_view text, std::string_view separators = kWhiteSpace) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(separators, at), text.size());
    if (end > at) words.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

}  // namespace flyball
