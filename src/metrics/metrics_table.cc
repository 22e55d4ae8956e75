#include "metrics/metrics_table.h"

#include "api/values/quantity.h"

namespace flyball::metrics {
namespace {

json::Value MetricsColumn(const char* name, const char* format, const char* description = "") {
  return json::Object{
      {"name", name}, {"type", "string"}, {"format", format}, {"description", description}, {"priority", 0}};
}

std::string TotalOf(const json::Value& metrics, const char* resource) {
  if (!metrics["containers"].is_array()) return std::string(metrics["usage"][resource].string_or("0"));
  api::Quantity sum;
  for (const json::Value& container : metrics["containers"].as_array())
    if (const auto used = api::Quantity::Parse(container["usage"][resource].string_or("0"))) sum += *used;
  return sum.ToString();
}

json::Value MetricsRow(const json::Value& metrics) {
  json::Value object = json::Object{
      {"kind", "PartialObjectMetadata"}, {"apiVersion", "meta.k8s.io/v1"}, {"metadata", metrics["metadata"]}};
  return json::Object{{"cells", json::Array{metrics["metadata"]["name"], TotalOf(metrics, "cpu"),
                                            TotalOf(metrics, "memory"), metrics["window"]}},
                      {"object", std::move(object)}};
}

}  // namespace

json::Value MetricsTable(const json::Value& metrics) {
  json::Array rows;
  if (metrics["items"].is_array())
    for (const json::Value& item : metrics["items"].as_array()) rows.push_back(MetricsRow(item));
  else
    rows.push_back(MetricsRow(metrics));
  return json::Object{
      {"kind", "Table"},
      {"apiVersion", "meta.k8s.io/v1"},
      {"metadata", json::Object{}},
      {"columnDefinitions",
       json::Array{MetricsColumn("Name", "name", "Name of the resource"), MetricsColumn("cpu", "quantity"),
                   MetricsColumn("memory", "quantity"), MetricsColumn("Window", "duration")}},
      {"rows", std::move(rows)}};
}

}  // namespace flyball::metrics
