#include "api/kinds/cluster/device_checks.h"

#include <set>
#include <string>

#include "api/kinds/cluster/device_expressions.h"
#include "api/kinds/shared/iscsi.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "base/values/ascii.h"
#include "json/json.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::size_t kMaxPoolName = 253;
constexpr std::size_t kMaxOpaqueParameters = 10 * 1024;
constexpr std::size_t kMaxSelectors = 32;
constexpr std::size_t kMaxBindingConditions = 4;
constexpr std::size_t kMaxExpression = 10 * 1024;

void CheckIdentifier(std::string_view id, const FieldPath& path, FieldErrors& errors) {
  if (id.size() > kMaxDeviceIdentifier) errors.TooLong(path, kMaxDeviceIdentifier);
  CheckFormat("c-identifier", id, path, errors);
}

void CheckEffect(std::string_view effect, const FieldPath& path, FieldErrors& errors) {
  CheckOneOf(effect, {"NoExecute", "NoSchedule", "None"}, path, errors.declarative());
}

void CheckToleration(const Value& toleration, const FieldPath& path, FieldErrors& errors) {
  const std::string_view key = Text(toleration, "key"), value = Text(toleration, "value");
  const std::string_view op = Text(toleration, "operator"), effect = Text(toleration, "effect");
  if (!key.empty()) CheckFormat("qualified-name", key, path.Child("key"), errors.declarative());
  if (op == "Exists") {
    if (!value.empty()) errors.Invalid(path.Child("value"), value, "must be empty for operator `Exists`");
  } else if (op == "Equal") {
    CheckFormat("label-value", value, path.Child("value"), errors);
  } else {
    RequireOneOf(op, {"Equal", "Exists"}, path.Child("operator"), errors.declarative());
  }
  if (!effect.empty()) CheckEffect(effect, path.Child("effect"), errors);
}

void CheckDeviceExpression(std::string_view text, DeviceExpressionAge age, const FieldPath& path,
                           FieldErrors& errors) {
  if (text.size() > kMaxExpression) return errors.TooLong(path, kMaxExpression);
  const DeviceExpression compiled = CompileDeviceExpression(text, age);
  if (!compiled.expression) return errors.Invalid(path, text, compiled.error);
  if (compiled.expression->cost().max > kMaxDeviceExpressionCost)
    errors.Forbidden(path, "too complex, exceeds cost limit");
}

}  // namespace

void CheckPoolName(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  if (name.empty()) return errors.Required(path);
  if (name.size() > kMaxPoolName) errors.TooLong(path, kMaxPoolName);
  for (const std::string& part : SplitText(name, '/')) CheckFormat("dns-subdomain", part, path, errors);
}

void CheckQualifiedDeviceName(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  const auto parts = SplitText(name, '/');
  if (parts.size() == 1) return CheckIdentifier(parts[0], path, errors);
  if (parts.size() != 2) return;
  if (parts[0].empty()) {
    errors.Invalid(path, "", "the domain must not be empty");
  } else {
    ValidateCsiDriverName(parts[0], path, errors);
  }
  if (parts[1].empty()) {
    errors.Invalid(path, "", "the name must not be empty");
  } else {
    CheckIdentifier(parts[1], path, errors);
  }
}

void CheckFullyQualifiedDeviceName(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  CheckQualifiedDeviceName(name, path, errors);
  if (name.find('/') == std::string_view::npos)
    errors.Invalid(path, name, "a fully qualified name must be a domain and a name separated by a slash");
}

void CheckDeviceTaint(const Value& taint, const Value& old, const FieldPath& path, FieldErrors& errors) {
  CheckFormat("qualified-name", Text(taint, "key"), path.Child("key"), errors);
  if (Has(taint, "value")) CheckFormat("label-value", Text(taint, "value"), path.Child("value"), errors);
  const std::string_view effect = Text(taint, "effect");
  if (old.is_object() && Text(old, "effect") == effect) return;
  if (effect.empty()) return errors.declarative().Required(path.Child("effect"));
  CheckEffect(effect, path.Child("effect"), errors);
}

void CheckDeviceTolerations(const Value& tolerations, const FieldPath& path, FieldErrors& errors) {
  for (std::size_t i = 0; i < tolerations.size(); ++i)
    CheckToleration(tolerations.as_array()[i], path.Index(i), errors);
}

void CheckBindingConditions(const Value& device, const FieldPath& path, FieldErrors& errors) {
  for (const char* field : {"bindingConditions", "bindingFailureConditions"})
    CheckEach(device[field], kMaxBindingConditions, path.Child(field), errors,
              [](const Value& name, const FieldPath& here, FieldErrors& found) {
                CheckFormat("qualified-name", name.string_or({}), here, found);
              });
  const bool conditions = device["bindingConditions"].size() > 0;
  const bool failures = device["bindingFailureConditions"].size() > 0;
  if (conditions && !failures)
    errors.Invalid(path.Child("bindingFailureConditions"), device["bindingFailureConditions"],
                   "bindingFailureConditions are required to use bindingConditions");
  if (failures && !conditions)
    errors.Invalid(path.Child("bindingConditions"), device["bindingConditions"],
                   "bindingConditions are required to use bindingFailureConditions");
}

void CheckDeviceConfiguration(const Value& config, const FieldPath& path, FieldErrors& errors) {
  const Value& opaque = config["opaque"];
  const FieldPath here = path.Child("opaque");
  if (!opaque.is_object()) return errors.Required(here);
  FieldErrors driver;
  ValidateCaselessDriverName(Text(opaque, "driver"), here.Child("driver"), driver);
  errors.declarative().Append(std::move(driver));
  const Value& parameters = opaque["parameters"];
  if (parameters.is_null()) {
    errors.Required(here.Child("parameters"));
  } else if (json::Write(parameters).size() > kMaxOpaqueParameters) {
    errors.TooLong(here.Child("parameters"), kMaxOpaqueParameters);
  } else if (!parameters.is_object()) {
    errors.Invalid(here.Child("parameters"), "<value omitted>", "must be a valid JSON object");
  }
}

void CheckDeviceSelectors(const Value& selectors, const FieldPath& path, FieldErrors& errors,
                          const Value& old) {
  const auto age_of = [&](const Value& selector) {
    for (const Value& before : Items(old))
      if (before["cel"]["expression"] == selector["cel"]["expression"]) return DeviceExpressionAge::kStored;
    return DeviceExpressionAge::kNew;
  };
  CheckEach(selectors, kMaxSelectors, path, errors,
            [&](const Value& selector, const FieldPath& here, FieldErrors& found) {
              const FieldPath cel = here.Child("cel");
              if (!Has(selector, "cel")) return found.Required(cel);
              CheckDeviceExpression(Text(selector["cel"], "expression"), age_of(selector),
                                    cel.Child("expression"), found);
            });
}

void CheckEach(const Value& list, std::size_t max, const FieldPath& path, FieldErrors& errors,
               const ItemCheck& check) {
  if (list.size() > max) return errors.declarative().TooMany(path, list.size(), max);
  for (std::size_t i = 0; i < list.size(); ++i) check(list.as_array()[i], path.Index(i), errors);
}

void CheckSet(const Value& list, std::size_t max, std::string_view key, const FieldPath& path,
              FieldErrors& errors, const ItemCheck& check) {
  CheckEach(list, max, path, errors, check);
  if (list.size() > max) return;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Value& item = list.as_array()[i];
    const std::string value(key.empty() ? item.string_or({}) : Text(item, key));
    if (!seen.insert(value).second) errors.declarative().Duplicate(path.Index(i), item);
  }
}

}  // namespace flyball::api
