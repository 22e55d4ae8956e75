// fieldsV1 documents: whatever is decoded is written back canonically, and set operations agree with each
// other.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "api/field_set.h"
#include "api/owned_fields.h"
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

// Two documents, one after the other with a zero byte between.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = text.find('\0');
  FieldSet sets[2];
  for (int i = 0; i < 2; ++i) {
    const std::string_view part = i == 0                          ? text.substr(0, cut)
                                  : cut == std::string_view::npos ? "{}"
                                                                  : text.substr(cut + 1);
    const auto value = flyball::json::Parse(part);
    if (!value) return 0;
    auto set = FieldSet::FromFieldsV1(*value);
    if (!set) return 0;
    sets[i] = std::move(*set);
    CheckRoundTrip(sets[i]);
  }
  CheckOperations(sets[0], sets[1]);
  return 0;
}
