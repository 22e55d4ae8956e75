#include <algorithm>
#include <functional>

#include "cli/kustomize/resource/failure.h"
#include "cli/kustomize/transform/finishing.h"

namespace flyball::cli::kustomize {
namespace {

using Rank = std::function<int(const std::string& kind)>;

// The lists of the kustomization in place of the usual ones.
Rank RankBy(const SortOptions& options) {
  return [options](const std::string& kind) {
    const auto& [first, last] = std::tie(options.first, options.last);
    const auto in_last = std::find(last.rbegin(), last.rend(), kind);
    if (in_last != last.rend()) return static_cast<int>(last.rend() - in_last);
    const auto in_first = std::find(first.rbegin(), first.rend(), kind);
    return in_first == first.rend() ? 0 : -static_cast<int>(in_first - first.rbegin()) - 1;
  };
}

std::string IdSortText(const ResourceId& id) {
  return id.gvk.ToString() + "|" + (id.ns.empty() ? "~X" : id.ns) + "|" + (id.name.empty() ? "~N" : id.name);
}

bool Precedes(const ResourceId& a, const ResourceId& b, const Rank& rank) {
  if (a.gvk == b.gvk) return IdSortText(a) < IdSortText(b);
  const int rank_a = rank(a.gvk.kind), rank_b = rank(b.gvk.kind);
  if (rank_a != rank_b) return rank_a < rank_b;
  // The real Namespace goes before others of that name.
  const bool namespaces = a.gvk.kind == "Namespace" && (a.gvk.group.empty() || b.gvk.group.empty());
  return namespaces ? a.gvk.SortText() > b.gvk.SortText() : a.gvk.SortText() < b.gvk.SortText();
}

}  // namespace

Status SortResources(ResourceList& resources, const std::optional<SortOptions>& options) {
  if (options && options->order != "fifo" && options->order != "legacy")
    return Fail("the field 'sortOptions.order' must be one of [fifo, legacy]");
  if (options && options->order == "fifo") {
    if (!options->has_legacy) return {};
    return Fail(
        "the field 'sortOptions.legacySortOptions' is set but the selected sort order is 'fifo', not "
        "'legacy'");
  }
  const Rank rank = options && options->has_legacy ? RankBy(*options) : Rank(&KindRank);
  std::vector<std::pair<ResourceId, std::unique_ptr<Resource>>> sorted;
  for (auto& resource : resources.items()) {
    ResourceId id = resource->Id();
    sorted.emplace_back(std::move(id), std::move(resource));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const auto& a, const auto& b) { return Precedes(a.first, b.first, rank); });
  resources.items().clear();
  for (auto& [id, resource] : sorted)
    if (auto appended = resources.Append(std::move(resource)); !appended)
      return Wrap("SortOrderTransformer: Failed to append to resources", appended.error());
  return {};
}

}  // namespace flyball::cli::kustomize
