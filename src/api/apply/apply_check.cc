#include <string>
#include <vector>

#include "api/apply/apply_merge.h"
#include "api/apply/apply_type.h"
#include "api/values/go_text.h"
#include "json/json.h"

namespace flyball::api {
namespace {

using json::Value;

// fmt's %#v of what JSON decodes to.
void AppendGoSyntax(const Value& value, std::string& out) {
  if (value.is_array()) {
    out += "[]interface {}{";
    for (const Value& item : value.as_array()) {
      if (out.back() != '{') out += ", ";
      AppendGoSyntax(item, out);
    }
    out += '}';
  } else if (value.is_object()) {
    json::Object sorted = value.as_object();
    sorted.SortKeys();
    out += "map[string]interface {}{";
    for (const auto& [name, member] : sorted) {
      if (out.back() != '{') out += ", ";
      out.append(GoQuote(name)).append(":");
      AppendGoSyntax(member, out);
    }
    out += '}';
  } else if (value.is_null()) {
    out += "interface {}(nil)";
  } else {
    out += value.is_string() ? GoQuote(value.as_string()) : json::Write(value);
  }
}

// The value as fmt's %v shows upstream's wrapper of it.
std::string ValueText(const Value& value) {
  return "&{" + GoPrint(value) + "}";
}

class Checker {
 public:
  void CheckAt(const ApplyType& type, const Value& value);
  Status Finish() const;

 private:
  // Where the checker is: rendered only if something is wrong there.
  struct Step {
    const Step* above;
    std::string_view member;
    const PathElement* item;  // null: a member
  };

  void CheckScalar(TypeKind kind, const Value& value);
  void CheckMembers(const ApplyType& type, const Value& value);
  void CheckList(const ApplyType& type, const Value& value);
  void CheckBelow(std::string_view member, const PathElement* item, const ApplyType& type,
                  const Value& value);
  // At the place itself, or at one of its members.
  void Report(std::string_view message, std::string_view member = {});

  const Step* at_ = nullptr;
  int depth_ = 0;
  std::vector<std::string> errors_;
};

void Checker::Report(std::string_view message, std::string_view member) {
  std::string path;
  if (!member.empty()) path.append(".").append(member);
  for (const Step* step = at_; step != nullptr; step = step->above) {
    path.insert(0, step->item != nullptr ? step->item->ToString() : "." + std::string(step->member));
  }
  errors_.push_back(path.append(": ").append(message));
}

void Checker::CheckBelow(std::string_view member, const PathElement* item, const ApplyType& type,
                         const Value& value) {
  if (depth_ >= FieldSet::kMaxDepth) return;  // one leaf from here on
  const Step step{at_, member, item};
  at_ = &step;
  ++depth_;
  CheckAt(type, value);
  --depth_;
  at_ = step.above;
}

void Checker::CheckScalar(TypeKind kind, const Value& value) {
  const bool collection = value.is_array() || value.is_object();
  switch (kind) {
    case TypeKind::kInt32:
    case TypeKind::kInt64:
    case TypeKind::kFloat64:
      if (!value.is_number()) {
        Report(std::string("expected numeric (int or float), got ").append(GoTypeOf(value)));
      }
      return;
    case TypeKind::kString:
    case TypeKind::kBytes:
    case TypeKind::kDuration:
      if (!value.is_string()) {
        std::string text = "expected string, got &value.valueUnstructured{Value:";
        AppendGoSyntax(value, text);
        Report(text += '}');
      }
      return;
    case TypeKind::kBool:
      if (!value.is_bool()) Report("expected boolean, got " + ValueText(value));
      return;
    default:
      if (collection) Report("expected any scalar, got " + ValueText(value));
  }
}

void Checker::CheckMembers(const ApplyType& type, const Value& value) {
  if (!value.is_object()) return Report("expected map, got " + ValueText(value));
  MemberTypes types(type);
  for (const auto& [name, member] : value.as_object()) {
    const MemberType found = types.Find(name);
    if (!found.declared) return Report("field not declared in schema", name);
    CheckBelow(name, nullptr, found.type, member);
  }
}

void Checker::CheckList(const ApplyType& type, const Value& value) {
  if (!value.is_array()) return Report("expected list, got " + ValueText(value));
  const bool told_apart = type.type->list_type != ListType::kAtomic;
  FieldSet seen;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const Value& item = value.as_array()[i];
    PathElement element = PathElement::Index(static_cast<std::int64_t>(i));
    if (told_apart) {
      auto found = ItemElement(type, item);
      if (!found) return Report("element " + std::to_string(i) + ": " + found.error().message());
      element = std::move(*found);
      if (seen.HasElement(element)) Report("duplicate entries for key " + element.ToString());
      seen.Insert({&element, 1});
    }
    CheckBelow({}, &element, ItemType(type), item);
  }
}

void Checker::CheckAt(const ApplyType& type, const Value& value) {
  if (value.is_null()) return;
  switch (type.type != nullptr ? type.type->kind : TypeKind::kAny) {
    case TypeKind::kObject:
    case TypeKind::kMap:
    case TypeKind::kRaw:
      return CheckMembers(type, value);
    case TypeKind::kList:
      return CheckList(type, value);
    case TypeKind::kAny:
    case TypeKind::kQuantity:
    case TypeKind::kIntOrString:
      return;  // whatever it is
    default:
      return CheckScalar(type.type->kind, value);
  }
}

Status Checker::Finish() const {
  if (errors_.empty()) return {};
  if (errors_.size() == 1) return Unexpected(BadRequest(errors_.front()));
  std::string message = "errors:";
  for (const std::string& error : errors_) message.append("\n  ").append(error);
  return Unexpected(BadRequest(std::move(message)));
}

}  // namespace

Status CheckConfiguration(const TypeInfo& type, const Value& value) {
  Checker checker;
  checker.CheckAt(ApplyType::Of(type), value);
  return checker.Finish();
}

}  // namespace flyball::api
