#include "api/openapi/paths.h"

#include <array>
#include <span>
#include <string>

namespace flyball::api {

namespace {

struct Parameter {
  std::string_view name, type, description;
};

constexpr Parameter kDryRun = {"dryRun", "string",
                               "With the value All, the request is checked in full and nothing is stored."};
constexpr Parameter kFieldManager = {
    "fieldManager", "string", "The name of the actor that makes the change: up to 128 printable characters."};
constexpr Parameter kFieldValidation = {
    "fieldValidation", "string",
    "What to do with unknown and duplicate fields: Ignore, Warn, or Strict, which rejects the request."};
constexpr Parameter kPretty = {"pretty", "string", "If 'true', the output is indented."};

constexpr Parameter kWrite[] = {kDryRun, kFieldManager, kFieldValidation};
constexpr Parameter kPatchBody[] = {
    kDryRun,
    kFieldManager,
    kFieldValidation,
    {"force", "boolean", "Lets an apply request take over fields that other managers own."}};
constexpr Parameter kList[] = {
    {"allowWatchBookmarks", "boolean",
     "Lets a watch send bookmarks: events that only carry a resourceVersion."},
    {"continue", "string", "The token from the previous page, to get the next one."},
    {"fieldSelector", "string",
     "Restricts the list of returned objects by their fields. Empty selects all objects."},
    {"labelSelector", "string",
     "Restricts the list of returned objects by their labels. Empty selects all objects."},
    {"limit", "integer",
     "The largest number of objects in one page. If there are more, the response has a continue token."},
    {"resourceVersion", "string",
     "How recent the result must be. Without it, the result is the latest state."},
    {"resourceVersionMatch", "string", "How resourceVersion applies to a list: Exact or NotOlderThan."},
    {"sendInitialEvents", "boolean", "Lets a watch begin with the existing objects, followed by a bookmark."},
    {"timeoutSeconds", "integer", "How long the request may last, in seconds."},
    {"watch", "boolean",
     "Watch for changes to the described resources: the response is a stream of events."}};
constexpr Parameter kDelete[] = {
    kDryRun,
    {"gracePeriodSeconds", "integer", "How long the object has to end, in seconds. 0 deletes it at once."},
    {"ignoreStoreReadErrorWithClusterBreakingPotential", "boolean",
     "Deletes an object that can no longer be read from the store."},
    {"orphanDependents", "boolean", "Deprecated: use propagationPolicy."},
    {"propagationPolicy", "string",
     "What happens to dependents: Orphan, Background or Foreground deletion."}};

struct OpenApiOperation {
  std::string_view method;  // "get"
  std::string_view action;  // x-kubernetes-action
  std::string id, description;
  std::span<const Parameter> parameters;
  std::string body;      // name of the schema taken; empty: none
  std::string response;  // name of the schema given; empty: text
  GroupVersionKind gvk;
  bool body_required = true;
  bool created = false;               // answers 201 too
  const TypeInfo* options = nullptr;  // of a connect operation: its query parameters
};

std::string Capitalized(std::string_view s) {
  std::string out(s);
  if (!out.empty() && out[0] >= 'a' && out[0] <= 'z') out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out;
}

// "Core", "Apps", "RbacAuthorization", "SampleExampleCom".
std::string GroupWord(std::string_view group) {
  if (group.empty()) return "Core";
  if (group.ends_with(".k8s.io")) group.remove_suffix(std::string_view(".k8s.io").size());
  std::string out;
  while (!group.empty()) {
    const auto dot = group.find('.');
    out += Capitalized(group.substr(0, dot));
    group = dot == std::string_view::npos ? std::string_view() : group.substr(dot + 1);
  }
  std::string clean;
  for (const char c : out)
    if (c != '-') clean += c;
  return clean;
}

std::string Tag(const KindInfo& kind) {
  std::string word = GroupWord(kind.group);
  if (word[0] >= 'A' && word[0] <= 'Z') word[0] = static_cast<char>(word[0] - 'A' + 'a');
  return word + '_' + std::string(kind.version);
}

bool HasVerb(std::string_view verbs, std::string_view verb) {
  while (!verbs.empty()) {
    const auto comma = verbs.find(',');
    if (verbs.substr(0, comma) == verb) return true;
    verbs = comma == std::string_view::npos ? std::string_view() : verbs.substr(comma + 1);
  }
  return false;
}

std::string Meta(std::string_view name) {
  return std::string(kMetaPackage) + std::string(name);
}

class PathWriter {
 public:
  PathWriter(const KindInfo& kind, Dialect dialect, const SchemaSet& schemas, JsonText& json)
      : kind_(kind), dialect_(dialect), schemas_(schemas), json_(json), schema_(SchemaName(kind)) {
    base_ = (kind.group.empty() ? "/api/" : "/apis/" + std::string(kind.group) + '/') +
            std::string(kind.version) + '/';
    collection_ = base_ + (kind.namespaced ? "namespaces/{namespace}/" : "") + std::string(kind.plural);
  }

