#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <memory>

#include "json/json.h"
#include "json/number.h"

namespace flyball::json {
namespace {

constexpr std::size_t kKeptBufferBytes = 64 << 10;
// Room for the longest escape, and for any integer.
constexpr std::size_t kMaxToken = 24;

// Bytes that a string cannot simply contain. 0xe2 may begin U+2028 or U+2029, which Go escapes for
// JavaScript's sake.
constexpr std::array<bool, 256> kSpecial = [] {
  std::array<bool, 256> special{};
  for (std::size_t c = 0; c < 0x20; ++c) special[c] = true;
  special['"'] = special['\\'] = special[0xe2] = true;
  return special;
}();

// For eight bytes at once: the high bit of each that is special. Those above the lowest one found may be
// wrong.
std::uint64_t SpecialBytes(std::uint64_t word) {
  constexpr std::uint64_t kOnes = 0x0101010101010101, kHighs = 0x8080808080808080;
  const auto equal = [&](std::uint64_t byte) {
    const std::uint64_t difference = word ^ (kOnes * byte);
    return (difference - kOnes) & ~difference;
  };
  const std::uint64_t control = (word - kOnes * 0x20) & ~word;
  return (control | equal('"') | equal('\\') | equal(0xe2)) & kHighs;
}

template <typename Word>
std::uint64_t Load(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// The first special byte of s from i on; s.size() if there is none.
std::size_t FindSpecial(std::string_view s, std::size_t i) {
  const auto first = [](std::uint64_t found) {
    return static_cast<std::size_t>(std::countr_zero(found)) / 8;
  };
  const std::size_t rest = s.size() - i;
  if (std::endian::native == std::endian::little && rest >= 8) {
    for (; i + 8 <= s.size(); i += 8) {
      if (const auto found = SpecialBytes(Load<std::uint64_t>(s.data() + i))) return i + first(found);
    }
    // The last few together with some that were seen before, rather than one by one.
    const auto found = SpecialBytes(Load<std::uint64_t>(s.data() + s.size() - 8));
    return found ? s.size() - 8 + first(found) : s.size();
  }
  while (i < s.size() && !kSpecial[static_cast<unsigned char>(s[i])]) ++i;
  return i;
}

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

// Text that grows at its end. Unlike a std::string it is asked for room once a token, not once a character.
class Buffer {
 public:
  std::string_view text() const { return {memory_.get(), size_}; }
  std::size_t capacity() const { return capacity_; }
  void Clear() { size_ = 0; }

  // Makes room for n bytes, and returns where they go; Advance says how many were written.
  char* Need(std::size_t n) {
    if (capacity_ - size_ < n) Grow(n);
    return memory_.get() + size_;
  }
  void Advance(const char* end) { size_ = static_cast<std::size_t>(end - memory_.get()); }

  void Put(char c) {
    *Need(1) = c;
    ++size_;
  }
  void Put(std::string_view s) {
    std::memcpy(Need(s.size() + 1), s.data(), s.size());
    size_ += s.size();
  }

 private:
  void Grow(std::size_t n) {
    const std::size_t capacity = std::max(capacity_ * 2, size_ + n + 1024);
    std::unique_ptr<char[]> memory(new char[capacity]);
    if (size_ > 0) std::memcpy(memory.get(), memory_.get(), size_);
    memory_ = std::move(memory);
    capacity_ = capacity;
  }

  std::unique_ptr<char[]> memory_;
  std::size_t size_ = 0, capacity_ = 0;
};

// Writes the special byte at s[i] to `to`; returns how many bytes of s that was and moves `to` on.
std::size_t Escape(std::string_view s, std::size_t i, char*& to) {
  constexpr char kHex[] = "0123456789abcdef";
  const auto c = static_cast<unsigned char>(s[i]);
  if (c == 0xe2) {
    const std::string_view three = s.substr(i, 3);
    if (three != "\u2028" && three != "\u2029") {
      *to++ = s[i];
      return 1;
    }
    to = std::copy_n(three == "\u2028" ? "\\u2028" : "\\u2029", 6, to);
    return 3;
  }
  *to++ = '\\';
  if (const char letter = ShortEscape(s[i])) {
    *to++ = letter;
  } else {
    to = std::copy_n("u00", 3, to);
    *to++ = kHex[c >> 4];
    *to++ = kHex[c & 15];
  }
  return 1;
}

void Quote(std::string_view s, Buffer& out) {
  char* to = out.Need(s.size() + kMaxToken);
  *to++ = '"';
  for (std::size_t i = 0;;) {
    const std::size_t special = FindSpecial(s, i);
    to = std::copy_n(s.data() + i, special - i, to);
    if (special == s.size()) break;
    out.Advance(to);
    to = out.Need(s.size() - special + kMaxToken);
    i = special + Escape(s, special, to);
  }
  *to++ = '"';
  out.Advance(to);
}

// Writes a tree without recursion: nesting costs heap, not stack.
class Writer {
 public:
  // indent < 0: compact.
  Writer(Buffer& out, int indent) : out_(out), indent_(indent) { open_.reserve(16); }

  void Write(const Value& root) {
    Begin(root);
    while (!open_.empty()) {
      Open& top = open_.back();
      if (top.next == top.size) {
        End();
        continue;
      }
      if (top.next > 0) out_.Put(',');
      NewLine();
      const std::size_t i = top.next++;
      if (top.elements) {
        Begin(top.elements[i]);
      } else {
        const auto& [key, value] = top.members[i];
        Quote(key, out_);
        out_.Put(indent_ < 0 ? ":" : ": ");
        Begin(value);
      }
    }
  }

 private:
  struct Open {
    const Value* elements;          // of an array, or
    const Object::Member* members;  // of an object
    std::size_t size, next;
  };

  // Writes a scalar, or opens a container.
  void Begin(const Value& value) {
    switch (value.kind()) {
      case Value::Kind::kNull:
        return out_.Put("null");
      case Value::Kind::kBool:
        return out_.Put(value.as_bool() ? "true" : "false");
      case Value::Kind::kInt:
        return Int(value.as_int());
      case Value::Kind::kDouble:
        return Double(value.as_double());
      case Value::Kind::kString:
        return Quote(value.as_string(), out_);
      case Value::Kind::kArray:
        if (value.empty()) return out_.Put("[]");
        out_.Put('[');
        open_.push_back({value.as_array().data(), nullptr, value.size(), 0});
        return;
      case Value::Kind::kObject:
        if (value.empty()) return out_.Put("{}");
        out_.Put('{');
        open_.push_back({nullptr, value.as_object().begin(), value.size(), 0});
        return;
    }
  }

  void End() {
    const bool is_array = open_.back().elements != nullptr;
    open_.pop_back();
    NewLine();
    out_.Put(is_array ? ']' : '}');
  }

  void Int(std::int64_t n) {
    char* to = out_.Need(kMaxToken);
    out_.Advance(std::to_chars(to, to + kMaxToken, n).ptr);
  }

  void Double(double d) {
    std::string text;
    AppendDouble(d, text);
    out_.Put(text);
  }

  void NewLine() {
    if (indent_ < 0) return;
    const std::size_t width = open_.size() * static_cast<std::size_t>(indent_);
    char* to = out_.Need(width + 1);
    *to++ = '\n';
    out_.Advance(std::fill_n(to, width, ' '));
  }

  Buffer& out_;
  const int indent_;
  std::vector<Open> open_;
};

// Calls use(text) with what is written, in a buffer that is kept for the next time.
template <typename Use>
void WithWritten(const Value& value, int indent, Use use) {
  thread_local Buffer buffer;
  buffer.Clear();
  Writer(buffer, indent).Write(value);
  use(buffer.text());
  if (buffer.capacity() > kKeptBufferBytes) buffer = Buffer();
}

}  // namespace

void AppendQuoted(std::string_view s, std::string& out) {
  out += '"';
  for (std::size_t i = 0;;) {
    const std::size_t special = FindSpecial(s, i);
    out.append(s, i, special - i);
    if (special == s.size()) break;
    char escaped[kMaxToken];
    char* end = escaped;
    i = special + Escape(s, special, end);
    out.append(escaped, end);
  }
  out += '"';
}

void WriteTo(const Value& value, std::string& out) {
  WithWritten(value, -1, [&](std::string_view text) { out += text; });
}

std::string Write(const Value& value) {
  std::string out;
  WithWritten(value, -1, [&](std::string_view text) { out = text; });
  return out;
}

std::string WritePretty(const Value& value, int indent) {
  std::string out;
  WithWritten(value, indent, [&](std::string_view text) { out = text; });
  return out;
}

}  // namespace flyball::json
