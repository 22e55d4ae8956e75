#include <array>

#include "json/json.h"
#include "json/number.h"

namespace flyball::json {
namespace {

constexpr std::size_t kKeptBufferBytes = 64 << 10;

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
        const auto& [key, value] = top.container->as_object().begin()[i];
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
  // Results are kept for long: they are copied from a roomy buffer, so that none carries spare capacity.
  thread_local std::string buffer;
  buffer.clear();
  WriteTo(value, buffer);
  std::string out(buffer);
  if (buffer.capacity() > kKeptBufferBytes) buffer = std::string();
  return out;
}

std::string WritePretty(const Value& value, int indent) {
  std::string out;
  Writer(out, indent).Write(value);
  return out;
}

}  // namespace flyball::json
