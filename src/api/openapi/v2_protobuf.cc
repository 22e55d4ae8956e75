// The Swagger document in protobuf, as gnostic's openapi.v2 messages lay it out. A message is a table of the
// JSON members it takes, each with its field number; members that no table names are left out, as the
// consumers of this form (kubectl before 1.29, client-go's OpenAPISchema) read definitions, operations and
// parameters only.
#include <bit>
#include <span>

#include "api/openapi/openapi.h"
#include "base/values/protobuf_wire.h"
#include "json/json.h"

namespace flyball::api {
namespace {

using json::Value;
// Appends a JSON value as field `number` of a message.
using Encoder = void (*)(const Value& value, std::uint32_t number, std::string& out);

struct Member {
  std::string_view key;
  std::uint32_t number;
  Encoder encode;
};

constexpr std::uint32_t kNoExtensions = 0;

void PutText(const Value& value, std::uint32_t number, std::string& out) {
  WireWriter(out).Bytes(number, value.string_or(""));
}

void PutBool(const Value& value, std::uint32_t number, std::string& out) {
  WireWriter(out).Varint(number, value.bool_or(false) ? 1 : 0);
}

void PutInt(const Value& value, std::uint32_t number, std::string& out) {
  WireWriter(out).Varint(number, static_cast<std::uint64_t>(value.int_or(0)));
}

void PutDouble(const Value& value, std::uint32_t number, std::string& out) {
  WireWriter(out).Fixed64(number, std::bit_cast<std::uint64_t>(value.is_number() ? value.as_double() : 0.0));
}

// Any {2 yaml}: JSON is YAML.
void PutAny(const Value& value, std::uint32_t number, std::string& out) {
  std::string any;
  WireWriter(any).Bytes(2, json::Write(value) + "\n");
  WireWriter(out).Bytes(number, any);
}

template <Encoder kElement>
void PutEach(const Value& value, std::uint32_t number, std::string& out) {
  if (!value.is_array()) return;
  for (const auto& element : value.as_array()) kElement(element, number, out);
}

// A message that holds nothing but a value in its field `kField`.
template <std::uint32_t kField, Encoder kValue>
void PutWrapped(const Value& value, std::uint32_t number, std::string& out) {
  std::string wrapped;
  kValue(value, kField, wrapped);
  WireWriter(out).Bytes(number, wrapped);
}

// A map as repeated {1 name, 2 value}.
template <Encoder kValue>
void PutNamed(const Value& value, std::uint32_t number, std::string& out) {
  if (!value.is_object()) return;
  for (const auto& [name, element] : value.as_object()) {
    std::string entry;
    WireWriter(entry).Bytes(1, name);
    kValue(element, 2, entry);
    WireWriter(out).Bytes(number, entry);
  }
}

// The members of an object by a table; "x-..." members as NamedAny in field `extensions`.
void PutMembers(std::span<const Member> members, std::uint32_t extensions, const Value& object,
                std::string& out) {
  if (!object.is_object()) return;
  for (const auto& [key, value] : object.as_object()) {
    for (const auto& member : members)
      if (member.key == key) member.encode(value, member.number, out);
    if (extensions == kNoExtensions || !key.starts_with("x-")) continue;
    std::string named;
    WireWriter(named).Bytes(1, key);
    PutAny(value, 2, named);
    WireWriter(out).Bytes(extensions, named);
  }
}

void PutMessage(std::span<const Member> members, std::uint32_t extensions, const Value& object,
                std::uint32_t number, std::string& out) {
  std::string message;
  PutMembers(members, extensions, object, message);
  WireWriter(out).Bytes(number, message);
}

void PutSchema(const Value& value, std::uint32_t number, std::string& out);

// AdditionalPropertiesItem {1 schema | 2 boolean}.
void PutAdditional(const Value& value, std::uint32_t number, std::string& out) {
  value.is_bool() ? PutWrapped<2, PutBool>(value, number, out) : PutWrapped<1, PutSchema>(value, number, out);
}

constexpr Member kSchemaMembers[] = {
    {"$ref", 1, PutText},
    {"format", 2, PutText},
    {"title", 3, PutText},
    {"description", 4, PutText},
    {"default", 5, PutAny},
    {"multipleOf", 6, PutDouble},
    {"maximum", 7, PutDouble},
    {"exclusiveMaximum", 8, PutBool},
    {"minimum", 9, PutDouble},
    {"exclusiveMinimum", 10, PutBool},
    {"maxLength", 11, PutInt},
    {"minLength", 12, PutInt},
    {"pattern", 13, PutText},
    {"maxItems", 14, PutInt},
    {"minItems", 15, PutInt},
    {"uniqueItems", 16, PutBool},
    {"maxProperties", 17, PutInt},
    {"minProperties", 18, PutInt},
    {"required", 19, PutEach<PutText>},
    {"enum", 20, PutEach<PutAny>},
    {"additionalProperties", 21, PutAdditional},
    {"type", 22, PutWrapped<1, PutText>},
    {"items", 23, PutWrapped<1, PutSchema>},
    {"allOf", 24, PutEach<PutSchema>},
    {"properties", 25, PutWrapped<1, PutNamed<PutSchema>>},
    {"readOnly", 27, PutBool},
    {"example", 30, PutAny},
};

void PutSchema(const Value& value, std::uint32_t number, std::string& out) {
  PutMessage(kSchemaMembers, 31, value, number, out);
}

constexpr Member kReferenceMembers[] = {{"$ref", 1, PutText}, {"description", 2, PutText}};
constexpr Member kBodyMembers[] = {{"description", 1, PutText},
                                   {"name", 2, PutText},
                                   {"in", 3, PutText},
                                   {"required", 4, PutBool},
                                   {"schema", 5, PutSchema}};
constexpr Member kQueryMembers[] = {
    {"required", 1, PutBool}, {"in", 2, PutText},     {"description", 3, PutText}, {"name", 4, PutText},
    {"type", 6, PutText},     {"format", 7, PutText}, {"uniqueItems", 19, PutBool}};
// Header and path parameters are alike.
constexpr Member kOtherPlaceMembers[] = {{"required", 1, PutBool},    {"in", 2, PutText},
                                         {"description", 3, PutText}, {"name", 4, PutText},
                                         {"type", 5, PutText},        {"format", 6, PutText}};

// NonBodyParameter {1 header | 3 query | 4 path}.
void PutNonBody(const Value& value, std::uint32_t number, std::string& out) {
  const auto place = value["in"].string_or("");
  std::string inner;
  if (place == "query") {
    PutMessage(kQueryMembers, kNoExtensions, value, 3, inner);
  } else {
    PutMessage(kOtherPlaceMembers, kNoExtensions, value, place == "header" ? 1 : 4, inner);
  }
  WireWriter(out).Bytes(number, inner);
}

// Parameter {1 body | 2 anything else}.
void PutParameter(const Value& value, std::uint32_t number, std::string& out) {
  std::string inner;
  if (value["in"].string_or("") == "body") {
    PutMessage(kBodyMembers, 6, value, 1, inner);
  } else {
    PutNonBody(value, 2, inner);
  }
  WireWriter(out).Bytes(number, inner);
}

// ParametersItem {1 parameter | 2 reference}.
void PutParameterItem(const Value& value, std::uint32_t number, std::string& out) {
  std::string item;
  if (value.Find("$ref")) {
    PutMessage(kReferenceMembers, kNoExtensions, value, 2, item);
  } else {
    PutParameter(value, 1, item);
  }
  WireWriter(out).Bytes(number, item);
}

constexpr Member kResponseMembers[] = {{"description", 1, PutText}, {"schema", 2, PutWrapped<1, PutSchema>}};

// ResponseValue {1 response}.
void PutResponse(const Value& value, std::uint32_t number, std::string& out) {
  std::string response;
  PutMessage(kResponseMembers, 5, value, 1, response);
  WireWriter(out).Bytes(number, response);
}

constexpr Member kOperationMembers[] = {{"tags", 1, PutEach<PutText>},
                                        {"summary", 2, PutText},
                                        {"description", 3, PutText},
                                        {"operationId", 5, PutText},
                                        {"produces", 6, PutEach<PutText>},
                                        {"consumes", 7, PutEach<PutText>},
                                        {"parameters", 8, PutEach<PutParameterItem>},
                                        {"responses", 9, PutWrapped<1, PutNamed<PutResponse>>},
                                        {"schemes", 10, PutEach<PutText>},
                                        {"deprecated", 11, PutBool}};

void PutOperation(const Value& value, std::uint32_t number, std::string& out) {
  PutMessage(kOperationMembers, 13, value, number, out);
}

constexpr Member kPathMembers[] = {
    {"get", 2, PutOperation},     {"put", 3, PutOperation},
    {"post", 4, PutOperation},    {"delete", 5, PutOperation},
    {"options", 6, PutOperation}, {"head", 7, PutOperation},
    {"patch", 8, PutOperation},   {"parameters", 9, PutEach<PutParameterItem>}};

void PutPath(const Value& value, std::uint32_t number, std::string& out) {
  PutMessage(kPathMembers, 10, value, number, out);
}

constexpr Member kInfoMembers[] = {
    {"title", 1, PutText}, {"version", 2, PutText}, {"description", 3, PutText}};

void PutInfo(const Value& value, std::uint32_t number, std::string& out) {
  PutMessage(kInfoMembers, kNoExtensions, value, number, out);
}

constexpr Member kDocumentMembers[] = {{"swagger", 1, PutText},
                                       {"info", 2, PutInfo},
                                       {"consumes", 6, PutEach<PutText>},
                                       {"produces", 7, PutEach<PutText>},
                                       {"paths", 8, PutWrapped<2, PutNamed<PutPath>>},
                                       {"definitions", 9, PutWrapped<1, PutNamed<PutSchema>>},
                                       {"parameters", 10, PutWrapped<1, PutNamed<PutParameter>>}};

}  // namespace

std::string OpenApiV2Protobuf(std::string_view document) {
  std::string out;
  if (const auto value = json::Parse(document)) PutMembers(kDocumentMembers, kNoExtensions, *value, out);
  return out;
}

}  // namespace flyball::api
