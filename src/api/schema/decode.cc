#include "api/schema/decode.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "api/schema/decode_place.h"
#include "api/schema/feature_gates.h"
#include "api/schema/go_type_name.h"
#include "api/schema/zero_value.h"
#include "api/values/base64.h"
#include "api/values/duration.h"
#include "api/values/go_text.h"
#include "api/values/quantity.h"
#include "api/values/time.h"
#include "json/parse_repeated.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::size_t kMaxStrictErrors = 100;
// Only types that contain themselves get this deep. Each level costs stack; no schema of a custom resource
// may be nested as deeply (CustomSchema::kMaxDepth).
constexpr int kMaxDepth = 500;

// Upstream decodes the built-in parts of a custom object (its metadata) on their own.
bool IsFieldOfStruct(const DecodePlace& place) {
  return place.field != nullptr && place.owner->schema == nullptr;
}

// "spec.containers": fields only, as Go's decoder names them.
void AppendFieldStack(const DecodePlace* place, std::string& out) {
  if (place == nullptr) return;
  AppendFieldStack(place->up, out);
  if (!IsFieldOfStruct(*place)) return;
  if (!out.empty()) out += '.';
  if (const auto embedded = GoEmbeddedIn(*place->owner, *place->field); !embedded.empty())
    out.append(embedded) += '.';
  out += place->field->name;
}

const DecodePlace* NearestField(const DecodePlace* place) {
  while (place != nullptr && !IsFieldOfStruct(*place)) place = place->up;
  return place;
}

// A number as the client most likely wrote it: the text itself is gone.
std::string NumberText(const Value& value) {
  if (value.is_int()) return std::to_string(value.as_int());
  const double d = value.as_double();
  std::array<char, 64> buffer;
  constexpr double kPlain = 1e15;
  const bool plain = d == std::floor(d) && std::fabs(d) < kPlain;
  const auto [end, ec] =
      plain ? std::to_chars(buffer.data(), buffer.data() + buffer.size(), d, std::chars_format::fixed, 1)
            : std::to_chars(buffer.data(), buffer.data() + buffer.size(), d);
  return ec == std::errc{} ? std::string(buffer.data(), end) : std::string("number");
}

std::string_view Trimmed(std::string_view s) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const std::size_t begin = s.find_first_not_of(kSpace);
  return begin == std::string_view::npos ? std::string_view()
                                         : s.substr(begin, s.find_last_not_of(kSpace) - begin + 1);
}

bool IsLostByProtobuf(const TypeInfo& type, const Value& value) {
  return (type.kind == TypeKind::kList || type.kind == TypeKind::kMap) && value.empty();
}

bool IsSorted(const json::Object& object) {
  return std::is_sorted(object.begin(), object.end(),
                        [](const auto& a, const auto& b) { return a.first < b.first; });
}

// One walk over one object. Go's decoder reports the first wrong type but goes on; an error of a type that
// decodes itself (quantities, times) stops it at once and wins. Every Visit returns false when it is to stop.
class Walker {
 public:
  explicit Walker(DecodeContext* context, bool stored = false) : context_(context), stored_(stored) {}

  bool Visit(const TypeInfo& type, Value& value, const DecodePlace* place);
  Status Result() const {
    if (fatal_) return Unexpected(BadRequest(*fatal_));
    if (first_) return Unexpected(BadRequest(*first_));
    return {};
  }

 private:
  bool VisitObject(const TypeInfo& type, Value& value, const DecodePlace* place);
  bool VisitMember(const TypeInfo& type, json::Object::Member& member, std::size_t base, std::size_t& next,
                   const DecodePlace* place);
  bool VisitCustom(const TypeInfo& type, Value& value, const DecodePlace* place);
  bool VisitMap(const TypeInfo& type, Value& value, const DecodePlace* place);
  bool VisitList(const TypeInfo& type, Value& value, const DecodePlace* place);
  bool VisitElement(const TypeInfo& type, Value& value, const DecodePlace* place);
  bool VisitAny(const TypeInfo& type, Value& value, const DecodePlace* place);
  bool VisitInteger(const TypeInfo& type, const Value& value, const DecodePlace* place);
  bool VisitBytes(const TypeInfo& type, Value& value, const DecodePlace* place);
  bool VisitByteList(Value& value, const DecodePlace* place);
  bool VisitTime(const TypeInfo& type, Value& value, const DecodePlace* place);
  bool VisitDuration(Value& value, const DecodePlace* place);
  bool VisitQuantity(Value& value, const DecodePlace* place);
  bool VisitIntOrString(const Value& value, const DecodePlace* place);
  void Rebuild(const TypeInfo& type, Value& value, std::size_t base);

