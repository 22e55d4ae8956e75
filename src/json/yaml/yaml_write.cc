#include <algorithm>
#include <charconv>
#include <numeric>

#include "base/values/ascii.h"
#include "json/json.h"
#include "json/number.h"
#include "json/utf8.h"
#include "json/yaml/yaml.h"
#include "json/yaml/yaml_emitter.h"
#include "json/yaml/yaml_scalar.h"

namespace flyball::json {
namespace {

// Approximates Unicode: beyond ASCII, everything except punctuation, symbols and emoji.
bool IsLetter(unsigned c) {
  if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return c >= 0xc0 && (c < 0x2000 || c >= 0x2c00) && c < 0x1f000;
}

// Returns the number that starts at i, and where it ends. Overflow wraps, as upstream.
std::pair<std::uint64_t, std::size_t> NumberAt(std::string_view s, std::size_t i, std::uint64_t start) {
  for (; i < s.size() && IsDigit(s[i]); ++i) start = start * 10 + static_cast<std::uint64_t>(s[i] - '0');
  return {start, i};
}

// go-yaml's order of keys: letters after everything else, numbers by value ("a2" before "a10").
bool NaturalLess(std::string_view a, std::string_view b) {
  std::size_t i = static_cast<std::size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size())),
                    b.begin())
          .first -
      a.begin());
  if (i == a.size() || i == b.size()) return a.size() < b.size();
  while (i > 0 && (a[i] & 0xc0) == 0x80) --i;  // to the start of the character
  const unsigned ca = DecodeUtf8(a, i), cb = DecodeUtf8(b, i);
  const bool letter_a = IsLetter(ca), letter_b = IsLetter(cb);
  if (letter_a && letter_b) return ca < cb;
  if (letter_a || letter_b) return letter_b;
  std::uint64_t start = 0;
  if (ca == '0' || cb == '0') {
    for (std::size_t j = i; j-- > 0 && IsDigit(a[j]);) {
      if (a[j] != '0') start = 1;
    }
  }
  const auto [number_a, end_a] = NumberAt(a, i, start);
  const auto [number_b, end_b] = NumberAt(b, i, start);
  if (number_a != number_b) return number_a < number_b;
  if (end_a != end_b) return end_a < end_b;
  return ca < cb;
}

std::vector<const Object::Member*> SortedMembers(const Object& object) {
  std::vector<const Object::Member*> members;
  members.reserve(object.size());
  for (const auto& member : object) members.push_back(&member);
  // That order is cyclic for some keys (10k, 1k, 2k), which std::sort does not tolerate. The keys are sorted
  // bytewise first, so that the result does not depend on the input order.
  std::sort(members.begin(), members.end(), [](const auto* a, const auto* b) { return a->first < b->first; });
  std::stable_sort(members.begin(), members.end(),
                   [](const auto* a, const auto* b) { return NaturalLess(a->first, b->first); });
  return members;
}

// As kubectl, which converts JSON to YAML: a double without a fraction becomes an integer.
std::string DoubleText(double d) {
  std::string text;
  AppendDouble(d, text);
  const ResolvedScalar resolved = ResolveScalar(text);
  if (resolved.type == ScalarType::kFloat) return FormatGeneral(d, false);
  return text == "-0" ? "0" : text;
}

// Writes a tree without recursion.
class YamlWriter {
 public:
  explicit YamlWriter(std::string& out) : emitter_(out) {}

  void Write(const Value& root) {
    Begin(root);
    while (!open_.empty()) {
      if (open_.back().next == open_.back().container->size()) {
        emitter_.EndCollection();
        open_.pop_back();
      } else if (open_.back().container->is_array()) {
        emitter_.BeginItem();
        Begin(open_.back().container->as_array()[open_.back().next++]);
      } else {
        const Object::Member& member = *open_.back().members[open_.back().next++];
        emitter_.BeginKey(member.first);
        String(member.first);
        emitter_.BeginValue();
        Begin(member.second);
      }
    }
    emitter_.Finish();
  }

 private:
  using Style = YamlEmitter::Style;

  struct Open {
    const Value* container;
    std::vector<const Object::Member*> members;  // sorted, if it is an object
    std::size_t next = 0;
  };

  void Begin(const Value& value) {
    switch (value.kind()) {
      case Value::Kind::kNull:
        return emitter_.Scalar("null", Style::kPlain);
      case Value::Kind::kBool:
        return emitter_.Scalar(value.as_bool() ? "true" : "false", Style::kPlain);
      case Value::Kind::kInt:
        return emitter_.Scalar(std::to_string(value.as_int()), Style::kPlain);
      case Value::Kind::kDouble:
        return emitter_.Scalar(DoubleText(value.as_double()), Style::kPlain);
      case Value::Kind::kString:
        return String(value.as_string());
      case Value::Kind::kArray:
        if (value.empty()) return emitter_.Flow("[]");
        emitter_.BeginSequence();
        open_.push_back({&value, {}});
        return;
      case Value::Kind::kObject:
        if (value.empty()) return emitter_.Flow("{}");
        emitter_.BeginMapping();
        open_.push_back({&value, SortedMembers(value.as_object())});
        return;
    }
  }

  void String(std::string_view s) {
    const bool is_string = ResolveScalar(s).type == ScalarType::kString && !IsBase60(s);
    if (s.find('\n') != std::string_view::npos)
      emitter_.Scalar(s, Style::kLiteral);
    else
      emitter_.Scalar(s, is_string ? Style::kPlain : Style::kDoubleQuoted);
  }

  YamlEmitter emitter_;
  std::vector<Open> open_;
};

}  // namespace

std::string WriteYaml(const Value& value) {
  std::string out;
  YamlWriter(out).Write(value);
  return out;
}

}  // namespace flyball::json