  void Write() {
    Collection();
    if (Verb("get") || Verb("update") || Verb("patch") || Verb("delete")) Single();
    for (const auto& sub : kind_.subresources) Subresource(sub);
    if (kind_.namespaced && Verb("list"))
      Path(base_ + std::string(kind_.plural), false, false, [&] {
        auto list = ListOperation();
        list.id = Id("list", "", "ForAllNamespaces", false);
        WriteOperation(list);
      });
    if (!kind_.custom && Verb("watch")) Watches();
  }

 private:
  bool Verb(std::string_view verb) const { return HasVerb(kind_.verbs, verb); }

  // "createCoreV1NamespacedPodBinding".
  std::string Id(std::string_view verb, std::string_view middle, std::string_view suffix,
                 bool with_scope = true) const {
    return std::string(verb) + GroupWord(kind_.group) + Capitalized(kind_.version) + std::string(middle) +
           (with_scope && kind_.namespaced ? "Namespaced" : "") + std::string(kind_.kind) +
           std::string(suffix);
  }

  GroupVersionKind Gvk() const {
    return {std::string(kind_.group), std::string(kind_.version), std::string(kind_.kind)};
  }

  template <typename Body>
  void Path(const std::string& path, bool named, bool namespaced, Body body) {
    json_.Object(path, [&] {
      body();
      json_.Array("parameters", [&] {
        if (named) PathParameter("name", "name of the " + std::string(kind_.kind));
        if (namespaced)
          PathParameter("namespace", "object name and auth scope, such as for teams and projects");
        QueryParameter(kPretty);
      });
    });
  }

  void PathParameter(std::string_view name, const std::string& description) {
    json_.Object([&] {
      json_.String("name", name);
      json_.String("in", "path");
      json_.String("description", description);
      json_.Bool("required", true);
      if (dialect_ == Dialect::kV3) json_.Raw("schema", R"({"type":"string","uniqueItems":true})");
      if (dialect_ == Dialect::kV2) json_.String("type", "string");
      if (dialect_ == Dialect::kV2) json_.Bool("uniqueItems", true);
    });
  }

  void QueryParameter(const Parameter& parameter) {
    json_.Object([&] {
      json_.String("name", parameter.name);
      json_.String("in", "query");
      if (!parameter.description.empty()) json_.String("description", parameter.description);
      if (dialect_ == Dialect::kV3)
        json_.Object("schema", [&] {
          json_.String("type", parameter.type);
          json_.Bool("uniqueItems", true);
        });
      if (dialect_ == Dialect::kV2) json_.String("type", parameter.type);
      if (dialect_ == Dialect::kV2) json_.Bool("uniqueItems", true);
    });
  }

  OpenApiOperation ListOperation() const {
    return {.method = "get",
            .action = "list",
            .id = Id("list", "", ""),
            .description = "list or watch objects of kind " + std::string(kind_.kind),
            .parameters = kList,
            .body = "",
            .response = schema_ + "List",
            .gvk = Gvk()};
  }

