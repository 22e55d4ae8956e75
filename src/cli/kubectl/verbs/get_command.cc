#include <memory>

#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/print/printers.h"
#include "cli/kubectl/print/sorting.h"
#include "cli/kubectl/print/table_printer.h"
#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/session/manifests.h"
#include "cli/kubectl/session/missing_namespace.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/session.h"
#include "cli/kubectl/verbs.h"

namespace flyball::cli {
namespace {

struct GetFlags {
  std::vector<std::string> args;
  PrintFlags print;
  TableFlags table;
  ManifestFlags files;
  std::string label_selector, field_selector, raw, sort_by, subresource;
  std::optional<std::int64_t> chunk_size;
  bool server_print = true, show_kind = false;
  bool output_watch_events = false;
  bool all_namespaces = false, watch = false, watch_only = false, ignore_not_found = false;
};

// One GET of objects or a Table.
struct Query {
  KindRef kind;
  std::string ns, name;  // no name: a list
};

RestRequest RequestFor(const GetFlags& flags, const Query& query) {
  RestRequest request;
  request.path = query.kind.Path(query.ns, query.name, query.name.empty() ? "" : flags.subresource);
  if (query.name.empty())
    request.Query("labelSelector", flags.label_selector).Query("fieldSelector", flags.field_selector);
  return request;
}

Result<std::vector<Query>> QueriesOf(Session& session, const GetFlags& flags) {
  std::vector<Query> queries;
  if (!flags.files.empty()) {
    ReadProblems problems;
    FLYBALL_ASSIGN(const auto manifests, ReadManifests(session, flags.files, &problems));
    problems.Report(session);
    for (const Manifest& m : manifests) queries.push_back({m.kind, m.ns, m.name});
    return queries;
  }
  FLYBALL_ASSIGN(const auto resources, ParseResourceArgs(session, flags.args));
  for (const ResourceArg& resource : resources) {
    if (!resource.names.empty() && flags.all_namespaces && resource.kind.namespaced)
      return Unexpected(LocalError("a resource cannot be retrieved by name across all namespaces"));
    const std::string ns = flags.all_namespaces ? "" : session.NamespaceFor(resource.kind);
    if (resource.names.empty()) queries.push_back({resource.kind, ns, ""});
    for (const std::string& name : resource.names) queries.push_back({resource.kind, ns, name});
  }
  return queries;
}

bool Skip(const GetFlags& flags, const Error& error) {
  return flags.ignore_not_found && error.Is(Reason::kNotFound);
}

void SayNothingFound(Session& session, const GetFlags& flags, bool namespaced) {
  if (flags.ignore_not_found) return;
  session.err() << (namespaced && !flags.all_namespaces
                        ? "No resources found in " + session.ns() + " namespace.\n"
                        : std::string("No resources found\n"));
}

// Combines the rows of one kind into one Table.
void AppendRows(json::Value& table, json::Value more) {
  if (table.is_null()) {
    table = std::move(more);
    return;
  }
  for (json::Value& row : more["rows"].as_array()) table["rows"].as_array().push_back(std::move(row));
}

// An object may be missing together with its namespace.
Error FetchError(Session& session, const Query& query, const Error& error) {
  const bool elsewhere = !query.name.empty() && !query.ns.empty() && query.ns != "default";
  if (!elsewhere || !error.Is(Reason::kNotFound)) return error;
  return MissingNamespace(session, query.ns).value_or(error);
}

// Made by the server, or here if --server-print=false.
Result<json::Value> FetchTable(Session& session, const GetFlags& flags, const Query& query) {
  RestRequest request = RequestFor(flags, query);
  if (flags.server_print) request.accept = kTableAccept;
  if (flags.server_print && !flags.sort_by.empty()) request.Query("includeObject", "Object");
  auto got = query.name.empty() ? session.CallList(std::move(request)) : session.Call(std::move(request));
  if (!got) return Unexpected(FetchError(session, query, got.error()));
  if (flags.server_print) return got;
  return TableOfObjects(query.name.empty() ? Elements((*got)["items"]) : json::Array{*got}, session.clock());
}

Status PrintTables(Session& session, const GetFlags& flags, const std::vector<Query>& queries) {
  std::vector<std::pair<KindRef, json::Value>> tables;
  bool namespaced = false, failed = false;
  std::vector<Error> errors;
  for (const Query& query : queries) {
    namespaced |= query.kind.namespaced;
    auto table = FetchTable(session, flags, query);
    if (!table) {
      failed |= !Skip(flags, table.error());
      if (!Skip(flags, table.error()))
        errors.push_back(query.name.empty() ? ListError(table.error(), query.kind, flags.label_selector,
                                                        flags.field_selector)
                                            : table.error());
      continue;
    }
    if ((*table)["rows"].empty()) continue;
    if (tables.empty() || !(tables.back().first == query.kind))
      tables.emplace_back(query.kind, json::Value());
    AppendRows(tables.back().second, std::move(*table));
  }
  const bool several_kinds = [&] {
    for (const Query& query : queries)
      if (!(query.kind == queries[0].kind)) return true;
    return false;
  }();
  if (!flags.sort_by.empty())
    for (auto& [kind, table] : tables)
      FLYBALL_TRY(SortByField(flags.sort_by, table["rows"].as_array(),
                              [](const json::Value& row) -> const json::Value& { return row["object"]; }));
  bool first = true;
  for (const auto& [kind, table] : tables) {
    TableFlags table_flags = flags.table;
    table_flags.with_kind = several_kinds || flags.show_kind;
    table_flags.with_namespace = flags.all_namespaces && kind.namespaced;
    if (!std::exchange(first, false) && !flags.table.no_headers) session.out() << "\n";
    session.out() << TablePrinter(kind, table_flags).Print(table);
  }
  session.out().flush();
  if (tables.empty() && !failed) SayNothingFound(session, flags, namespaced);
  for (const Error& error : errors) session.Report(error);
  return {};
}

Status PrintObjects(Session& session, const GetFlags& flags, const std::vector<Query>& queries,
                    ObjectPrinter& printer) {
  std::vector<json::Value> objects;
  bool single = queries.size() == 1 && !queries[0].name.empty();
  for (const Query& query : queries) {
    if (query.name.empty()) {
      FLYBALL_ASSIGN(auto items,
                     ListObjects(session, query.kind, query.ns, flags.label_selector, flags.field_selector));
      for (json::Value& item : items) objects.push_back(std::move(item));
      continue;
    }
    auto object = session.Call(RequestFor(flags, query));
    if (object)
      objects.push_back(std::move(*object));
    else if (!Skip(flags, object.error()))
      session.Report(FetchError(session, query, object.error()));
  }
  if (single && objects.empty()) return {};
  if (!single && !flags.sort_by.empty())
    FLYBALL_TRY(SortByField(flags.sort_by, objects,
                            [](const json::Value& object) -> const json::Value& { return object; }));
  return PrintTo(session.out(), printer, single ? objects[0] : ListOf(std::move(objects)));
}

const char* WatchEventName(WatchEventType type) {
  switch (type) {
    case WatchEventType::kAdded:
      return "ADDED";
    case WatchEventType::kModified:
      return "MODIFIED";
    case WatchEventType::kDeleted:
      return "DELETED";
    case WatchEventType::kBookmark:
      return "BOOKMARK";
    case WatchEventType::kError:
      return "ERROR";
  }
  return "";
}

// Prints objects, or Tables of them, as they come.
class WatchPrinter {
 public:
  WatchPrinter(Session& session, const GetFlags& flags, const Query& query, ObjectPrinter* printer)
      : session_(session),
        flags_(flags),
        printer_(printer),
        table_(query.kind, TableFlagsFor(flags, query)) {}

