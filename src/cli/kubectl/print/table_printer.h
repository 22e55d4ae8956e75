// TablePrinter: prints the server's Tables as kubectl does.
#pragma once

#include <string>
#include <vector>

#include "base/run/clock.h"
#include "cli/kubectl/print/tab_writer.h"
#include "client/kind_ref.h"
#include "json/value.h"

namespace flyball::cli {

struct TableFlags {
  bool wide = false;
  bool no_headers = false;
  bool show_labels = false;
  bool with_event = false;      // a first column with what has happened to each row's object
  bool with_namespace = false;  // a first column with each row's namespace
  bool with_kind = false;       // "deployment.apps/web" instead of "web"
  std::vector<std::string> label_columns;
};

// Prints Tables of one kind; later rows align with earlier ones. Thread-compatible.
class TablePrinter {
 public:
  TablePrinter(KindRef kind, TableFlags flags);
  // Prints the rows, with headers the first time. A Table without column definitions (as in later watch
  // events) uses those of the previous one.
  // `event` is for the column of TableFlags::with_event.
  std::string Print(const json::Value& table, const std::string& event = {});

 private:
  void WriteHeader();
  void WriteRow(const json::Value& row, const std::string& event);

  const KindRef kind_;
  const TableFlags flags_;
  json::Value columns_;
  bool header_written_ = false;
  TabWriter writer_ = TableWriter();
};

// A Table of names and ages: what there is to say of objects without the server's help.
json::Value TableOfObjects(const json::Array& objects, const Clock& clock);

// The Accept header that requests a Table.
inline constexpr std::string_view kTableAccept =
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

}  // namespace flyball::cli
