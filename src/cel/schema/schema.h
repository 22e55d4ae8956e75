// Schema: an OpenAPI v3 schema as far as expressions care (upstream: structural schemas and
// cel/common.Schema). Built once from JSON; immutable afterwards and thread-safe. Nodes live as long as their
// SchemaTree.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace flyball::cel {

// Field names that CEL cannot say are escaped: "dash-name" is dash__dash__name, "namespace" __namespace__.
// Nothing if there is no way to say the name.
std::optional<std::string> EscapeFieldName(std::string_view name);
std::optional<std::string> UnescapeFieldName(std::string_view escaped);
// Words of CEL that may name a field after a dot nevertheless, except in, true, false and null.
bool IsReservedWord(std::string_view word);

enum class SchemaType : std::uint8_t { kNone, kObject, kArray, kString, kInteger, kNumber, kBoolean, kOther };
enum class SchemaFormat : std::uint8_t { kNone, kByte, kDuration, kDate, kDateTime };
enum class ListType : std::uint8_t { kAtomic, kSet, kMap };

class Schema {
 public:
  struct Property {
    std::string name;
    std::string escaped;  // empty if no expression can name it
    const Schema* schema;
  };

  SchemaType type = SchemaType::kNone;
  SchemaFormat format = SchemaFormat::kNone;
  ListType list_type = ListType::kAtomic;
  bool nullable = false, int_or_string = false, preserves_unknown = false, embedded = false;
  bool has_properties = false;  // declared, even if empty
  bool has_default = false;
  bool correlatable_map = true;        // x-kubernetes-map-type granular, atomic or none
  std::vector<Property> properties;    // sorted by name
  const Schema* additional = nullptr;  // of additionalProperties, if that is a schema
  bool allows_additional = false;      // additionalProperties is there at all
  const Schema* items = nullptr;
  std::vector<std::string> map_keys, required;
  std::optional<std::int64_t> max_length, max_items, max_properties;
  std::int64_t longest_enum = -1;     // bytes of the longest string in enum; -1 without an enum
  std::string type_name;              // as it stands in the schema
  const json::Value* node = nullptr;  // where it was read from; null for nodes that upstream adds

  const Schema* FindProperty(std::string_view name) const;
  const Property* FindEscaped(std::string_view escaped) const;
  // With apiVersion, kind, metadata.name and metadata.generateName: what the root of a resource, or an
  // embedded one, is to expressions.
  const Schema* with_meta = nullptr;
};

class SchemaTree {
 public:
  // Deeper nodes are left out: the definition's own validation refuses such schemas before.
  static constexpr int kMaxDepth = 250;

  // Reads `schema`, which must outlive the tree.
  explicit SchemaTree(const json::Value& schema);
  SchemaTree(const SchemaTree&) = delete;
  SchemaTree& operator=(const SchemaTree&) = delete;

  const Schema& root() const { return *root_; }

 private:
  Schema* Build(const json::Value& node, int depth, bool with_meta);
  const Schema* WithMeta(const Schema& schema);

  std::deque<Schema> nodes_;
  const Schema* root_;
};

}  // namespace flyball::cel
