#include "server/forward/html_links.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/values/ascii.h"

namespace flyball::server {
namespace {

// Upstream has the same, by element.
constexpr std::array<std::string_view, 15> kLinks = {
    "action", "background", "cite",     "classid", "codebase", "data", "formaction", "href",
    "icon",   "longdesc",   "manifest", "poster",  "profile",  "src",  "usemap"};
// What is in these elements is no HTML.
constexpr std::array<std::string_view, 4> kVerbatim = {"script", "style", "textarea", "title"};
constexpr std::string_view kComment = "<!--", kCommentEnd = "-->";

bool IsSpace(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Where the tag at the beginning ends; npos if it does not. A '>' in quotes is not the end.
std::size_t EndOfTag(std::string_view text) {
  char quote = 0;
  for (std::size_t i = 1; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if ((c == '"' || c == '\'') && text[i - 1] == '=') {
      quote = c;
    } else if (c == '>') {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

std::size_t FindIgnoringCase(std::string_view text, std::string_view what) {
  const auto same = [](char a, char b) { return LowerCase(std::string(1, a)) == std::string(1, b); };
  const auto found = std::search(text.begin(), text.end(), what.begin(), what.end(), same);
  return found == text.end() ? std::string_view::npos : static_cast<std::size_t>(found - text.begin());
}

// An attribute: where its name and its value are in the tag.
struct Attribute {
  std::string name;
  std::size_t value = 0, value_end = 0, end = 0;
};

// The next attribute from there on; an empty name if there is none.
Attribute NextAttribute(std::string_view tag, std::size_t at) {
  const auto skip = [&](auto is) {
    while (at < tag.size() && is(tag[at])) ++at;
  };
  Attribute found;
  skip([](char c) { return IsSpace(c) || c == '/'; });
  const std::size_t name = at;
  skip([](char c) { return !IsSpace(c) && c != '=' && c != '>' && c != '/'; });
  found.name = LowerCase(std::string(tag.substr(name, at - name)));
  found.end = at;
  skip(IsSpace);
  if (at >= tag.size() || tag[at] != '=') return found;
  ++at;
  skip(IsSpace);
  const char quote = at < tag.size() && (tag[at] == '"' || tag[at] == '\'') ? tag[at++] : '\0';
  found.value = at;
  skip([quote](char c) { return quote != '\0' ? c != quote : !IsSpace(c) && c != '>'; });
  found.value_end = at;
  found.end = std::min(at + (quote != '\0' ? 1 : 0), tag.size());
  return found;
}

}  // namespace

std::string HtmlLinks::Next(std::string_view piece) {
  waiting_ += piece;
  std::string out;
  while (!waiting_.empty() && Step(out)) {
  }
  return out;
}

std::string HtmlLinks::End() {
  return std::exchange(waiting_, {});
}

void HtmlLinks::PassOn(std::size_t bytes, std::string& out) {
  out.append(waiting_, 0, bytes);
  waiting_.erase(0, bytes);
}

bool HtmlLinks::Step(std::string& out) {
  if (!until_.empty()) return StepVerbatim(out);
  PassOn(std::min(waiting_.find('<'), waiting_.size()), out);
  if (waiting_.empty()) return true;
  const std::string_view text = waiting_;
  if (kComment.starts_with(text.substr(0, kComment.size()))) {
    if (text.size() < kComment.size()) return false;
    PassOn(kComment.size(), out);
    until_ = kCommentEnd;
    return true;
  }
  if (text.size() < 2) return false;
  if (IsLetter(text[1])) return StepTag(out);
  PassOn(1, out);
  return true;
}

bool HtmlLinks::StepVerbatim(std::string& out) {
  const std::size_t found = FindIgnoringCase(waiting_, until_);
  if (found == std::string::npos) {
    PassOn(waiting_.size() - std::min(waiting_.size(), until_.size() - 1), out);
    return false;
  }
  PassOn(found + until_.size(), out);
  until_.clear();
  return true;
}

bool HtmlLinks::StepTag(std::string& out) {
  const std::size_t end = EndOfTag(waiting_);
  if (end == std::string::npos && waiting_.size() < kMaxTag) return false;
  if (end == std::string::npos || end > kMaxTag) {
    PassOn(std::min(end, waiting_.size()), out);
    return true;
  }
  out += Tag(std::string_view(waiting_).substr(0, end));
  waiting_.erase(0, end);
  return true;
}

std::string HtmlLinks::Tag(std::string_view tag) {
  std::size_t at = 1;
  while (at < tag.size() && !IsSpace(tag[at]) && tag[at] != '/' && tag[at] != '>') ++at;
  const std::string element = LowerCase(std::string(tag.substr(1, at - 1)));
  if (std::find(kVerbatim.begin(), kVerbatim.end(), element) != kVerbatim.end()) until_ = "</" + element;
  std::string out(tag.substr(0, at));
  for (;;) {
    const Attribute attribute = NextAttribute(tag, at);
    if (attribute.name.empty()) break;
    const bool link = attribute.value_end > attribute.value &&
                      std::find(kLinks.begin(), kLinks.end(), attribute.name) != kLinks.end();
    if (link) {
      out += tag.substr(at, attribute.value - at);
      out += rewrite_(tag.substr(attribute.value, attribute.value_end - attribute.value));
      at = attribute.value_end;
    }
    out += tag.substr(at, attribute.end - at);
    at = attribute.end;
  }
  out += tag.substr(at);
  return out;
}

}  // namespace flyball::server
