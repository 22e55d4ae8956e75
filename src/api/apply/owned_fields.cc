#include "api/apply/owned_fields.h"

#include <string>

namespace flyball::api {
namespace {

bool IsMember(const json::Value& below) {
  return below.empty() || below.Find(".") != nullptr;
}

// True if a member of the set is one of the document. Walks the set, which is the smaller of the two.
bool IntersectsDocument(const json::Value& document, const FieldSet& fields) {
  std::string name;
  for (const auto& node : fields.nodes()) {
    name.clear();
    node.element.AppendEncoded(name);
    const json::Value* below = document.Find(name);
    if (below == nullptr) continue;
    if (node.member && IsMember(*below)) return true;
    if (IntersectsDocument(*below, node.below)) return true;
  }
  return false;
}

bool DocumentContains(const json::Value& document, const FieldSet& fields) {
  std::string name;
  for (const auto& node : fields.nodes()) {
    name.clear();
    node.element.AppendEncoded(name);
    const json::Value* below = document.Find(name);
    if (below == nullptr || (node.member && !IsMember(*below)) || !DocumentContains(*below, node.below)) {
      return false;
    }
  }
  return true;
}

}  // namespace

OwnedFields OwnedFields::Stored(json::Value fields_v1) {
  OwnedFields out;
  if (fields_v1.is_object()) out.state_ = std::move(fields_v1);
  return out;
}

Result<OwnedFields> OwnedFields::Decode(const json::Value& fields_v1) {
  FLYBALL_ASSIGN(FieldSet set, FieldSet::FromFieldsV1(fields_v1));
  return OwnedFields(std::move(set));
}

const FieldSet& OwnedFields::set() {
  if (const auto* document = std::get_if<json::Value>(&state_)) {
    auto set = FieldSet::FromFieldsV1(*document);
    state_ = set ? std::move(*set) : FieldSet();
  }
  return std::get<FieldSet>(state_);
}

bool OwnedFields::empty() const {
  if (const auto* document = std::get_if<json::Value>(&state_)) return document->empty();
  return std::get<FieldSet>(state_).empty();
}

bool OwnedFields::Intersects(const FieldSet& fields) const {
  if (const auto* document = std::get_if<json::Value>(&state_)) return IntersectsDocument(*document, fields);
  return std::get<FieldSet>(state_).Intersects(fields);
}

bool OwnedFields::Contains(const FieldSet& fields) const {
  if (const auto* document = std::get_if<json::Value>(&state_)) return DocumentContains(*document, fields);
  return std::get<FieldSet>(state_).Contains(fields);
}

void OwnedFields::Add(const FieldSet& fields) {
  if (!Contains(fields)) state_ = set().Union(fields);
}

void OwnedFields::Remove(const FieldSet& fields) {
  if (Intersects(fields)) state_ = set().Difference(fields);
}

json::Value OwnedFields::ToFieldsV1() && {
  if (auto* document = std::get_if<json::Value>(&state_)) return std::move(*document);
  return std::get<FieldSet>(state_).ToFieldsV1();
}

}  // namespace flyball::api
