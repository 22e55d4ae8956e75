// Tables: what `kubectl get` shows (meta.k8s.io/v1 Table), and objects cut down to their metadata
// (PartialObjectMetadata). Text is appended row by row, so that a long list never exists twice. The columns
// of a kind are its KindInfo's; built-in cells come from printers/ (upstream: pkg/printers), those of custom
// kinds from their columns' JSONPaths. Everything here is thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/schema/schema.h"
#include "api/select/json_path.h"
#include "base/run/clock.h"
#include "json/value.h"

namespace flyball::api {

// The query parameter includeObject; upstream's default is metadata.
enum class IncludeObject { kNone, kMetadata, kObject };

struct TableOptions {
  TimePoint now;  // ages are counted to here
  IncludeObject include_object = IncludeObject::kMetadata;
  // A watch sends the columns with its first event only; later ones say null.
  bool with_columns = true;
  std::string_view version = "v1";  // of meta.k8s.io: also "v1beta1", which is the same under another name
};

// How the objects of one kind become rows. Building compiles the columns' paths; keep it for as long as the
// request lasts (or the KindInfo, which it refers to).
class TableFormat {
 public:
  explicit TableFormat(const KindInfo& kind);

  // A whole document is AppendStart, AppendRow with commas between, AppendEnd. `list_metadata` becomes the
  // table's metadata: an object with resourceVersion, continue, remainingItemCount; of a single object or a
  // watch event, its resourceVersion only.
  void AppendStart(const json::Value& list_metadata, const TableOptions& options, std::string& out) const;
  // One row. `object_json` is the object's text if the caller has it (used with kObject only).
  void AppendRow(const json::Value& object, const TableOptions& options, std::string& out,
                 std::string_view object_json = {}) const;
  static void AppendEnd(std::string& out);

  // The Table that shows one object: for GET and for each event of a watch.
  std::string SingleTable(const json::Value& object, const TableOptions& options) const;

 private:
  struct Column {
    const ColumnInfo* info;
    JsonPath path;
    bool valid;
  };
  void AppendPathCells(const json::Value& object, TimePoint now, std::string& out) const;

  const KindInfo& kind_;
  // What draws the whole row of a built-in kind; null: the columns' paths do.
  void (*printer_)(const json::Value& object, class RowWriter& row);
  std::vector<Column> columns_;
};

// A document of a kind and version of meta.k8s.io up to its metadata:
// {"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":
void AppendMetaStart(std::string_view kind, std::string_view version, std::string& out);
// {"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{...}}
void AppendPartialObjectMetadata(const json::Value& object, std::string_view version, std::string& out);
// The start of a PartialObjectMetadataList up to the first item; "]}" ends it.
void AppendPartialObjectMetadataListStart(const json::Value& list_metadata, std::string_view version,
                                          std::string& out);

// Upstream's duration.HumanDuration: "5s", "3m20s", "4h", "2d3h", "1y20d".
std::string HumanDuration(Duration d);

}  // namespace flyball::api
