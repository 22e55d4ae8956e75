// What printers share: a row is written cell by cell, and helpers that read objects as upstream's printers
// do. Internal to tables.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/run/clock.h"
#include "json/value.h"

namespace flyball::api {

// Appends the cells of one row as JSON text. Confined to the call that made it.
class RowWriter {
 public:
  RowWriter(TimePoint now, std::string& out) : now_(now), out_(out) {}

  void Text(std::string_view cell);
  void Int(std::int64_t cell);
  void Bool(bool cell);
  void Json(const json::Value& cell);
  // The time since the moment `timestamp` says, as people read it; "<unknown>" if it says none.
  void Age(const json::Value& timestamp) { Text(Since(timestamp)); }
  void Created(const json::Value& object) { Age(object["metadata"]["creationTimestamp"]); }
  void Name(const json::Value& object) { Text(object["metadata"]["name"].string_or("")); }

  std::string Since(const json::Value& timestamp) const;
  // Text of the row's "conditions" member (upstream marks finished pods so); empty: none.
  void set_conditions(std::string_view conditions) { conditions_ = conditions; }
  std::string_view conditions() const { return conditions_; }
  TimePoint now() const { return now_; }

 private:
  void Separate();

  const TimePoint now_;
  std::string& out_;
  bool first_ = true;
  std::string_view conditions_;
};

using Printer = void (*)(const json::Value& object, RowWriter& row);

// The printer of a built-in kind, or null.
Printer FindPrinter(std::string_view group, std::string_view kind);

struct PrinterEntry {
  std::string_view group, kind;
  Printer printer;
};
// One list a file of printers/.
std::vector<PrinterEntry> PodPrinters();
std::vector<PrinterEntry> WorkloadPrinters();
std::vector<PrinterEntry> NetworkPrinters();
std::vector<PrinterEntry> StoragePrinters();
std::vector<PrinterEntry> ClusterPrinters();
std::vector<PrinterEntry> PolicyPrinters();

inline constexpr std::string_view kNoneText = "<none>", kUnsetText = "<unset>", kUnknownText = "<unknown>";

// `text`, or `fallback` when it is absent, no string or empty.
std::string_view TextOr(const json::Value& text, std::string_view fallback);
// The elements of an array; none of anything else.
const json::Array& Elements(const json::Value& array);
// "a=b,c=d", sorted; "<none>" if there are none (upstream: labels.FormatLabels).
std::string FormatLabels(const json::Value& labels);
// A LabelSelector object as text; "<none>" if it is empty (upstream: metav1.FormatLabelSelector).
std::string FormatSelector(const json::Value& selector);
// The strings of an array, or one member of each of its objects, separated by `separator`.
std::string JoinStrings(const json::Value& array, std::string_view separator = ",");
std::string JoinMember(const json::Value& array, std::string_view member, std::string_view separator = ",");
// The condition of that type in a list of conditions; null if there is none.
const json::Value* FindCondition(const json::Value& conditions, std::string_view type);
bool ConditionIsTrue(const json::Value& conditions, std::string_view type);
// Two cells: container names and images of a pod spec.
void ContainerCells(const json::Value& pod_spec, RowWriter& row);
// A quantity as it was given; "0" if absent.
std::string QuantityCell(const json::Value& quantity);
bool IsDeleting(const json::Value& object);

}  // namespace flyball::api
