#include "server/admission/policy/mutation.h"

#include <cmath>

#include "api/apply/apply_merge.h"
#include "api/apply/apply_type.h"
#include "cel/text/base64.h"
#include "cel/text/number_text.h"
#include "json/patch.h"

namespace flyball::server {
namespace {

Error MutationError(std::string message) {
  return Error(Reason::kUnknown, 500, std::move(message));
}

const cel::PatchValue* PatchOf(const cel::Value& value, cel::OpaqueKind kind) {
  if (!value.Is(cel::ValueKind::kOpaque) || value.opaque()->kind != kind) return nullptr;
  return static_cast<const cel::PatchValue*>(value.opaque());
}

// Integers beyond this lose digits as a double: JSON Patch values go through one, and become texts instead.
constexpr std::int64_t kMaxSafeInteger = (std::int64_t{1} << 53) - 1;

// Values as JSON. Apply configurations keep integers as they are; the values of JSON patches go through
// protobuf's Value.
class JsonWriter {
 public:
  JsonWriter(cel::Arena& arena, bool through_protobuf) : arena_(arena), protobuf_(through_protobuf) {}

  Result<json::Value> Write(const cel::Value& value) {
    switch (value.kind()) {
      case cel::ValueKind::kNull:
        return json::Value();
      case cel::ValueKind::kBool:
        return json::Value(value.as_bool());
      case cel::ValueKind::kInt:
        if (protobuf_ && (value.as_int() > kMaxSafeInteger || value.as_int() < -kMaxSafeInteger))
          return json::Value(std::to_string(value.as_int()));
        return json::Value(value.as_int());
      case cel::ValueKind::kUint:
        if (value.as_uint() > static_cast<std::uint64_t>(kMaxSafeInteger))
          return json::Value(std::to_string(value.as_uint()));
        return json::Value(static_cast<std::int64_t>(value.as_uint()));
      case cel::ValueKind::kDouble:
        return Number(value.as_double());
      case cel::ValueKind::kString:
        return json::Value(std::string(value.text()));
      case cel::ValueKind::kBytes:
        return json::Value(cel::EncodeBase64(value.text()));
      case cel::ValueKind::kDuration:
      case cel::ValueKind::kTimestamp:
        return json::Value(cel::DisplayText(arena_, value));
      case cel::ValueKind::kList:
        return List(value);
      case cel::ValueKind::kMap:
        return Map(value);
      case cel::ValueKind::kOptional:
        return value.optional() ? Write(*value.optional()) : Result<json::Value>(json::Value());
      default:
        break;
    }
    if (const auto* object = PatchOf(value, cel::OpaqueKind::kObject))
      return Map(cel::Value::Map(object->fields));
    return Unexpected(MutationError("type conversion error from '" + std::string(cel::TypeNameOf(value)) +
                                    "' to 'google.protobuf.Value'"));
  }

 private:
  static Result<json::Value> Number(double number) {
    if (std::isfinite(number) && number == std::floor(number) && std::abs(number) <= 1e15)
      return json::Value(static_cast<std::int64_t>(number));
    return json::Value(number);
  }
  Result<json::Value> List(const cel::Value& list) {
    json::Array out;
    for (std::size_t i = 0; i < cel::ListSize(list); ++i) {
      FLYBALL_ASSIGN(json::Value element, Write(cel::ListElement(arena_, list, i)));
      out.push_back(std::move(element));
    }
    return json::Value(std::move(out));
  }
  Result<json::Value> Map(const cel::Value& map) {
    json::Object out;
    Status status;
    cel::ForEachEntry(arena_, map, true, [&](const cel::Value& key, const cel::Value& value) {
      status = Entry(key, value, out);
      return status.has_value();
    });
    if (!status) return Unexpected(status.error());
    return json::Value(std::move(out));
  }
  Status Entry(const cel::Value& key, const cel::Value& value, json::Object& out) {
    if (!key.Is(cel::ValueKind::kString))
      return Unexpected(MutationError("map key " + cel::QuoteGo(cel::DisplayText(arena_, key)) +
                                      " is of type " + std::string(cel::GoTypeName(key)) + ", not string"));
    FLYBALL_ASSIGN(json::Value written, Write(value));
    out.Set(key.text(), std::move(written));
    return {};
  }

  cel::Arena& arena_;
  const bool protobuf_;
};

// Object.spec{} must stand where the field spec of an Object{} is. Maps and lists in between have no names.
class TypeNames {
 public:
  explicit TypeNames(cel::Arena& arena) : arena_(arena) {}

  Status Check(const cel::Value& root) {
    Visit(root, "Object");
    if (errors_.empty()) return {};
    return Unexpected(MutationError("type mismatch: " + errors_));
  }

 private:
  void Visit(const cel::Value& value, const std::string& path) {
    if (const auto* object = PatchOf(value, cel::OpaqueKind::kObject)) {
      if (object->type->name != path)
        errors_ += (errors_.empty() ? "" : "\n") +
                   ("unexpected type name " + cel::QuoteGo(object->type->name)) + ", expected " +
                   cel::QuoteGo(path) + ", which matches field name path from root Object type";
      for (const auto& field : *object->fields)
        Visit(field.value, path + "." + std::string(field.key.text()));
    } else if (value.Is(cel::ValueKind::kList) && value.holding() != cel::Holding::kJson) {
      for (std::size_t i = 0; i < cel::ListSize(value); ++i) Visit(cel::ListElement(arena_, value, i), path);
    } else if (value.Is(cel::ValueKind::kMap) && value.holding() != cel::Holding::kJson) {
      cel::ForEachEntry(arena_, value, true, [&](const cel::Value&, const cel::Value& entry) {
        Visit(entry, path);
        return true;
      });
    }
  }

