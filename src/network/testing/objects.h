// For tests: typed objects from YAML.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string_view>

#include "json/yaml/yaml.h"

namespace flyball::network {

template <typename T>
T ObjectFrom(std::string_view yaml) {
  T object;
  const auto value = json::ParseYaml(yaml);
  EXPECT_TRUE(value) << value.error().ToString();
  if (value) {
    const Status read = FromJson(*value, &object);
    EXPECT_TRUE(read) << read.error().ToString();
  }
  return object;
}

template <typename T>
std::shared_ptr<const T> SharedFrom(std::string_view yaml) {
  return std::make_shared<const T>(ObjectFrom<T>(yaml));
}

}  // namespace flyball::network