  void WrongType(const Value& value, std::string_view literal, const std::string& go_type,
                 const DecodePlace* place);
  bool WrongKind(const TypeInfo& type, const Value& value, const DecodePlace* place);
  bool Stop(std::string message) {
    fatal_ = std::move(message);
    return !checking();
  }
  // A wrong value in a type that decodes itself: the message is made like a wrong type's, but it stops the
  // walk.
  bool StopWrongType(const Value& value, std::string_view literal, const std::string& go_type,
                     const DecodePlace* place);
  std::string WrongTypeText(const Value& value, std::string_view literal, const std::string& go_type,
                            const DecodePlace* place) const;
  const FieldInfo* RepeatedField(const TypeInfo& type, std::string_view key, const DecodePlace* place);
  void Report(std::string_view problem, std::string_view name, const DecodePlace* place);
  bool checking() const { return context_ != nullptr; }

  DecodeContext* context_;  // null: Canonicalize
  const bool stored_;       // empty lists and maps are lost, as by protobuf
  std::optional<std::string> first_, fatal_;
  int depth_ = 0;
  int self_decoding_ = 0;  // levels of types that decode themselves
  // For each object being walked, its members by the number of their field; null where absent.
  std::vector<json::Object::Member*> slots_;
};

bool Walker::Visit(const TypeInfo& type, Value& value, const DecodePlace* place) {
  if (type.schema != nullptr) return VisitCustom(type, value, place);
  switch (type.kind) {
    case TypeKind::kString:
      return value.is_string() || WrongKind(type, value, place);
    case TypeKind::kBool:
      return value.is_bool() || WrongKind(type, value, place);
    case TypeKind::kFloat64:
      return value.is_number() || WrongKind(type, value, place);
    case TypeKind::kInt32:
    case TypeKind::kInt64:
      return VisitInteger(type, value, place);
    case TypeKind::kBytes:
      return VisitBytes(type, value, place);
    case TypeKind::kTime:
    case TypeKind::kMicroTime:
      return VisitTime(type, value, place);
    case TypeKind::kDuration:
      return VisitDuration(value, place);
    case TypeKind::kQuantity:
      return VisitQuantity(value, place);
    case TypeKind::kIntOrString:
      return VisitIntOrString(value, place);
    case TypeKind::kObject:
      return VisitObject(type, value, place);
    case TypeKind::kMap:
      return VisitMap(type, value, place);
    case TypeKind::kList:
      return VisitList(type, value, place);
    case TypeKind::kAny:
      return VisitAny(type, value, place);
    case TypeKind::kRaw:
      break;
  }
  return true;
}

bool Walker::VisitObject(const TypeInfo& type, Value& value, const DecodePlace* place) {
  if (!value.is_object()) return WrongKind(type, value, place);
  if (++depth_ > kMaxDepth) return Stop("exceeded max depth");
  const std::size_t base = slots_.size();
  slots_.resize(base + type.fields.size(), nullptr);
  json::Object& object = value.as_object();
  std::size_t next = 0;
  for (json::Object::Member& member : object) {
    if (!VisitMember(type, member, base, next, place)) return false;
  }
  Rebuild(type, value, base);
  slots_.resize(base);
  --depth_;
  return true;
}