  cel::Arena& arena_;
  std::string errors_;
};

void CollectAtomics(const api::ApplyType& type, const json::Value& value, const std::string& path,
                    std::string& out) {
  if (!value.is_object() && !value.is_array()) return;
  const auto grain = api::GrainOf(type, value);
  if (grain == api::Grain::kWhole) out += (out.empty() ? "" : ", ") + path;
  if (value.is_object()) {
    api::MemberTypes members(type);
    for (const auto& [key, member] : value.as_object()) {
      const auto declared = members.Find(key);
      if (declared.field) CollectAtomics(declared.type, member, path + "." + std::string(key), out);
    }
  } else if (type.type && type.type->element) {
    const auto item = api::ApplyType::Of(*type.type->element);
    for (std::size_t i = 0; i < value.size(); ++i)
      CollectAtomics(item, value.as_array()[i], path + "[" + std::to_string(i) + "]", out);
  }
}

Result<json::Value> ApplyTo(const cel::Value& result, cel::Arena& arena, const api::TypeInfo& type,
                            const json::Value& object) {
  FLYBALL_TRY(TypeNames(arena).Check(result));
  FLYBALL_ASSIGN(json::Value configuration, JsonWriter(arena, false).Write(result));
  configuration["apiVersion"] = object["apiVersion"];
  configuration["kind"] = object["kind"];
  constexpr const char* kApplying = "error applying patch: ";
  if (auto checked = api::CheckConfiguration(type, configuration); !checked)
    return Unexpected(MutationError(
        std::string(kApplying) +
        "failed to convert patch object to typed object: " + std::string(checked.error().message())));
  if (const auto atomics = FindAtomicParts(type, configuration); !atomics.empty())
    return Unexpected(MutationError(std::string(kApplying) +
                                    "invalid ApplyConfiguration: may not mutate atomic arrays, maps or "
                                    "structs: " +
                                    atomics));
  return api::MergeConfiguration(type, object, configuration);
}

Result<json::Value> OperationOf(const cel::PatchValue& patch, cel::Arena& arena) {
  json::Object operation;
  const auto text = [&](const char* name) {
    const cel::Value* field = patch.fields->Find(cel::Value::String(name));
    return field ? std::string(field->text()) : std::string();
  };
  operation.Set("op", text("op"));
  operation.Set("path", text("path"));
  if (auto from = text("from"); !from.empty()) operation.Set("from", std::move(from));
  if (const cel::Value* value = patch.fields->Find(cel::Value::String("value"))) {
    if (PatchOf(*value, cel::OpaqueKind::kObject)) FLYBALL_TRY(TypeNames(arena).Check(*value));
    auto written = JsonWriter(arena, true).Write(*value);
    if (!written)
      return Unexpected(
          MutationError("JSONPath valueExpression evaluated to a type that could not marshal to JSON: " +
                        std::string(written.error().message())));
    operation.Set("value", std::move(*written));
  }
  return json::Value(std::move(operation));
}

bool IsFailedTest(const Error& error) {
  return std::string_view(error.message()).ends_with("failed: test failed");
}

Result<json::Value> PatchWith(const cel::Value& result, cel::Arena& arena, const json::Value& object) {
  json::Array operations;
  for (std::size_t i = 0; i < cel::ListSize(result); ++i) {
    const cel::Value element = cel::ListElement(arena, result, i);
    const auto* patch = PatchOf(element, cel::OpaqueKind::kJsonPatch);
    if (!patch)
      return Unexpected(
          MutationError("type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch"));
    FLYBALL_ASSIGN(json::Value operation, OperationOf(*patch, arena));
    operations.push_back(std::move(operation));
  }
  auto patched = json::ApplyJsonPatch(object, std::move(operations));
  // A patch whose test fails is not applied.
  if (!patched && IsFailedTest(patched.error())) return object;
  if (!patched) return Unexpected(MutationError("JSON Patch: " + std::string(patched.error().message())));
  return patched;
}

}  // namespace

std::string FindAtomicParts(const api::TypeInfo& type, const json::Value& configuration) {
  std::string out;
  CollectAtomics(api::ApplyType::Of(type), configuration, "", out);
  return out;
}

Result<json::Value> Mutate(const CompiledPolicy::Mutation& mutation,
                           const std::vector<cel::PolicyVariableExpression>& variables,
                           const cel::PolicyInputs& inputs, const api::TypeInfo& type,
                           const json::Value& object) {
  if (!mutation.expression.expression) return Unexpected(MutationError(mutation.expression.error));
  cel::PolicyEvaluation evaluation(inputs, variables, cel::kPolicyCostBudget);
  const cel::PolicyResult result = evaluation.Evaluate(mutation.expression);
  if (!result.ok()) return Unexpected(MutationError(result.error));
  return mutation.json_patch ? PatchWith(result.value, evaluation.arena(), object)
                             : ApplyTo(result.value, evaluation.arena(), type, object);
}

}  // namespace flyball::server
