// The past templates of a StatefulSet or DaemonSet, each stored as a numbered ControllerRevision (upstream:
// pkg/controller/history).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/types/apps.h"
#include "client/client.h"

namespace flyball::controllers {

using RevisionPtr = std::shared_ptr<const ControllerRevision>;

// The data of a revision: a patch that restores the template.
json::Value TemplatePatch(const PodTemplateSpec& pod_template);
// Returns ten characters of the alphabet of generated names, which are equal for equal data and collision
// counts.
std::string RevisionHash(const json::Value& data, std::int32_t collision_count);

// Ordered by number, then by age and name.
void SortRevisions(std::vector<RevisionPtr>& revisions);
std::int64_t NextRevision(const std::vector<RevisionPtr>& sorted);

// Finds the revision of a template among those of its owner, or creates it.
struct RevisionRequest {
  ObjectMeta metadata;  // for a new one: namespace, owner, labels, annotations; the name without the hash
  std::string hash_label;
  json::Value data;
};
// Returns the revision with this data: the newest if it matches, an older one renumbered as the newest, or a
// new one. If the name is taken by other data, raises `collision_count` and tries again.
Result<RevisionPtr> EnsureRevision(const Client& client, std::vector<RevisionPtr> known,
                                   const RevisionRequest& request, std::int32_t& collision_count);

// Deletes the oldest revisions that are not `live` (names, or values of the hash label), and keeps `limit`.
Status DeleteOldRevisions(const Client& client, std::vector<RevisionPtr> known,
                          const std::vector<std::string>& live, int limit);

}  // namespace flyball::controllers
