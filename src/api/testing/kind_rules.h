// For tests only: what a kind's hooks say to an object given as JSON text.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "api/rules/kind_hooks.h"
#include "api/schema/decode.h"
#include "api/schema/defaults.h"
#include "json/json.h"

namespace flyball::api {

using Lines = std::vector<std::string>;

// Decoded, with defaults, as the server has it before validation.
inline json::Value Prepared(std::string_view group, std::string_view kind, std::string_view text) {
  const KindInfo* info = nullptr;
  for (const KindInfo& candidate : BuiltinKinds()) {
    // The preferred version is the first.
    if (info == nullptr && candidate.group == group && candidate.kind == kind) info = &candidate;
  }
  EXPECT_NE(info, nullptr) << kind;
  json::Value object = *json::Parse(text);
  DecodeContext context;
  const Status decoded = Decode(*info->type, object, context);
  EXPECT_TRUE(decoded) << (decoded ? "" : decoded.error().message());
  ApplyDefaults(*info->type, object);
  if (HooksFor(group, kind).set_defaults != nullptr) HooksFor(group, kind).set_defaults(object);
  Canonicalize(*info->type, object);
  return object;
}

inline Lines LinesOf(const FieldErrors& errors) {
  Lines lines;
  for (const Cause& cause : errors.causes()) lines.push_back(cause.field + ": " + cause.message);
  return lines;
}

// "field: message" of everything that is wrong with it.
inline Lines Wrong(std::string_view group, std::string_view kind, std::string_view text) {
  FieldErrors errors;
  HooksFor(group, kind).validate(Prepared(group, kind, text), errors);
  return LinesOf(errors);
}

// What is wrong with changing `before` into `after`.
inline Lines WrongChange(std::string_view group, std::string_view kind, std::string_view before,
                         std::string_view after) {
  FieldErrors errors;
  const json::Value old = Prepared(group, kind, before);
  json::Value object = Prepared(group, kind, after);
  const KindHooks& hooks = HooksFor(group, kind);
  if (hooks.prepare_for_update != nullptr) hooks.prepare_for_update(object, old);
  hooks.validate_update(object, old, errors);
  return LinesOf(errors);
}

}  // namespace flyball::api
