#include "controllers/namespace/content_deletion.h"

#include <algorithm>

namespace flyball::controllers {
namespace {

bool Supports(const ApiResource& kind, std::string_view verb) {
  return std::find(kind.verbs.begin(), kind.verbs.end(), verb) != kind.verbs.end();
}

void Count(const ApiResource& kind, const std::vector<json::Value>& items, Remaining& remaining) {
  if (items.empty()) return;
  remaining.objects[kind.ref.plural + "." + kind.ref.group] = static_cast<int>(items.size());
  for (const json::Value& item : items) {
    const json::Value& finalizers = item["metadata"]["finalizers"];
    if (!finalizers.is_array()) continue;
    for (const json::Value& finalizer : finalizers.as_array())
      ++remaining.finalizers[std::string(finalizer.string_or(""))];
  }
}

Status DeleteEach(const DynamicClient& client, const std::vector<json::Value>& items, const std::string& ns) {
  DeleteParams params;
  params.propagation_policy = "Background";
  for (const json::Value& item : items) {
    const auto deleted = client.Delete(ns, item["metadata"]["name"].string_or(""), params);
    if (!deleted && !deleted.error().Is(Reason::kNotFound)) return Unexpected(deleted.error());
  }
  return {};
}

Status DeleteAll(const Client& client, const ApiResource& kind, const std::string& ns, Remaining& remaining) {
  const DynamicClient objects = client.Dynamic(kind.ref);
  FLYBALL_ASSIGN(const auto before, objects.List(ns));
  if (before.items.empty()) return {};
  if (Supports(kind, "deletecollection")) {
    DeleteParams params;
    params.propagation_policy = "Background";
    FLYBALL_TRY(objects.DeleteCollection(ns, params));
  } else {
    FLYBALL_TRY(DeleteEach(objects, before.items, ns));
  }
  FLYBALL_ASSIGN(const auto after, objects.List(ns));
  Count(kind, after.items, remaining);
  return {};
}

void DeleteKind(const Client& client, const ApiResource& kind, const std::string& ns, Remaining& remaining) {
  const Status deleted = DeleteAll(client, kind, ns, remaining);
  // 404, 405: the kind has disappeared, or cannot be deleted this way.
  if (deleted || deleted.error().Is(Reason::kNotFound) || deleted.error().Is(Reason::kMethodNotAllowed))
    return;
  remaining.failures.push_back(deleted.error().message());
}

bool IsPods(const ApiResource& kind) {
  return kind.ref.group.empty() && kind.ref.plural == "pods";
}

}  // namespace

Remaining DeleteContent(const Client& client, const std::vector<ApiResource>& kinds, const std::string& ns) {
  Remaining remaining;
  for (const ApiResource& kind : kinds)
    if (IsPods(kind)) DeleteKind(client, kind, ns, remaining);
  if (!remaining.nothing()) return remaining;
  for (const ApiResource& kind : kinds)
    if (kind.ref.namespaced && !IsPods(kind)) DeleteKind(client, kind, ns, remaining);
  return remaining;
}

}  // namespace flyball::controllers