  Status Print(const json::Value& what, WatchEventType type) {
    const char* event = WatchEventName(type);
    if (printer_ && flags_.output_watch_events)
      return PrintTo(session_.out(), *printer_, json::Object{{"type", event}, {"object", what}});
    if (printer_) return PrintTo(session_.out(), *printer_, what);
    const json::Value made = flags_.server_print ? json::Value() : TableOfObjects({what}, session_.clock());
    session_.out() << table_.Print(flags_.server_print ? what : made, event) << std::flush;
    return {};
  }

 private:
  static TableFlags TableFlagsFor(const GetFlags& flags, const Query& query) {
    TableFlags out = flags.table;
    out.with_namespace = flags.all_namespaces && query.kind.namespaced;
    out.with_event = flags.output_watch_events;
    return out;
  }

  Session& session_;
  const GetFlags& flags_;
  ObjectPrinter* const printer_;
  TablePrinter table_;
};

// What is there when the watch begins.
Status PrintFirst(const json::Value& list, const Query& query, WatchPrinter& printer) {
  if (!list["rows"].empty()) return printer.Print(list, WatchEventType::kAdded);
  for (json::Value item : Elements(list["items"])) {
    SetTypeMeta(item, query.kind);
    FLYBALL_TRY(printer.Print(item, WatchEventType::kAdded));
  }
  return {};
}

Status Watch(Session& session, const GetFlags& flags, const std::vector<Query>& queries,
             ObjectPrinter* printer) {
  if (queries.size() != 1) return Unexpected(LocalError("you may only specify a single resource type"));
  const Query& query = queries[0];
  RestRequest request;
  request.path = query.kind.Path(query.ns);
  request.Query("labelSelector", flags.label_selector);
  request.Query("fieldSelector", query.name.empty() ? flags.field_selector : "metadata.name=" + query.name);
  if (!printer && flags.server_print) request.accept = kTableAccept;
  FLYBALL_ASSIGN(const json::Value list, session.CallList(request));
  if (!query.name.empty() && list["rows"].empty() && list["items"].empty()) {
    const auto missing = session.Get(query.kind, query.ns, query.name);
    if (!missing && Skip(flags, missing.error())) return {};
    if (!missing) return Unexpected(missing.error());
  }
  WatchPrinter out(session, flags, query, printer);
  if (!flags.watch_only) FLYBALL_TRY(PrintFirst(list, query, out));
  request.Query("watch", "true");
  request.Query("resourceVersion", std::string(list["metadata"]["resourceVersion"].string_or("")));
  const auto reader = session.Watch(std::move(request));
  while (auto event = reader->Next()) {
    if (event->type == WatchEventType::kBookmark) continue;
    if (event->type == WatchEventType::kError)
      return Unexpected(
          LocalError(std::string(std::as_const(event->object)["message"].string_or("the watch failed"))));
    FLYBALL_TRY(out.Print(event->object, event->type));
  }
  // As kubectl: a watch that a --request-timeout ends has done its work.
  return session.request_timeout() ? Status() : reader->status();
}

Status GetRaw(Session& session, const std::string& path) {
  FLYBALL_ASSIGN(const std::string body, session.CallText(RawRequest(path)));
  session.out() << body;
  return {};
}

Status RunGet(Session& session, GetFlags& flags) {
  session.set_chunk_size(flags.sort_by.empty() ? flags.chunk_size.value_or(session.chunk_size()) : 0);
  if (!flags.raw.empty()) return GetRaw(session, flags.raw);
  if (flags.args.empty() && flags.files.empty()) {
    session.err()
        << "You must specify the type of resource to get. Use \"kubectl api-resources\" for a complete list "
           "of supported resources.\n\n";
    return Unexpected(session.UsageError(
        "Required resource not specified.\nUse \"kubectl explain <resource>\" for a detailed "
        "description of that resource (e.g. kubectl explain pods)."));
  }
  if (flags.output_watch_events && !flags.watch && !flags.watch_only)
    return Unexpected(
        LocalError("--output-watch-events option can only be used with --watch or --watch-only"));
  std::vector<std::string> labels;
  for (const std::string& list : flags.table.label_columns)
    for (const std::string& label : SplitText(list, ',')) labels.push_back(label);
  flags.table.label_columns = labels;
  flags.table.wide = flags.print.output == "wide";
  flags.print.no_headers = flags.table.no_headers;
  FLYBALL_ASSIGN(const auto printer, NewObjectPrinter(flags.print));
  FLYBALL_ASSIGN(const auto queries, QueriesOf(session, flags));
  if (flags.watch || flags.watch_only) return Watch(session, flags, queries, printer.get());
  if (printer) return PrintObjects(session, flags, queries, *printer);
  return PrintTables(session, flags, queries);
}

}  // namespace

void AddGetCommand(const Command& root) {
  auto flags = std::make_shared<GetFlags>();
  const Command get = root.Sub("get", "Show objects", "flyball get deploy,rs,pods -o wide");
  get.SuggestedFor({"list", "ls"});
  get.Args("TYPE[/NAME]", &flags->args, "Kinds and names: pods, deploy,rs, deploy/web, pod a b");
  AddManifestFlags(get, &flags->files);
  get.Option("-o,--output", &flags->print.output,
             "wide, yaml, json, name, jsonpath=..., custom-columns=..., go-template=...");
  get.Option("-l,--selector", &flags->label_selector, "Only objects with these labels");
  get.Option("--field-selector", &flags->field_selector, "Only objects with these field values");
  get.Option("--template", &flags->print.template_text,
             "Template of -o go-template and jsonpath, or its file");
  get.Option("--sort-by", &flags->sort_by, "Sort by this field: .metadata.creationTimestamp");
  get.Option("-L,--label-columns", &flags->table.label_columns, "Labels to show as columns");
  get.Option("--raw", &flags->raw, "Print what the server answers for this path");
  get.Option("--chunk-size", &flags->chunk_size, "How many objects one request lists; 0 reads lists whole");
  get.Option("--subresource", &flags->subresource, "status, scale or resize instead of the object itself");
  get.Flag("--server-print", &flags->server_print, "Tables made by the server; without, names and ages");
  get.Flag("--show-kind", &flags->show_kind, "The kind before each name");
  get.Flag("--allow-missing-template-keys", &flags->print.allow_missing_keys,
           "Print nothing for fields that are not there");
  get.Flag("-A,--all-namespaces", &flags->all_namespaces, "In every namespace");
  get.Flag("-w,--watch", &flags->watch, "Go on showing changes");
  get.Flag("--output-watch-events", &flags->output_watch_events, "With a watch: each change with its type");
  get.Flag("--watch-only", &flags->watch_only, "Show changes only");
  get.Flag("--no-headers", &flags->table.no_headers, "Leave out the line of headers");
  get.Flag("--show-labels", &flags->table.show_labels, "A last column with all labels");
  get.Flag("--show-managed-fields", &flags->print.show_managed_fields, "Keep managedFields in yaml and json");
  get.Flag("--ignore-not-found", &flags->ignore_not_found, "It is no error if an object is not there");
  RunVerb(get, [flags](Session& session) { return RunGet(session, *flags); });
}

}  // namespace flyball::cli
