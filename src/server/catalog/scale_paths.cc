#include "server/catalog/scale_paths.h"

#include <cstdint>
#include <limits>

#include "api/custom/custom_kind.h"
#include "api/values/go_text.h"

namespace flyball::server {
namespace {

// The value at a dotted path, null if there is none; an error where something on the way is no object.
Result<const json::Value*> Follow(const json::Value& object, std::string_view dotted) {
  const json::Value* at = &object;
  std::string_view rest = dotted.substr(1);
  while (!rest.empty()) {
    if (at->is_null()) return nullptr;
    if (!at->is_object())
      return Unexpected(BadRequest(std::string(dotted) + " accessor error: " + api::GoPrint(*at) +
                                   " is of the type " + std::string(api::GoTypeOf(*at)) +
                                   ", expected map[string]interface{}"));
    const auto dot = rest.find('.');
    at = at->Find(rest.substr(0, dot));
    if (at == nullptr) return nullptr;
    rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
  }
  return at;
}

void CheckReplicas(const json::Value& object, const std::string& path, api::FieldErrors& errors) {
  if (path.empty()) return;
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const auto found = Follow(object, path);
  const api::FieldPath field(path);
  if (!found) return errors.Invalid(field, 0, found.error().message());
  const json::Value* value = *found;
  if (value == nullptr) return;
  if (!value->is_int())
    return errors.Invalid(field, 0,
                          path + " accessor error: " + api::GoPrint(*value) + " is of the type " +
                              std::string(api::GoTypeOf(*value)) + ", expected int64");
  if (value->as_int() < 0) return errors.Invalid(field, *value, "should be a non-negative integer");
  if (value->as_int() > kMost)
    errors.Invalid(field, *value, "should be less than or equal to " + std::to_string(kMost));
}

void CheckSelectorText(const json::Value& object, const std::string& path, api::FieldErrors& errors) {
  if (path.empty()) return;
  const auto found = Follow(object, path);
  if (!found) return errors.Invalid(api::FieldPath(path), "", found.error().message());
  const json::Value* value = *found;
  if (value == nullptr || value->is_string()) return;
  errors.Invalid(api::FieldPath(path), "",
                 path + " accessor error: " + api::GoPrint(*value) + " is of the type " +
                     std::string(api::GoTypeOf(*value)) + ", expected string");
}

}  // namespace

ScalePaths ScalePathsOf(const ServedResource& resource) {
  if (!resource.custom) return {};
  ScalePaths paths;
  if (const auto& scale = resource.custom->scale()) {
    const auto dotted = [](const std::string& path) { return path.empty() ? path : "." + path; };
    paths = {dotted(scale->spec_replicas), dotted(scale->status_replicas), dotted(scale->label_selector)};
  }
  return paths;
}

void ValidateCustomScale(const ServedResource& resource, const json::Value& object, bool spec,
                         api::FieldErrors& errors) {
  if (!resource.custom || !resource.custom->scale()) return;
  const ScalePaths paths = ScalePathsOf(resource);
  if (spec) CheckReplicas(object, paths.spec_replicas, errors);
  CheckReplicas(object, paths.status_replicas, errors);
  CheckSelectorText(object, paths.selector, errors);
}

}  // namespace flyball::server
