#include "api/openapi/paths.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <string>
#include <utility>

namespace flyball::api {

namespace {

struct OptionText {
  std::string_view name, type, description;
};

constexpr OptionText kWriteOptions[] = {
    {"dryRun", "string", "With the value All, the request is checked in full and nothing is stored."},
    {"fieldManager", "string",
     "The name of the actor that makes the change: up to 128 printable characters."},
    {"fieldValidation", "string",
     "What to do with unknown and duplicate fields: Ignore, Warn, or Strict, which rejects the request."},
    {"force", "boolean", "Lets an apply request take over fields that other managers own."}};
constexpr std::size_t kCreateAndUpdate = 3;  // without force, which only patches have

constexpr OptionText kPretty = {"pretty", "string", "If 'true', the output is indented."};
constexpr OptionText kResourceVersion = {
    "resourceVersion", "string",
    "How recent the result must be. Without it, the result is the latest state."};

constexpr OptionText kListOptions[] = {
    {"allowWatchBookmarks", "boolean",
     "Lets a watch send bookmarks: events that only carry a resourceVersion."},
    {"continue", "string", "The token from the previous page, to get the next one."},
    {"fieldSelector", "string",
     "Restricts the list of returned objects by their fields. Empty selects all objects."},
    {"labelSelector", "string",
     "Restricts the list of returned objects by their labels. Empty selects all objects."},
    {"limit", "integer",
     "The largest number of objects in one page. If there are more, the response has a continue token."},
    kResourceVersion,
    {"resourceVersionMatch", "string", "How resourceVersion applies to a list: Exact or NotOlderThan."},
    {"sendInitialEvents", "boolean", "Lets a watch begin with the existing objects, followed by a bookmark."},
    {"shardSelector", "string",
     "Restricts the list of returned objects to a share of them. Has no effect on this server."},
    {"timeoutSeconds", "integer", "How long the request may last, in seconds."},
    {"watch", "boolean",
     "Watch for changes to the described resources: the response is a stream of events."}};

constexpr OptionText kDeleteOptions[] = {
    kWriteOptions[0],
    {"gracePeriodSeconds", "integer", "How long the object has to end, in seconds. 0 deletes it at once."},
    {"ignoreStoreReadErrorWithClusterBreakingPotential", "boolean",
     "Deletes an object that can no longer be read from the store."},
    {"orphanDependents", "boolean", "Deprecated: use propagationPolicy."},
    {"propagationPolicy", "string",
     "What happens to dependents: Orphan, Background or Foreground deletion."}};

using Parameters = std::vector<OpenApiParameter>;

OpenApiParameter Query(const OptionText& option) {
  return {std::string(option.name), std::string(option.type), std::string(option.description)};
}

Parameters Queries(std::span<const OptionText> options) {
  Parameters out{Query(kPretty)};
  for (const OptionText& option : options) out.push_back(Query(option));
  return out;
}

bool IsOfWatches(std::string_view name) {
  return name == "watch" || name == "allowWatchBookmarks";
}

// What a collection is deleted by. Custom kinds name all options of lists and none of deletes.
Parameters CollectionDeletion(bool custom) {
  if (custom) return Queries(kListOptions);
  Parameters out = Queries(kDeleteOptions);
  for (const OptionText& option : kListOptions)
    if (!IsOfWatches(option.name)) out.push_back(Query(option));
  return out;
}

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

// Kinds whose delete answers with the object and not with a Status (KindHooks::return_deleted_object).
bool AnswersDeleted(const KindInfo& kind) {
  static constexpr std::string_view kCore[] = {"PersistentVolume", "PersistentVolumeClaim", "Pod",
                                               "PodTemplate",      "ResourceQuota",         "Service",
                                               "ServiceAccount"};
  if (kind.group == "resource.k8s.io") return true;
  if (kind.group == "storage.k8s.io") return kind.kind != "CSIStorageCapacity";
  return kind.group.empty() && std::find(std::begin(kCore), std::end(kCore), kind.kind) != std::end(kCore);
}

// The paths of one kind.
class KindPaths {
 public:
  explicit KindPaths(const KindInfo& kind) : kind_(kind), schema_(SchemaName(kind)) {
    base_ = (kind.group.empty() ? "/api/" : "/apis/" + std::string(kind.group) + '/') +
            std::string(kind.version) + '/';
    collection_ = base_ + (kind.namespaced ? "namespaces/{namespace}/" : "") + std::string(kind.plural);
  }

