// Prints objects in the formats of `-o`.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "cli/command/command.h"
#include "client/kind_ref.h"
#include "json/value.h"

namespace flyball::cli {

// Prints whole objects one after the other (all -o formats except tables). Thread-compatible.
class ObjectPrinter {
 public:
  virtual ~ObjectPrinter() = default;
  // Call with each object, or with a List of them. Fails where a template does.
  virtual Result<std::string> Print(const json::Value& object) = 0;
  // What is printed in place of an object that Print has just failed for.
  virtual std::string Failure() const { return {}; }
};

struct PrintFlags {
  std::string output;           // as given to -o
  std::string template_text{};  // as given to --template
  bool show_managed_fields = false;
  bool no_headers = false;
  bool allow_missing_keys = true;  // of templates
};
// -o, --template, --allow-missing-template-keys and --show-managed-fields.
void AddPrintFlags(const Command& command, PrintFlags* flags);
// --dry-run, which without a value means client.
void AddDryRunFlag(const Command& command, std::string* dry_run);
// kubectl's refusal of a value that is none of none, server and client.
Status CheckDryRun(std::string_view dry_run);

// For yaml, json, name, jsonpath, custom-columns and go-template, the last three also from a file. Returns
// null for "" and "wide", which are tables, and an error for unknown formats.
Result<std::unique_ptr<ObjectPrinter>> NewObjectPrinter(const PrintFlags& flags);

// Writes the object in the printer's format.
Status PrintTo(std::ostream& out, ObjectPrinter& printer, const json::Value& object);
// {"apiVersion":"v1","kind":"List",...} around several objects.
json::Value ListOf(std::vector<json::Value> items);
// Sorts members by name at every level, as Go writes maps.
void SortKeysDeep(json::Value& value);
// The suffix of a dry run: " (dry run)" for client, " (server dry run)" for server, else nothing.
std::string DryRunNote(std::string_view dry_run);
// Returns "deployment.apps/web", derived from the object alone.
std::string NameOf(const json::Value& object);

}  // namespace flyball::cli
