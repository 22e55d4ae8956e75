// KindTraits: what the compiler knows about a C++ type that is an API kind. Specialised by the generated
// structs, by CustomResource (custom_resource.h) and by whoever writes a kind by hand:
//
//   template <> struct KindTraits<Pod> {
//     static constexpr std::string_view group = "", version = "v1", kind = "Pod", plural = "pods";
//     static constexpr bool namespaced = true;
//   };
//
// Beside it an ApiObject has a member `metadata` (ObjectMeta) and, found by argument-dependent lookup,
// `Status FromJson(const json::Value&, T*)` and `json::Value ToJson(const T&)`.
#pragma once

#include <concepts>
#include <string_view>

namespace flyball {

template <typename T>
struct KindTraits;

template <typename T>
concept ApiObject = requires(const T& object) {
  { KindTraits<T>::group } -> std::convertible_to<std::string_view>;
  { KindTraits<T>::version } -> std::convertible_to<std::string_view>;
  { KindTraits<T>::kind } -> std::convertible_to<std::string_view>;
  { KindTraits<T>::plural } -> std::convertible_to<std::string_view>;
  { KindTraits<T>::namespaced } -> std::convertible_to<bool>;
  object.metadata;
};

}  // namespace flyball
