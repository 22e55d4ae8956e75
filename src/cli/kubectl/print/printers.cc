#include "cli/kubectl/print/printers.h"

#include <fstream>
#include <iterator>
#include <ostream>

#include "api/template/go_template.h"
#include "api/values/go_text.h"
#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/command/klog.h"
#include "cli/kubectl/print/path_template.h"
#include "cli/kubectl/print/tab_writer.h"
#include "cli/kubectl/session/resource_args.h"
#include "json/json.h"
#include "json/yaml/kyaml.h"
#include "json/yaml/yaml.h"

namespace flyball::cli {
namespace {

// --dry-run without a value, as kubectl's help shows it.
constexpr const char* kAloneDryRun = "unchanged";

Result<std::string> ReadTemplateFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (path.empty() || !in)
    return Unexpected(
        LocalError("error reading --template " + path + ", open " + path + ": no such file or directory"));
  return std::string(std::istreambuf_iterator<char>(in), {});
}

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
  TextPrinter(std::string format, bool managed_fields)
      : format_(std::move(format)), managed_fields_(managed_fields) {}
  Result<std::string> Print(const json::Value& object) override {
    json::Value copy = object;
    if (!managed_fields_) DropManagedFields(copy);
    if (format_ == "yaml") return std::exchange(separator_, "---\n") + json::WriteYaml(copy);
    SortKeysDeep(copy);
    return format_ == "json" ? json::WritePretty(copy) + "\n" : json::WriteKyaml(copy);
  }

 private:
  const std::string format_;  // json, yaml or kyaml
  const bool managed_fields_;
  std::string separator_;
};

class NamePrinter final : public ObjectPrinter {
 public:
  Result<std::string> Print(const json::Value& object) override {
    std::string out;
    ForEachObject(object, [&](const json::Value& item) { out += NameOf(item) + "\n"; });
    return out;
  }
};

class PathPrinter final : public ObjectPrinter {
 public:
  PathPrinter(std::string text, PathTemplate path, bool strict)
      : text_(std::move(text)), path_(std::move(path)), strict_(strict) {}
  Result<std::string> Print(const json::Value& object) override {
    if (!strict_) return path_.Render(object);
    auto out = path_.RenderStrictly(object);
    if (out) return out;
    return Unexpected(LocalError(
        "error executing jsonpath \"" + text_ + "\": Error executing template: " + out.error().message() +
        ". Printing more information for debugging the template:\n\ttemplate was:\n\t\t" + text_ +
        "\n\tobject given to jsonpath engine was:\n\t\t" + api::GoSyntax(object) + "\n\n"));
  }

 private:
  const std::string text_;
  const PathTemplate path_;
  const bool strict_;
};

class TemplatePrinter final : public ObjectPrinter {
 public:
  TemplatePrinter(std::string text, api::GoTemplate parsed, bool strict)
      : text_(std::move(text)), template_(std::move(parsed)), strict_(strict) {}
  Result<std::string> Print(const json::Value& object) override {
    auto out = template_.Render(object, {.strict = strict_});
    if (out) return out;
    json::Value sorted = object;
    SortKeysDeep(sorted);
    failure_ = "Error executing template: " + out.error().message() +
               ". Printing more information for debugging the template:\n\ttemplate was:\n\t\t" + text_ +
               "\n\traw data was:\n\t\t" + json::Write(sorted) +
               "\n\tobject given to template engine was:\n\t\t" + api::GoPrint(sorted) + "\n\n";
    return Unexpected(LocalError("error executing template \"" + text_ + "\": " + out.error().message()));
  }
  std::string Failure() const override { return failure_; }

 private:
  const std::string text_;
  const api::GoTemplate template_;
  const bool strict_;
  std::string failure_;
};

// Every result of the path as one JSON list.
class PathJsonPrinter final : public ObjectPrinter {
 public:
  explicit PathJsonPrinter(api::JsonPath path) : path_(std::move(path)) {}
  Result<std::string> Print(const json::Value& object) override {
    json::Array found;
    for (const json::Value* value : path_.Evaluate(object)) found.push_back(*value);
    json::Value list(std::move(found));
    SortKeysDeep(list);
    return json::WritePretty(list) + "\n";
  }

 private:
  const api::JsonPath path_;
};

class ColumnsPrinter final : public ObjectPrinter {
 public:
  ColumnsPrinter(std::vector<std::string> names, std::vector<api::JsonPath> paths, bool headers)
      : names_(std::move(names)), paths_(std::move(paths)), headers_(headers) {}