bool Walker::VisitMember(const TypeInfo& type, json::Object::Member& member, std::size_t base,
                         std::size_t& next, const DecodePlace* place) {
  const bool guessed = next < type.fields.size() && type.fields[next].name == member.first;
  const FieldInfo* field = guessed ? &type.fields[next] : type.FindField(member.first);
  if (field == nullptr) field = RepeatedField(type, member.first, place);
  if (field == nullptr) {
    Report("unknown field ", json::UnmarkedKey(member.first), place);
    return true;
  }
  const auto number = static_cast<std::size_t>(field - type.fields.data());
  next = number + 1;
  if (member.second.is_null()) return true;
  if (field->gate != 0 && checking() && !GateEnabled(field->gate)) context_->disabled_fields = true;
  const DecodePlace here{.up = place, .owner = &type, .field = field};
  if (!Visit(*field->type, member.second, &here)) return false;
  if (stored_ && IsLostByProtobuf(*field->type, member.second)) return true;
  // An empty list of owners says: forget them (upstream: isResetManagedFields). Its other form outlives the
  // rule that empty lists are left out.
  if (checking() && field->name == "managedFields" && member.second.is_array() && member.second.empty())
    member.second = json::Array{json::Object{}};
  if (!IsOmitted(*field, member.second)) slots_[base + number] = &member;
  return true;
}

// Puts the members in the table's order with what Go always writes, unless they are so already.
void Walker::Rebuild(const TypeInfo& type, Value& value, std::size_t base) {
  json::Object& object = value.as_object();
  const json::Object::Member* previous = nullptr;
  std::size_t kept = 0, missing = 0;
  bool in_order = true;
  for (std::size_t i = 0; i < type.fields.size(); ++i) {
    const json::Object::Member* member = slots_[base + i];
    if (member == nullptr) {
      missing += WritesZero(type.fields[i]);
      continue;
    }
    ++kept;
    in_order = in_order && (previous == nullptr || previous < member);
    previous = member;
  }
  if (in_order && missing == 0 && kept == object.size()) return;

  json::Object ordered;
  ordered.Reserve(kept + missing);
  for (std::size_t i = 0; i < type.fields.size(); ++i) {
    const FieldInfo& field = type.fields[i];
    if (json::Object::Member* member = slots_[base + i]; member != nullptr) {
      ordered.Append(std::move(member->first), std::move(member->second));
    } else if (WritesZero(field)) {
      ordered.Append(std::string(field.name), AbsentValue(field));
    }
  }
  object = std::move(ordered);
}

bool Walker::VisitCustom(const TypeInfo& type, Value& value, const DecodePlace* place) {
  if (type.kind != TypeKind::kObject || !value.is_object()) return true;
  for (json::Object::Member& member : value.as_object()) {
    const FieldInfo* field = type.FindField(member.first);
    if (field == nullptr || field->type->schema != nullptr || field->type->name.empty()) continue;
    const DecodePlace here{.up = place, .owner = &type, .field = field};
    if (!VisitElement(*field->type, member.second, &here)) return false;
  }
  return true;
}

bool Walker::VisitElement(const TypeInfo& type, Value& value, const DecodePlace* place) {
  if (!value.is_null()) return Visit(type, value, place);
  value = ZeroValue(type);
  return true;
}

bool Walker::VisitMap(const TypeInfo& type, Value& value, const DecodePlace* place) {
  if (!value.is_object()) return WrongKind(type, value, place);
  for (auto& [key, element] : value.as_object()) {
    const std::string_view name = checking() ? json::UnmarkedKey(key) : key;
    if (name.size() != key.size()) Report("duplicate field ", name, place);
    const DecodePlace here{.up = place, .key = name};
    if (!VisitElement(*type.element, element, &here)) return false;
  }
  if (!IsSorted(value.as_object())) value.as_object().SortKeys();
  return true;
}

bool Walker::VisitList(const TypeInfo& type, Value& value, const DecodePlace* place) {
  if (!value.is_array()) return WrongKind(type, value, place);
  json::Array& items = value.as_array();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const DecodePlace here{.up = place, .index = i, .is_index = true};
    if (!VisitElement(*type.element, items[i], &here)) return false;
  }
  return true;
}

