#include "server/admission/pods/tolerations.h"

#include <array>

namespace flyball::server {
namespace {

constexpr std::array<std::string_view, 5> kTolerationFields = {"key", "operator", "value", "effect",
                                                               "tolerationSeconds"};

bool SameToleration(const json::Value& a, const json::Value& b) {
  for (const auto field : kTolerationFields)
    if (!(a[field] == b[field]) &&
        !(a[field].string_or("").empty() && b[field].string_or("").empty() && field != "tolerationSeconds"))
      return false;
  return true;
}

json::Array TolerationsOf(const json::Value& list) {
  return list.is_array() ? list.as_array() : json::Array{};
}

}  // namespace

bool ToleratesAsMuch(const json::Value& wide, const json::Value& narrow) {
  if (SameToleration(wide, narrow)) return true;
  const auto text = [](const json::Value& toleration, std::string_view field) {
    return toleration[field].string_or("");
  };
  const auto how = text(wide, "operator");
  // An empty key with Exists matches every taint; an empty effect every effect.
  if (text(narrow, "key") != text(wide, "key") && !(text(wide, "key").empty() && how == "Exists"))
    return false;
  if (text(narrow, "effect") != text(wide, "effect") && !text(wide, "effect").empty()) return false;
  if (const auto& limit = wide["tolerationSeconds"];
      text(wide, "effect") == "NoExecute" && !limit.is_null()) {
    const auto& asked = narrow["tolerationSeconds"];
    if (asked.is_null() || asked.int_or(0) > limit.int_or(0)) return false;
  }
  if (how == "Exists") return true;
  if (how != "Equal" && !how.empty()) return false;
  return text(narrow, "operator") == "Equal" && text(narrow, "value") == text(wide, "value");
}

json::Value MergeTolerations(const json::Value& first, const json::Value& second) {
  json::Array all = TolerationsOf(first), merged;
  for (const auto& toleration : TolerationsOf(second)) all.push_back(toleration);
  const auto superfluous = [&](std::size_t i) {
    for (const auto& kept : merged)
      if (ToleratesAsMuch(kept, all[i])) return true;
    for (std::size_t later = i + 1; later < all.size(); ++later)
      if (!SameToleration(all[i], all[later]) && ToleratesAsMuch(all[later], all[i])) return true;
    return false;
  };
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!superfluous(i)) merged.push_back(all[i]);
  return merged;
}

bool ToleratesOnly(const json::Value& tolerations, const json::Value& allowed) {
  const json::Array bounds = TolerationsOf(allowed);
  if (bounds.empty()) return true;
  for (const auto& toleration : TolerationsOf(tolerations)) {
    bool within = false;
    for (const auto& bound : bounds) within = within || ToleratesAsMuch(bound, toleration);
    if (!within) return false;
  }
  return true;
}

}  // namespace flyball::server
