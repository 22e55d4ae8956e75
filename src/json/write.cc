#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <memory>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "json/json.h"
#include "json/number.h"

namespace flyball::json {
namespace {

constexpr std::size_t kKeptBufferBytes = 64 << 10;
// Enough for any integer, or for the longest escape, quotes and colon.
constexpr std::size_t kMaxToken = 24;

// Bytes that a string cannot contain unescaped. 0xe2 may start U+2028 or U+2029, which Go escapes for the
// sake of JavaScript.
constexpr std::array<bool, 256> kSpecial = [] {
  std::array<bool, 256> special{};
  for (std::size_t c = 0; c < 0x20; ++c) special[c] = true;
  special['"'] = special['\\'] = special[0xe2] = true;
  return special;
}();

#if defined(__SSE2__)
// One bit per byte of 16 bytes: whether it is special.
unsigned SpecialBits(__m128i bytes) {
  const auto equals = [&](char c) { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)); };
  const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
  const __m128i special =
      _mm_or_si128(_mm_or_si128(control, equals('"')), _mm_or_si128(equals('\\'), equals('\xe2')));
  return static_cast<unsigned>(_mm_movemask_epi8(special));
}

template <typename Word>
Word Load(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Handles 4 to 15 bytes as two overlapping halves.
template <typename Half>
std::size_t FindSpecialInHalves(const char* at, std::size_t size) {
  constexpr std::size_t kHalf = sizeof(Half);
  const Half begin = Load<Half>(at), end = Load<Half>(at + size - kHalf);
  const __m128i bytes = _mm_unpacklo_epi64(_mm_cvtsi64_si128(static_cast<long long>(begin)),
                                           _mm_cvtsi64_si128(static_cast<long long>(end)));
  constexpr unsigned kMask = (1u << kHalf) - 1;
  const unsigned bits = SpecialBits(bytes);
  if (const unsigned low = bits & kMask) return static_cast<std::size_t>(std::countr_zero(low));
  if (const unsigned high = (bits >> 8) & kMask)
    return size - kHalf + static_cast<std::size_t>(std::countr_zero(high));
  return size;
}

// Handles 16 bytes or more; the last block overlaps the previous one.
std::size_t FindSpecialInBlocks(const char* at, std::size_t size) {
  for (std::size_t i = 0;; i = std::min(i + 16, size - 16)) {
    const unsigned bits = SpecialBits(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at + i)));
    if (bits != 0) return i + static_cast<std::size_t>(std::countr_zero(bits));
    if (i == size - 16) return size;
  }
}
#endif

// Returns the position of the first special byte of s; s.size() if there is none.
std::size_t FindSpecial(std::string_view s) {
#if defined(__SSE2__)
  if (s.size() >= 16) return FindSpecialInBlocks(s.data(), s.size());
  if (s.size() >= 8) return FindSpecialInHalves<std::uint64_t>(s.data(), s.size());
  if (s.size() >= 4) return FindSpecialInHalves<std::uint32_t>(s.data(), s.size());
#endif
  std::size_t i = 0;
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

// Text that grows at its end. Unlike a std::string, it checks its capacity once per token, not once per
// character.
class Buffer {
 public:
  std::string_view text() const { return {memory_.get(), size_}; }
  std::size_t capacity() const { return capacity_; }
  void Clear() { size_ = 0; }

  // Makes room for n bytes and returns where they go; Advance then says how many were written.
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

// Writes the special byte at s[i] to `to` and advances `to`. Returns how many bytes of s it consumed.
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

// Writes s with quotes to `to`, which has room for s.size() + kMaxToken bytes, and returns the end. A few
// more bytes fit behind it.
char* Quote(std::string_view s, char* to, Buffer& out) {
  *to++ = '"';
  for (;;) {
    const std::size_t special = FindSpecial(s);
    to = std::copy_n(s.data(), special, to);
    if (special == s.size()) break;
    out.Advance(to);
    to = out.Need(s.size() - special + kMaxToken);
    s.remove_prefix(special + Escape(s, special, to));
  }
  *to++ = '"';
  return to;
}

// Writes a tree without recursion: nesting uses heap, not stack.
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
      if (indent_ >= 0) NewLine();
      const std::size_t i = top.next++;
      if (top.elements) {
        Begin(top.elements[i]);
      } else {
        Key(top.members[i].first);
        Begin(top.members[i].second);
      }
    }
  }

 private:
  struct Open {
    const Value* elements = nullptr;          // of an array, or
    const Object::Member* members = nullptr;  // of an object
    std::size_t size = 0, next = 0;
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
        return String(value.as_string());
      case Value::Kind::kArray:
        if (value.as_array().empty()) return out_.Put("[]");
        out_.Put('[');
        return Descend(value.as_array().data(), nullptr, value.as_array().size());
      case Value::Kind::kObject:
        if (value.as_object().empty()) return out_.Put("{}");
        out_.Put('{');
        return Descend(nullptr, value.as_object().begin(), value.as_object().size());
    }
  }

  void Descend(const Value* elements, const Object::Member* members, std::size_t size) {
    Open& top = open_.emplace_back();
    top.elements = elements;
    top.members = members;
    top.size = size;
  }

  void End() {
    const bool is_array = open_.back().elements != nullptr;
    open_.pop_back();
    if (indent_ >= 0) NewLine();
    out_.Put(is_array ? ']' : '}');
  }

  void String(std::string_view s) { out_.Advance(Quote(s, out_.Need(s.size() + kMaxToken), out_)); }

  void Key(std::string_view key) {
    char* to = Quote(key, out_.Need(key.size() + kMaxToken), out_);
    *to++ = ':';
    if (indent_ >= 0) *to++ = ' ';
    out_.Advance(to);
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
    const std::size_t width = open_.size() * static_cast<std::size_t>(indent_);
    char* to = out_.Need(width + 1);
    *to++ = '\n';
    out_.Advance(std::fill_n(to, width, ' '));
  }

  Buffer& out_;
  const int indent_;
  std::vector<Open> open_;
};

// Calls use(text) with the output, in a buffer that is reused by later calls.
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
  for (;;) {
    const std::size_t special = FindSpecial(s);
    out.append(s, 0, special);
    if (special == s.size()) break;
    char escaped[kMaxToken];
    char* end = escaped;
    s.remove_prefix(special + Escape(s, special, end));
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

std::string EqualityText(const Value& value) {
  const char kind = static_cast<char>('a' + static_cast<int>(value.kind()));
  if (value.is_string()) return kind + std::string(value.as_string());
  if (!value.is_array() && !value.is_object()) return kind + Write(value);
  Value sorted = value;
  std::vector<Value*> left{&sorted};
  while (!left.empty()) {
    Value& next = *left.back();
    left.pop_back();
    // 1.0, which is written as 1, is not 1: doubles become texts, and texts are marked as such.
    if (next.is_string()) {
      next = "s" + std::string(next.as_string());
    } else if (next.is_double()) {
      next = "d" + Write(next);
    }
    if (next.is_array())
      for (Value& element : next.as_array()) left.push_back(&element);
    if (!next.is_object()) continue;
    next.as_object().SortKeys();
    for (auto& [key, member] : next.as_object()) left.push_back(&member);
  }
  return kind + Write(sorted);
}

}  // namespace flyball::json
