#include "api/apply/field_path_element.h"

#include <algorithm>
#include <cstdlib>

#include "api/values/go_text.h"
#include "json/json.h"

namespace flyball::api {
namespace {

constexpr std::string_view kTags = "fkvi";  // by Kind

bool IsNumberChar(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

bool IsHtml(char c) {
  return c == '<' || c == '>' || c == '&';
}

// Go's encoders escape these in every string; keys must come out with the same bytes.
void EscapeHtml(std::string& text) {
  if (std::none_of(text.begin(), text.end(), [](char c) { return IsHtml(c); })) return;
  std::string out;
  for (const char c : text) {
    if (IsHtml(c)) {
      out += c == '<' ? "\\u003c" : c == '>' ? "\\u003e" : "\\u0026";
    } else {
      out += c;
    }
  }
  text = std::move(out);
}

// Where the number that holds or ends before text[at] begins; npos if there is none: a value is at the
// beginning or follows ':'.
std::size_t NumberStart(std::string_view text, std::size_t at) {
  std::size_t begin = at;
  while (begin > 0 && IsNumberChar(text[begin - 1])) --begin;
  if (begin > 0 && text[begin - 1] != ':') return std::string_view::npos;
  const bool number =
      begin < text.size() && (text[begin] == '-' || (text[begin] >= '0' && text[begin] <= '9'));
  return number ? begin : std::string_view::npos;
}

// Orders canonical JSON as upstream orders values: numbers by their value and before strings, everything else
// by its bytes.
std::strong_ordering CompareJsonText(std::string_view a, std::string_view b) {
  const auto [pa, pb] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (pa == a.end() && pb == b.end()) return std::strong_ordering::equal;
  const auto at = static_cast<std::size_t>(pa - a.begin());
  const std::size_t number_a = NumberStart(a, at);
  const std::size_t number_b = NumberStart(b, at);
  if (number_a != number_b) {
    return number_a < number_b ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  if (number_a != std::string_view::npos) {
    const double na = std::strtod(std::string(a.substr(number_a)).c_str(), nullptr);
    const double nb = std::strtod(std::string(b.substr(number_b)).c_str(), nullptr);
    if (na != nb) return na < nb ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  return a.compare(b) <=> 0;
}

// The value as messages show it: strings quoted as Go quotes them.
std::string ValueText(const json::Value& value) {
  if (value.is_string()) return GoQuote(value.as_string());
  return json::Write(value);
}

std::string KeyText(std::string_view text) {
  const auto key = json::Parse(text);
  if (!key || !key->is_object()) return std::string(text);
  std::string out = "[";
  for (const auto& [name, value] : key->as_object()) {
    if (out.size() > 1) out += ',';
    out.append(name).append("=").append(ValueText(value));
  }
  return out += ']';
}

// Steps over a plain string, quotes and all: no escapes, nothing that would have to be one. False if it is
// not.
bool SkipPlainString(std::string_view& text) {
  if (!text.starts_with('"')) return false;
  for (std::size_t i = 1; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') return text.remove_prefix(i + 1), true;
    if (c == '\\' || static_cast<unsigned char>(c) < 0x20 || IsHtml(c)) return false;
  }
  return false;
}

bool SkipPlainNumber(std::string_view& text) {
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  constexpr std::size_t kSafeDigits = 18;  // fits 64 bits
  if (digits == 0 || digits > kSafeDigits || (digits > 1 && text[0] == '0')) return false;
  return text.remove_prefix(digits), true;
}

// True if the key is certainly written as Key() writes it: plain strings and numbers, names in order. Such a
// key need not be parsed.
bool IsPlainKey(std::string_view text) {
  std::string_view last_name;
  if (!text.starts_with('{')) return false;
  do {
    text.remove_prefix(1);
    const std::string_view before = text;
    if (!SkipPlainString(text)) return false;
    const std::string_view name = before.substr(0, before.size() - text.size());
    if (name <= last_name || !text.starts_with(':')) return false;
    last_name = name;
    text.remove_prefix(1);
    if (!SkipPlainString(text) && !SkipPlainNumber(text)) return false;
  } while (text.starts_with(','));
  return text == "}";
}

Result<PathElement> DecodeKey(std::string_view text) {
  FLYBALL_ASSIGN(json::Value key, json::Parse(text));
  if (!key.is_object() || key.empty()) return Unexpected(BadRequest("a key must be an object with members"));
  key.as_object().SortKeys();
  std::vector<PathElement::KeyField> fields;
  for (const auto& [name, value] : key.as_object()) fields.emplace_back(name, &value);
  return PathElement::Key(fields);
}

Result<PathElement> DecodeIndex(std::string_view text) {
  FLYBALL_ASSIGN(const json::Value index, json::Parse(text));
  if (!index.is_int()) return Unexpected(BadRequest("an index must be an integer"));
  return PathElement::Index(index.as_int());
}

}  // namespace

PathElement PathElement::Key(std::span<const KeyField> fields) {
  constexpr std::size_t kTypicalLength = 64;
  std::string text;
  text.reserve(kTypicalLength);
  text += '{';
  for (const auto& [name, value] : fields) {
    if (text.size() > 1) text += ',';
    json::AppendQuoted(name, text);
    text += ':';
    json::WriteTo(*value, text);
  }
  text += '}';
  EscapeHtml(text);
  return {Kind::kKey, ElementText(text)};
}

PathElement PathElement::Value(const json::Value& value) {
  std::string text = json::Write(value);
  EscapeHtml(text);
  return {Kind::kValue, ElementText(text)};
}

PathElement PathElement::Index(std::int64_t index) {
  return {Kind::kIndex, ElementText(std::to_string(index))};
}

Result<std::optional<PathElement>> PathElement::Decode(std::string_view encoded) {
  if (encoded.size() < 2 || encoded[1] != ':') {
    return Unexpected(BadRequest("key must be 2 characters long"));
  }
  const std::string_view text = encoded.substr(2);
  switch (encoded[0]) {
    case 'f':
      return std::optional<PathElement>(Field(text));
    case 'k': {
      if (IsPlainKey(text)) return std::optional<PathElement>(PathElement(Kind::kKey, ElementText(text)));
      FLYBALL_ASSIGN(PathElement key, DecodeKey(text));
      return std::optional<PathElement>(std::move(key));
    }
    case 'v': {
      FLYBALL_ASSIGN(const json::Value value, json::Parse(text));
      return std::optional<PathElement>(Value(value));
    }
    case 'i': {
      FLYBALL_ASSIGN(PathElement index, DecodeIndex(text));
      return std::optional<PathElement>(std::move(index));
    }
    default:
      return std::optional<PathElement>();
  }
}

void PathElement::AppendEncoded(std::string& out) const {
  out += kTags[static_cast<std::size_t>(kind_)];
  out += ':';
  out += text();
}

std::string PathElement::ToString() const {
  switch (kind_) {
    case Kind::kField:
      return "." + std::string(text());
    case Kind::kKey:
      return KeyText(text());
    case Kind::kValue: {
      const auto value = json::Parse(text());
      return "[=" + (value ? ValueText(*value) : std::string(text())) + "]";
    }
    case Kind::kIndex:
      break;
  }
  return "[" + std::string(text()) + "]";
}

std::strong_ordering PathElement::operator<=>(const PathElement& other) const {
  if (kind_ != other.kind_) return kind_ <=> other.kind_;
  if (text().data() == other.text().data() && text().size() == other.text().size()) {
    return std::strong_ordering::equal;
  }
  if (kind_ == Kind::kField) return text().compare(other.text()) <=> 0;
  return CompareJsonText(text(), other.text());
}

std::string PathText(std::span<const PathElement> path) {
  std::string out;
  for (const PathElement& element : path) out += element.ToString();
  return out;
}

}  // namespace flyball::api
