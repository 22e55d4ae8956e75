// What ConfigMap and Secret share: keys, size, immutability.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string_view>

#include "api/rules/field_error.h"
#include "json/value.h"

namespace flyball::api {

inline constexpr std::size_t kMaxDataBytes = 1024 * 1024;

// How many bytes canonical base64 stands for.
std::size_t DecodedSize(std::string_view base64);

// Once `immutable` is true, neither it nor these members may change.
void CheckImmutableData(const json::Value& object, const json::Value& old,
                        std::initializer_list<const char*> members, FieldErrors& errors);

}  // namespace flyball::api
