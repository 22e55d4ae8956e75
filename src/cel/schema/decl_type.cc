#include "cel/schema/decl_type.h"

#include <algorithm>

namespace flyball::cel {
namespace {

// The smallest JSON that can hold a value of the type (upstream: cel/limits.go).
constexpr std::int64_t kMinStringSize = 2, kMinBoolSize = 4, kMinNumberSize = 1, kMinDurationSize = 3,
                       kDateSize = 12, kMinDatetimeSize = 21;
constexpr std::int64_t kMaxDurationSize = 32, kMaxDatetimeSize = 32;
constexpr std::int64_t kMaxTextSize = kMaxRequestBytes - 2;

std::int64_t ZeroIfNegative(std::int64_t n) {
  return std::max<std::int64_t>(n, 0);
}

// A character is at most four bytes.
std::int64_t MaxTextElements(const Schema& schema) {
  const std::int64_t length = ZeroIfNegative(*schema.max_length);
  return length > INT64_MAX / 4 ? INT64_MAX : length * 4;
}

}  // namespace

const DeclField* ObjectDecl::Find(std::string_view name) const {
  const auto it = std::lower_bound(fields_.begin(), fields_.end(), name,
                                   [](const DeclField& f, std::string_view n) { return f.name < n; });
  return it != fields_.end() && it->name == name ? &*it : nullptr;
}

void ObjectDecl::Sort() {
  std::sort(fields_.begin(), fields_.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
}

void ObjectDecl::Set(DeclField field) {
  std::erase_if(fields_, [&](const DeclField& f) { return f.name == field.name; });
  fields_.push_back(std::move(field));
  Sort();
}

std::unique_ptr<const DeclTypes> DeclTypes::Build(const Schema& schema, bool is_root, std::string_view name) {
  std::unique_ptr<DeclTypes> types(new DeclTypes);
  types->root_ = types->Convert(schema, is_root, std::string(name), 0);
  return types;
}

const DeclType* DeclTypes::Convert(const Schema& given, bool is_root, const std::string& name, int depth) {
  if (depth > SchemaTree::kMaxDepth) return nullptr;
  if (given.int_or_string)
    return Add({.type = &types::kDyn,
                .max_elements = given.max_length ? MaxTextElements(given) : kMaxTextSize,
                .min_serialized_size = 1,
                .schema = &given});
  const Schema& schema = is_root && given.with_meta ? *given.with_meta : given;
  switch (schema.type) {
    case SchemaType::kArray:
      return ConvertList(schema, name, depth);
    case SchemaType::kObject:
      return schema.additional ? ConvertMap(schema, name, depth) : ConvertObject(schema, name, depth);
    case SchemaType::kString:
      return ConvertString(schema);
    case SchemaType::kBoolean:
      return Add({.type = &types::kBool, .min_serialized_size = kMinBoolSize, .schema = &schema});
    case SchemaType::kNumber:
      return Add({.type = &types::kDouble, .min_serialized_size = kMinNumberSize, .schema = &schema});
    case SchemaType::kInteger:
      return Add({.type = &types::kInt, .min_serialized_size = kMinNumberSize, .schema = &schema});
    case SchemaType::kNone:
    case SchemaType::kOther:
      return nullptr;
  }
  return nullptr;
}

const DeclType* DeclTypes::ConvertString(const Schema& schema) {
  const std::int64_t limit = schema.max_length ? ZeroIfNegative(*schema.max_length) : kMaxTextSize;
  switch (schema.format) {
    case SchemaFormat::kByte:
      return Add({.type = &types::kBytes,
                  .max_elements = limit,
                  .min_serialized_size = kMinStringSize,
                  .schema = &schema});
    case SchemaFormat::kDuration:
      return Add({.type = &types::kDuration,
                  .max_elements = kMaxDurationSize,
                  .min_serialized_size = kMinDurationSize,
                  .schema = &schema});
    case SchemaFormat::kDate:
      return Add({.type = &types::kTimestamp,
                  .max_elements = kDateSize,
                  .min_serialized_size = kDateSize,
                  .schema = &schema});
    case SchemaFormat::kDateTime:
      return Add({.type = &types::kTimestamp,
                  .max_elements = kMaxDatetimeSize,
                  .min_serialized_size = kMinDatetimeSize,
                  .schema = &schema});
    case SchemaFormat::kNone:
      break;
  }
  std::int64_t elements = kMaxTextSize;
  if (schema.max_length)
    elements = MaxTextElements(schema);
  else if (schema.longest_enum >= 0)
    elements = schema.longest_enum;
  return Add({.type = &types::kString,
              .max_elements = elements,
              .min_serialized_size = kMinStringSize,
              .schema = &schema});
}

const DeclType* DeclTypes::ConvertList(const Schema& schema, const std::string& name, int depth) {
  if (!schema.items) return nullptr;
  const DeclType* items = Convert(*schema.items, schema.items->embedded, name + ".@idx", depth + 1);
  if (!items) return nullptr;
  const std::int64_t max_items =
      schema.max_items ? ZeroIfNegative(*schema.max_items) : kMaxTextSize / (items->min_serialized_size + 1);
  return Add({.type = types_.List(items->type),
              .element = items,
              .max_elements = max_items,
              .min_serialized_size = 2,
              .schema = &schema});
}

const DeclType* DeclTypes::ConvertMap(const Schema& schema, const std::string& name, int depth) {
  static const DeclType kStringKey{.type = &types::kString, .min_serialized_size = kMinStringSize};
  const DeclType* values =
      Convert(*schema.additional, schema.additional->embedded, name + ".@elem", depth + 1);
  if (!values) return nullptr;
  // A key is at least its quotes, a colon, a comma and two characters.
  const std::int64_t max_properties = schema.max_properties
                                          ? ZeroIfNegative(*schema.max_properties)
                                          : kMaxTextSize / (values->min_serialized_size + 6);
  return Add({.type = types_.Map(&types::kString, values->type),
              .key = &kStringKey,
              .element = values,
              .max_elements = max_properties,
              .min_serialized_size = 2,
              .schema = &schema});
}

const DeclType* DeclTypes::ConvertObject(const Schema& schema, const std::string& name, int depth) {
  ObjectDecl& object = objects_.emplace_back();
  std::int64_t min_size = 2;
  for (const Schema::Property& property : schema.properties) {
    const DeclType* type =
        Convert(*property.schema, property.schema->embedded, name + "." + property.escaped, depth + 1);
    if (!type) continue;
    if (!property.escaped.empty()) object.Add({property.escaped, type});
    const bool required =
        std::find(schema.required.begin(), schema.required.end(), property.name) != schema.required.end();
    if (required && !property.schema->has_default)
      min_size += static_cast<std::int64_t>(property.name.size()) + type->min_serialized_size + 4;
  }
  object.Sort();
  return Add({.type = types_.Struct(name, &object),
              .object = &object,
              .min_serialized_size = min_size,
              .schema = &schema});
}

}  // namespace flyball::cel
