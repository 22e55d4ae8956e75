#include "cli/kubectl/print/table_printer.h"

#include "api/tables/table.h"
#include "api/values/time.h"
#include "base/values/ascii.h"
#include "cli/kubectl/print/path_template.h"
#include "cli/kubectl/session/resource_args.h"

namespace flyball::cli {
namespace {

std::string LabelsText(const json::Value& labels) {
  if (labels.empty()) return "<none>";
  json::Object sorted = labels.as_object();
  sorted.SortKeys();
  std::string out;
  for (const auto& [key, value] : sorted) {
    if (!out.empty()) out += ",";
    out += key + "=" + std::string(value.string_or(""));
  }
  return out;
}

// The header of -L app.kubernetes.io/name is NAME.
std::string LabelHeader(const std::string& label) {
  const std::size_t slash = label.rfind('/');
  return UpperCase(slash == std::string::npos ? label : label.substr(slash + 1));
}

std::string CellText(const json::Value& cell) {
  std::string text = cell.is_null() ? "<none>" : PathText(cell);
  // Prints only the first line of a cell, with a mark if there are more.
  if (const std::size_t end = text.find('\n'); end != std::string::npos) text = text.substr(0, end) + "...";
  return text;
}

}  // namespace

TablePrinter::TablePrinter(KindRef kind, TableFlags flags)
    : kind_(std::move(kind)), flags_(std::move(flags)) {
  writer_.RememberWidths();
}

std::string TablePrinter::Print(const json::Value& table, const std::string& event) {
  if (table["columnDefinitions"].is_array() && !table["columnDefinitions"].empty())
    columns_ = table["columnDefinitions"];
  if (!header_written_ && !flags_.no_headers) WriteHeader();
  header_written_ = true;
  if (table["rows"].is_array())
    for (const json::Value& row : table["rows"].as_array()) WriteRow(row, event);
  return writer_.Take();
}

void TablePrinter::WriteHeader() {
  std::string line;
  if (flags_.with_event) line += "EVENT\t";
  if (flags_.with_namespace) line += "NAMESPACE\t";
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const json::Value& column = columns_.as_array()[i];
    if (column["priority"].int_or(0) != 0 && !flags_.wide) continue;
    line += UpperCase(column["name"].string_or("")) + "\t";
  }
  for (const std::string& label : flags_.label_columns) line += LabelHeader(label) + "\t";
  if (flags_.show_labels) line += "LABELS\t";
  line.pop_back();
  writer_.Write(line + "\n");
}

void TablePrinter::WriteRow(const json::Value& row, const std::string& event) {
  const json::Value& metadata = row["object"]["metadata"];
  std::string line;
  if (flags_.with_event) line += event + "\t";
  if (flags_.with_namespace) line += std::string(metadata["namespace"].string_or("")) + "\t";
  const json::Value& cells = row["cells"];
  for (std::size_t i = 0; i < cells.size() && i < columns_.size(); ++i) {
    const json::Value& column = columns_.as_array()[i];
    if (column["priority"].int_or(0) != 0 && !flags_.wide) continue;
    std::string text = CellText(cells.as_array()[i]);
    if (flags_.with_kind && column["format"].string_or("") == "name") text = DisplayName(kind_, text);
    line += text + "\t";
  }
  for (const std::string& label : flags_.label_columns)
    line += std::string(metadata["labels"][label].string_or("")) + "\t";
  if (flags_.show_labels) line += LabelsText(metadata["labels"]) + "\t";
  if (!line.empty()) line.pop_back();
  writer_.Write(line + "\n");
}

json::Value TableOfObjects(const json::Array& objects, const Clock& clock) {
  const std::int64_t now = std::chrono::floor<std::chrono::seconds>(clock.Now().time_since_epoch()).count();
  json::Array rows;
  for (const json::Value& object : objects) {
    const auto created = api::ParseTime(object["metadata"]["creationTimestamp"].string_or(""));
    const std::string age =
        created ? api::HumanDuration(std::chrono::seconds(now - created->seconds)) : "<unknown>";
    rows.emplace_back(
        json::Object{{"cells", json::Array{object["metadata"]["name"], age}}, {"object", object}});
  }
  return json::Object{
      {"columnDefinitions", json::Array{json::Object{{"name", "Name"}, {"format", "name"}, {"priority", 0}},
                                        json::Object{{"name", "Age"}, {"priority", 0}}}},
      {"rows", std::move(rows)}};
}

}  // namespace flyball::cli
