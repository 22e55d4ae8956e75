#include "json/yaml/yaml_tree.h"

#include <algorithm>

#include "json/json.h"
#include "json/number.h"
#include "json/utf8.h"
#include "json/yaml/yaml_scalar.h"

namespace flyball::json {
namespace {

constexpr std::string_view kTagPrefix = "tag:yaml.org,2002:";
// As many as Kubernetes reports per object.
constexpr std::size_t kMaxYamlDuplicates = 100;
// Go's nesting limit.
constexpr std::size_t kMaxDepth = 10000;

std::string_view TypeTag(ScalarType type) {
  switch (type) {
    case ScalarType::kString:
      return "str";
    case ScalarType::kNull:
      return "null";
    case ScalarType::kBool:
      return "bool";
    case ScalarType::kInt:
      return "int";
    case ScalarType::kFloat:
      return "float";
    case ScalarType::kTimestamp:
      return "timestamp";
  }
  return "";
}

// Bytes that are not UTF-8 become U+FFFD, as in Go on the way to JSON.
std::string ToUtf8(std::string_view bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes.size();) {
    const std::size_t length = Utf8Length(bytes, i);
    if (length == 0) {
      out += "\ufffd";
      ++i;
    } else {
      out.append(bytes, i, length);
      i += length;
    }
  }
  return out;
}

int Base64Digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

Value DecodeBinary(std::string text) {
  std::erase_if(text, [](char c) { return c == '\n' || c == '\r'; });
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  const YamlError invalid("yaml: !!binary value contains invalid base64 data");
  if (text.size() % 4 != 0) throw invalid;
  std::string bytes;
  unsigned bits = 0;
  int count = 0;
  for (const char c : std::string_view(text).substr(0, text.size() - padding)) {
    const int digit = Base64Digit(c);
    if (digit < 0) throw invalid;
    bits = (bits << 6 | static_cast<unsigned>(digit)) & 0xffff;
    count += 6;
    if (count >= 8) bytes += static_cast<char>(bits >> (count -= 8));
  }
  return Value(ToUtf8(bytes));
}

// Returns the value of a scalar with the type that `tag` (such as "int") requires.
Value ResolveAs(std::string_view tag, const std::string& text) {
  ResolvedScalar resolved = ResolveScalar(text);
  if (TypeTag(resolved.type) == tag) return std::move(resolved.value);
  if (tag == "float" && resolved.value.is_int()) return Value(resolved.value.as_double());
  throw YamlError("yaml: cannot decode !!" + std::string(TypeTag(resolved.type)) + " `" + text + "` as a !!" +
                  std::string(tag));
}

std::string KeyText(const Value& key) {
  if (key.is_string()) return std::string(key.as_string());
  if (key.is_bool()) return key.as_bool() ? "true" : "false";
  if (key.is_int()) return std::to_string(key.as_int());
  if (key.is_double()) return FormatGeneral(key.as_double(), true);
  throw YamlError("unsupported map key of type: " + std::string(key.is_null() ? "null" : "collection"));
}

void MergeKey(Object& into, Value value) {
  if (value.is_object()) {
    for (auto& [key, member] : value.as_object()) into.Set(key, std::move(member));
    return;
  }
  const auto is_object = [](const Value& element) { return element.is_object(); };
  if (!value.is_array() || !std::all_of(value.as_array().begin(), value.as_array().end(), is_object))
    throw YamlError("yaml: map merge requires map or sequence of maps as the value");
  // In reverse, because the first of the list wins.
  for (std::size_t i = value.size(); i-- > 0;) MergeKey(into, std::move(value.as_array()[i]));
}

}  // namespace

Value ResolveTagged(std::string_view tag, const std::string& text) {
  if (tag == "?") return ResolveScalar(text).value;
  if (!tag.starts_with(kTagPrefix)) return Value(text);
  tag.remove_prefix(kTagPrefix.size());
  if (tag == "binary") return DecodeBinary(text);
  for (const auto type :
       {ScalarType::kNull, ScalarType::kBool, ScalarType::kInt, ScalarType::kFloat, ScalarType::kTimestamp}) {
    if (tag == TypeTag(type)) return ResolveAs(tag, text);
  }
  return Value(text);
}

void YamlTreeBuilder::Feed(YamlEvent event) {
  // yaml-cpp has its own limit, but nested aliases bypass it.
  if (open_.size() > kMaxDepth) throw YamlError("yaml: exceeded max depth of " + std::to_string(kMaxDepth));
  switch (event.type) {
    case YamlEvent::Type::kScalar:
      return Deliver(std::move(event.scalar), event.is_merge, event.line);
    case YamlEvent::Type::kBeginArray:
      open_.push_back({Value(Array()), {}});
      return;
    case YamlEvent::Type::kBeginObject:
      open_.push_back({Value(Object()), {}});
      return;
    case YamlEvent::Type::kEndArray:
    case YamlEvent::Type::kEndObject:
      Value done = std::move(open_.back().value);
      open_.pop_back();
      return Deliver(std::move(done), false, 0);
  }
}

void YamlTreeBuilder::Deliver(Value value, bool is_merge, int line) {
  if (open_.empty()) {
    root_ = std::move(value);
    return;
  }
  Container& top = open_.back();
  if (top.value.is_array()) {
    top.value.as_array().push_back(std::move(value));
  } else if (!top.has_key) {
    top.merges = is_merge;
    top.key = is_merge ? "<<" : KeyText(value);
    top.has_key = true;
    top.line = line;
  } else {
    top.has_key = false;
    if (top.merges)
      MergeKey(top.value.as_object(), std::move(value));
    else
      AddMember(top, std::move(value));
  }
}

void YamlTreeBuilder::AddMember(Container& top, Value value) {
  Object& object = top.value.as_object();
  if (Value* earlier = object.Find(top.key)) {
    NoteDuplicate();
    *earlier = std::move(value);
  } else {
    object.Append(top.key, std::move(value));
  }
}

void YamlTreeBuilder::NoteDuplicate() {
  if (!duplicates_ || duplicates_->size() >= kMaxYamlDuplicates) return;
  const Container& top = open_.back();
  std::string quoted;
  AppendQuoted(top.key, quoted);
  duplicates_->push_back("line " + std::to_string(top.line) + ": key " + quoted + " already set in map");
}

}  // namespace flyball::json