  void Collection() {
    const bool any = Verb("list") || Verb("create") || Verb("deletecollection");
    if (!any) return;
    Path(collection_, false, kind_.namespaced, [&] {
      if (Verb("list")) WriteOperation(ListOperation());
      if (Verb("create"))
        WriteOperation({.method = "post",
                        .action = "post",
                        .id = Id("create", "", ""),
                        .description = "create " + Article() + std::string(kind_.kind),
                        .parameters = kWrite,
                        .body = schema_,
                        .response = schema_,
                        .gvk = Gvk(),
                        .created = true});
      if (Verb("deletecollection"))
        WriteOperation({.method = "delete",
                        .action = "deletecollection",
                        .id = Id("delete", "Collection", ""),
                        .description = "delete collection of " + std::string(kind_.kind),
                        .parameters = kDelete,
                        .body = Meta("DeleteOptions"),
                        .response = Meta("Status"),
                        .gvk = Gvk(),
                        .body_required = false});
    });
  }

  // The old form of watches, which some clients find by their paths.
  void Watches() {
    const std::string space = kind_.namespaced ? "namespaces/{namespace}/" : "";
    const std::string old = base_ + "watch/", plural(kind_.plural);
    if (kind_.namespaced)
      Watch(old + plural, "watchlist", Id("watch", "", "ListForAllNamespaces", false), false);
    Watch(old + space + plural, "watchlist", Id("watch", "", "List"), kind_.namespaced);
    Watch(old + space + plural + "/{name}", "watch", Id("watch", "", ""), kind_.namespaced);
  }

  void Watch(const std::string& path, std::string_view action, std::string id, bool namespaced) {
    Path(path, action == "watch", namespaced, [&] {
      WriteOperation({.method = "get",
                      .action = action,
                      .id = std::move(id),
                      .description = "watch changes of " + std::string(kind_.kind) +
                                     ". deprecated: use the 'watch' parameter of a list instead.",
                      .parameters = kList,
                      .body = "",
                      .response = Meta("WatchEvent"),
                      .gvk = Gvk()});
    });
  }

  std::string Article() const {
    return std::string_view("AEIOU").find(kind_.kind.front()) == std::string_view::npos ? "a " : "an ";
  }

  void Single() {
    Path(collection_ + "/{name}", true, kind_.namespaced, [&] {
      Read("", schema_, Gvk(), kind_.verbs);
      if (Verb("delete"))
        WriteOperation({.method = "delete",
                        .action = "delete",
                        .id = Id("delete", "", ""),
                        .description = "delete " + Article() + std::string(kind_.kind),
                        .parameters = kDelete,
                        .body = Meta("DeleteOptions"),
                        .response = Meta("Status"),
                        .gvk = Gvk(),
                        .body_required = false});
    });
  }

  // get, put and patch of the object or of a subresource.
  void Read(std::string_view suffix, const std::string& schema, const GroupVersionKind& gvk,
            std::string_view verbs) {
    const std::string what =
        (suffix.empty() ? "" : std::string(suffix) + " of ") + "the specified " + std::string(kind_.kind);
    if (HasVerb(verbs, "get"))
      WriteOperation({.method = "get",
                      .action = "get",
                      .id = Id("read", "", suffix),
                      .description = "read " + what,
                      .parameters = {},
                      .body = "",
                      .response = schema,
                      .gvk = gvk});
    if (HasVerb(verbs, "update"))
      WriteOperation({.method = "put",
                      .action = "put",
                      .id = Id("replace", "", suffix),
                      .description = "replace " + what,
                      .parameters = kWrite,
                      .body = schema,
                      .response = schema,
                      .gvk = gvk,
                      .created = true});
    if (HasVerb(verbs, "patch"))
      WriteOperation({.method = "patch",
                      .action = "patch",
                      .id = Id("patch", "", suffix),
                      .description = "partially update " + what,
                      .parameters = kPatchBody,
                      .body = Meta("Patch"),
                      .response = schema,
                      .gvk = gvk,
                      .created = true});
  }

