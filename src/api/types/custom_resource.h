// CustomResource: a kind of one's own, from a plain struct.
//
//   using Network = CustomResource<NetworkSpec, "sample.k8s.io", "v1", "Network">;
//   using Backup = CustomResource<BackupSpec, "example.com", "v1alpha1", "Backup", BackupStatus>;
//
// Spec may say more about the kind by static members:
//   static constexpr std::string_view kPlural = "networks";    // default: English plural of the kind
//   static constexpr bool kClusterScoped = true;               // default: namespaced
//   static constexpr std::array kShortNames = {"net"};
//   static constexpr std::array kCategories = {"all"};
//   static constexpr std::array kColumns = {Column{"CIDR", "string", ".spec.cidr"}};
//   static constexpr ScalePaths kScale = {.spec = ".spec.replicas", .status = ".status.replicas"};
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "api/types/kind_traits.h"
#include "api/types/meta.h"
#include "api/types/struct_fields.h"
#include "base/values/result.h"
#include "json/value.h"

namespace flyball {

// A string literal as a template argument.
template <std::size_t N>
struct FixedString {
  constexpr FixedString(const char (&text)[N]) { std::copy_n(text, N, data); }  // NOLINT: meant to convert
  constexpr std::string_view view() const { return {data, N - 1}; }
  char data[N]{};
};

// Of a custom resource without a status.
struct NoStatus {
  bool operator==(const NoStatus&) const = default;
  static constexpr auto kFields = Fields();
};

// A column of kubectl get.
struct Column {
  const char* name;
  const char* type;
  const char* json_path;
  int priority = 0;
};

// Where kubectl scale and the autoscaler find what they want, as JSON paths.
struct ScalePaths {
  const char* spec;
  const char* status;
  const char* selector = nullptr;
};

template <typename SpecType, FixedString Group, FixedString Version, FixedString KindName,
          typename StatusType = NoStatus>
struct CustomResource {
  using Spec = SpecType;
  ObjectMeta metadata = {};
  SpecType spec = {};
  StatusType status = {};
};

namespace custom_internal {

// "networks", "policies", "addresses": upstream's guess.
template <FixedString KindName>
struct Plural {
  static constexpr std::string_view kKind = KindName.view();
  static constexpr char At(std::size_t back) {
    const char c = kKind[kKind.size() - back];
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  static constexpr bool kIes = At(1) == 'y';
  static constexpr bool kEs =
      At(1) == 's' || At(1) == 'x' || (At(1) == 'h' && (At(2) == 'c' || At(2) == 's'));
  static constexpr std::size_t kSize = kKind.size() + (kIes || kEs ? 2 : 1);

  static constexpr std::array<char, kSize> Make() {
    std::array<char, kSize> out{};
    for (std::size_t i = 0; i < kKind.size(); ++i) out[i] = At(kKind.size() - i);
    const std::string_view ending = kIes ? "ies" : kEs ? "es" : "s";
    std::copy(ending.begin(), ending.end(), out.begin() + (kIes ? kKind.size() - 1 : kKind.size()));
    return out;
  }
  static constexpr std::array<char, kSize> kText = Make();
  static constexpr std::string_view view() { return {kText.data(), kText.size()}; }
};

template <typename Spec, FixedString KindName>
constexpr std::string_view PluralOf() {
  if constexpr (requires { Spec::kPlural; })
    return Spec::kPlural;
  else
    return Plural<KindName>::view();
}

template <typename Spec>
constexpr bool IsNamespaced() {
  if constexpr (requires { Spec::kClusterScoped; })
    return !Spec::kClusterScoped;
  else
    return true;
}

}  // namespace custom_internal

template <typename S, FixedString G, FixedString V, FixedString K, typename St>
struct KindTraits<CustomResource<S, G, V, K, St>> {
  static constexpr auto kGroup = G;
  static constexpr auto kVersion = V;
  static constexpr auto kKind = K;
  static constexpr std::string_view group = kGroup.view();
  static constexpr std::string_view version = kVersion.view();
  static constexpr std::string_view kind = kKind.view();
  static constexpr std::string_view plural = custom_internal::PluralOf<S, K>();
  static constexpr bool namespaced = custom_internal::IsNamespaced<S>();
};

template <typename S, FixedString G, FixedString V, FixedString K, typename St>
Status FromJson(const json::Value& value, CustomResource<S, G, V, K, St>* out) {
  *out = {};
  if (!value.is_object()) return fields_internal::WrongType(value, "object");
  const auto read = [&](const char* name, auto* part) -> Status {
    const json::Value* member = value.Find(name);
    if (!member || member->is_null()) return {};
    if (Status s = FromJson(*member, part); !s) return Unexpected(s.error().Annotate(name));
    return {};
  };
  FLYBALL_TRY(read("metadata", &out->metadata));
  FLYBALL_TRY(read("spec", &out->spec));
  return read("status", &out->status);
}

template <typename S, FixedString G, FixedString V, FixedString K, typename St>
json::Value ToJson(const CustomResource<S, G, V, K, St>& object) {
  json::Object out;
  out.Append("apiVersion", json::Value(std::string(G.view()) + "/" + std::string(V.view())));
  out.Append("kind", json::Value(K.view()));
  out.Append("metadata", ToJson(object.metadata));
  out.Append("spec", ToJson(object.spec));
  if (json::Value status = ToJson(object.status); !status.empty()) out.Append("status", std::move(status));
  return json::Value(std::move(out));
}

}  // namespace flyball
