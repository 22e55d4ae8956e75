#include "api/kinds/shared/resource_names.h"

#include <algorithm>
#include <array>
#include <string>

#include "api/rules/access.h"
#include "api/rules/format.h"

namespace flyball::api {
namespace {

constexpr std::string_view kHugePages = "hugepages-";
constexpr std::string_view kRequests = "requests.";

constexpr std::array<std::string_view, 3> kContainer = {"cpu", "memory", "ephemeral-storage"};
constexpr std::array<std::string_view, 9> kCounts = {
    "pods",       "resourcequotas",         "services",           "replicationcontrollers", "secrets",
    "configmaps", "persistentvolumeclaims", "services.nodeports", "services.loadbalancers"};
constexpr std::array<std::string_view, 7> kRequestsAndLimits = {
    "requests.cpu",    "requests.memory", "requests.ephemeral-storage",
    "limits.cpu",      "limits.memory",   "limits.ephemeral-storage",
    "requests.storage"};

template <typename List>
bool IsOneOf(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool IsQuotaHugePage(std::string_view name) {
  return name.starts_with(kHugePages) ||
         (name.starts_with(kRequests) && name.substr(kRequests.size()).starts_with(kHugePages));
}

bool IsUnqualified(std::string_view name) {
  return name.find('/') == std::string_view::npos;
}

bool IsStandard(std::string_view name) {
  return IsStandardQuotaResource(name) || name == "storage";
}

}  // namespace

bool IsNativeResource(std::string_view name) {
  return IsUnqualified(name) || name.find("kubernetes.io/") != std::string_view::npos;
}

bool IsHugePageResource(std::string_view name) {
  return name.starts_with(kHugePages);
}

bool IsExtendedResource(std::string_view name) {
  if (IsNativeResource(name) || name.starts_with(kRequests)) return false;
  return QualifiedNameProblems(std::string(kRequests).append(name)).empty();
}

bool IsStandardQuotaResource(std::string_view name) {
  return IsOneOf(kContainer, name) || IsOneOf(kCounts, name) || IsOneOf(kRequestsAndLimits, name) ||
         IsQuotaHugePage(name);
}

bool IsOvercommitAllowed(std::string_view name) {
  return IsNativeResource(name) && !IsHugePageResource(name);
}

void CheckResourceName(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  const Problems problems = QualifiedNameProblems(name);
  AddProblems(problems, path, name, errors);
  if (problems.empty() && IsUnqualified(name) && !IsStandard(name)) {
    errors.Invalid(path, name, "must be a standard resource type or fully qualified");
  }
}

void CheckContainerResourceName(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  CheckResourceName(name, path, errors);
  if (IsUnqualified(name)) {
    if (!IsOneOf(kContainer, name) && !IsHugePageResource(name)) {
      errors.Invalid(path, name, "must be a standard resource for containers");
    }
  } else if (!IsNativeResource(name) && !IsExtendedResource(name)) {
    errors.Invalid(path, name, "doesn't follow extended resource name standard");
  }
}

void CheckQuotaResourceName(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  CheckResourceName(name, path, errors);
  if (IsUnqualified(name) && !IsStandardQuotaResource(name)) {
    errors.Invalid(path, name, "must be a standard resource for quota");
  }
}

void CheckResourceQuantity(std::string_view name, const json::Value& value, const FieldPath& path,
                           FieldErrors& errors) {
  const Quantity quantity = QuantityOf(value);
  if (quantity.Sign() < 0) errors.Invalid(path, quantity.ToString(), kNotNegativeText);
  if ((IsOneOf(kCounts, name) || IsExtendedResource(name)) && quantity.MilliValue() % 1000 != 0) {
    errors.Invalid(path, value, "must be an integer");
  }
}

}  // namespace flyball::api