// The apiextensions types that are a schema or something else: the schema inside is still a schema.
bool Walker::VisitAny(const TypeInfo& type, Value& value, const DecodePlace* place) {
  const FieldInfo* schema = type.FindField("schema");
  if (schema == nullptr) return true;
  const FieldInfo* schemas = type.FindField("jSONSchemas");
  const TypeInfo* inner = value.is_object()                        ? schema->type
                          : schemas != nullptr && value.is_array() ? schemas->type
                                                                   : nullptr;
  if (inner == nullptr) return true;
  // Such a type decodes itself upstream, where unknown fields go unnoticed.
  ++self_decoding_;
  const bool go_on = Visit(*inner, value, place);
  --self_decoding_;
  return go_on;
}

bool Walker::VisitInteger(const TypeInfo& type, const Value& value, const DecodePlace* place) {
  if (!value.is_number()) return WrongKind(type, value, place);
  using Int32 = std::numeric_limits<std::int32_t>;
  const bool fits = value.is_int() && (type.kind == TypeKind::kInt64 ||
                                       (value.as_int() >= Int32::min() && value.as_int() <= Int32::max()));
  if (!fits) WrongType(value, NumberText(value), GoTypeName(type), place);
  return true;
}

// Go takes a list of numbers for bytes too.
bool Walker::VisitByteList(Value& value, const DecodePlace* place) {
  std::string bytes;
  for (const Value& element : value.as_array()) {
    if (!element.is_number()) {
      WrongType(element, {}, "uint8", place);
      return true;
    }
    const bool fits = element.is_int() && element.as_int() >= 0 && element.as_int() <= 255;
    if (!fits) WrongType(element, NumberText(element), "uint8", place);
    if (!fits) return true;
    bytes += static_cast<char>(element.as_int());
  }
  value = EncodeBase64(bytes);
  return true;
}

bool Walker::VisitBytes(const TypeInfo& type, Value& value, const DecodePlace* place) {
  if (value.is_array()) return VisitByteList(value, place);
  if (!value.is_string()) return WrongKind(type, value, place);
  if (IsCanonicalBase64(value.as_string())) return true;
  std::string bytes;
  std::size_t bad = 0;
  if (DecodeBase64(value.as_string(), bytes, bad)) {
    value = EncodeBase64(bytes);
  } else if (!first_) {
    first_ = "illegal base64 data at input byte " + std::to_string(bad);
  }
  return true;
}

bool Walker::VisitTime(const TypeInfo& type, Value& value, const DecodePlace* place) {
  if (!value.is_string()) return StopWrongType(value, {}, "string", place);
  const bool micro = type.kind == TypeKind::kMicroTime;
  const flyball::Result<Time> time = micro ? ParseMicroTime(value.as_string()) : ParseTime(value.as_string());
  if (!time) return Stop(time.error().message());
  if (time->IsZero()) {
    value = nullptr;
    return true;
  }
  const std::string text = micro ? FormatMicroTime(*time) : FormatTime(*time);
  if (value.as_string() != text) value = text;
  return true;
}

bool Walker::VisitDuration(Value& value, const DecodePlace* place) {
  if (!value.is_string()) return StopWrongType(value, {}, "string", place);
  const flyball::Result<Duration> duration = ParseDuration(value.as_string());
  if (!duration) return Stop(duration.error().message());
  const std::string text = FormatDuration(*duration);
  if (value.as_string() != text) value = text;
  return true;
}

bool Walker::VisitQuantity(Value& value, const DecodePlace* place) {
  if (value.is_string() && IsPlainCanonicalQuantity(value.as_string())) return true;
  std::string text;
  if (value.is_number()) {
    text = value.is_int() ? std::to_string(value.as_int()) : NumberText(value);
  } else if (value.is_string()) {
    text = Trimmed(value.as_string());
  }
  flyball::Result<Quantity> quantity = Quantity::Parse(text);
  if (!quantity) return Stop(quantity.error().message());
  // Only resource lists are maps of quantities: upstream's defaults round them up to a milli.
  const bool resource_list = place != nullptr && place->field == nullptr && !place->is_index;
  if (resource_list) quantity->RoundUp(Quantity::kMilli);
  text = quantity->ToString();
  if (!value.is_string() || value.as_string() != text) value = text;
  return true;
}

bool Walker::VisitIntOrString(const Value& value, const DecodePlace* place) {
  if (value.is_string()) return true;
  if (!value.is_number()) return StopWrongType(value, {}, "int32", place);
  using Int32 = std::numeric_limits<std::int32_t>;
  const bool fits = value.is_int() && value.as_int() >= Int32::min() && value.as_int() <= Int32::max();
  return fits || StopWrongType(value, NumberText(value), "int32", place);
}

