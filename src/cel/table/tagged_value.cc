#include "cel/table/tagged_value.h"

#include <algorithm>
#include <cmath>

#include "cel/formats/named_format.h"
#include "cel/text/base64.h"
#include "cel/text/number_text.h"
#include "cel/text/time.h"
#include "cel/values/opaque.h"
#include "json/json.h"

namespace flyball::cel {
namespace {

json::Value Tag(std::string_view name, json::Value value) {
  json::Object object;
  object.Set(name, std::move(value));
  return object;
}

std::string DoubleText(double d) {
  if (std::isinf(d)) return d > 0 ? "+Infinity" : "-Infinity";
  return FormatShortDouble(d);
}

json::Value TaggedOpaque(const OpaqueValue& value) {
  switch (value.kind) {
    case OpaqueKind::kIp:
      return Tag("ip", static_cast<const IpValue&>(value).address.ToString());
    case OpaqueKind::kCidr:
      return Tag("cidr", static_cast<const CidrValue&>(value).prefix.ToString());
    case OpaqueKind::kUrl:
      return Tag("url", static_cast<const UrlValue&>(value).url.ToString());
    case OpaqueKind::kQuantity:
      return Tag("quantity", static_cast<const QuantityValue&>(value).quantity.ToString());
    case OpaqueKind::kSemver:
      return Tag("semver", static_cast<const SemverValue&>(value).version.ToString());
    case OpaqueKind::kFormat:
      return Tag("format", static_cast<const FormatValue&>(value).format->title);
    default:
      return Tag("other:" + value.type->name, nullptr);
  }
}

}  // namespace

json::Value TaggedValue(Arena& arena, const Value& value) {
  switch (value.kind()) {
    case ValueKind::kNull:
      return Tag("null", nullptr);
    case ValueKind::kBool:
      return Tag("bool", value.as_bool());
    case ValueKind::kInt:
      return Tag("int", std::to_string(value.as_int()));
    case ValueKind::kUint:
      return Tag("uint", std::to_string(value.as_uint()));
    case ValueKind::kDouble:
      return Tag("double", DoubleText(value.as_double()));
    case ValueKind::kString:
      return Tag("string", value.text());
    case ValueKind::kBytes:
      return Tag("bytes", EncodeBase64(value.text()));
    case ValueKind::kDuration:
      return Tag("duration", std::to_string(value.as_int()));
    case ValueKind::kTimestamp:
      return Tag("timestamp", FormatRfc3339Nano({value.as_int(), value.nanoseconds(), 0}));
    case ValueKind::kType:
      return Tag("type", value.type_value()->name);
    case ValueKind::kList: {
      json::Array elements;
      for (std::size_t i = 0, n = ListSize(value); i < n; ++i)
        elements.push_back(TaggedValue(arena, ListElement(arena, value, i)));
      return Tag("list", std::move(elements));
    }
    case ValueKind::kMap: {
      std::vector<std::pair<std::string, json::Value>> entries;
      ForEachEntry(arena, value, true, [&](const Value& k, const Value& v) {
        json::Value key = TaggedValue(arena, k);
        std::string text = json::Write(key);
        entries.emplace_back(std::move(text), json::Array{std::move(key), TaggedValue(arena, v)});
        return true;
      });
      std::sort(entries.begin(), entries.end(),
                [](const auto& a, const auto& b) { return a.first < b.first; });
      json::Array sorted;
      for (auto& [text, entry] : entries) sorted.push_back(std::move(entry));
      return Tag("map", std::move(sorted));
    }
    case ValueKind::kOptional:
      return Tag("optional", value.optional() ? TaggedValue(arena, *value.optional()) : json::Value());
    case ValueKind::kOpaque:
      return TaggedOpaque(*value.opaque());
    case ValueKind::kPreserved:
      return Tag("other:unknown", json::Write(value.preserved()));
    case ValueKind::kError:
      return Tag("error", value.error());
  }
  return {};
}

}  // namespace flyball::cel
