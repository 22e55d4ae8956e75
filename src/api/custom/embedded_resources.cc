// Embedded resources (x-kubernetes-embedded-resource): what names them, and their metadata
// (upstream: schema/objectmeta).
#include "api/custom/custom_object.h"
#include "api/schema/decode.h"

namespace flyball::api {

namespace {

using json::Value;

class EmbeddedDecoder {
 public:
  explicit EmbeddedDecoder(std::vector<std::string>* unknown) : unknown_(unknown) {}

  const std::string& problem() const { return problem_; }

  void Visit(const TypeInfo& type, Value& value, const FieldPath& path, bool root) {
    if (!problem_.empty()) return;
    if (value.is_array() && type.kind == TypeKind::kList) {
      for (std::size_t i = 0; i < value.size(); ++i)
        Visit(*type.element, value.as_array()[i], path.Index(i), false);
    } else if (value.is_object()) {
      if (type.embedded_resource && !root) DecodeResource(value, path);
      VisitMembers(type, value.as_object(), path);
    }
  }

 private:
  void VisitMembers(const TypeInfo& type, json::Object& object, const FieldPath& path) {
    for (auto& [name, member] : object) {
      const FieldInfo* field = type.FindField(name);
      const TypeInfo* additional = type.kind == TypeKind::kMap ? type.element : type.additional;
      const TypeInfo* child = field != nullptr ? field->type : additional;
      if (child == nullptr || child->schema == nullptr) continue;
      Visit(*child, member, field != nullptr ? path.Child(name) : path.Key(name), false);
    }
  }

  void Refuse(const FieldPath& path, const Value& value, std::string_view why) {
    FieldErrors errors;
    errors.Invalid(path, value, why);
    if (problem_.empty()) problem_ = errors.causes()[0].field + ": " + errors.causes()[0].message;
  }

  void DecodeResource(Value& resource, const FieldPath& path) {
    for (const char* member : {"apiVersion", "kind"})
      if (const Value* text = std::as_const(resource).Find(member); text != nullptr && !text->is_string())
        Refuse(path.Child(member), *text, "must be a string");
    Value* metadata = resource.as_object().Find("metadata");
    if (metadata != nullptr && problem_.empty()) DecodeMetadata(*metadata, path.Child("metadata"));
  }

  void DecodeMetadata(Value& metadata, const FieldPath& path) {
    Value decoded = metadata.is_null() ? Value(json::Object()) : metadata;
    DecodeContext context;
    if (auto status = Decode(ObjectMetaType(), decoded, context); !status)
      return Refuse(path, metadata, status.error().message());
    metadata = std::move(decoded);
    if (unknown_ == nullptr) return;
    // unknown field "a" becomes unknown field "spec.object.metadata.a".
    for (const std::string& problem : context.strict_errors)
      unknown_->push_back(problem.substr(0, problem.find('"') + 1) + path.text() + '.' +
                          problem.substr(problem.find('"') + 1));
  }

  std::vector<std::string>* unknown_;
  std::string problem_;
};

}  // namespace

std::string DecodeEmbeddedResources(const CustomSchema& schema, Value& object,
                                    std::vector<std::string>* unknown) {
  EmbeddedDecoder decoder(unknown);
  decoder.Visit(schema.type(), object, FieldPath(), true);
  return decoder.problem();
}

}  // namespace flyball::api