  void Subresource(const SubresourceInfo& sub) {
    const std::string path = collection_ + "/{name}/" + std::string(sub.name);
    const bool own = sub.kind.empty() || sub.kind == kind_.kind;
    GroupVersionKind gvk = Gvk();
    const TypeInfo* type = nullptr;
    if (!own) {
      gvk = {std::string(sub.group), std::string(sub.version.empty() ? kind_.version : sub.version),
             std::string(sub.kind)};
      type = FindKindType(gvk.group, gvk.version, gvk.kind);
    }
    const std::string suffix = Capitalized(sub.name);
    const bool connects = sub.kind.ends_with("Options");
    Path(path, true, kind_.namespaced, [&] {
      if (connects) return Connect(sub, suffix, gvk, type);
      if (sub.name == "log") return Log(suffix);
      const std::string schema = own ? schema_ : type != nullptr ? std::string(type->name) : std::string();
      Read(suffix, schema, gvk, sub.verbs);
      if (HasVerb(sub.verbs, "create"))
        WriteOperation(
            {.method = "post",
             .action = "post",
             .id = Id("create", "", suffix),
             .description = "create " + std::string(sub.name) + " of " + Article() + std::string(kind_.kind),
             .parameters = kWrite,
             .body = schema,
             .response = schema,
             .gvk = gvk,
             .created = true});
    });
  }

  void Connect(const SubresourceInfo& sub, const std::string& suffix, const GroupVersionKind& gvk,
               const TypeInfo* options) {
    static constexpr std::array<std::array<std::string_view, 3>, 5> kMethods = {
        {{"get", "get", "Get"},
         {"create", "post", "Post"},
         {"update", "put", "Put"},
         {"patch", "patch", "Patch"},
         {"delete", "delete", "Delete"}}};
    for (const auto& [verb, method, word] : kMethods)
      if (HasVerb(sub.verbs, verb))
        WriteOperation({.method = method,
                        .action = "connect",
                        .id = Id("connect", word, suffix),
                        .description = "connect " + std::string(word) + " requests to " +
                                       std::string(sub.name) + " of " + std::string(kind_.kind),
                        .parameters = {},
                        .body = "",
                        .response = "",
                        .gvk = gvk,
                        .options = options});
  }

  void Log(const std::string& suffix) {
    WriteOperation({.method = "get",
                    .action = "get",
                    .id = Id("read", "", suffix),
                    .description = "read log of the specified " + std::string(kind_.kind),
                    .parameters = {},
                    .body = "",
                    .response = "",
                    .gvk = Gvk(),
                    .options = FindType("io.k8s.api.core.v1.PodLogOptions")});
  }

  void OptionParameters(const TypeInfo& options) {
    for (const FieldInfo& field : options.fields) {
      if (field.name == "apiVersion" || field.name == "kind" || field.name == "metadata") continue;
      const bool list = field.type->kind == TypeKind::kList;
      const TypeKind kind = list ? field.type->element->kind : field.type->kind;
      QueryParameter({field.name,
                      kind == TypeKind::kBool                                ? "boolean"
                      : kind == TypeKind::kInt32 || kind == TypeKind::kInt64 ? "integer"
                                                                             : "string",
                      field.description});
    }
  }

  void WriteOperation(const OpenApiOperation& op) {
    json_.Object(op.method, [&] {
      json_.String("description", op.description);
      json_.String("operationId", op.id);
      json_.Array("tags", [&] { json_.String(Tag(kind_)); });
      if (dialect_ == Dialect::kV2) MediaTypes(op);
      if (!op.parameters.empty() || op.options != nullptr || (dialect_ == Dialect::kV2 && !op.body.empty()))
        json_.Array("parameters", [&] {
          if (dialect_ == Dialect::kV2 && !op.body.empty()) BodyParameter(op);
          for (const auto& parameter : op.parameters) QueryParameter(parameter);
          if (op.options != nullptr) OptionParameters(*op.options);
        });
      if (dialect_ == Dialect::kV3 && !op.body.empty()) RequestBody(op);
      Responses(op);
      json_.String("x-kubernetes-action", op.action);
      json_.Key("x-kubernetes-group-version-kind");
      WriteGroupVersionKind(op.gvk, json_);
    });
  }

