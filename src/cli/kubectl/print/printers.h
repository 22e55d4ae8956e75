// Printing objects: the ways of `-o`.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "client/kind_ref.h"
#include "json/value.h"

namespace flyball::cli {

// Prints whole objects one after the other (what -o asks for besides tables). Thread-compatible.
class ObjectPrinter {
 public:
  virtual ~ObjectPrinter() = default;
  // To be called with each object, or with a List of them.
  virtual std::string Print(const json::Value& object) = 0;
};

struct PrintFlags {
  std::string output;  // as given to -o
  bool show_managed_fields = false;
  bool no_headers = false;
};

// For yaml, json, name, jsonpath=..., custom-columns=.... Null for "", "wide": those are tables. An error for
// what is not known.
Result<std::unique_ptr<ObjectPrinter>> NewObjectPrinter(const PrintFlags& flags);

// {"apiVersion":"v1","kind":"List",...} around several objects.
json::Value ListOf(std::vector<json::Value> items);
// Members by name at every level, as Go writes maps.
void SortKeysDeep(json::Value& value);
// What is added to what would have been done: " (dry run)" for client, " (server dry run)", else nothing.
std::string DryRunNote(std::string_view dry_run);
// "deployment.apps/web" from the object alone.
std::string NameOf(const json::Value& object);

}  // namespace flyball::cli