  Result<std::string> Print(const json::Value& object) override {
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

// The header line and the line of paths below it.
Result<std::string> ColumnsOfFile(const std::string& path) {
  FLYBALL_ASSIGN(const std::string text, ReadTemplateFile(path));
  const auto lines = SplitText(text, '\n');
  const auto names = SplitWords(lines[0]);
  const auto paths = SplitWords(lines.size() > 1 ? lines[1] : "");
  if (names.empty() || names.size() != paths.size())
    return Unexpected(LocalError("number of headers (" + std::to_string(names.size()) +
                                 ") and field specifications (" + std::to_string(paths.size()) +
                                 ") don't match"));
  std::string spec;
  for (std::size_t i = 0; i < names.size(); ++i) spec += (i ? "," : "") + names[i] + ":" + paths[i];
  return spec;
}

Result<std::unique_ptr<ObjectPrinter>> NewTemplatePrinter(const std::string& text, bool strict) {
  if (text.empty()) return Unexpected(LocalError("template format specified but no template given"));
  auto parsed = api::GoTemplate::Parse(text);
  if (!parsed)
    return Unexpected(LocalError("error parsing template " + text + ", " + parsed.error().message()));
  return std::unique_ptr<ObjectPrinter>(std::make_unique<TemplatePrinter>(text, std::move(*parsed), strict));
}

Result<std::unique_ptr<ObjectPrinter>> NewPathPrinter(const std::string& text, bool as_json, bool strict) {
  if (text.empty()) return Unexpected(LocalError("template format specified but no template given"));
  if (as_json) {
    auto path = api::JsonPath::Parse(text);
    if (!path)
      return Unexpected(LocalError("error parsing jsonpath " + text + ", " + path.error().message()));
    return std::unique_ptr<ObjectPrinter>(std::make_unique<PathJsonPrinter>(std::move(*path)));
  }
  auto path = PathTemplate::Parse(text);
  if (!path) return Unexpected(LocalError("error parsing jsonpath " + text + ", " + path.error().message()));
  return std::unique_ptr<ObjectPrinter>(std::make_unique<PathPrinter>(text, std::move(*path), strict));
}

// A format and its argument: "jsonpath={.x}", or the argument from --template.
struct OutputFormat {
  std::string name, argument;
};
Result<OutputFormat> FormatOf(const PrintFlags& flags) {
  const std::size_t equals = flags.output.find('=');
  OutputFormat format{flags.output.substr(0, equals),
                      equals == std::string::npos ? flags.template_text : flags.output.substr(equals + 1)};
  if (format.name.empty() && !flags.template_text.empty()) format.name = "go-template";
  if (format.name == "template") format.name = "go-template";
  if (format.name == "templatefile") format.name = "go-template-file";
  constexpr std::string_view kFile = "-file";
  if (format.name == "go-template-file" || format.name == "jsonpath-file") {
    FLYBALL_ASSIGN(format.argument, ReadTemplateFile(format.argument));
    format.name.resize(format.name.size() - kFile.size());
  } else if (format.name == "custom-columns-file") {
    FLYBALL_ASSIGN(format.argument, ColumnsOfFile(format.argument));
    format.name = "custom-columns";
  }
  return format;
}

}  // namespace

void AddPrintFlags(const Command& command, PrintFlags* flags) {
  command.Option("-o,--output", &flags->output, "yaml, json, name, jsonpath=..., go-template=...");
  command.Option("--template", &flags->template_text, "Template of -o go-template and jsonpath, or its file");
  command.Flag("--allow-missing-template-keys", &flags->allow_missing_keys,
               "Print nothing for fields that are not there");
  command.Flag("--show-managed-fields", &flags->show_managed_fields, "Keep managedFields in yaml and json");
}

namespace {

// Without a value, and with the values of times gone by: they mean client or none.
void NormalizeDryRun(std::string& dry_run) {
  constexpr const char* kPlace = "helpers.go:709";
  const auto warn = [&](const std::string& given, const char* meant) {
    LogLine(RealClock(), kPlace, "--dry-run" + given + " and can be replaced with --dry-run=" + meant + ".",
            'W');
    dry_run = meant;
  };
  if (dry_run == kAloneDryRun) return warn(" is deprecated", "client");
  for (const auto& [words, meant] :
       {std::pair("1 t T TRUE true True", "client"), std::pair("0 f F FALSE false False", "none")})
    for (const std::string& word : SplitWords(words))
      if (dry_run == word) return warn("=" + word + " is deprecated (boolean value)", meant);
}

}  // namespace

void AddDryRunFlag(const Command& command, std::string* dry_run) {
  command.Option("--dry-run", dry_run,
                 "client: only say what would be done; server: everything but storing it", kAloneDryRun);
  command.Before([dry_run] {
    NormalizeDryRun(*dry_run);
    return false;
  });
}

Status CheckDryRun(std::string_view dry_run) {
  if (dry_run.empty() || dry_run == "none" || dry_run == "client" || dry_run == "server") return {};
  return Unexpected(LocalError("Invalid dry-run value (" + std::string(dry_run) +
                               "). Must be \"none\", \"server\", or \"client\"."));
}

Result<std::unique_ptr<ObjectPrinter>> NewObjectPrinter(const PrintFlags& flags) {
  FLYBALL_ASSIGN(const OutputFormat format, FormatOf(flags));
  const std::string& name = format.name;
  if (name.empty() || name == "wide") return std::unique_ptr<ObjectPrinter>();
  if (name == "yaml" || name == "json" || name == "kyaml")
    return std::unique_ptr<ObjectPrinter>(std::make_unique<TextPrinter>(name, flags.show_managed_fields));
  if (name == "name") return std::unique_ptr<ObjectPrinter>(std::make_unique<NamePrinter>());
  if (name == "custom-columns") return NewColumnsPrinter(format.argument, !flags.no_headers);
  if (name == "go-template") return NewTemplatePrinter(format.argument, !flags.allow_missing_keys);
  if (name == "jsonpath" || name == "jsonpath-as-json")
    return NewPathPrinter(format.argument, name == "jsonpath-as-json", !flags.allow_missing_keys);
  return Unexpected(
      LocalError("unable to match a printer suitable for the output format \"" + name +
                 "\", allowed formats are: custom-columns,custom-columns-file,go-template,"
                 "go-template-file,json,jsonpath,jsonpath-as-json,jsonpath-file,kyaml,name,template,"
                 "templatefile,wide,yaml"));
}

Status PrintTo(std::ostream& out, ObjectPrinter& printer, const json::Value& object) {
  const auto text = printer.Print(object);
  out << (text ? *text : printer.Failure()) << std::flush;
  return text ? Status() : Unexpected(text.error());
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