  std::span<const std::string_view> PatchTypes() const {
    static constexpr std::string_view kTypes[] = {
        "application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml",
        "application/strategic-merge-patch+json"};
    // Custom kinds have no strategic merge.
    return std::span<const std::string_view>(kTypes).first(kind_.custom ? 3 : 4);
  }

  void MediaTypes(const OpenApiOperation& op) {
    json_.Array("consumes", [&] {
      if (op.method == "patch" && op.action == "patch")
        for (const auto type : PatchTypes()) json_.String(type);
      else
        json_.String("*/*");
    });
    json_.Array("produces", [&] {
      json_.String(op.response.empty() ? "*/*" : "application/json");
      if (!op.response.empty()) json_.String("application/yaml");
      if (op.action == "list") json_.String("application/json;stream=watch");
    });
    json_.Raw("schemes", R"(["https"])");
  }

  void BodyParameter(const OpenApiOperation& op) {
    json_.Object([&] {
      json_.String("name", "body");
      json_.String("in", "body");
      if (op.body_required) json_.Bool("required", true);
      json_.Object("schema", [&] { schemas_.WriteRef(op.body, json_); });
    });
  }

  void RequestBody(const OpenApiOperation& op) {
    json_.Object("requestBody", [&] {
      json_.Object("content", [&] {
        const auto content = [&](std::string_view type) {
          json_.Object(type, [&] { json_.Object("schema", [&] { schemas_.WriteRef(op.body, json_); }); });
        };
        if (op.method == "patch")
          for (const auto type : PatchTypes()) content(type);
        else
          content("*/*");
      });
      if (op.body_required) json_.Bool("required", true);
    });
  }

  void Response(std::string_view code, std::string_view description, const OpenApiOperation& op) {
    json_.Object(code, [&] {
      json_.String("description", description);
      if (dialect_ == Dialect::kV2) {
        json_.Object("schema", [&] {
          if (op.response.empty())
            json_.String("type", "string");
          else
            schemas_.WriteRef(op.response, json_);
        });
        return;
      }
      json_.Object("content", [&] {
        const auto content = [&](std::string_view type) {
          json_.Object(type, [&] {
            json_.Object("schema", [&] {
              if (op.response.empty())
                json_.String("type", "string");
              else
                schemas_.WriteRef(op.response, json_);
            });
          });
        };
        content(op.response.empty() ? "*/*" : "application/json");
        if (!op.response.empty()) content("application/yaml");
        if (op.action == "list") content("application/json;stream=watch");
      });
    });
  }

  void Responses(const OpenApiOperation& op) {
    json_.Object("responses", [&] {
      Response("200", "OK", op);
      if (op.created) Response("201", "Created", op);
      if (op.method == "post" && op.created) Response("202", "Accepted", op);
      json_.Raw("401", R"({"description":"Unauthorized"})");
    });
  }

  const KindInfo& kind_;
  const Dialect dialect_;
  const SchemaSet& schemas_;
  JsonText& json_;
  const std::string schema_;
  std::string base_, collection_;
};

}  // namespace

void WriteKindPaths(const KindInfo& kind, Dialect dialect, const SchemaSet& schemas, JsonText& json) {
  PathWriter(kind, dialect, schemas, json).Write();
}

void AddSubresourceSchemas(const KindInfo& kind, SchemaSet& schemas) {
  for (const auto& sub : kind.subresources) {
    if (sub.kind.empty() || sub.kind == kind.kind || sub.kind.ends_with("Options")) continue;
    const auto version = sub.version.empty() ? kind.version : sub.version;
    const TypeInfo* type = FindKindType(sub.group, version, sub.kind);
    if (type == nullptr) continue;
    schemas.AddType(*type);
    schemas.AddIdentity(type->name, {std::string(sub.group), std::string(version), std::string(sub.kind)});
  }
}

}  // namespace flyball::api
