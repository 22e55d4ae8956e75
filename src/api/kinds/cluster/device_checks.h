// Checks that claims, classes, slices and taint rules of resource.k8s.io share, in upstream's words.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "api/rules/field_error.h"
#include "json/value.h"

namespace flyball::api {

inline constexpr std::size_t kMaxDeviceIdentifier = 32;

// A pool's name: DNS subdomains separated by '/'.
void CheckPoolName(std::string_view name, const FieldPath& path, FieldErrors& errors);
// An attribute's or capacity's name: an identifier, or a driver's domain and an identifier.
void CheckQualifiedDeviceName(std::string_view name, const FieldPath& path, FieldErrors& errors);
void CheckFullyQualifiedDeviceName(std::string_view name, const FieldPath& path, FieldErrors& errors);
void CheckDeviceTaint(const json::Value& taint, const json::Value& old, const FieldPath& path,
                      FieldErrors& errors);
void CheckDeviceTolerations(const json::Value& tolerations, const FieldPath& path, FieldErrors& errors);
void CheckBindingConditions(const json::Value& device, const FieldPath& path, FieldErrors& errors);
// Settings that only a driver understands: `opaque` of `config`.
void CheckDeviceConfiguration(const json::Value& config, const FieldPath& path, FieldErrors& errors);
// Each selector must be there, compile and not be too expensive. Expressions that `old` has (the selectors
// before an update; null: none) may use everything that stored ones may.
void CheckDeviceSelectors(const json::Value& selectors, const FieldPath& path, FieldErrors& errors,
                          const json::Value& old = json::Value());

// Too many items is all that is said of such a list.
using ItemCheck = std::function<void(const json::Value& item, const FieldPath& path, FieldErrors& errors)>;
void CheckEach(const json::Value& list, std::size_t max, const FieldPath& path, FieldErrors& errors,
               const ItemCheck& check);
// The same of a list whose items have different values of `key` ("": the items themselves).
void CheckSet(const json::Value& list, std::size_t max, std::string_view key, const FieldPath& path,
              FieldErrors& errors, const ItemCheck& check);

}  // namespace flyball::api
