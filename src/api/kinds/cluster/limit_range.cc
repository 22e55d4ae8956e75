#include <cstdio>
#include <set>
#include <string>

#include "api/kinds/shared/hooks.h"
#include "api/kinds/shared/resource_names.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"

namespace flyball::api {
namespace {

using json::Value;

// Containers get default limits and requests from what else is said about them.
void SetLimitRangeDefaults(Value& object) {
  Value* limits = object.FindPath({"spec", "limits"});
  if (limits == nullptr || !limits->is_array()) return;
  for (Value& item : limits->as_array()) {
    if (Text(item, "type") != "Container") continue;
    const auto copy_missing = [&](const char* from, const char* to) {
      const Value source = Get(item, from);
      for (const auto& [name, quantity] : Entries(source)) {
        if (Get(item, to).Find(name) == nullptr) item[to][name] = quantity;
      }
    };
    copy_missing("max", "default");
    copy_missing("default", "defaultRequest");
    copy_missing("min", "defaultRequest");
  }
}

void NameLimitRange(Value& object) {
  Value& metadata = object["metadata"];
  if (Text(metadata, "name").empty()) metadata["name"] = Text(metadata, "uid");
}

void CheckType(std::string_view type, const FieldPath& path, FieldErrors& errors) {
  const Problems problems = QualifiedNameProblems(type);
  AddProblems(problems, path, type, errors);
  const bool standard = type == "Pod" || type == "Container" || type == "PersistentVolumeClaim";
  if (problems.empty() && type.find('/') == std::string_view::npos && !standard) {
    errors.Invalid(path, type, "must be a standard limit type or fully qualified");
  }
}

void CheckLimitRangeNames(const Value& limit, const char* list, const FieldPath& path,
                          std::set<std::string>& keys, FieldErrors& errors) {
  const std::string_view type = Text(limit, "type");
  for (const auto& [name, quantity] : Entries(limit[list])) {
    const FieldPath here = path.Child(list).Key(name);
    if (type == "Pod" || type == "Container") {
      CheckContainerResourceName(name, here, errors);
    } else {
      CheckResourceName(name, here, errors);
    }
    keys.insert(name);
  }
}

// The five lists say something about the same resource: they must not contradict each other.
class Consistency {
 public:
  Consistency(const Value& limit, const std::string& name, const FieldPath& path, FieldErrors& errors)
      : limit_(limit), name_(name), path_(path), errors_(errors) {}

  void Check() {
    CheckOrder("min", "max", "min", "min", "min value", "max value");
    CheckOrder("min", "defaultRequest", "defaultRequest", "defaultRequest", "min value",
               "default request value");
    CheckOrder("defaultRequest", "max", "defaultRequest", "defaultRequest", "default request value",
               "max value");
    CheckOrder("defaultRequest", "default", "defaultRequest", "defaultRequest", "default request value",
               "default limit value");
    CheckOrder("min", "default", "default", "min", "min value", "default value");
    CheckOrder("default", "max", "default", "max", "default value", "max value");
    CheckRatio();
    CheckOvercommit();
  }

 private:
  const Value* Find(const char* list) const { return limit_[list].Find(name_); }

  void CheckOrder(const char* low, const char* high, const char* at, const char* shown,
                  const std::string& low_text, const std::string& high_text) {
    const Value *smaller = Find(low), *larger = Find(high);
    if (smaller == nullptr || larger == nullptr || QuantityOf(*smaller) <= QuantityOf(*larger)) return;
    errors_.Invalid(path_.Child(at).Key(name_), *Find(shown),
                    low_text + " " + QuantityOf(*smaller).ToString() + " is greater than " + high_text + " " +
                        QuantityOf(*larger).ToString());
  }

  void CheckRatio() {
    const Value* ratio = Find("maxLimitRequestRatio");
    if (ratio == nullptr) return;
    const FieldPath path = path_.Child("maxLimitRequestRatio").Key(name_);
    const Quantity most = QuantityOf(*ratio);
    if (most < Quantity(1)) errors_.Invalid(path, *ratio, "ratio " + most.ToString() + " is less than 1");
    const Value *min = Find("min"), *max = Find("max");
    if (min == nullptr || max == nullptr) return;
    const double limit = QuantityOf(*max).ToDouble() / QuantityOf(*min).ToDouble();
    if (most.ToDouble() <= limit) return;
    char text[64];
    std::snprintf(text, sizeof text, "%f", limit);
    errors_.Invalid(path, *ratio, "ratio " + most.ToString() + " is greater than max/min = " + text);
  }

  void CheckOvercommit() {
    const Value *request = Find("defaultRequest"), *limit = Find("default");
    if (IsOvercommitAllowed(name_) || request == nullptr || limit == nullptr) return;
    if (QuantityOf(*request) == QuantityOf(*limit)) return;
    errors_.Invalid(path_.Child("defaultRequest").Key(name_), *request,
                    "default value " + QuantityOf(*limit).ToString() +
                        " must equal to defaultRequest value " + QuantityOf(*request).ToString() + " in " +
                        name_);
  }

  const Value& limit_;
  const std::string& name_;
  const FieldPath& path_;
  FieldErrors& errors_;
};

void ValidateLimit(const Value& limit, const FieldPath& path, FieldErrors& errors) {
  std::set<std::string> keys;
  CheckLimitRangeNames(limit, "max", path, keys, errors);
  CheckLimitRangeNames(limit, "min", path, keys, errors);
  for (const char* list : {"default", "defaultRequest"}) {
    if (Text(limit, "type") != "Pod") {
      CheckLimitRangeNames(limit, list, path, keys, errors);
    } else if (limit[list].size() > 0) {
      errors.Forbidden(path.Child(list), "may not be specified when `type` is 'Pod'");
    }
  }
  const bool bounded = Has(limit["min"], "storage") || Has(limit["max"], "storage");
  if (Text(limit, "type") == "PersistentVolumeClaim" && !bounded) {
    errors.Required(path.Child("limits"),
                    "either minimum or maximum storage value is required, but neither was provided");
  }
  CheckLimitRangeNames(limit, "maxLimitRequestRatio", path, keys, errors);
  for (const std::string& name : keys) Consistency(limit, name, path, errors).Check();
}

void ValidateLimitRange(const Value& object, FieldErrors& errors) {
  std::set<std::string_view> types;
  const Value& limits = object["spec"]["limits"];
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const Value& limit = limits.as_array()[i];
    const FieldPath path = FieldPath("spec.limits").Index(i);
    const std::string_view type = Text(limit, "type");
    CheckType(type, path.Child("type"), errors);
    if (!types.insert(type).second) errors.Duplicate(path.Child("type"), type);
    ValidateLimit(limit, path, errors);
  }
}

}  // namespace

const KindHooks kLimitRangeHooks = {
    .group = "",
    .kind = "LimitRange",
    .set_defaults = SetLimitRangeDefaults,
    .prepare_for_create = NameLimitRange,
    .validate = ValidateLimitRange,
    .allow_create_on_update = true,
};

}  // namespace flyball::api
