// What the two configuration files have in common.
#pragma once

#include <string>
#include <vector>

#include "server/config/strict_object.h"

namespace flyball::server {

// The fields are the same in both.
inline const std::vector<std::string> kConfigVersions = {"apiserver.config.k8s.io/v1",
                                                         "apiserver.config.k8s.io/v1beta1"};

// Calls fn(element, path of the element) for each element of a list.
template <typename Fn>
void EachOf(StrictObject& object, std::string_view name, Fn fn) {
  const auto& list = object.List(name);
  for (std::size_t i = 0; i < list.size(); ++i) fn(list[i], object.PathOf(name, i));
}

}  // namespace flyball::server
