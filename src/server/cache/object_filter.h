// ObjectFilter: which objects of a resource a list or watch is about.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "api/select/selector.h"
#include "server/cache/stored_object.h"

namespace flyball::server {

// One thing that all objects a filter accepts have in common: a label with a value, or a selectable field.
struct SelectorTerm {
  std::string label;      // the label's key; empty: it is a field
  std::size_t field = 0;  // into StoredObject::fields()
  std::string value;

  bool SameSelector(const SelectorTerm& other) const { return label == other.label && field == other.field; }
};

// What the object says for the term's label or field; nullopt if it has no such label.
std::optional<std::string_view> ValueOf(const StoredObject& object, const SelectorTerm& term);

// Empty members mean "all". A value; thread-safe once made.
struct ObjectFilter {
  std::string namespace_name{};
  std::string name{};
  api::LabelSelector labels{};
  api::FieldSelector fields{};

  bool Accepts(const StoredObject& object) const;
  // Whether it selects by anything but the namespace.
  bool selective() const { return !name.empty() || !labels.empty() || !fields.empty(); }
  // Whether it selects by labels, or by fields other than name and namespace.
  bool SelectsByContent() const;
  // Of it, what does not depend on an object's content.
  ObjectFilter ByName() const { return {.namespace_name = namespace_name, .name = name}; }
  // Every equality it demands, fields other than name and namespace first: for indexes.
  std::vector<SelectorTerm> Terms() const;
};

}  // namespace flyball::server
