#include "dns/packet/name.h"

#include <algorithm>

#include "base/values/ascii.h"

namespace flyball::dns {
namespace {

// Reads "\." or "\046" behind the backslash; advances `at` past it.
std::optional<char> ReadEscape(std::string_view text, std::size_t& at) {
  if (at >= text.size()) return std::nullopt;
  if (!IsDigit(text[at])) return text[at++];
  if (at + 3 > text.size() || !IsDigit(text[at + 1]) || !IsDigit(text[at + 2])) return std::nullopt;
  const int value = (text[at] - '0') * 100 + (text[at + 1] - '0') * 10 + (text[at + 2] - '0');
  if (value > 255) return std::nullopt;
  at += 3;
  return static_cast<char>(value);
}

bool AppendLabel(std::string& wire, std::string_view label) {
  if (label.empty() || label.size() > kMaxLabelBytes) return false;
  wire += static_cast<char>(label.size());
  wire += label;
  return true;
}

void AppendEscaped(std::string& out, char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (byte > ' ' && byte < 0x7f) {
    if (c == '.' || c == '\\') out += '\\';
    out += c;
    return;
  }
  out += '\\';
  out += static_cast<char>('0' + byte / 100);
  out += static_cast<char>('0' + byte / 10 % 10);
  out += static_cast<char>('0' + byte % 10);
}

char LowerLetter(char c) {
  return IsUpperLetter(c) ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

bool SameLetters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return LowerLetter(x) == LowerLetter(y); });
}

std::optional<Name> Name::FromText(std::string_view text) {
  if (text == "." || text.empty()) return Name();
  std::string wire, label;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at++];
    if (c == '.') {
      if (!AppendLabel(wire, label)) return std::nullopt;
      label.clear();
    } else if (c == '\\') {
      const auto escaped = ReadEscape(text, at);
      if (!escaped) return std::nullopt;
      label += *escaped;
    } else {
      label += c;
    }
  }
  if (!label.empty() && !AppendLabel(wire, label)) return std::nullopt;
  wire += '\0';
  if (wire.size() > kMaxNameBytes) return std::nullopt;
  return Name(std::move(wire));
}

std::string Name::ToText() const {
  std::string out;
  for (const std::string_view label : Labels()) {
    for (const char c : label) AppendEscaped(out, c);
    out += '.';
  }
  return out.empty() ? "." : out;
}

std::string Name::Key() const {
  return LowerCase(wire_);
}

std::vector<std::string_view> Name::Labels() const {
  std::vector<std::string_view> labels;
  for (std::size_t at = 0; wire_[at] != 0;) {
    const auto size = static_cast<unsigned char>(wire_[at]);
    labels.push_back(std::string_view(wire_).substr(at + 1, size));
    at += 1 + size;
  }
  return labels;
}

bool Name::operator==(const Name& other) const {
  return SameLetters(wire_, other.wire_);
}

bool Name::IsWithin(const Name& ancestor) const {
  if (ancestor.wire_.size() > wire_.size()) return false;
  const std::size_t from = wire_.size() - ancestor.wire_.size();
  if (!SameLetters(std::string_view(wire_).substr(from), ancestor.wire_)) return false;
  // The tail must begin where a label does.
  std::size_t at = 0;
  while (at < from) at += 1 + static_cast<unsigned char>(wire_[at]);
  return at == from;
}

std::optional<Name> Name::Child(std::string_view label) const {
  std::string wire;
  if (!AppendLabel(wire, label)) return std::nullopt;
  wire += wire_;
  if (wire.size() > kMaxNameBytes) return std::nullopt;
  return Name(std::move(wire));
}

}  // namespace flyball::dns
