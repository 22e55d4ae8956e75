#include "controller/objects/create_or_apply.h"

namespace flyball {

bool Covers(const json::Value& have, const json::Value& want) {
  if (want.is_null() || (want.is_object() && want.empty())) return true;
  if (!want.is_object() || !have.is_object()) return have == want;
  for (const auto& [name, value] : want.as_object())
    if (!Covers(have[name], value)) return false;
  return true;
}

}  // namespace flyball
