#include "api/tables/printer.h"

#include <algorithm>
#include <map>

#include "api/select/selector.h"
#include "api/tables/table.h"
#include "api/values/time.h"
#include "json/json.h"

namespace flyball::api {

void RowWriter::Separate() {
  if (!first_) out_ += ',';
  first_ = false;
}

void RowWriter::Text(std::string_view cell) {
  Separate();
  json::AppendQuoted(cell, out_);
}

void RowWriter::Int(std::int64_t cell) {
  Separate();
  out_ += std::to_string(cell);
}

void RowWriter::Bool(bool cell) {
  Separate();
  out_ += cell ? "true" : "false";
}

void RowWriter::Json(const json::Value& cell) {
  Separate();
  json::WriteTo(cell, out_);
}

std::string RowWriter::Since(const json::Value& timestamp) const {
  if (!timestamp.is_string()) return std::string(kUnknownText);
  const auto time = ParseTime(timestamp.as_string());
  if (!time || time->IsZero()) return std::string(kUnknownText);
  return HumanDuration(now_ - time->ToTimePoint());
}

Printer FindPrinter(std::string_view group, std::string_view kind) {
  using Key = std::pair<std::string_view, std::string_view>;
  static const auto* const printers = [] {
    auto* map = new std::map<Key, Printer>;
    for (const auto& list : {PodPrinters(), WorkloadPrinters(), NetworkPrinters(), StoragePrinters(),
                             ClusterPrinters(), PolicyPrinters()})
      for (const auto& entry : list) map->emplace(Key(entry.group, entry.kind), entry.printer);
    return map;
  }();
  const auto it = printers->find({group, kind});
  return it == printers->end() ? nullptr : it->second;
}

std::string_view TextOr(const json::Value& text, std::string_view fallback) {
  const auto s = text.string_or("");
  return s.empty() ? fallback : s;
}

const json::Array& Elements(const json::Value& array) {
  static const json::Array empty;
  return array.is_array() ? array.as_array() : empty;
}

std::string FormatLabels(const json::Value& labels) {
  std::vector<std::string> pairs;
  if (labels.is_object())
    for (const auto& [key, value] : labels.as_object())
      pairs.push_back(key + '=' + std::string(value.string_or("")));
  if (pairs.empty()) return std::string(kNoneText);
  std::sort(pairs.begin(), pairs.end());
  std::string out;
  for (const auto& pair : pairs) out += (out.empty() ? "" : ",") + pair;
  return out;
}

std::string FormatSelector(const json::Value& selector) {
  const auto parsed = LabelSelector::FromObject(selector);
  if (!parsed) return "<error>";
  std::string text = parsed->ToString();
  return text.empty() ? std::string(kNoneText) : text;
}

std::string JoinStrings(const json::Value& array, std::string_view separator) {
  std::string out;
  for (const auto& element : Elements(array)) {
    if (&element != &array.as_array().front()) out += separator;
    out += element.string_or("");
  }
  return out;
}

std::string JoinMember(const json::Value& array, std::string_view member, std::string_view separator) {
  std::string out;
  for (const auto& element : Elements(array)) {
    if (&element != &array.as_array().front()) out += separator;
    out += element[member].string_or("");
  }
  return out;
}

const json::Value* FindCondition(const json::Value& conditions, std::string_view type) {
  for (const auto& condition : Elements(conditions))
    if (condition["type"].string_or("") == type) return &condition;
  return nullptr;
}

bool ConditionIsTrue(const json::Value& conditions, std::string_view type) {
  const auto* condition = FindCondition(conditions, type);
  return condition != nullptr && (*condition)["status"].string_or("") == "True";
}

void ContainerCells(const json::Value& pod_spec, RowWriter& row) {
  row.Text(JoinMember(pod_spec["containers"], "name"));
  row.Text(JoinMember(pod_spec["containers"], "image"));
}

std::string QuantityCell(const json::Value& quantity) {
  if (quantity.is_int()) return std::to_string(quantity.as_int());
  return std::string(TextOr(quantity, "0"));
}

bool IsDeleting(const json::Value& object) {
  return !object["metadata"]["deletionTimestamp"].is_null();
}

}  // namespace flyball::api