std::string Walker::WrongTypeText(const Value& value, std::string_view literal, const std::string& go_type,
                                  const DecodePlace* place) const {
  std::string text = "json: cannot unmarshal ";
  text += json::GoKindName(value);
  if (!literal.empty()) text.append(" ").append(literal);
  const DecodePlace* field = NearestField(place);
  if (field == nullptr) return text + " into Go value of type " + go_type;
  std::string stack;
  AppendFieldStack(place, stack);
  text.append(" into Go struct field ").append(ShortTypeName(*field->owner)).append(".").append(stack);
  return text + " of type " + go_type;
}

void Walker::WrongType(const Value& value, std::string_view literal, const std::string& go_type,
                       const DecodePlace* place) {
  if (checking() && !first_) first_ = WrongTypeText(value, literal, go_type, place);
}

// The Go type of the value at this place.
std::string GoNameAt(const TypeInfo& type, const DecodePlace* place) {
  if (place == nullptr) return GoTypeName(type);
  if (place->field != nullptr) return GoFieldTypeName(*place->owner, *place->field);
  const DecodePlace* list = place->up;
  const bool element = list != nullptr && list->field != nullptr;
  return element ? GoElementTypeName(*list->owner, *list->field) : GoTypeName(type);
}

bool Walker::WrongKind(const TypeInfo& type, const Value& value, const DecodePlace* place) {
  if (!checking() || first_) return true;
  WrongType(value, {}, GoNameAt(type, place), place);
  return true;
}

bool Walker::StopWrongType(const Value& value, std::string_view literal, const std::string& go_type,
                           const DecodePlace* place) {
  return !checking() || Stop(WrongTypeText(value, literal, go_type, place));
}

// The field of a member that repeats an earlier one, reported (see decode_repeated.h); null if there is none.
const FieldInfo* Walker::RepeatedField(const TypeInfo& type, std::string_view key, const DecodePlace* place) {
  if (!json::IsRepeated(key)) return nullptr;
  const FieldInfo* field = type.FindField(json::UnmarkedKey(key));
  if (field != nullptr) Report("duplicate field ", field->name, place);
  return field;
}

void Walker::Report(std::string_view problem, std::string_view name, const DecodePlace* place) {
  if (!checking() || self_decoding_ > 0) return;
  std::string path;
  AppendPath(place, path);
  if (!path.empty()) path += '.';
  path += name;
  context_->Add(problem, path);
}

}  // namespace

void DecodeContext::Add(std::string_view problem, std::string_view path) {
  if (strict_errors.size() >= kMaxStrictErrors) return;
  std::string text = std::string(problem) + GoQuote(path);
  if (std::find(strict_errors.begin(), strict_errors.end(), text) == strict_errors.end())
    strict_errors.push_back(std::move(text));
}

void DecodeContext::AddDuplicates(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) Add("duplicate field ", path);
}

Status Decode(const TypeInfo& type, Value& object, DecodeContext& context) {
  Walker walker(&context);
  walker.Visit(type, object, nullptr);
  return walker.Result();
}

void Canonicalize(const TypeInfo& type, Value& value) {
  Walker(nullptr).Visit(type, value, nullptr);
}

void CanonicalizeStored(const TypeInfo& type, Value& value) {
  Walker(nullptr, true).Visit(type, value, nullptr);
}

Error CannotBeHandled(std::string_view kind, std::string_view version, std::string_view as_kind,
                      std::string_view cause) {
  std::string message(kind);
  message += " in version " + GoQuote(version) + " cannot be handled as a ";
  message.append(as_kind).append(": ").append(cause);
  return BadRequest(std::move(message));
}

std::string StrictErrorText(const DecodeContext& context) {
  std::string text = "strict decoding error: ";
  for (std::size_t i = 0; i < context.strict_errors.size(); ++i) {
    if (i > 0) text += ", ";
    text += context.strict_errors[i];
  }
  return text;
}

}  // namespace flyball::api
