#include "cli/kubectl/session/resource_args.h"

#include <algorithm>
#include <optional>

#include "base/values/ascii.h"
#include "cli/command/error_text.h"

namespace flyball::cli {
namespace {

Error UnknownType(const std::string& text) {
  const std::size_t dot = text.find('.');
  return LocalError("the server doesn't have a resource type \"" + text.substr(0, dot) + "\"" +
                    (dot == std::string::npos ? "" : " in group \"" + text.substr(dot + 1) + "\""));
}

bool HasShortName(const ApiResource& resource, const std::string& name) {
  return std::find(resource.short_names.begin(), resource.short_names.end(), name) !=
         resource.short_names.end();
}

// Other kinds may have the same short name as the one that was found.
Status WarnOfOthers(Session& session, const KindRef& found, const std::string& name) {
  FLYBALL_ASSIGN(const auto all, session.mapper().Resources());
  const bool full_name = std::any_of(all.begin(), all.end(), [&](const ApiResource& resource) {
    return resource.ref.plural == name || resource.singular == name;
  });
  if (full_name) return {};
  for (const ApiResource& resource : all)
    if (HasShortName(resource, name) && resource.ref.GroupResource() != found.GroupResource())
      session.Warn("short name \"" + name + "\" could also match lower priority resource " +
                   resource.ref.GroupResource());
  return {};
}

// "hpa.autoscal": a short name, and how its group begins.
std::optional<KindRef> ByGroupPrefix(const std::vector<ApiResource>& all, const std::string& text) {
  const std::size_t dot = text.find('.');
  if (dot == std::string::npos) return std::nullopt;
  for (const ApiResource& resource : all)
    if (HasShortName(resource, text.substr(0, dot)) && resource.ref.group.starts_with(text.substr(dot + 1)))
      return resource.ref;
  return std::nullopt;
}

Result<std::vector<KindRef>> KindsOf(Session& session, const std::string& text) {
  if (auto kind = session.mapper().ForResource(text)) {
    FLYBALL_TRY(WarnOfOthers(session, *kind, text));
    return std::vector<KindRef>{*kind};
  } else if (!kind.error().Is(Reason::kNotFound)) {
    return Unexpected(kind.error());
  }
  FLYBALL_ASSIGN(const auto all, session.mapper().Resources());
  if (const auto kind = ByGroupPrefix(all, text)) return std::vector<KindRef>{*kind};
  std::vector<KindRef> kinds;
  for (const ApiResource& resource : all) {
    const bool seen = std::any_of(kinds.begin(), kinds.end(), [&](const KindRef& k) {
      return k.group == resource.ref.group && k.kind == resource.ref.kind;
    });
    if (!seen &&
        std::find(resource.categories.begin(), resource.categories.end(), text) != resource.categories.end())
      kinds.push_back(resource.ref);
  }
  if (kinds.empty()) return Unexpected(UnknownType(text));
  return kinds;
}

Result<std::vector<ResourceArg>> ParseNamed(Session& session, const std::vector<std::string>& args) {
  std::vector<ResourceArg> out;
  for (const std::string& arg : args) {
    const std::size_t slash = arg.find('/');
    if (slash == std::string::npos)
      return Unexpected(
          LocalError("there is no need to specify a resource type as a separate argument when "
                     "passing arguments in resource/name form (e.g. 'kubectl get "
                     "resource/<resource_name>' instead of 'kubectl get resource "
                     "resource/<resource_name>'"));
    if (slash == 0 || slash + 1 == arg.size() || arg.find('/', slash + 1) != std::string::npos)
      return Unexpected(LocalError("arguments in resource/name form must have a single resource and name"));
    FLYBALL_ASSIGN(const auto kinds, KindsOf(session, arg.substr(0, slash)));
    for (const KindRef& kind : kinds) {
      if (!out.empty() && out.back().kind == kind)
        out.back().names.push_back(arg.substr(slash + 1));
      else
        out.push_back({kind, {arg.substr(slash + 1)}});
    }
  }
  return out;
}

}  // namespace

// client-go says what was asked for if the server did not.
Error WithResource(const Error& error, const KindRef& kind) {
  if (error.message() != "the server could not find the requested resource") return error;
  return Error(error.reason(), error.code(), error.message() + " (get " + kind.GroupResource() + ")");
}

Error ListError(const Error& error, const KindRef& kind, std::string_view label_selector,
                std::string_view field_selector) {
  if (!error.Is(Reason::kNotFound) && !error.Is(Reason::kBadRequest)) return error;
  const std::string resource = "\"" + kind.ApiVersion() + ", Resource=" + kind.plural + "\"";
  if (label_selector.empty() && field_selector.empty())
    return WithResource(error, kind).Annotate("Unable to list " + resource);
  return WithResource(error, kind)
      .Annotate("Unable to find " + resource + " that match label selector \"" + std::string(label_selector) +
                "\", field selector \"" + std::string(field_selector) + "\"");
}

std::string TypeName(const KindRef& kind) {
  return LowerCase(kind.kind) + (kind.group.empty() ? "" : "." + kind.group);
}

std::string DisplayName(const KindRef& kind, std::string_view name) {
  return TypeName(kind) + "/" + std::string(name);
}

Result<std::vector<ResourceArg>> ParseResourceArgs(Session& session, const std::vector<std::string>& args) {
  if (args.empty())
    return Unexpected(
        LocalError("You must provide one or more resources by argument or filename.\n"
                   "Example resource specifications include:\n"
                   "   '-f rsrc.yaml'\n   '--filename=rsrc.json'\n   '<resource> <name>'\n   '<resource>'"));
  if (std::any_of(args.begin(), args.end(), [](const auto& a) { return a.find('/') != std::string::npos; }))
    return ParseNamed(session, args);
  std::vector<ResourceArg> out;
  for (const std::string& type : SplitText(args[0], ',')) {
    if (type.empty()) continue;
    FLYBALL_ASSIGN(const auto kinds, KindsOf(session, type));
    for (const KindRef& kind : kinds) out.push_back({kind, {args.begin() + 1, args.end()}});
  }
  return out;
}

Result<std::vector<json::Value>> ListObjects(Session& session, const KindRef& kind, std::string_view ns,
                                             std::string_view label_selector,
                                             std::string_view field_selector) {
  RestRequest request;
  request.path = kind.Path(ns);
  request.Query("labelSelector", std::string(label_selector))
      .Query("fieldSelector", std::string(field_selector));
  auto answer = session.CallList(std::move(request));
  if (!answer) return Unexpected(ListError(answer.error(), kind, label_selector, field_selector));
  json::Value list = std::move(*answer);
  std::vector<json::Value> items;
  json::Value* found = list.Find("items");
  if (!found || !found->is_array()) return items;
  for (json::Value& item : found->as_array()) {
    SetTypeMeta(item, kind);
    items.push_back(std::move(item));
  }
  return items;
}

Result<std::vector<ObjectRef>> ResolveObjects(Session& session, const std::vector<std::string>& args,
                                              const Selection& selection) {
  FLYBALL_ASSIGN(const auto resources, ParseResourceArgs(session, args));
  std::vector<ObjectRef> objects;
  for (const ResourceArg& resource : resources) {
    const std::string ns = selection.all_namespaces ? "" : session.NamespaceFor(resource.kind);
    for (const std::string& name : resource.names) objects.push_back({resource.kind, ns, name});
    if (!resource.names.empty()) continue;
    if (!selection.all && selection.label_selector.empty() && selection.field_selector.empty())
      return Unexpected(LocalError("resource(s) were provided, but no name was specified"));
    FLYBALL_ASSIGN(const auto items, ListObjects(session, resource.kind, ns, selection.label_selector,
                                                 selection.field_selector));
    for (const json::Value& item : items)
      objects.push_back({resource.kind, std::string(item["metadata"]["namespace"].string_or("")),
                         std::string(item["metadata"]["name"].string_or(""))});
  }
  return objects;
}

}  // namespace flyball::cli
