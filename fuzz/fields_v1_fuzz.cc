// fieldsV1 documents: whatever is decoded is written back canonically, and set operations agree with each
// other.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "api/apply/field_set.h"
#include "api/apply/owned_fields.h"
#include "json/json.h"

namespace {

using flyball::api::FieldSet;
using flyball::api::OwnedFields;

void Require(bool condition) {
  if (!condition) std::abort();
}

void CheckRoundTrip(const FieldSet& set) {
  const auto again = FieldSet::FromFieldsV1(set.ToFieldsV1());
  Require(again && *again == set);
  FieldSet inserted;
  set.ForEach([&](auto path) { inserted.Insert(path); });
  Require(inserted == set);
}

void CheckOperations(const FieldSet& a, const FieldSet& b) {
  const FieldSet both = a.Union(b);
  Require(both.Contains(a) && both.Contains(b) && both == b.Union(a));
  const FieldSet common = a.Intersection(b);
  Require(a.Difference(b).Union(common) == a);
  Require(a.Intersects(b) == !common.empty());
  Require(OwnedFields::Stored(a.ToFieldsV1()).Intersects(b) == a.Intersects(b));
  Require(a.Contains(a.RecursiveDifference(b)) && a.Contains(a.Leaves()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = flyball::json::Parse({reinterpret_cast<const char*>(data), size});
  if (!input || !input->is_array() || input->size() != 2) return 0;
  const auto a = FieldSet::FromFieldsV1(input->as_array()[0]);
  const auto b = FieldSet::FromFieldsV1(input->as_array()[1]);
  if (!a || !b) return 0;
  CheckRoundTrip(*a);
  CheckOperations(*a, *b);
  return 0;
}
