#include "api/kinds/cluster/device_expressions.h"

#include <algorithm>

#include "api/schema/feature_gates.h"

namespace flyball::api {
namespace {

// Upstream's limits of names and values, which costs are estimated from.
constexpr std::int64_t kMaxDomain = 63, kMaxId = 32, kMaxDriver = 63, kMaxAttributeValue = 64;
constexpr std::int64_t kMaxAttributes = 32, kMaxAttributeValues = 48;

// What the variable `device` is, by the features that are on. Immutable.
class DeviceDecl {
 public:
  DeviceDecl(bool consumable_capacity, bool list_attributes) : lists_(list_attributes) {
    const cel::Type* value = lists_ ? &cel::types::kDyn : &cel::types::kAny;
    // Of an attribute nobody knows whether it is one value or a list of them.
    attribute_ = {
        .type = value,
        .max_elements = lists_ ? std::max(kMaxAttributeValue, kMaxAttributeValues) : kMaxAttributeValue};
    attributes_of_domain_ = Map(id_, attribute_);
    attributes_of_domain_.names_are_keys = true;
    attributes_ = Map(domain_, attributes_of_domain_);
    quantity_ = {.type = &cel::types::kQuantity, .max_elements = 1};
    capacity_of_domain_ = Map(id_, quantity_);
    capacity_ = Map(domain_, capacity_of_domain_);
    fields_.Add({"driver", &driver_});
    fields_.Add({"attributes", &attributes_});
    fields_.Add({"capacity", &capacity_});
    if (consumable_capacity) fields_.Add({"allowMultipleAllocations", &shared_});
    fields_.Sort();
    device_.type = types_.Struct("kubernetes.DRADevice", &fields_);
    device_.object = &fields_;
    device_.max_elements = 1;
  }

  const cel::DeclType& device() const { return device_; }
  // Whether a selector may evaluate to this: a bool, or an attribute of which nobody knows what it is.
  bool MayResultIn(cel::TypeKind kind) const {
    return kind == cel::TypeKind::kBool || kind == (lists_ ? cel::TypeKind::kDyn : cel::TypeKind::kAny);
  }

  static const DeviceDecl& Current() {
    static const DeviceDecl kPlain(false, false), kShared(true, false), kLists(false, true),
        kSharedLists(true, true);
    const bool lists = GateEnabled("DRAListTypeAttributes");
    if (GateEnabled("DRAConsumableCapacity")) return lists ? kSharedLists : kShared;
    return lists ? kLists : kPlain;
  }

 private:
  cel::DeclType Map(const cel::DeclType& key, const cel::DeclType& element) {
    return {.type = types_.Map(key.type, element.type),
            .key = &key,
            .element = &element,
            .max_elements = kMaxAttributes};
  }

  const bool lists_;
  cel::TypeStore types_;
  const cel::DeclType domain_{.type = &cel::types::kString, .max_elements = kMaxDomain};
  const cel::DeclType id_{.type = &cel::types::kString, .max_elements = kMaxId};
  const cel::DeclType driver_{.type = &cel::types::kString, .max_elements = kMaxDriver};
  const cel::DeclType shared_{.type = &cel::types::kBool, .max_elements = 1};
  cel::DeclType attribute_, attributes_of_domain_, attributes_, quantity_, capacity_of_domain_, capacity_;
  cel::ObjectDecl fields_;
  cel::DeclType device_;
};

}  // namespace

DeviceExpression CompileDeviceExpression(std::string_view text, DeviceExpressionAge age) {
  const DeviceDecl& decl = DeviceDecl::Current();
  const cel::Environment& environment = age == DeviceExpressionAge::kStored
                                            ? cel::Environment::Stored()
                                            : cel::Environment::ForVersion(cel::kDefaultCompatibilityVersion);
  cel::CompileOptions options{.environment = &environment,
                              .variables = {{"device", decl.device().type}},
                              .root = &decl.device(),
                              .bind = true};
  cel::CompileResult result = cel::Compile(text, options);
  const bool compiled =
      result.phase != cel::CompilePhase::kParse && result.phase != cel::CompilePhase::kCheck;
  if (!compiled) return {nullptr, "compilation failed: " + result.error};
  if (!decl.MayResultIn(result.type_kind))
    return {nullptr, "must evaluate to bool or the unknown type, not " + result.type_text};
  if (!result.expression) return {nullptr, "program instantiation failed: " + result.error};
  return {std::move(result.expression), {}};
}

}  // namespace flyball::api
