#include <array>
#include <charconv>
#include <cmath>

#include "json/json.h"

namespace flyball::json {
namespace {

// Bytes that a string cannot simply contain. 0xe2 may begin U+2028 or U+2029, which Go escapes for
// JavaScript's sake.
constexpr std::array<bool, 256> kSpecial = [] {
  std::array<bool, 256> special{};
  for (std::size_t c = 0; c < 0x20; ++c) special[c] = true;
  special['"'] = special['\\'] = special[0xe2] = true;
  return special;
}();

char ShortEscape(char c) {
  switch (c) {
    case '"':
    case '\\':
      return c;
    case '\b':
      return 'b';
    case '\f':
      return 'f';
    case '\n':
      return 'n';
    case '\r':
      return 'r';
    case '\t':
      return 't';
    default:
      return 0;
  }
}

// Appends the special byte at s[i], and returns how many bytes of s that was.
std::size_t AppendSpecial(std::string_view s, std::size_t i, std::string& out) {
  if (s[i] == '\xe2') {
    const std::string_view three = s.substr(i, 3);
    if (three == "\u2028" || three == "\u2029") {
      out += three == "\u2028" ? "\\u2028" : "\\u2029";
      return 3;
    }
    out += s[i];
    return 1;
  }
  if (const char letter = ShortEscape(s[i])) {
    out += '\\';
    out += letter;
  } else {
    constexpr char kHex[] = "0123456789abcdef";
    const auto c = static_cast<unsigned char>(s[i]);
    out += "\\u00";
    out += kHex[c >> 4];
    out += kHex[c & 15];
  }
  return 1;
}

void AppendInt(std::int64_t n, std::string& out) {
  char buffer[24];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, n).ptr;
  out.append(buffer, end);
}

// digits x 10^(exponent - digits + 1), written out in full.
void AppendPlain(std::string_view digits, int exponent, std::string& out) {
  const int count = static_cast<int>(digits.size());
  if (exponent < 0) {
    out += "0.";
    out.append(static_cast<std::size_t>(-exponent - 1), '0');
    out += digits;
  } else if (count <= exponent + 1) {
    out += digits;
    out.append(static_cast<std::size_t>(exponent + 1 - count), '0');
  } else {
    out += digits.substr(0, static_cast<std::size_t>(exponent) + 1);
    out += '.';
    out += digits.substr(static_cast<std::size_t>(exponent) + 1);
  }
}

void AppendScientific(std::string_view digits, int exponent, std::string& out) {
  out += digits[0];
  if (digits.size() > 1) {
    out += '.';
    out += digits.substr(1);
  }
  out += exponent < 0 ? "e-" : "e+";
  AppendInt(std::abs(exponent), out);
}

// Go's encoding/json: the shortest digits that read back the same, plain between 1e-6 and 1e21. What JSON
// cannot say (infinities, not a number) becomes null.
void AppendDouble(double d, std::string& out) {
  if (!std::isfinite(d)) {
    out += "null";
    return;
  }
  if (std::signbit(d)) out += '-';
  if (d == 0) {
    out += '0';
    return;
  }
  char buffer[40];
  const double magnitude = std::abs(d);
  const char* end =
      std::to_chars(buffer, buffer + sizeof buffer, magnitude, std::chars_format::scientific).ptr;
  const std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  const std::size_t e = text.find('e');
  std::string digits(text.substr(0, 1));
  if (e > 2) digits += text.substr(2, e - 2);
  int exponent = 0;
  std::from_chars(buffer + e + (text[e + 1] == '+' ? 2 : 1), end, exponent);
  if (magnitude < 1e-6 || magnitude >= 1e21)
    AppendScientific(digits, exponent, out);
  else
    AppendPlain(digits, exponent, out);
}

// Writes a tree without recursion: nesting costs heap, not stack.
class Writer {
 public:
  // indent < 0: compact.
  Writer(std::string& out, int indent) : out_(out), indent_(indent) {}

  void Write(const Value& root) {
    Begin(root);
    while (!open_.empty()) {
      Open& top = open_.back();
      if (top.next == top.container->size()) {
        End();
        continue;
      }
      if (top.next > 0) out_ += ',';
      NewLine();
      const std::size_t i = top.next++;
      if (top.container->is_array()) {
        Begin(top.container->as_array()[i]);
      } else {
        const auto& [key, value] = top.container->as_object().begin()[static_cast<std::ptrdiff_t>(i)];
        AppendQuoted(key, out_);
        out_ += indent_ < 0 ? ":" : ": ";
        Begin(value);
      }
    }
  }

 private:
  struct Open {
    const Value* container;
    std::size_t next;
  };

  // Writes a scalar, or opens a container.
  void Begin(const Value& value) {
    switch (value.kind()) {
      case Value::Kind::kNull:
        out_ += "null";
        return;
      case Value::Kind::kBool:
        out_ += value.as_bool() ? "true" : "false";
        return;
      case Value::Kind::kInt:
        AppendInt(value.as_int(), out_);
        return;
      case Value::Kind::kDouble:
        AppendDouble(value.as_double(), out_);
        return;
      case Value::Kind::kString:
        AppendQuoted(value.as_string(), out_);
        return;
      case Value::Kind::kArray:
        out_ += '[';
        break;
      case Value::Kind::kObject:
        out_ += '{';
        break;
    }
    open_.push_back({&value, 0});
  }

  void End() {
    const Value& container = *open_.back().container;
    open_.pop_back();
    if (!container.empty()) NewLine();
    out_ += container.is_array() ? ']' : '}';
  }

  void NewLine() {
    if (indent_ < 0) return;
    out_ += '\n';
    out_.append(open_.size() * static_cast<std::size_t>(indent_), ' ');
  }

  std::string& out_;
  const int indent_;
  std::vector<Open> open_;
};

}  // namespace

void AppendQuoted(std::string_view s, std::string& out) {
  out += '"';
  std::size_t plain = 0;  // where the part not yet appended begins
  for (std::size_t i = 0; i < s.size();) {
    if (!kSpecial[static_cast<unsigned char>(s[i])]) {
      ++i;
      continue;
    }
    out.append(s, plain, i - plain);
    i += AppendSpecial(s, i, out);
    plain = i;
  }
  out.append(s, plain);
  out += '"';
}

void WriteTo(const Value& value, std::string& out) {
  Writer(out, -1).Write(value);
}

std::string Write(const Value& value) {
  std::string out;
  WriteTo(value, out);
  return out;
}

std::string WritePretty(const Value& value, int indent) {
  std::string out;
  Writer(out, indent).Write(value);
  return out;
}

}  // namespace flyball::json
