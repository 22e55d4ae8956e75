#include "json/yaml/kyaml.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "json/json.h"
#include "json/utf8.h"

namespace flyball::json {
namespace {

constexpr std::string_view kFold = "\\\n";

bool OneOf(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string LowerAscii(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// Whether Go reads the text as a number in some notation: 1_000, 0x1f, 0b1, 0o7, 1e3, inf.
bool LooksLikeNumber(std::string_view text) {
  std::string digits(text);
  std::erase(digits, '_');
  if (digits.empty() || digits[0] == ' ') return false;
  const std::size_t sign = digits[0] == '-' || digits[0] == '+';
  const std::string_view prefix = std::string_view(digits).substr(sign, 2);
  const int base = OneOf(prefix, {"0b", "0B"}) ? 2 : OneOf(prefix, {"0o", "0O"}) ? 8 : 0;
  char* end = nullptr;
  if (base != 0) {
    std::strtoll(digits.c_str() + sign + 2, &end, base);
    return digits.size() > sign + 2 && *end == '\0';
  }
  std::strtoll(digits.c_str(), &end, 0);
  if (*end == '\0') return true;
  std::strtod(digits.c_str(), &end);
  return *end == '\0';
}

// 2006-1-2.
bool LooksLikeDate(std::string_view text) {
  int parts = 0;
  std::size_t length = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] >= '0' && text[i] <= '9') {
      ++length;
      continue;
    }
    if (i < text.size() && text[i] != '-') return false;
    if (parts == 0 ? length != 4 : length < 1 || length > 2) return false;
    ++parts;
    length = 0;
  }
  return parts == 3;
}

bool IsAmbiguous(std::string_view text) {
  const std::string lower = LowerAscii(text);
  return OneOf(lower, {"null", "true", "t", "y", "yes", "on", "false", "f", "n", "no", "off"}) ||
         LooksLikeNumber(text) || LooksLikeDate(text);
}

bool KeyNeedsQuotes(std::string_view key) {
  if (key.empty() || IsAmbiguous(key)) return true;
  for (std::size_t i = 0; i < key.size(); ++i) {
    const char c = key[i];
    const bool letter =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    const bool inside = i > 0 && i + 1 < key.size() && OneOf(key.substr(i, 1), {"-", ".", "/"});
    if (!letter && !inside) return true;
  }
  return false;
}

class KyamlWriter {
 public:
  std::string Write(const Value& value) {
    out_ = "---\n";
    Node(value, 0);
    return std::move(out_) + "\n";
  }

 private:
  void Indent(int level) { out_.append(static_cast<std::size_t>(level) * 2, ' '); }

  void Node(const Value& value, int level) {
    if (value.is_object()) return Mapping(value.as_object(), level);
    if (value.is_array()) return Sequence(value.as_array(), level);
    if (value.is_string()) return Text(value.as_string(), level + 1, false);
    out_ += json::Write(value);
  }

  void Mapping(const Object& object, int level) {
    if (object.empty()) {
      out_ += "{}";
      return;
    }
    out_ += "{\n";
    for (const auto& [key, value] : object) {
      Indent(level + 1);
      if (KeyNeedsQuotes(key))
        Text(key, level + 1, true);
      else
        out_ += key;
      out_ += ": ";
      Node(value, level + 1);
      out_ += ",\n";
    }
    Indent(level);
    out_ += "}";
  }

  // Brackets and braces share a line if all items have them.
  void Sequence(const Array& items, int level) {
    const bool cuddled = std::all_of(items.begin(), items.end(),
                                     [](const Value& item) { return item.is_object() || item.is_array(); });
    out_ += "[";
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (cuddled) {
        if (i > 0) out_ += ", ";
        Node(items[i], level);
        continue;
      }
      out_ += i == 0 ? "\n" : "";
      Indent(level + 1);
      Node(items[i], level + 1);
      out_ += ",\n";
    }
    if (!cuddled) Indent(level);
    out_ += "]";
  }

  void Text(std::string_view text, int level, bool one_line) {
    const bool folded = !one_line && text.find('\n') != std::string_view::npos;
    out_ += "\"";
    if (folded) out_ += kFold;
    for (std::size_t i = 0, length = 0; i < text.size(); i += length) {
      length = std::max<std::size_t>(1, Utf8Length(text, i));
      Character(text.substr(i, length), DecodeUtf8(text, i), level, one_line);
    }
    if (folded) {
      if (!out_.ends_with('\n')) out_ += kFold;
      Indent(level);
    }
    out_ += "\"";
  }

  void Character(std::string_view bytes, unsigned code, int level, bool one_line) {
    if (out_.ends_with('\n')) {
      Indent(level);
      // Leading white space would be lost; a space aligns the other lines with it.
      const bool space = code == ' ' || (code >= '\t' && code <= '\r') || code == 0x85 || code == 0xa0;
      out_ += space && code != '\n' ? '\\' : ' ';
    }
    if (code == '\n') {
      out_ += "\\n";
      if (!one_line) out_ += kFold;
    } else if (code == '\t') {
      out_ += one_line ? "\\t" : "\t";
    } else if (code == '"' || code == '\\') {
      out_ += '\\';
      out_ += bytes;
    } else {
      out_ += Escaped(bytes, code);
    }
  }

  static std::string Escaped(std::string_view bytes, unsigned code) {
    switch (code) {
      case 0x00:
        return "\\0";
      case 0x07:
        return "\\a";
      case 0x08:
        return "\\b";
      case 0x0b:
        return "\\v";
      case 0x0c:
        return "\\f";
      case 0x0d:
        return "\\r";
      case 0x1b:
        return "\\e";
      case 0x85:
        return "\\N";
      case 0xa0:
        return "\\_";
      case 0x2028:
        return "\\L";
      case 0x2029:
        return "\\P";
      default:
        break;
    }
    constexpr const char* kDigits = "0123456789abcdef";
    const std::string last{kDigits[(code >> 4) & 15], kDigits[code & 15]};
    if (code < ' ' || code == 0x7f) return "\\x" + last;
    if (code > 0x7f && code < 0xa0) return "\\u00" + last;
    return std::string(bytes);
  }

  std::string out_;
};

}  // namespace

std::string WriteKyaml(const Value& value) {
  return KyamlWriter().Write(value);
}

}  // namespace flyball::json
