#include "json/yaml/yaml_emitter.h"

#include "json/utf8.h"

namespace flyball::json {
namespace {

constexpr int kIndent = 2;
constexpr int kBestWidth = 80;
// Longer keys are written as "? key".
constexpr std::size_t kMaxSimpleKey = 128;

bool IsSpace(std::string_view s, std::size_t i) {
  return i < s.size() && s[i] == ' ';
}

bool IsBlank(std::string_view s, std::size_t i) {
  return i < s.size() && (s[i] == ' ' || s[i] == '\t');
}

bool IsBreak(std::string_view s, std::size_t i) {
  return i < s.size() && (s[i] == '\n' || s[i] == '\r');
}

// go-yaml v2: neither tabs nor characters beyond U+FFFF. Unlike go-yaml, we also exclude the separators
// U+2028 and U+2029. They are line breaks in YAML 1.1 and letters in YAML 1.2; escaped, they mean the same in
// both.
bool IsPrintable(unsigned c) {
  if (c == 0x2028 || c == 0x2029) return false;
  return c == '\n' || (c >= 0x20 && c <= 0x7e) || (c >= 0xa0 && c <= 0xd7ff) ||
         (c >= 0xe000 && c <= 0xfffd && c != 0xfeff);
}

std::size_t Width(std::string_view s, std::size_t i) {
  const std::size_t length = Utf8Length(s, i);
  return length ? length : 1;
}

bool IsIn(char c, std::string_view set) {
  return set.find(c) != std::string_view::npos;
}

// Whether the character at s[i] would change the meaning of a plain scalar.
bool IsIndicator(std::string_view s, std::size_t i, bool after_blank) {
  const bool before_blank = i + 1 >= s.size() || IsBlank(s, i + 1);
  if (i == 0) return IsIn(s[i], "#,[]{}&*!|>'\"%@`") || (IsIn(s[i], "?:-") && before_blank);
  return (s[i] == ':' && before_blank) || (s[i] == '#' && after_blank);
}

}  // namespace

YamlEmitter::Analysis YamlEmitter::Analyze(std::string_view s) {
  Analysis result;
  if (s.empty()) {
    result.block = false;
    return result;
  }
  bool indicators = s.starts_with("---") || s.starts_with("...");
  bool special = false, space_break = false, break_space = false;
  bool after_blank = true, after_space = false, after_break = false;
  for (std::size_t i = 0; i < s.size(); i += Width(s, i)) {
    indicators = indicators || IsIndicator(s, i, after_blank);
    const bool space = IsSpace(s, i), line_break = IsBreak(s, i);
    special = special || !IsPrintable(DecodeUtf8(s, i));
    result.multiline = result.multiline || line_break;
    break_space = break_space || (space && after_break);
    space_break = space_break || (line_break && after_space);
    after_space = space;
    after_break = line_break;
    after_blank = IsBlank(s, i) || line_break || s[i] == '\0';
  }
  const bool edges = IsSpace(s, 0) || IsBreak(s, 0) || after_space || after_break;
  const bool unquotable = space_break || special;
  result.plain = !(edges || break_space || unquotable || result.multiline || indicators);
  result.single_quoted = !(break_space || unquotable);
  result.block = !(after_space || unquotable);
  return result;
}

void YamlEmitter::Put(char c) {
  out_ += c;
  ++column_;
}

void YamlEmitter::PutBreak() {
  out_ += '\n';
  column_ = 0;
}

void YamlEmitter::Copy(std::string_view text, std::size_t& i) {
  const std::size_t width = Width(text, i);
  out_.append(text, i, width);
  i += width;
  ++column_;
}

void YamlEmitter::CopyBreak(std::string_view text, std::size_t& i) {
  Copy(text, i);
  column_ = 0;
}

void YamlEmitter::WriteIndent() {
  const int indent = indent_ < 0 ? 0 : indent_;
  if (!indention_ || column_ > indent || (column_ == indent && !whitespace_)) PutBreak();
  while (column_ < indent) Put(' ');
  whitespace_ = true;
  indention_ = true;
}

void YamlEmitter::WriteIndicator(std::string_view indicator, bool need_space, bool is_indention) {
  if (need_space && !whitespace_) Put(' ');
  for (const char c : indicator) Put(c);
  whitespace_ = false;
  indention_ = indention_ && is_indention;
}

void YamlEmitter::IncreaseIndent(bool flow, bool indentless) {
  outer_indents_.push_back(indent_);
  if (indent_ < 0)
    indent_ = flow ? kIndent : 0;
  else if (!indentless)
    indent_ += kIndent;
}

void YamlEmitter::DecreaseIndent() {
  indent_ = outer_indents_.back();
  outer_indents_.pop_back();
}

void YamlEmitter::BeginItem() {
  WriteIndent();
  WriteIndicator("-", true, true);
  context_ = Context::kItem;
}

void YamlEmitter::BeginKey(std::string_view key) {
  WriteIndent();
  simple_key_ = key.size() <= kMaxSimpleKey && !Analyze(key).multiline;
  if (!simple_key_) WriteIndicator("?", true, true);
  context_ = simple_key_ ? Context::kSimpleKey : Context::kKey;
}

void YamlEmitter::BeginValue() {
  if (!simple_key_) WriteIndent();
  WriteIndicator(":", !simple_key_, !simple_key_);
  context_ = Context::kValue;
}

void YamlEmitter::BeginMapping() {
  IncreaseIndent(false, false);
}

void YamlEmitter::BeginSequence() {
  // The value of a member: its dashes are in the same column as the key.
  const bool in_mapping = context_ == Context::kValue || context_ == Context::kKey;
  IncreaseIndent(false, in_mapping && !indention_);
}

void YamlEmitter::EndCollection() {
  DecreaseIndent();
}

void YamlEmitter::Flow(std::string_view brackets) {
  WriteIndicator(brackets, true, false);
}

void YamlEmitter::Finish() {
  WriteIndent();
}

void YamlEmitter::Scalar(std::string_view text, Style style) {
  const Analysis analysis = Analyze(text);
  const bool simple_key = context_ == Context::kSimpleKey;
  const bool allow_breaks = !simple_key;
  IncreaseIndent(true, false);
  if (style == Style::kLiteral && analysis.block && !simple_key)
    WriteLiteral(text);
  else if (style == Style::kPlain && analysis.plain)
    WritePlain(text, allow_breaks);
  else if (style == Style::kPlain && analysis.single_quoted)
    WriteSingleQuoted(text, allow_breaks);
  else
    WriteDoubleQuoted(text, allow_breaks);
  DecreaseIndent();
}

void YamlEmitter::WritePlain(std::string_view text, bool allow_breaks) {
  if (!whitespace_) Put(' ');
  bool spaces = false;
  for (std::size_t i = 0; i < text.size();) {
    const bool space = IsSpace(text, i);
    if (space && allow_breaks && !spaces && column_ > kBestWidth && !IsSpace(text, i + 1)) {
      WriteIndent();
      ++i;
    } else {
      Copy(text, i);
    }
    if (!space) indention_ = false;
    spaces = space;
  }
  whitespace_ = false;
  indention_ = false;
}

void YamlEmitter::WriteSingleQuoted(std::string_view text, bool allow_breaks) {
  WriteIndicator("'", true, false);
  bool spaces = false, breaks = false;
  for (std::size_t i = 0; i < text.size();) {
    if (IsSpace(text, i)) {
      const bool inside = i > 0 && i + 1 < text.size();
      if (allow_breaks && !spaces && column_ > kBestWidth && inside && !IsSpace(text, i + 1)) {
        WriteIndent();
        ++i;
      } else {
        Copy(text, i);
      }
      spaces = true;
    } else if (IsBreak(text, i)) {
      if (!breaks && text[i] == '\n') PutBreak();
      CopyBreak(text, i);
      indention_ = true;
      breaks = true;
    } else {
      if (breaks) WriteIndent();
      if (text[i] == '\'') Put('\'');
      Copy(text, i);
      indention_ = false;
      spaces = breaks = false;
    }
  }
  WriteIndicator("'", false, false);
}

void YamlEmitter::WriteEscape(unsigned code) {
  constexpr std::pair<unsigned, char> kShort[] = {
      {0x00, '0'},  {0x07, 'a'}, {0x08, 'b'}, {0x09, 't'},   {0x0a, 'n'},
      {0x0b, 'v'},  {0x0c, 'f'}, {0x0d, 'r'}, {0x1b, 'e'},   {'"', '"'},
      {'\\', '\\'}, {0x85, 'N'}, {0xa0, '_'}, {0x2028, 'L'}, {0x2029, 'P'},
  };
  Put('\\');
  for (const auto& [character, letter] : kShort) {
    if (character == code) return Put(letter);
  }
  const int digits = code <= 0xff ? 2 : code <= 0xffff ? 4 : 8;
  Put(digits == 2 ? 'x' : digits == 4 ? 'u' : 'U');
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4) Put("0123456789ABCDEF"[(code >> shift) & 15]);
}

