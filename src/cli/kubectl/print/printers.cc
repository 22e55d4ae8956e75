#include "cli/kubectl/print/printers.h"

#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/print/path_template.h"
#include "cli/kubectl/print/tab_writer.h"
#include "cli/kubectl/session/resource_args.h"
#include "json/json.h"
#include "json/yaml/yaml.h"

namespace flyball::cli {
namespace {

template <typename Fn>
void ForEachObject(const json::Value& object, Fn&& fn) {
  const json::Value* items = object.Find("items");
  if (!items || !items->is_array()) return fn(object);
  for (const json::Value& item : items->as_array()) fn(item);
}

void DropManagedFields(json::Value& object) {
  if (json::Value* items = object.Find("items"); items && items->is_array())
    for (json::Value& item : items->as_array()) DropManagedFields(item);
  if (json::Value* metadata = object.Find("metadata"); metadata && metadata->is_object())
    metadata->as_object().Erase("managedFields");
}

class TextPrinter final : public ObjectPrinter {
 public:
  TextPrinter(bool yaml, bool managed_fields) : yaml_(yaml), managed_fields_(managed_fields) {}
  std::string Print(const json::Value& object) override {
    json::Value copy = object;
    if (!managed_fields_) DropManagedFields(copy);
    if (!yaml_) {
      SortKeysDeep(copy);
      return json::WritePretty(copy) + "\n";
    }
    return std::exchange(separator_, "---\n") + json::WriteYaml(copy);
  }

 private:
  const bool yaml_, managed_fields_;
  std::string separator_;
};

class NamePrinter final : public ObjectPrinter {
 public:
  std::string Print(const json::Value& object) override {
    std::string out;
    ForEachObject(object, [&](const json::Value& item) { out += NameOf(item) + "\n"; });
    return out;
  }
};

class PathPrinter final : public ObjectPrinter {
 public:
  explicit PathPrinter(PathTemplate path) : path_(std::move(path)) {}
  std::string Print(const json::Value& object) override { return path_.Render(object); }

 private:
  const PathTemplate path_;
};

class ColumnsPrinter final : public ObjectPrinter {
 public:
  ColumnsPrinter(std::vector<std::string> names, std::vector<api::JsonPath> paths, bool headers)
      : names_(std::move(names)), paths_(std::move(paths)), headers_(headers) {}

  std::string Print(const json::Value& object) override {
    if (std::exchange(headers_, false)) WriteRow(names_);
    ForEachObject(object, [&](const json::Value& item) {
      std::vector<std::string> cells;
      for (const api::JsonPath& path : paths_) cells.push_back(Cell(path, item));
      WriteRow(cells);
    });
    return writer_.Take();
  }

 private:
  static std::string Cell(const api::JsonPath& path, const json::Value& item) {
    std::string text;
    for (const json::Value* value : path.Evaluate(item)) {
      if (!text.empty()) text += ",";
      text += PathText(*value);
    }
    return text.empty() ? "<none>" : text;
  }
  void WriteRow(const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) writer_.Write((i ? "\t" : "") + cells[i]);
    writer_.Write("\n");
  }

  const std::vector<std::string> names_;
  const std::vector<api::JsonPath> paths_;
  bool headers_;
  TabWriter writer_ = TableWriter();
};

Result<std::unique_ptr<ObjectPrinter>> NewColumnsPrinter(std::string_view spec, bool headers) {
  std::vector<std::string> names;
  std::vector<api::JsonPath> paths;
  for (const std::string& column : SplitText(spec, ',')) {
    const std::size_t colon = column.find(':');
    if (colon == std::string::npos)
      return Unexpected(
          LocalError("unexpected custom-columns spec: " + column + ", expected <header>:<json-path-expr>"));
    names.push_back(column.substr(0, colon));
    FLYBALL_ASSIGN(auto path, api::JsonPath::Parse(column.substr(colon + 1)));
    paths.push_back(std::move(path));
  }
  return std::unique_ptr<ObjectPrinter>(
      std::make_unique<ColumnsPrinter>(std::move(names), std::move(paths), headers));
}

}  // namespace

Result<std::unique_ptr<ObjectPrinter>> NewObjectPrinter(const PrintFlags& flags) {
  const std::string& output = flags.output;
  const std::size_t equals = output.find('=');
  const std::string format = output.substr(0, equals);
  const std::string argument = equals == std::string::npos ? "" : output.substr(equals + 1);
  if (format.empty() || format == "wide") return std::unique_ptr<ObjectPrinter>();
  if (format == "yaml" || format == "json")
    return std::unique_ptr<ObjectPrinter>(
        std::make_unique<TextPrinter>(format == "yaml", flags.show_managed_fields));
  if (format == "name") return std::unique_ptr<ObjectPrinter>(std::make_unique<NamePrinter>());
  if (format == "custom-columns") return NewColumnsPrinter(argument, !flags.no_headers);
  if (format == "jsonpath") {
    auto path = PathTemplate::Parse(argument);
    if (!path)
      return Unexpected(LocalError("error parsing jsonpath " + argument + ", " + path.error().message()));
    return std::unique_ptr<ObjectPrinter>(std::make_unique<PathPrinter>(std::move(*path)));
  }
  return Unexpected(LocalError("unable to match a printer suitable for the output format \"" + output +
                               "\", allowed formats are: custom-columns,json,jsonpath,name,wide,yaml"));
}

json::Value ListOf(std::vector<json::Value> items) {
  json::Value list;
  list["apiVersion"] = "v1";
  list["items"] = json::Array(std::move(items));
  list["kind"] = "List";
  list["metadata"]["resourceVersion"] = "";
  return list;
}

void SortKeysDeep(json::Value& value) {
  if (value.is_array())
    for (json::Value& item : value.as_array()) SortKeysDeep(item);
  if (!value.is_object()) return;
  value.as_object().SortKeys();
  for (auto& [key, member] : value.as_object()) SortKeysDeep(member);
}

std::string DryRunNote(std::string_view dry_run) {
  return dry_run == "client" ? " (dry run)" : dry_run == "server" ? " (server dry run)" : "";
}

std::string NameOf(const json::Value& object) {
  const auto [group, version] = SplitApiVersion(object["apiVersion"].string_or(""));
  KindRef kind;
  kind.group = group;
  kind.kind = object["kind"].string_or("");
  return DisplayName(kind, object["metadata"]["name"].string_or(""));
}

}  // namespace flyball::cli
