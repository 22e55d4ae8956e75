#include "scheduler/devices/device_selectors.h"

#include <optional>
#include <string_view>
#include <utility>

#include "cel/eval/program.h"
#include "cel/values/opaque.h"

namespace flyball::scheduler {
namespace {

// Clusters have a handful of different expressions; more than this are not worth their memory.
constexpr std::size_t kMaxCompiled = 256;

// "domain/name"; a name without a domain belongs to the driver.
std::pair<std::string_view, std::string_view> SplitName(std::string_view name, std::string_view driver) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) return {driver, name};
  return {name.substr(0, slash), name.substr(slash + 1)};
}

// Maps of maps, by domain and name. A domain that is not there is an empty map.
class ByDomain {
 public:
  explicit ByDomain(cel::Arena& arena)
      : arena_(arena), table_(arena.New<cel::MapTable>(arena)), empty_(Empty(arena)) {
    table_->set_otherwise(empty_);
  }

  void Add(std::string_view name, std::string_view driver, const cel::Value& value) {
    const auto [domain, id] = SplitName(name, driver);
    cel::MapTable*& inner = domains_[domain];
    if (inner == nullptr) {
      inner = arena_.New<cel::MapTable>(arena_);
      table_->Set(cel::Value::String(domain), cel::Value::Map(inner));
    }
    inner->Set(cel::Value::String(id), value);
  }
  cel::Value value() const { return cel::Value::Map(table_); }

 private:
  static const cel::Value* Empty(cel::Arena& arena) {
    return arena.New<cel::Value>(cel::Value::Map(arena.New<cel::MapTable>(arena)));
  }

  cel::Arena& arena_;
  cel::MapTable* const table_;
  const cel::Value* const empty_;
  std::map<std::string_view, cel::MapTable*> domains_;
};

std::optional<cel::Value> AttributeValue(cel::Arena& arena, const DeviceAttribute& attribute) {
  if (attribute.int_) return cel::Value::Int(*attribute.int_);
  if (attribute.bool_) return cel::Value::Bool(*attribute.bool_);
  if (attribute.string) return cel::Value::String(*attribute.string);
  if (!attribute.version) return std::nullopt;
  std::string problem;
  auto version = cel::ParseSemver(*attribute.version, false, &problem);
  if (!version) return std::nullopt;
  return cel::Value::Opaque(arena.New<cel::SemverValue>(*std::move(version)));
}

// The variable `device`. Points into the device and the driver's name.
Result<cel::Value> DeviceValue(cel::Arena& arena, const std::string& driver, const Device& device) {
  ByDomain attributes(arena), capacity(arena);
  for (const auto& [name, attribute] : device.attributes) {
    const auto value = AttributeValue(arena, attribute);
    if (!value) return Unexpected(BadRequest("attribute " + name + ": unsupported attribute value"));
    attributes.Add(name, driver, *value);
  }
  for (const auto& [name, amount] : device.capacity) {
    std::string problem;
    auto quantity = cel::Quantity::Parse(amount.value.ToString(), &problem);
    if (!quantity) return Unexpected(BadRequest("capacity " + name + ": " + problem));
    capacity.Add(name, driver, cel::Value::Opaque(arena.New<cel::QuantityValue>(*std::move(quantity))));
  }
  auto* table = arena.New<cel::MapTable>(arena);
  table->Set(cel::Value::String("driver"), cel::Value::String(driver));
  table->Set(cel::Value::String("allowMultipleAllocations"),
             cel::Value::Bool(device.allow_multiple_allocations.value_or(false)));
  table->Set(cel::Value::String("attributes"), attributes.value());
  table->Set(cel::Value::String("capacity"), capacity.value());
  return cel::Value::Map(table);
}

}  // namespace

const api::DeviceExpression& DeviceSelectors::Compiled(const std::string& expression) {
  const auto known = compiled_.find(expression);
  if (known != compiled_.end()) return known->second;
  if (compiled_.size() >= kMaxCompiled) compiled_.clear();
  return compiled_
      .emplace(expression, api::CompileDeviceExpression(expression, api::DeviceExpressionAge::kStored))
      .first->second;
}

Result<bool> DeviceSelectors::Match(const std::string& expression, const std::string& driver,
                                    const Device& device) {
  const api::DeviceExpression& compiled = Compiled(expression);
  if (!compiled.expression) return Unexpected(BadRequest("CEL compile error: " + compiled.error));
  cel::Arena arena;
  FLYBALL_ASSIGN(const cel::Value value, DeviceValue(arena, driver, device));
  cel::FixedActivation activation;
  activation.Set(0, value);
  const cel::Evaluation result =
      compiled.expression->program().Evaluate(activation, arena, api::kMaxDeviceExpressionCost);
  if (result.cancelled)
    return Unexpected(BadRequest("CEL runtime error: operation cancelled: actual cost limit exceeded"));
  if (result.value.IsError())
    return Unexpected(BadRequest("CEL runtime error: " + std::string(result.value.error())));
  if (!result.value.Is(cel::ValueKind::kBool))
    return Unexpected(BadRequest("CEL runtime error: CEL result of type " +
                                 std::string(cel::TypeNameOf(result.value)) +
                                 " could not be converted to bool"));
  return result.value.as_bool();
}

}  // namespace flyball::scheduler
