#include <algorithm>
#include <map>
#include <string>

#include "api/kinds/pod_spec/pod_spec.h"
#include "api/kinds/shared/resource_names.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"

namespace flyball::api {
namespace {

using json::Value;
using NameCheck = void (*)(std::string_view, const FieldPath&, FieldErrors&);

bool IsComputeResource(std::string_view name) {
  return name == "cpu" || name == "memory";
}

void CheckHugePages(std::string_view name, const Value& value, const FieldPath& path, FieldErrors& errors) {
  if (!IsHugePageResource(name)) return;
  const Quantity quantity = QuantityOf(value);
  const Result<Quantity> page = Quantity::Parse(name.substr(std::string_view("hugepages-").size()));
  const bool divisible = page && page->Value() > 0 && quantity.Value() % page->Value() == 0;
  if (divisible) return;
  errors.Invalid(path, quantity.ToString(),
                 quantity.ToString() + " is not positive integer multiple of " + std::string(name));
}

void CheckAgainstLimit(std::string_view name, const Value& request, const Value& limits,
                       const FieldPath& requests_path, const FieldPath& limits_path, FieldErrors& errors) {
  const Value* limit = limits.Find(name);
  if (limit == nullptr) {
    if (!IsOvercommitAllowed(name)) {
      errors.Required(limits_path, "Limit must be set for non overcommitable resources");
    }
    return;
  }
  const Quantity wanted = QuantityOf(request), most = QuantityOf(*limit);
  if (wanted != most && !IsOvercommitAllowed(name)) {
    errors.Invalid(requests_path, wanted.ToString(),
                   "must be equal to " + std::string(name) + " limit of " + most.ToString());
  } else if (wanted > most) {
    errors.Invalid(requests_path, wanted.ToString(),
                   "must be less than or equal to " + std::string(name) + " limit of " + most.ToString());
  }
}

void ValidateClaims(const Value& claims, const PodContext& context, const FieldPath& path,
                    FieldErrors& errors) {
  std::set<std::string> seen;
  std::string names;
  for (const std::string_view known : context.claim_names)
    names.append(names.empty() ? "" : ", ").append(known);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const Value& claim = claims.as_array()[i];
    const std::string name(Text(claim, "name"));
    const std::string_view request = Text(claim, "request");
    if (name.empty()) {
      errors.Required(path.Index(i));
      continue;
    }
    const std::string key = request.empty() ? name : name + "/" + std::string(request);
    if (!request.empty()) CheckFormat("dns-label", request, path.Index(i).Child("request"), errors);
    const auto part = seen.lower_bound(name + "/");
    const bool overlaps = seen.contains(key) || seen.contains(name) ||
                          (request.empty() && part != seen.end() && part->starts_with(name + "/"));
    if (overlaps) errors.Duplicate(path.Index(i), seen.contains(name) ? name : key);
    seen.insert(key);
    if (context.claim_names.contains(name)) continue;
    std::string detail = "Not found: \"" + name + "\": must be one of the names in pod.spec.resourceClaims";
    detail += names.empty() ? " which is empty" : ": " + names;
    errors.Add({"FieldValueNotFound", detail, path.Index(i).text()});
  }
}

void ValidateQuantities(const Value& resources, NameCheck check_name, const FieldPath& path,
                        FieldErrors& errors) {
  const FieldPath limits_path = path.Child("limits"), requests_path = path.Child("requests");
  const Value& limits = resources["limits"];
  bool compute = false, huge_pages = false;
  for (const auto& [name, quantity] : Entries(limits)) {
    const FieldPath here = limits_path.Key(name);
    check_name(name, here, errors);
    CheckResourceQuantity(name, quantity, here, errors);
    CheckHugePages(name, quantity, here, errors);
    compute = compute || IsComputeResource(name);
    huge_pages = huge_pages || IsHugePageResource(name);
  }
  for (const auto& [name, quantity] : Entries(resources["requests"])) {
    const FieldPath here = requests_path.Key(name);
    check_name(name, here, errors);
    CheckResourceQuantity(name, quantity, here, errors);
    CheckAgainstLimit(name, quantity, limits, requests_path, limits_path, errors);
    CheckHugePages(name, quantity, here, errors);
    compute = compute || IsComputeResource(name);
    huge_pages = huge_pages || IsHugePageResource(name);
  }
  if (huge_pages && !compute) errors.Forbidden(path, "HugePages require cpu or memory");
}

void CheckPodLevelName(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  FieldErrors found;
  CheckResourceName(name, path, found);
  if (found.empty() && !IsComputeResource(name) && !IsHugePageResource(name)) {
    errors.NotSupported(path, name, {"cpu", "hugepages-", "memory"});
  }
  errors.Append(std::move(found));
}

std::map<std::string, Quantity> TotalRequests(const Value& spec) {
  std::map<std::string, Quantity> totals;
  for (const Value& container : Items(spec["containers"])) {
    for (const auto& [name, quantity] : Entries(container["resources"]["requests"])) {
      totals[name] += QuantityOf(quantity);
    }
  }
  return totals;
}

}  // namespace

void ValidateResourceRequirements(const Value& resources, const PodContext& context, const FieldPath& path,
                                  FieldErrors& errors) {
  ValidateQuantities(resources, CheckContainerResourceName, path, errors);
  ValidateClaims(resources["claims"], context, path.Child("claims"), errors);
}

void ValidatePodResources(const Value& spec, const PodContext& context, const FieldPath& path,
                          FieldErrors& errors) {
  const Value& resources = spec["resources"];
  if (resources.is_null()) return;
  if (Text(spec["os"], "name") == "windows")
    return errors.Forbidden(path, "may not be set for a windows pod");
  if (Has(resources, "claims")) {
    errors.Forbidden(path.Child("claims"), "claims may not be set for Resources at pod-level");
  }
  ValidateQuantities(resources, CheckPodLevelName, path, errors);
  ValidateClaims(resources["claims"], context, path.Child("claims"), errors);
  for (const auto& [name, total] : TotalRequests(spec)) {
    if (name != "cpu" && name != "memory" && !IsHugePageResource(name)) continue;
    const Quantity given = QuantityOf(resources["requests"][name]);
    if (total <= given) continue;
    errors.Invalid(path.Child("requests").Key(name), given.ToString(),
                   "must be greater than or equal to aggregate container requests of " + total.ToString());
  }
  const Value& containers = spec["containers"];
  for (std::size_t i = 0; i < containers.size(); ++i) {
    for (const auto& [name, quantity] : Entries(containers.as_array()[i]["resources"]["limits"])) {
      const Value* most = resources["limits"].Find(name);
      if (most == nullptr || QuantityOf(quantity) <= QuantityOf(*most)) continue;
      errors.Invalid(path.Child("containers").Index(i).Key(name).Child("limits"), quantity,
                     "must be less than or equal to pod limits of " + QuantityOf(*most).ToString());
    }
  }
}

}  // namespace flyball::api
