#include "api/tables/table.h"

#include <algorithm>
#include <span>

#include "api/tables/printer.h"
#include "api/values/time.h"
#include "json/json.h"

namespace flyball::api {

namespace {

constexpr std::string_view kNameDescription =
    "Name must be unique within a namespace. It identifies the object in its resource.";
constexpr std::string_view kAgeDescription = "When the object was created, by the server's clock, in UTC.";

// Kinds that declare no columns.
constexpr ColumnInfo kBuiltinDefault[] = {
    {"Name", "string", "name", kNameDescription, ".metadata.name"},
    {"Created At", "date", "", kAgeDescription, ".metadata.creationTimestamp"},
};
constexpr ColumnInfo kCustomName = {"Name", "string", "name", kNameDescription, ".metadata.name"};
constexpr ColumnInfo kCustomAge = {"Age", "date", "", kAgeDescription, ".metadata.creationTimestamp"};

std::vector<const ColumnInfo*> ColumnsOf(const KindInfo& kind) {
  std::vector<const ColumnInfo*> out;
  if (kind.custom) {
    out.push_back(&kCustomName);
    for (const auto& column : kind.columns) out.push_back(&column);
    if (kind.columns.empty()) out.push_back(&kCustomAge);
    return out;
  }
  const auto columns = kind.columns.empty() ? std::span<const ColumnInfo>(kBuiltinDefault) : kind.columns;
  for (const auto& column : columns) out.push_back(&column);
  return out;
}

void AppendMember(std::string_view name, std::string_view value, std::string& out) {
  json::AppendQuoted(name, out);
  out += ':';
  json::AppendQuoted(value, out);
  out += ',';
}

void AppendColumn(const ColumnInfo& column, std::string& out) {
  out += '{';
  AppendMember("name", column.name, out);
  AppendMember("type", column.type, out);
  AppendMember("format", column.format, out);
  AppendMember("description", column.description, out);
  out += "\"priority\":" + std::to_string(column.priority) + '}';
}

json::Value SortedCopy(const json::Value& value) {
  json::Value out = value;
  if (out.is_object()) {
    for (auto& [key, member] : out.as_object()) member = SortedCopy(member);
    out.as_object().SortKeys();
  } else if (out.is_array()) {
    for (auto& element : out.as_array()) element = SortedCopy(element);
  }
  return out;
}

// What upstream's JSONPath prints of a value in a text column: text as it is, lists and objects as JSON.
std::string PrintedText(const json::Value& value) {
  if (value.is_string()) return std::string(value.as_string());
  if (value.is_null()) return "<nil>";
  return json::Write(SortedCopy(value));
}

void AppendDate(const json::Value& value, TimePoint now, RowWriter& row) {
  if (!value.is_string()) return row.Json(json::Value());
  const auto time = ParseTime(value.as_string());
  if (!time) return row.Text("<invalid>");
  row.Text(time->IsZero() ? std::string(kUnknownText) : HumanDuration(now - time->ToTimePoint()));
}

void AppendTyped(std::string_view type, const json::Value& value, TimePoint now, RowWriter& row) {
  if (type == "string") return row.Text(PrintedText(value));
  if (type == "date") return AppendDate(value, now, row);
  if (type == "integer" && value.is_int()) return row.Int(value.as_int());
  if (type == "integer" && value.is_double()) {
    const double d = value.as_double();
    // Beyond this a double has no exact integer, and the cast would be undefined.
    if (d > -9.2e18 && d < 9.2e18) return row.Int(static_cast<std::int64_t>(d));
  }
  if (type == "number" && value.is_number()) return row.Json(value);
  if (type == "boolean" && value.is_bool()) return row.Bool(value.as_bool());
  row.Json(json::Value());
}

void AppendMetadata(const json::Value& object, std::string& out) {
  const json::Value* metadata = object.Find("metadata");
  if (metadata != nullptr && metadata->is_object())
    json::WriteTo(*metadata, out);
  else
    out += "{}";
}

}  // namespace

TableFormat::TableFormat(const KindInfo& kind)
    : kind_(kind), printer_(kind.custom ? nullptr : FindPrinter(kind.group, kind.kind)) {
  for (const auto* info : ColumnsOf(kind)) {
    Column column{info, {}, false};
    if (printer_ == nullptr && !info->path.empty())
      if (auto path = JsonPath::Parse(info->path)) column = {info, std::move(*path), true};
    columns_.push_back(std::move(column));
  }
}

void TableFormat::AppendStart(const json::Value& list_metadata, const TableOptions& options,
                              std::string& out) const {
  AppendMetaStart("Table", options.version, out);
  if (list_metadata.is_object())
    json::WriteTo(list_metadata, out);
  else
    out += "{}";
  out += ",\"columnDefinitions\":";
  if (!options.with_columns) {
    out += "null";
  } else {
    out += '[';
    for (const auto& column : columns_) {
      if (&column != &columns_.front()) out += ',';
      AppendColumn(*column.info, out);
    }
    out += ']';
  }
  out += ",\"rows\":[";
}

void TableFormat::AppendPathCells(const json::Value& object, TimePoint now, std::string& out) const {
  RowWriter row(now, out);
  for (const auto& column : columns_) {
    const json::Value* value = column.valid ? column.path.First(object) : nullptr;
    const bool raw_date = !kind_.custom && column.info->type == "date";
    if (value == nullptr)
      row.Json(json::Value());
    else if (raw_date)
      row.Json(*value);  // kinds without a printer of their own show the moment, not the age
    else
      AppendTyped(column.info->type, *value, now, row);
  }
}

void TableFormat::AppendRow(const json::Value& object, const TableOptions& options, std::string& out,
                            std::string_view object_json) const {
  out += "{\"cells\":[";
  std::string_view conditions;
  if (printer_ != nullptr) {
    RowWriter row(options.now, out);
    printer_(object, row);
    conditions = row.conditions();
  } else {
    AppendPathCells(object, options.now, out);
  }
  out += ']';
  if (!conditions.empty()) (out += ",\"conditions\":") += conditions;
  out += ",\"object\":";
  if (options.include_object == IncludeObject::kNone)
    out += "null";
  else if (options.include_object == IncludeObject::kMetadata)
    AppendPartialObjectMetadata(object, options.version, out);
  else if (!object_json.empty())
    out += object_json;
  else
    json::WriteTo(object, out);
  out += '}';
}

void TableFormat::AppendEnd(std::string& out) {
  out += "]}";
}

std::string TableFormat::SingleTable(const json::Value& object, const TableOptions& options) const {
  std::string out;
  json::Object metadata;
  metadata.Append("resourceVersion", object["metadata"]["resourceVersion"].string_or(""));
  AppendStart(json::Value(std::move(metadata)), options, out);
  AppendRow(object, options, out);
  AppendEnd(out);
  return out;
}

void AppendMetaStart(std::string_view kind, std::string_view version, std::string& out) {
  ((out += R"({"kind":")") += kind) += R"(","apiVersion":"meta.k8s.io/)";
  (out += version) += R"(","metadata":)";
}

void AppendPartialObjectMetadata(const json::Value& object, std::string_view version, std::string& out) {
  AppendMetaStart("PartialObjectMetadata", version, out);
  AppendMetadata(object, out);
  out += '}';
}

void AppendPartialObjectMetadataListStart(const json::Value& list_metadata, std::string_view version,
                                          std::string& out) {
  AppendMetaStart("PartialObjectMetadataList", version, out);
  if (list_metadata.is_object())
    json::WriteTo(list_metadata, out);
  else
    out += "{}";
  out += ",\"items\":[";
}

std::string HumanDuration(Duration d) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(d).count();
  // A second of disagreement between two clocks still counts as now.
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  const auto minutes = seconds / 60, hours = seconds / 3600, days = hours / 24, years = days / 365;
  const auto two = [](std::int64_t big, char unit, std::int64_t small, char small_unit) {
    std::string out = std::to_string(big) + unit;
    return small == 0 ? out : out + std::to_string(small) + small_unit;
  };
  if (seconds < 120) return two(seconds, 's', 0, ' ');
  if (minutes < 10) return two(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return two(minutes, 'm', 0, ' ');
  if (hours < 8) return two(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return two(hours, 'h', 0, ' ');
  if (hours < 24 * 8) return two(days, 'd', hours % 24, 'h');
  if (years < 2) return two(days, 'd', 0, ' ');
  if (years < 8) return two(years, 'y', days % 365, 'd');
  return two(years, 'y', 0, ' ');
}

}  // namespace flyball::api
