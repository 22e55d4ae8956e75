#include <string>

#include "cel/schema/schema.h"
#include "cel/text/base64.h"
#include "cel/text/number_text.h"
#include "cel/text/time.h"
#include "cel/text/utf8.h"
#include "cel/values/opaque.h"
#include "cel/values/value.h"

namespace flyball::cel {
std::size_t CountCharacters(std::string_view text) {
  // Go counts every byte that belongs to no valid character as one.
  std::size_t ascii = 0;
  while (ascii < text.size() && static_cast<unsigned char>(text[ascii]) < 0x80) ++ascii;
  std::size_t count = ascii;
  for (std::size_t i = ascii; i < text.size(); ++count)
    i += static_cast<unsigned char>(text[i]) < 0x80 ? 1 : DecodeRune(text, i).length;
  return count;
}

std::uint64_t CostSize(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kString:
      return CountCharacters(value.text());
    case ValueKind::kBytes:
      return value.text().size();
    case ValueKind::kList:
      return ListSize(value);
    case ValueKind::kMap:
      return MapSize(value);
    case ValueKind::kOptional:
      return value.optional() ? CostSize(*value.optional()) : 1;
    case ValueKind::kOpaque:
      if (value.opaque()->kind == OpaqueKind::kIp)
        return static_cast<const IpValue*>(value.opaque())->address.ByteCount();
      if (value.opaque()->kind == OpaqueKind::kCidr)
        return static_cast<std::uint64_t>((static_cast<const CidrValue*>(value.opaque())->prefix.bits + 7) /
                                          8);
      return 1;
    default:
      return 1;
  }
}

const Type* TypeOfValue(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kNull:
      return &types::kNull;
    case ValueKind::kBool:
      return &types::kBool;
    case ValueKind::kInt:
      return &types::kInt;
    case ValueKind::kUint:
      return &types::kUint;
    case ValueKind::kDouble:
      return &types::kDouble;
    case ValueKind::kString:
      return &types::kString;
    case ValueKind::kBytes:
      return &types::kBytes;
    case ValueKind::kDuration:
      return &types::kDuration;
    case ValueKind::kTimestamp:
      return &types::kTimestamp;
    case ValueKind::kType:
      return &types::kType;
    case ValueKind::kList:
      return &types::kListDyn;
    case ValueKind::kMap:
      return &types::kMapDyn;
    case ValueKind::kOptional:
      return &types::kOptionalDyn;
    case ValueKind::kOpaque:
      return value.opaque()->type;
    case ValueKind::kPreserved:
      return &types::kDyn;
    case ValueKind::kError:
      return &types::kError;
  }
  return &types::kDyn;
}

std::string_view TypeNameOf(const Value& value) {
  if (value.Is(ValueKind::kPreserved)) return "unknown";
  return TypeOfValue(value)->name;
}

std::string_view GoTypeName(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kNull:
      return "types.Null";
    case ValueKind::kBool:
      return "types.Bool";
    case ValueKind::kInt:
      return "types.Int";
    case ValueKind::kUint:
      return "types.Uint";
    case ValueKind::kDouble:
      return "types.Double";
    case ValueKind::kString:
      return "types.String";
    case ValueKind::kBytes:
      return "types.Bytes";
    case ValueKind::kDuration:
      return "types.Duration";
    case ValueKind::kTimestamp:
      return "types.Timestamp";
    case ValueKind::kType:
      return "*types.Type";
    case ValueKind::kList:
      return "*types.baseList";
    case ValueKind::kMap:
      return "*types.baseMap";
    case ValueKind::kOptional:
      return "*types.Optional";
    case ValueKind::kOpaque:
      switch (value.opaque()->kind) {
        case OpaqueKind::kIp:
          return "cel.IP";
        case OpaqueKind::kCidr:
          return "cel.CIDR";
        case OpaqueKind::kUrl:
          return "cel.URL";
        case OpaqueKind::kQuantity:
          return "cel.Quantity";
        case OpaqueKind::kSemver:
          return "cel.Semver";
        case OpaqueKind::kFormat:
          return "cel.Format";
        case OpaqueKind::kLazyFields:
          return "*lazy.MapValue";
        case OpaqueKind::kObject:
          return "*dynamic.ObjectVal";
        case OpaqueKind::kJsonPatch:
          return "*mutation.JSONPatchVal";
        default:
          return "library.authorizerVal";
      }
    case ValueKind::kPreserved:
      return "*common.unknownPreserved";
    case ValueKind::kError:
      return "*types.Err";
  }
  return "";
}

std::string DisplayText(Arena& arena, const Value& value) {
  std::string out;
  switch (value.kind()) {
    case ValueKind::kNull:
      return "NULL_VALUE";
    case ValueKind::kBool:
      return value.as_bool() ? "true" : "false";
    case ValueKind::kInt:
      return std::to_string(value.as_int());
    case ValueKind::kUint:
      return std::to_string(value.as_uint());
    case ValueKind::kDouble:
      return FormatShortDouble(value.as_double());
    case ValueKind::kString:
    case ValueKind::kBytes:
      return std::string(value.text());
    case ValueKind::kDuration:
      return FormatDuration(value.as_int());
    case ValueKind::kTimestamp:
      return FormatRfc3339Nano({value.as_int(), value.nanoseconds(), value.offset()});
    case ValueKind::kType:
      return value.type_value()->name;
    case ValueKind::kList: {
      out = "[";
      for (std::size_t i = 0; i < ListSize(value) && out.size() < 1024; ++i) {
        if (i) out += ", ";
        out += DisplayText(arena, ListElement(arena, value, i));
      }
      return out + "]";
    }
    case ValueKind::kMap: {
      out = "{";
      ForEachEntry(arena, value, true, [&](const Value& k, const Value& v) {
        if (out.size() > 1) out += ", ";
        out += DisplayText(arena, k) + ": " + DisplayText(arena, v);
        return out.size() < 1024;
      });
      return out + "}";
    }
    case ValueKind::kOptional:
      return value.optional() ? "optional(" + DisplayText(arena, *value.optional()) + ")" : "optional.none()";
    case ValueKind::kError:
      return std::string(value.error());
    default:
      return std::string(TypeNameOf(value));
  }
}

}  // namespace flyball::cel
