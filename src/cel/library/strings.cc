// Texts beyond the standard functions (upstream: cel-go ext/strings.go, version 2).
#include <algorithm>
#include <string>
#include <vector>

#include "cel/library/library_builder.h"
#include "cel/library/string_format.h"
#include "cel/text/utf8.h"

namespace flyball::cel {
namespace {

Value IndexError(Arena& arena, std::int64_t index) {
  return Value::Error(arena, "index out of range: " + std::to_string(index));
}

Value CharAt(Arena& arena, const Value* v, std::size_t) {
  const auto positions = RunePositions(v[0].text());
  const std::int64_t i = v[1].as_int(), size = static_cast<std::int64_t>(positions.size()) - 1;
  if (i < 0 || i > size) return IndexError(arena, i);
  if (i == size) return Value::String({});
  const auto at = static_cast<std::size_t>(i);
  return Value::String(v[0].text().substr(positions[at], positions[at + 1] - positions[at]));
}

Value IndexOf(Arena& arena, const Value* v, std::size_t count) {
  const std::string_view text = v[0].text(), part = v[1].text();
  const std::int64_t offset = count == 3 ? v[2].as_int() : 0;
  if (offset < 0) return IndexError(arena, offset);
  const auto positions = RunePositions(text);
  const auto size = static_cast<std::int64_t>(positions.size()) - 1;
  if (part.empty()) return Value::Int(std::min(offset, size));
  if (offset >= size) return Value::Int(-1);
  const std::size_t found = text.find(part, positions[static_cast<std::size_t>(offset)]);
  if (found == std::string_view::npos) return Value::Int(-1);
  return Value::Int(std::lower_bound(positions.begin(), positions.end(), found) - positions.begin());
}

Value LastIndexOf(Arena& arena, const Value* v, std::size_t count) {
  const std::string_view text = v[0].text(), part = v[1].text();
  const auto positions = RunePositions(text);
  const auto size = static_cast<std::int64_t>(positions.size()) - 1;
  if (count == 2) {
    if (part.empty()) return Value::Int(size);
    if (text.size() < part.size()) return Value::Int(-1);
  }
  const std::int64_t offset = count == 3 ? v[2].as_int() : size - 1;
  if (offset < 0) return IndexError(arena, offset);
  if (part.empty()) return Value::Int(std::min(offset, size));
  if (offset >= size) return Value::Int(-1);
  const std::size_t found = text.rfind(part, positions[static_cast<std::size_t>(offset)]);
  if (found == std::string_view::npos) return Value::Int(-1);
  return Value::Int(std::lower_bound(positions.begin(), positions.end(), found) - positions.begin());
}

template <char kFirst, char kLast, int kShift>
Value ShiftLetters(Arena& arena, const Value* v, std::size_t) {
  std::string text(v[0].text());
  for (char& c : text)
    if (c >= kFirst && c <= kLast) c = static_cast<char>(c + kShift);
  return Value::String(arena.Copy(text));
}

Value Replace(Arena& arena, const Value* v, std::size_t count) {
  const std::string_view text = v[0].text(), old = v[1].text(), with = v[2].text();
  std::int64_t left = count == 4 ? v[3].as_int() : -1;
  std::string out;
  std::size_t at = 0;
  const auto grown = [&] {
    if (out.size() > Arena::kMaxBytes) throw EvaluationCancelled();
  };
  if (old.empty()) {
    // Before every character, and at the end.
    while (left != 0) {
      out += with;
      grown();
      if (left > 0) --left;
      if (at >= text.size()) break;
      const std::size_t length = DecodeRune(text, at).length;
      out += text.substr(at, length);
      at += length;
    }
  } else {
    for (; left != 0; --left) {
      const std::size_t found = text.find(old, at);
      if (found == std::string_view::npos) break;
      out += text.substr(at, found - at);
      out += with;
      grown();
      at = found + old.size();
    }
  }
  if (at < text.size()) out += text.substr(at);
  return Value::String(arena.Copy(out));
}

Value Split(Arena& arena, const Value* v, std::size_t count) {
  const std::string_view text = v[0].text(), separator = v[1].text();
  const std::int64_t limit = count == 3 ? v[2].as_int() : -1;
  GrowingList list(arena);
  const auto add = [&](std::string_view part) { list.Append(Value::String(part)); };
  const auto full = [&] { return limit > 0 && static_cast<std::int64_t>(list.size) == limit - 1; };
  if (limit == 0) return Value::List(nullptr, 0);
  std::size_t at = 0;
  if (separator.empty()) {
    while (at < text.size() && !full()) {
      const std::size_t length = DecodeRune(text, at).length;
      add(text.substr(at, length));
      at += length;
    }
    if (at < text.size()) add(text.substr(at));
    return Value::List(list.elements, list.size);
  }
  while (!full()) {
    const std::size_t found = text.find(separator, at);
    if (found == std::string_view::npos) break;
    add(text.substr(at, found - at));
    at = found + separator.size();
  }
  add(text.substr(at));
  return Value::List(list.elements, list.size);
}

Value Substring(Arena& arena, const Value* v, std::size_t count) {
  const auto positions = RunePositions(v[0].text());
  const auto size = static_cast<std::int64_t>(positions.size()) - 1;
  const std::int64_t start = v[1].as_int(), end = count == 3 ? v[2].as_int() : size;
  if (count == 3 && start > end)
    return Value::Error(
        arena, "invalid substring range. start: " + std::to_string(start) + ", end: " + std::to_string(end));
  if (start < 0 || start > size) return IndexError(arena, start);
  if (end < 0 || end > size) return IndexError(arena, end);
  const std::size_t from = positions[static_cast<std::size_t>(start)],
                    to = positions[static_cast<std::size_t>(end)];
  return Value::String(v[0].text().substr(from, to - from));
}

// Unicode's white space, as Go's strings.TrimSpace knows it.
bool IsSpace(std::uint32_t c) {
  return (c >= 9 && c <= 13) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

Value Trim(Arena&, const Value* v, std::size_t) {
  const std::string_view text = v[0].text();
  std::size_t start = text.size(), end = 0;
  for (std::size_t i = 0; i < text.size();) {
    const Rune rune = DecodeRune(text, i);
    if (!IsSpace(rune.code)) {
      start = std::min(start, i);
      end = i + rune.length;
    }
    i += rune.length;
  }
  return Value::String(end == 0 ? std::string_view() : text.substr(start, end - start));
}

Value Join(Arena& arena, const Value* v, std::size_t count) {
  std::string out;
  for (std::size_t i = 0, n = ListSize(v[0]); i < n; ++i) {
    if (i && count == 2) out += v[1].text();
    const Value element = ListElement(arena, v[0], i);
    if (!element.Is(ValueKind::kString))
      return Value::Error(arena, "join: invalid input: " + DisplayText(arena, element));
    out += element.text();
    if (out.size() > Arena::kMaxBytes) throw EvaluationCancelled();
  }
  return Value::String(arena.Copy(out));
}

Value Quote(Arena& arena, const Value* v, std::size_t) {
  const std::string_view text = v[0].text();
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const Rune rune = DecodeRune(text, i);
    i += rune.length;
    switch (rune.code) {
      case '\a':
        out += "\\a";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\v':
        out += "\\v";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '"':
        out += "\\\"";
        break;
      default:
        AppendRune(out, rune.code);
    }
  }
  return Value::String(arena.Copy(out + "\""));
}

Value Format(Arena& arena, const Value* v, std::size_t) {
  return FormatText(arena, v[0].text(), v[1]);
}

}  // namespace

void DeclareStrings(LibraryBuilder& library, bool version_two) {
  const Type *text = &types::kString, *i = &types::kInt;
  const Type* texts = library.list(text);
  library.Member("charAt", "string_char_at_int", {text, i}, text, CharAt);
  library.Member("indexOf", "string_index_of_string", {text, text}, i, IndexOf, CostRule::kTraversal);
  library.Member("indexOf", "string_index_of_string_int", {text, text, i}, i, IndexOf, CostRule::kTraversal);
  library.Member("lastIndexOf", "string_last_index_of_string", {text, text}, i, LastIndexOf,
                 CostRule::kTraversal);
  library.Member("lastIndexOf", "string_last_index_of_string_int", {text, text, i}, i, LastIndexOf,
                 CostRule::kTraversal);
  library.Member("lowerAscii", "string_lower_ascii", {text}, text, ShiftLetters<'A', 'Z', 32>,
                 CostRule::kScanFirst);
  library.Member("replace", "string_replace_string_string", {text, text, text}, text, Replace,
                 CostRule::kScanFirstTwice);
  library.Member("replace", "string_replace_string_string_int", {text, text, text, i}, text, Replace,
                 CostRule::kScanFirstTwice);
  library.Member("split", "string_split_string", {text, text}, texts, Split, CostRule::kScanFirstTwice);
  library.Member("split", "string_split_string_int", {text, text, i}, texts, Split,
                 CostRule::kScanFirstTwice);
  library.Member("substring", "string_substring_int", {text, i}, text, Substring, CostRule::kScanFirst);
  library.Member("substring", "string_substring_int_int", {text, i, i}, text, Substring,
                 CostRule::kScanFirst);
  library.Member("trim", "string_trim", {text}, text, Trim, CostRule::kScanFirst);
  library.Member("upperAscii", "string_upper_ascii", {text}, text, ShiftLetters<'a', 'z', -32>,
                 CostRule::kScanFirst);
  if (version_two) {
    library
        .Member("format", "string_format", {text, library.list(&types::kDyn)}, text, Format,
                CostRule::kScanFirst)
        .stops_at_error = true;
    library.Global("strings.quote", "strings_quote", {text}, text, Quote, CostRule::kScanFirst);
  }
  library.Member("join", "list_join", {texts}, text, Join, CostRule::kJoin);
  library.Member("join", "list_join_string", {texts, text}, text, Join, CostRule::kJoin);
}

}  // namespace flyball::cel
