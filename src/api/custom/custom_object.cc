#include "api/custom/custom_object.h"

#include "api/schema/decode_place.h"
#include "json/json.h"

namespace flyball::api {

namespace {

using json::Value;

constexpr std::size_t kMaxReported = 100;

class Pruner {
 public:
  explicit Pruner(std::vector<std::string>* unknown) : unknown_(unknown) {}

  bool changed() const { return changed_; }

  // What the value is decides, not what the schema says it should be: nothing is known of the members of an
  // object where a text belongs.
  void Visit(const TypeInfo& type, Value& value, const DecodePlace* place) {
    if (type.kind == TypeKind::kAny) return;
    if (value.is_object()) {
      if (type.kind == TypeKind::kMap) return VisitElements(*type.element, value.as_object(), place);
      VisitObject(type, value.as_object(), place);
    } else if (value.is_array()) {
      const bool known = type.kind == TypeKind::kList;
      if (!known && type.preserve_unknown) return;
      VisitList(known ? *type.element : NothingKnown(), value.as_array(), place);
    }
  }

 private:
  static const TypeInfo& NothingKnown() {
    static const TypeInfo* const type = [] {
      auto* made = new TypeInfo;
      made->kind = TypeKind::kObject;
      return made;
    }();
    return *type;
  }
  void VisitElements(const TypeInfo& element, json::Object& object, const DecodePlace* place) {
    for (auto& [key, value] : object) {
      const DecodePlace here{.up = place, .key = key};
      Visit(element, value, &here);
    }
  }
  void VisitList(const TypeInfo& element, json::Array& list, const DecodePlace* place) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      const DecodePlace here{.up = place, .index = i, .is_index = true};
      Visit(element, list[i], &here);
    }
  }
  void VisitObject(const TypeInfo& type, json::Object& object, const DecodePlace* place) {
    bool any_unknown = false;
    const auto is_unknown = [&](const FieldInfo* field) {
      return field == nullptr && type.additional == nullptr && !type.preserve_unknown;
    };
    for (auto& [name, member] : object) {
      const FieldInfo* field = type.FindField(name);
      const TypeInfo* child = field != nullptr ? field->type : type.additional;
      const DecodePlace here{.up = place, .key = name};
      if (is_unknown(field)) {
        any_unknown = true;
        Report(&here);
      } else if (child != nullptr && child->schema != nullptr) {
        Visit(*child, member, &here);
      }
    }
    if (any_unknown)
      object.EraseIf([&](std::string_view name, const Value&) { return is_unknown(type.FindField(name)); });
  }

  void Report(const DecodePlace* place) {
    changed_ = true;
    if (unknown_ == nullptr || unknown_->size() >= kMaxReported) return;
    std::string path;
    AppendPath(place, path);
    unknown_->push_back("unknown field \"" + path + '"');
  }

  std::vector<std::string>* unknown_;
  bool changed_ = false;
};

class Defaulter {
 public:
  void Visit(const TypeInfo& type, Value& value) {
    if (type.kind == TypeKind::kObject && value.is_object()) {
      VisitFields(type, value.as_object());
    } else if (type.kind == TypeKind::kMap && value.is_object()) {
      for (auto& member : value.as_object()) Visit(*type.element, member.second);
    } else if (type.kind == TypeKind::kList && value.is_array()) {
      for (auto& element : value.as_array()) Visit(*type.element, element);
    }
  }
  bool changed() const { return changed_; }

 private:
  void VisitFields(const TypeInfo& type, json::Object& object) {
    DropNulls(type, object);
    for (const FieldInfo& field : type.fields) {
      Value* member = object.Find(field.name);
      const bool bare_null = member != nullptr && member->is_null() && !field.type->nullable;
      if ((member == nullptr || bare_null) && !field.default_json.empty()) {
        if (auto preset = json::Parse(field.default_json)) object.Set(field.name, std::move(*preset));
        changed_ = true;
        member = object.Find(field.name);
      }
      if (member != nullptr && field.type->schema != nullptr) Visit(*field.type, *member);
    }
    if (type.additional == nullptr) return;
    for (auto& [name, member] : object)
      if (type.FindField(name) == nullptr) Visit(*type.additional, member);
  }

  // Nulls that stand for absent members; erased all at once.
  void DropNulls(const TypeInfo& type, json::Object& object) {
    object.EraseIf([&](std::string_view name, const Value& member) {
      const FieldInfo* field = member.is_null() ? type.FindField(name) : nullptr;
      const bool drop = field != nullptr && !field->type->nullable && field->default_json.empty() &&
                        field->type->schema != nullptr && field->type->kind != TypeKind::kAny;
      changed_ = changed_ || drop;
      return drop;
    });
  }

  bool changed_ = false;
};

}  // namespace

bool PruneCustomObject(const TypeInfo& type, Value& object, std::vector<std::string>* unknown) {
  Pruner pruner(unknown);
  pruner.Visit(type, object, nullptr);
  return pruner.changed();
}

bool PruneCustomObject(const CustomSchema& schema, Value& object, std::vector<std::string>* unknown) {
  return PruneCustomObject(schema.type(), object, unknown);
}

bool DefaultCustomObject(const TypeInfo& type, Value& object) {
  Defaulter defaulter;
  defaulter.Visit(type, object);
  return defaulter.changed();
}

bool DefaultCustomObject(const CustomSchema& schema, Value& object) {
  return DefaultCustomObject(schema.type(), object);
}

}  // namespace flyball::api
