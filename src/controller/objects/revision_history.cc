#include "controller/objects/revision_history.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "controller/objects/owner.h"
#include "json/json.h"

namespace flyball::controllers {
namespace {

Result<RevisionPtr> Renumber(const Client& client, const ControllerRevision& revision, std::int64_t number) {
  ControllerRevision updated = revision;
  updated.revision = number;
  FLYBALL_ASSIGN(ControllerRevision written, client.Update(updated));
  return RevisionPtr(std::make_shared<ControllerRevision>(std::move(written)));
}

Result<RevisionPtr> CreateRevision(const Client& client, const RevisionRequest& request, std::int64_t number,
                                   std::int32_t& collision_count) {
  ControllerRevision wanted;
  wanted.data = request.data;
  wanted.revision = number;
  for (;;) {
    const std::string hash = RevisionHash(request.data, collision_count);
    wanted.metadata = request.metadata;
    wanted.metadata.name += "-" + hash;
    wanted.metadata.labels[request.hash_label] = hash;
    auto made = client.Create(wanted);
    if (made) return RevisionPtr(std::make_shared<ControllerRevision>(std::move(*made)));
    if (!made.error().Is(Reason::kAlreadyExists)) return Unexpected(made.error());
    // Either ours, from an earlier attempt whose response was lost, or other data with the same hash.
    FLYBALL_ASSIGN(ControllerRevision taken,
                   client.Get<ControllerRevision>(wanted.metadata.namespace_, wanted.metadata.name));
    if (taken.data == request.data)
      return RevisionPtr(std::make_shared<ControllerRevision>(std::move(taken)));
    ++collision_count;
  }
}

// Upstream writes the data from Go maps: by key. Tools that compare bytes rely on it.
void SortAllKeys(json::Value& value) {
  if (value.is_array()) {
    for (json::Value& item : value.as_array()) SortAllKeys(item);
  } else if (value.is_object()) {
    value.as_object().SortKeys();
    for (auto& [key, item] : value.as_object()) SortAllKeys(item);
  }
}

}  // namespace

json::Value TemplatePatch(const PodTemplateSpec& pod_template) {
  json::Value body = ToJson(pod_template);
  body["$patch"] = "replace";
  SortAllKeys(body);
  return json::Object{{"spec", json::Object{{"template", std::move(body)}}}};
}

std::string RevisionHash(const json::Value& data, std::int32_t collision_count) {
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  constexpr std::uint64_t kOffset = 14695981039346656037u, kPrime = 1099511628211u;
  constexpr int kHashLength = 10;
  std::uint64_t hash = kOffset;
  for (const char c : json::Write(data) + "#" + std::to_string(collision_count))
    hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  std::string out;
  for (int i = 0; i < kHashLength; ++i, hash /= kLetters.size()) out += kLetters[hash % kLetters.size()];
  return out;
}

void SortRevisions(std::vector<RevisionPtr>& revisions) {
  std::sort(revisions.begin(), revisions.end(), [](const RevisionPtr& a, const RevisionPtr& b) {
    const auto rank = [](const ControllerRevision& r) {
      return std::tie(r.revision, r.metadata.creation_timestamp, r.metadata.name);
    };
    return rank(*a) < rank(*b);
  });
}

std::int64_t NextRevision(const std::vector<RevisionPtr>& sorted) {
  return sorted.empty() ? 1 : sorted.back()->revision + 1;
}

Result<RevisionPtr> EnsureRevision(const Client& client, std::vector<RevisionPtr> known,
                                   const RevisionRequest& request, std::int32_t& collision_count) {
  SortRevisions(known);
  const auto found = std::find_if(known.rbegin(), known.rend(), [&](const RevisionPtr& revision) {
    return revision->data == request.data;
  });
  if (found == known.rbegin() && found != known.rend()) return *found;
  if (found != known.rend()) return Renumber(client, **found, NextRevision(known));
  return CreateRevision(client, request, NextRevision(known), collision_count);
}

Status DeleteOldRevisions(const Client& client, std::vector<RevisionPtr> known,
                          const std::vector<std::string>& live, int limit) {
  SortRevisions(known);
  std::erase_if(known, [&](const RevisionPtr& revision) {
    const auto is_live = [&](const std::string& name) {
      return std::find(live.begin(), live.end(), name) != live.end();
    };
    return is_live(revision->metadata.name) ||
           std::any_of(revision->metadata.labels.begin(), revision->metadata.labels.end(),
                       [&](const auto& label) { return is_live(label.second); });
  });
  for (std::size_t i = 0; i + static_cast<std::size_t>(std::max(limit, 0)) < known.size(); ++i) {
    const Status deleted = client.Delete(*known[i]);
    if (!deleted && !deleted.error().Is(Reason::kNotFound)) return deleted;
  }
  return {};
}

}  // namespace flyball::controllers