void YamlEmitter::WriteDoubleQuoted(std::string_view text, bool allow_breaks) {
  WriteIndicator("\"", true, false);
  bool spaces = false;
  for (std::size_t i = 0; i < text.size();) {
    const unsigned code = DecodeUtf8(text, i);
    if (!IsPrintable(code) || IsBreak(text, i) || code == '"' || code == '\\') {
      WriteEscape(code);
      i += Width(text, i);
      spaces = false;
    } else if (code == ' ') {
      if (allow_breaks && !spaces && column_ > kBestWidth && i > 0 && i + 1 < text.size()) {
        WriteIndent();
        if (IsSpace(text, i + 1)) Put('\\');
        ++i;
      } else {
        Copy(text, i);
      }
      spaces = true;
    } else {
      Copy(text, i);
      spaces = false;
    }
  }
  WriteIndicator("\"", false, false);
}

void YamlEmitter::WriteLiteral(std::string_view text) {
  WriteIndicator("|", true, false);
  if (IsSpace(text, 0) || IsBreak(text, 0)) WriteIndicator("2", false, false);
  // Without an indicator the text ends with exactly one line break; "-" means none, "+" more.
  if (!text.ends_with('\n'))
    WriteIndicator("-", false, false);
  else if (text == "\n" || text.ends_with("\n\n"))
    WriteIndicator("+", false, false);
  PutBreak();
  indention_ = true;
  whitespace_ = true;
  bool breaks = true;
  for (std::size_t i = 0; i < text.size();) {
    if (IsBreak(text, i)) {
      CopyBreak(text, i);
      indention_ = true;
      breaks = true;
    } else {
      if (breaks) WriteIndent();
      Copy(text, i);
      indention_ = false;
      breaks = false;
    }
  }
}

}  // namespace flyball::json
