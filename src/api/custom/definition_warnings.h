// What a CustomResourceDefinition says that will not work as its author may think. Functions only;
// thread-safe.
#pragma once

#include <string>
#include <vector>

#include "json/value.h"

namespace flyball::api {

// Formats that are not checked, and sets whose items are not compared as a whole.
void WarnOfDefinition(const json::Value& definition, std::vector<std::string>& out);

}  // namespace flyball::api