  std::vector<PathItem> Take() {
    Collection();
    Single();
    for (const auto& sub : kind_.subresources) Subresource(sub);
    if (kind_.namespaced && Verb("list")) {
      PathItem item = Path(base_ + std::string(kind_.plural), false, false);
      item.operations.push_back(ListOperation(Id("list", "", "ForAllNamespaces", false)));
      Keep(std::move(item));
    }
    if (!kind_.custom && Verb("watch")) Watches();
    return std::move(items_);
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

  std::string Article() const {
    return std::string_view("AEIOU").find(kind_.kind.front()) == std::string_view::npos ? "a " : "an ";
  }

  PathItem Path(std::string path, bool named, bool namespaced) const {
    PathItem item{.path = std::move(path),
                  .tag = OpenApiTag(kind_.group, kind_.version),
                  .parameters = {},
                  .operations = {},
                  .custom = kind_.custom};
    if (named) item.parameters.push_back({"name", "string", "name of the " + std::string(kind_.kind), true});
    if (namespaced)
      item.parameters.push_back(
          {"namespace", "string", "object name and auth scope, such as for teams and projects", true});
    return item;
  }

  void Keep(PathItem item) {
    if (!item.operations.empty()) items_.push_back(std::move(item));
  }

  OpenApiOperation ListOperation(std::string id) const {
    return {.method = "get",
            .action = "list",
            .id = std::move(id),
            .description = "list or watch objects of kind " + std::string(kind_.kind),
            .parameters = Queries(kListOptions),
            .body = "",
            .response = schema_ + "List",
            .gvk = Gvk(),
            .produced = Produced::kList};
  }

  OpenApiOperation CreateOperation(std::string id, std::string description, const std::string& schema,
                                   const GroupVersionKind& gvk) const {
    return {.method = "post",
            .action = "post",
            .id = std::move(id),
            .description = std::move(description),
            .parameters = Queries(std::span(kWriteOptions).first(kCreateAndUpdate)),
            .body = schema,
            .response = schema,
            .gvk = gvk,
            .created = true,
            .accepted = true};
  }

  OpenApiOperation DeleteOperation() const {
    return {.method = "delete",
            .action = "delete",
            .id = Id("delete", "", ""),
            .description = "delete " + Article() + std::string(kind_.kind),
            .parameters = Queries(kDeleteOptions),
            .body = Meta("DeleteOptions"),
            .response = AnswersDeleted(kind_) ? schema_ : Meta("Status"),
            .gvk = Gvk(),
            .body_required = false,
            .accepted = true};
  }

  void Collection() {
    PathItem item = Path(collection_, false, kind_.namespaced);
    if (Verb("list")) item.operations.push_back(ListOperation(Id("list", "", "")));
    if (Verb("create"))
      item.operations.push_back(CreateOperation(
          Id("create", "", ""), "create " + Article() + std::string(kind_.kind), schema_, Gvk()));
    if (Verb("deletecollection"))
      item.operations.push_back({.method = "delete",
                                 .action = "deletecollection",
                                 .id = Id("delete", "Collection", ""),
                                 .description = "delete collection of " + std::string(kind_.kind),
                                 .parameters = CollectionDeletion(kind_.custom),
                                 .body = kind_.custom ? "" : Meta("DeleteOptions"),
                                 .response = Meta("Status"),
                                 .gvk = Gvk(),
                                 .body_required = false});
    Keep(std::move(item));
  }

  // The old form of watches, which some clients find by their paths.
  void Watches() {
    const std::string space = kind_.namespaced ? "namespaces/{namespace}/" : "";
    const std::string old = base_ + "watch/", plural(kind_.plural);
    if (kind_.namespaced)
      Watch(old + plural, "watchlist", Id("watch", "", "ListForAllNamespaces", false), false);
    Watch(old + space + plural, "watchlist", Id("watch", "", "List"), kind_.namespaced);
    if (Verb("get")) Watch(old + space + plural + "/{name}", "watch", Id("watch", "", ""), kind_.namespaced);
  }

  void Watch(std::string path, std::string_view action, std::string id, bool namespaced) {
    PathItem item = Path(std::move(path), action == "watch", namespaced);
    item.operations.push_back({.method = "get",
                               .action = action,
                               .id = std::move(id),
                               .description = "watch changes of " + std::string(kind_.kind) +
                                              ". deprecated: use the 'watch' parameter of a list instead.",
                               .parameters = Queries(kListOptions),
                               .body = "",
                               .response = Meta("WatchEvent"),
                               .gvk = Gvk(),
                               .produced = Produced::kWatch});
    Keep(std::move(item));
  }

  void Single() {
    PathItem item = Path(collection_ + "/{name}", true, kind_.namespaced);
    Access(item, "", schema_, Gvk(), kind_.verbs);
    if (Verb("delete")) item.operations.push_back(DeleteOperation());
    Keep(std::move(item));
  }

  // get, put and patch of the object or of a subresource.
  void Access(PathItem& item, std::string_view suffix, const std::string& schema, const GroupVersionKind& gvk,
              std::string_view verbs) const {
    const std::string what =
        (suffix.empty() ? "" : std::string(suffix) + " of ") + "the specified " + std::string(kind_.kind);
    if (HasVerb(verbs, "get")) {
      Parameters parameters{Query(kPretty)};
      if (kind_.custom) parameters.push_back(Query(kResourceVersion));
      item.operations.push_back({.method = "get",
                                 .action = "get",
                                 .id = Id("read", "", suffix),
                                 .description = "read " + what,
                                 .parameters = std::move(parameters),
                                 .body = "",
                                 .response = schema,
                                 .gvk = gvk});
    }
    if (HasVerb(verbs, "update"))
      item.operations.push_back({.method = "put",
                                 .action = "put",
                                 .id = Id("replace", "", suffix),
                                 .description = "replace " + what,
                                 .parameters = Queries(std::span(kWriteOptions).first(kCreateAndUpdate)),
                                 .body = schema,
                                 .response = schema,
                                 .gvk = gvk,
                                 .created = true});
    if (HasVerb(verbs, "patch"))
      item.operations.push_back({.method = "patch",
                                 .action = "patch",
                                 .id = Id("patch", "", suffix),
                                 .description = "partially update " + what,
                                 .parameters = Queries(kWriteOptions),
                                 .body = Meta("Patch"),
                                 .response = schema,
                                 .gvk = gvk,
                                 .created = !kind_.custom});
  }

  void Subresource(const SubresourceInfo& sub) {
    const bool own = sub.kind.empty() || sub.kind == kind_.kind;
    GroupVersionKind gvk = Gvk();
    const TypeInfo* type = nullptr;
    if (!own) {
      gvk = {std::string(sub.group), std::string(sub.version.empty() ? kind_.version : sub.version),
             std::string(sub.kind)};
      type = FindKindType(gvk.group, gvk.version, gvk.kind);
    }
    const std::string suffix = Capitalized(sub.name), path = collection_ + "/{name}/" + std::string(sub.name);
    PathItem item = Path(path, true, kind_.namespaced);
    if (sub.kind.ends_with("Options")) {
      Connect(item, sub, suffix, gvk, type);
      if (sub.name == "proxy") {
        PathItem below = Path(path + "/{path}", true, kind_.namespaced);
        below.parameters.push_back({"path", "string", "path to the resource", true});
        Connect(below, sub, suffix + "WithPath", gvk, type);
        Keep(std::move(below));
      }
    } else if (sub.name == "log") {
      Log(item, suffix);
    } else {
      const std::string schema = own ? schema_ : type != nullptr ? std::string(type->name) : std::string();
      Access(item, suffix, schema, gvk, sub.verbs);
      if (HasVerb(sub.verbs, "create"))
        item.operations.push_back(CreateOperation(
            Id("create", "", suffix),
            "create " + std::string(sub.name) + " of " + Article() + std::string(kind_.kind), schema, gvk));
    }
    Keep(std::move(item));
  }

  void Connect(PathItem& item, const SubresourceInfo& sub, const std::string& suffix,
               const GroupVersionKind& gvk, const TypeInfo* options) const {
    static constexpr std::array<std::array<std::string_view, 3>, 7> kMethods = {
        {{"get", "get", "Get"},
         {"update", "put", "Put"},
         {"create", "post", "Post"},
         {"delete", "delete", "Delete"},
         {"delete", "options", "Options"},  // where any method may pass, also these two
         {"delete", "head", "Head"},
         {"patch", "patch", "Patch"}}};
    for (const auto& [verb, method, word] : kMethods)
      if (HasVerb(sub.verbs, verb))
        item.operations.push_back({.method = method,
                                   .action = "connect",
                                   .id = Id("connect", word, suffix),
                                   .description = "connect " + std::string(word) + " requests to " +
                                                  std::string(sub.name) + " of " + std::string(kind_.kind),
                                   .parameters = OptionParameters(options),
                                   .body = "",
                                   .response = "",
                                   .gvk = gvk,
                                   .produced = Produced::kAnything});
  }

  void Log(PathItem& item, const std::string& suffix) const {
    Parameters parameters = OptionParameters(FindType("io.k8s.api.core.v1.PodLogOptions"));
    parameters.push_back(Query(kPretty));
    item.operations.push_back({.method = "get",
                               .action = "get",
                               .id = Id("read", "", suffix),
                               .description = "read log of the specified " + std::string(kind_.kind),
                               .parameters = std::move(parameters),
                               .body = "",
                               .response = "",
                               .gvk = Gvk(),
                               .produced = Produced::kLog});
  }

  static Parameters OptionParameters(const TypeInfo* options) {
    Parameters out;
    if (options == nullptr) return out;
    for (const FieldInfo& field : options->fields) {
      if (field.name == "apiVersion" || field.name == "kind" || field.name == "metadata") continue;
      const bool list = field.type->kind == TypeKind::kList;
      const TypeKind kind = list ? field.type->element->kind : field.type->kind;
      const bool number = kind == TypeKind::kInt32 || kind == TypeKind::kInt64;
      out.push_back({std::string(field.name),
                     kind == TypeKind::kBool ? "boolean"
                     : number                ? "integer"
                                             : "string",
                     std::string(field.description)});
    }
    return out;
  }

  const KindInfo& kind_;
  const std::string schema_;
  std::string base_, collection_;
  std::vector<PathItem> items_;
};

}  // namespace

std::string OpenApiTag(std::string_view group, std::string_view version) {
  std::string word = GroupWord(group);
  if (word[0] >= 'A' && word[0] <= 'Z') word[0] = static_cast<char>(word[0] - 'A' + 'a');
  return version.empty() ? word : word + '_' + std::string(version);
}

std::string OpenApiGroupWord(std::string_view group) {
  return GroupWord(group);
}

std::vector<PathItem> KindPathItems(const KindInfo& kind) {
  return KindPaths(kind).Take();
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
