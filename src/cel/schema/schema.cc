#include "cel/schema/schema.h"

#include <algorithm>
#include <array>

namespace flyball::cel {
namespace {

constexpr std::array<std::string_view, 21> kReservedWords = {
    "true",     "false",   "null",      "in",       "as",  "break",  "const",
    "continue", "else",    "for",       "function", "if",  "import", "let",
    "loop",     "package", "namespace", "return",   "var", "void",   "while"};

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

SchemaType ParseSchemaType(std::string_view name) {
  if (name.empty()) return SchemaType::kNone;
  if (name == "object") return SchemaType::kObject;
  if (name == "array") return SchemaType::kArray;
  if (name == "string") return SchemaType::kString;
  if (name == "integer") return SchemaType::kInteger;
  if (name == "number") return SchemaType::kNumber;
  if (name == "boolean") return SchemaType::kBoolean;
  return SchemaType::kOther;
}

SchemaFormat ParseSchemaFormat(std::string_view name) {
  if (name == "byte") return SchemaFormat::kByte;
  if (name == "duration") return SchemaFormat::kDuration;
  if (name == "date") return SchemaFormat::kDate;
  if (name == "date-time") return SchemaFormat::kDateTime;
  return SchemaFormat::kNone;
}

std::optional<std::int64_t> ReadLimit(const json::Value& node, std::string_view keyword) {
  const json::Value& value = node[keyword];
  if (value.is_int()) return value.as_int();
  if (value.is_double()) return static_cast<std::int64_t>(value.as_double());
  return std::nullopt;
}

std::vector<std::string> ReadNames(const json::Value& list) {
  std::vector<std::string> names;
  if (!list.is_array()) return names;
  for (const json::Value& name : list.as_array()) names.emplace_back(name.string_or(""));
  return names;
}

std::int64_t LongestEnum(const json::Value& values) {
  if (!values.is_array() || values.empty()) return -1;
  std::size_t longest = 0;
  for (const json::Value& value : values.as_array()) longest = std::max(longest, value.string_or("").size());
  return static_cast<std::int64_t>(longest);
}

void SortProperties(Schema& schema) {
  std::sort(schema.properties.begin(), schema.properties.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
}

}  // namespace

bool IsReservedWord(std::string_view word) {
  return std::find(kReservedWords.begin(), kReservedWords.end(), word) != kReservedWords.end();
}

std::optional<std::string> EscapeFieldName(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return std::nullopt;
  if (IsReservedWord(name)) return "__" + std::string(name) + "__";
  std::string escaped;
  for (std::size_t i = 0; i < name.size(); ++i) {
    switch (name[i]) {
      case '.':
        escaped += "__dot__";
        break;
      case '-':
        escaped += "__dash__";
        break;
      case '/':
        escaped += "__slash__";
        break;
      case '_':
        if (i + 1 < name.size() && name[i + 1] == '_') {
          escaped += "__underscores__";
          ++i;
          break;
        }
        [[fallthrough]];
      default:
        if (!IsNameCharacter(name[i])) return std::nullopt;
        escaped += name[i];
    }
  }
  return escaped;
}

std::optional<std::string> UnescapeFieldName(std::string_view escaped) {
  std::string name;
  std::size_t i = 0;
  while (i < escaped.size()) {
    // "__word__" with no underscore within.
    if (escaped.substr(i, 2) == "__") {
      std::size_t end = i + 2;
      while (end < escaped.size() && escaped[end] != '_') ++end;
      if (end > i + 2 && escaped.substr(end, 2) == "__") {
        const std::string_view word = escaped.substr(i + 2, end - i - 2);
        if (word == "underscores")
          name += "__";
        else if (word == "dot")
          name += '.';
        else if (word == "dash")
          name += '-';
        else if (word == "slash")
          name += '/';
        else if (IsReservedWord(word) && word.size() + 4 == escaped.size())
          name += word;
        else
          return std::nullopt;
        i = end + 2;
        continue;
      }
    }
    name += escaped[i++];
  }
  return name;
}

const Schema* Schema::FindProperty(std::string_view name) const {
  const auto it = std::lower_bound(properties.begin(), properties.end(), name,
                                   [](const Property& p, std::string_view n) { return p.name < n; });
  return it != properties.end() && it->name == name ? it->schema : nullptr;
}

const Schema::Property* Schema::FindEscaped(std::string_view escaped) const {
  for (const Property& property : properties)
    if (property.escaped == escaped) return &property;
  return nullptr;
}

SchemaTree::SchemaTree(const json::Value& schema) : root_(Build(schema, 0, true)) {}

Schema* SchemaTree::Build(const json::Value& node, int depth, bool with_meta) {
  Schema& schema = nodes_.emplace_back();
  schema.node = &node;
  schema.type_name = std::string(node["type"].string_or(""));
  schema.type = ParseSchemaType(schema.type_name);
  schema.format = ParseSchemaFormat(node["format"].string_or(""));
  schema.nullable = node["nullable"].bool_or(false);
  schema.int_or_string = node["x-kubernetes-int-or-string"].bool_or(false);
  schema.preserves_unknown = node["x-kubernetes-preserve-unknown-fields"].bool_or(false);
  schema.embedded = node["x-kubernetes-embedded-resource"].bool_or(false);
  schema.has_default = node.Find("default") && !node["default"].is_null();
  const std::string_view list_type = node["x-kubernetes-list-type"].string_or("");
  if (list_type == "set") schema.list_type = ListType::kSet;
  if (list_type == "map") schema.list_type = ListType::kMap;
  const std::string_view map_type = node["x-kubernetes-map-type"].string_or("");
  schema.correlatable_map = map_type.empty() || map_type == "granular" || map_type == "atomic";
  schema.map_keys = ReadNames(node["x-kubernetes-list-map-keys"]);
  schema.required = ReadNames(node["required"]);
  schema.max_length = ReadLimit(node, "maxLength");
  schema.max_items = ReadLimit(node, "maxItems");
  schema.max_properties = ReadLimit(node, "maxProperties");
  schema.longest_enum = LongestEnum(node["enum"]);
  if (depth < kMaxDepth) {
    const json::Value& properties = node["properties"];
    if (properties.is_object()) {
      schema.has_properties = !properties.empty();
      for (const auto& [name, child] : properties.as_object())
        schema.properties.push_back(
            {name, EscapeFieldName(name).value_or(""), Build(child, depth + 1, false)});
      SortProperties(schema);
    }
    const json::Value& additional = node["additionalProperties"];
    schema.allows_additional = additional.is_object() || additional.bool_or(false);
    if (additional.is_object()) schema.additional = Build(additional, depth + 1, false);
    if (node["items"].is_object()) schema.items = Build(node["items"], depth + 1, false);
  }
  if (with_meta || schema.embedded) schema.with_meta = WithMeta(schema);
  return &schema;
}

const Schema* SchemaTree::WithMeta(const Schema& schema) {
  constexpr std::int64_t kNameMaxLength = 253;
  const Schema* metadata = schema.FindProperty("metadata");
  const auto is_string = [](const Schema* s) { return s && s->type == SchemaType::kString; };
  if (is_string(schema.FindProperty("kind")) && is_string(schema.FindProperty("apiVersion")) && metadata &&
      metadata->type == SchemaType::kObject && is_string(metadata->FindProperty("name")) &&
      is_string(metadata->FindProperty("generateName")))
    return &schema;
  const auto text = [this](const Schema* existing, std::optional<std::int64_t> max_length) {
    Schema& s = nodes_.emplace_back();
    s.type = SchemaType::kString;
    s.type_name = "string";
    s.max_length = max_length;
    if (existing && existing->max_length && max_length && *existing->max_length < *max_length)
      s.max_length = existing->max_length;
    return &s;
  };
  Schema& meta = nodes_.emplace_back();
  meta.type = SchemaType::kObject;
  meta.type_name = "object";
  meta.has_properties = true;
  const Schema* name = metadata ? metadata->FindProperty("name") : nullptr;
  const Schema* generate_name = metadata ? metadata->FindProperty("generateName") : nullptr;
  meta.properties = {{"generateName", "generateName", text(generate_name, kNameMaxLength - 1)},
                     {"name", "name", text(name, kNameMaxLength)}};
  Schema& result = nodes_.emplace_back(schema);
  result.with_meta = nullptr;
  std::erase_if(result.properties, [](const Schema::Property& p) {
    return p.name == "kind" || p.name == "apiVersion" || p.name == "metadata";
  });
  result.properties.push_back({"apiVersion", "apiVersion", text(nullptr, std::nullopt)});
  result.properties.push_back({"kind", "kind", text(nullptr, std::nullopt)});
  result.properties.push_back({"metadata", "metadata", &meta});
  result.has_properties = true;
  SortProperties(result);
  return &result;
}

}  // namespace flyball::cel
