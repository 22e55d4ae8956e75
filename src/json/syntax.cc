#include "json/syntax.h"

#include <charconv>
#include <cstdint>
#include <vector>

#include "base/values/ascii.h"
#include "json/utf8.h"

namespace flyball::json {
namespace {

// Of a byte, or of -1 at the end.
bool IsDigitByte(int c) {
  return c >= 0 && IsDigit(static_cast<char>(c));
}

bool IsSpace(int c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

int HexDigit(int c) {
  if (IsDigitByte(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Formats a byte as Go's messages do: as the code point of that number, quoted like a Go character literal.
std::string QuoteByte(unsigned char c) {
  constexpr char kHex[] = "0123456789abcdef";
  constexpr std::string_view kControls = "\a\b\f\n\r\t\v", kLetters = "abfnrtv";
  if (c == '\'') return R"('\'')";
  if (c == '"') return R"('"')";
  if (c == '\\') return R"('\\')";
  if (const auto i = kControls.find(static_cast<char>(c)); i != std::string_view::npos)
    return std::string("'\\") + kLetters[i] + "'";
  if (c < 0x20 || c == 0x7f) return std::string("'\\x") + kHex[c >> 4] + kHex[c & 15] + "'";
  if (c < 0x7f) return std::string("'") + static_cast<char>(c) + "'";
  if (c <= 0xa0 || c == 0xad) return std::string("'\\u00") + kHex[c >> 4] + kHex[c & 15] + "'";
  return std::string("'") + static_cast<char>(0xc0 | (c >> 6)) + static_cast<char>(0x80 | (c & 0x3f)) + "'";
}

// One pass over the text. Every Read... starts at the first byte of its input, and sets error_ and returns
// false on failure. The input is also copied to output_, with the texts that only Go accepts rewritten.
class Scanner {
 public:
  Scanner(std::string_view text, std::size_t max_depth) : text_(text), max_depth_(max_depth) {}

  Result<std::string> Run() {
    output_.reserve(text_.size() + 16);
    if (!ReadDocument()) return Unexpected(BadRequest(std::move(error_)));
    return std::move(output_);
  }

 private:
  static constexpr int kEnd = -1;

  enum class Next { kValue, kValueOrEnd, kKey, kKeyOrEnd, kAfterValue };

  int Peek() const { return at_ < text_.size() ? static_cast<unsigned char>(text_[at_]) : kEnd; }
  void Take() { output_ += text_[at_++]; }
  bool TakeIf(char c) {
    if (Peek() != c) return false;
    Take();
    return true;
  }
  void SkipSpace() {
    while (IsSpace(Peek())) ++at_;
  }

  bool Fail(std::string message) {
    error_ = std::move(message);
    return false;
  }
  bool FailAtByte(std::string_view context) {
    if (Peek() == kEnd) return Fail("unexpected end of JSON input");
    return Fail("invalid character " + QuoteByte(static_cast<unsigned char>(Peek())) + " " +
                std::string(context));
  }

  bool ReadDocument() {
    next_ = Next::kValue;
    do {
      SkipSpace();
      if (!ReadStep()) return false;
    } while (!(next_ == Next::kAfterValue && open_.empty()));
    SkipSpace();
    return Peek() == kEnd || FailAtByte("after top-level value");
  }

  bool ReadStep() {
    switch (next_) {
      case Next::kValueOrEnd:
        if (Peek() == ']') return Close();
        [[fallthrough]];
      case Next::kValue:
        return ReadValue();
      case Next::kKeyOrEnd:
        if (Peek() == '}') return Close();
        [[fallthrough]];
      case Next::kKey:
        return ReadKey();
      case Next::kAfterValue:
        return ReadAfterValue();
    }
    return false;
  }

  bool ReadValue() {
    next_ = Next::kAfterValue;
    switch (const int c = Peek()) {
      case '{':
      case '[':
        return Open(static_cast<char>(c));
      case '"':
        return ReadString();
      case 't':
        return ReadLiteral("true");
      case 'f':
        return ReadLiteral("false");
      case 'n':
        return ReadLiteral("null");
      default:
        return c == '-' || IsDigitByte(c) ? ReadNumber() : FailAtByte("looking for beginning of value");
    }
  }

  bool Open(char bracket) {
    if (open_.size() >= max_depth_) return FailAtByte("exceeded max depth");
    Take();
    open_.push_back(bracket);
    next_ = bracket == '{' ? Next::kKeyOrEnd : Next::kValueOrEnd;
    return true;
  }

  bool Close() {
    Take();
    open_.pop_back();
    next_ = Next::kAfterValue;
    return true;
  }

  bool ReadKey() {
    if (Peek() != '"') return FailAtByte("looking for beginning of object key string");
    if (!ReadString()) return false;
    SkipSpace();
    next_ = Next::kValue;
    return TakeIf(':') || FailAtByte("after object key");
  }

  bool ReadAfterValue() {
    const bool in_object = open_.back() == '{';
    if (Peek() == (in_object ? '}' : ']')) return Close();
    next_ = in_object ? Next::kKey : Next::kValue;
    return TakeIf(',') || FailAtByte(in_object ? "after object key:value pair" : "after array element");
  }

  bool ReadLiteral(std::string_view word) {
    for (const char c : word) {
      if (!TakeIf(c)) return FailAtByte("in literal " + std::string(word) + " (expecting '" + c + "')");
    }
    return true;
  }

  bool ReadDigits(std::string_view context) {
    if (!IsDigitByte(Peek())) return FailAtByte(context);
    while (IsDigitByte(Peek())) Take();
    return true;
  }

  bool ReadNumber() {
    const std::size_t begin = at_;
    bool integer = true;
    TakeIf('-');
    if (!TakeIf('0') && !ReadDigits("in numeric literal")) return false;
    if (TakeIf('.')) {
      integer = false;
      if (!ReadDigits("after decimal point in numeric literal")) return false;
    }
    if (Peek() == 'e' || Peek() == 'E') {
      integer = false;
      Take();
      if (!TakeIf('+')) TakeIf('-');
      if (!ReadDigits("in exponent of numeric literal")) return false;
    }
    return CheckRange(text_.substr(begin, at_ - begin), integer);
  }

  bool CheckRange(std::string_view number, bool integer) {
    const char* end = number.data() + number.size();
    std::int64_t n = 0;
    if (integer && std::from_chars(number.data(), end, n).ec == std::errc()) return true;
    if (!FitsDouble(number))
      return Fail("json: cannot unmarshal number " + std::string(number) + " into Go value of type float64");
    if (integer) output_ += ".0";
    return true;
  }

  // Too small is fine (it becomes 0), too large is not. from_chars reports "out of range" for both.
  static bool FitsDouble(std::string_view number) {
    double d = 0;
    if (std::from_chars(number.data(), number.data() + number.size(), d).ec == std::errc()) return true;
    return DecimalExponent(number) < 0;
  }

  // The exponent of the first significant digit. Only its sign matters, and the number is known to be far
  // from 1.
  static std::int64_t DecimalExponent(std::string_view number) {
    const std::size_t e = number.find_first_of("eE");
    std::int32_t exponent = 0;  // beyond 32 bits no mantissa can compensate
    if (e != std::string_view::npos) {
      const std::size_t digits = number[e + 1] == '+' ? e + 2 : e + 1;
      const auto parsed = std::from_chars(number.data() + digits, number.data() + number.size(), exponent);
      if (parsed.ec != std::errc()) return number[digits] == '-' ? -1 : 1;
    }
    const std::string_view mantissa = number.substr(0, e);
    const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
    const std::size_t first = mantissa.find_first_of("123456789");
    if (first == std::string_view::npos) return -1;
    return exponent + static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
  }

  bool ReadString() {
    Take();
    for (;;) {
      const int c = Peek();
      if (c == kEnd || c < 0x20) return FailAtByte("in string literal");
      if (c == '\\') {
        if (!ReadEscape()) return false;
        continue;
      }
      const std::size_t length = Utf8Length(text_, at_);
      if (length == 0) return Fail("invalid UTF-8 in string literal at byte " + std::to_string(at_));
      output_.append(text_, at_, length);
      at_ += length;
      if (c == '"') return true;
    }
  }

  bool ReadEscape() {
    ++at_;
    const int c = Peek();
    if (c == 'u') {
      ++at_;
      return ReadUnicodeEscape();
    }
    if (c == kEnd || std::string_view("\"\\/bfnrt").find(static_cast<char>(c)) == std::string_view::npos)
      return FailAtByte("in string escape code");
    output_ += '\\';
    Take();
    return true;
  }

  bool ReadUnicodeEscape() {
    const std::size_t begin = at_;
    unsigned code = 0;
    if (!ReadHex4(code)) return false;
    if (code >= 0xdc00 && code <= 0xdfff) return EmitEscape("fffd");
    if (code < 0xd800 || code > 0xdbff) return EmitEscape(text_.substr(begin, 4));
    // The first half of a pair. If the second half does not follow, the next escape is read on its own.
    const std::size_t after = at_;
    if (text_.substr(at_, 2) == "\\u") {
      at_ += 2;
      unsigned low = 0;
      if (!ReadHex4(low)) return false;
      if (low >= 0xdc00 && low <= 0xdfff)
        return EmitEscape(text_.substr(begin, 4)) && EmitEscape(text_.substr(after + 2, 4));
      at_ = after;
    }
    return EmitEscape("fffd");
  }

  bool ReadHex4(unsigned& code) {
    code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const int digit = HexDigit(Peek());
      if (digit < 0) return FailAtByte("in \\u hexadecimal character escape");
      code = code * 16 + static_cast<unsigned>(digit);
    }
    return true;
  }

  bool EmitEscape(std::string_view hex) {
    output_ += "\\u";
    output_ += hex;
    return true;
  }

  const std::string_view text_;
  const std::size_t max_depth_;
  std::size_t at_ = 0;
  Next next_ = Next::kValue;
  std::vector<char> open_;  // brackets that are still open
  std::string output_;
  std::string error_;
};

}  // namespace

Result<std::string> CheckSyntax(std::string_view text, std::size_t max_depth) {
  return Scanner(text, max_depth).Run();
}

}  // namespace flyball::json
