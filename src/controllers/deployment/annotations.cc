#include "controllers/deployment/annotations.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "json/json.h"

namespace flyball::controllers {
namespace {

// They belong to the Deployment alone: copied to its ReplicaSets they would be wrong.
constexpr std::array<std::string_view, 6> kNotCopied = {"kubectl.kubernetes.io/last-applied-configuration",
                                                        kRevision,
                                                        kRevisionHistory,
                                                        kDesiredReplicas,
                                                        kMaxReplicas,
                                                        kRollbackTo};
// Upstream keeps this many characters of old revisions.
constexpr std::size_t kMaxHistory = 2000;

bool IsCopied(std::string_view name) {
  return std::find(kNotCopied.begin(), kNotCopied.end(), name) == kNotCopied.end();
}

bool SetAnnotation(ObjectMeta& meta, const std::string& name, const std::string& value) {
  std::string& known = meta.annotations[name];
  if (known == value) return false;
  known = value;
  return true;
}

bool CopyAnnotations(const Deployment& deployment, ReplicaSet& rs) {
  bool changed = false;
  for (const auto& [name, value] : deployment.metadata.annotations)
    if (IsCopied(name)) changed |= SetAnnotation(rs.metadata, name, value);
  return changed;
}

void RememberRevision(ReplicaSet& rs, const std::string& revision) {
  std::string& history = rs.metadata.annotations[kRevisionHistory];
  history += (history.empty() ? "" : ",") + revision;
  while (history.size() > kMaxHistory) {
    const std::size_t comma = history.find(',');
    if (comma == std::string::npos) break;
    history.erase(0, comma + 1);
  }
}

}  // namespace

std::int64_t RevisionOf(const ObjectMeta& meta) {
  return IntAnnotation(meta, kRevision).value_or(0);
}

std::optional<std::int64_t> IntAnnotation(const ObjectMeta& meta, const char* name) {
  const auto found = meta.annotations.find(name);
  if (found == meta.annotations.end()) return std::nullopt;
  const std::string& text = found->second;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool SetReplicasAnnotations(ReplicaSet& rs, int desired, int max) {
  const bool a = SetAnnotation(rs.metadata, kDesiredReplicas, std::to_string(desired));
  const bool b = SetAnnotation(rs.metadata, kMaxReplicas, std::to_string(max));
  return a || b;
}

bool SetNewAnnotations(const Deployment& deployment, ReplicaSet& rs, std::int64_t revision) {
  bool changed = CopyAnnotations(deployment, rs);
  const std::int64_t known = RevisionOf(rs.metadata);
  if (known >= revision) return changed;
  // A template that returns (a rollback) moves to the end of the history.
  if (known > 0) RememberRevision(rs, std::to_string(known));
  rs.metadata.annotations[kRevision] = std::to_string(revision);
  return true;
}

void CopyAnnotationsBack(const ReplicaSet& rs, Deployment& deployment) {
  std::erase_if(deployment.metadata.annotations, [](const auto& entry) { return IsCopied(entry.first); });
  for (const auto& [name, value] : rs.metadata.annotations)
    if (IsCopied(name)) deployment.metadata.annotations[name] = value;
}

std::string TemplateHash(const PodTemplateSpec& pod_template, std::optional<std::int32_t> collision_count) {
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  constexpr std::uint64_t kFnvOffset = 14695981039346656037u, kFnvPrime = 1099511628211u;
  constexpr int kLength = 10;
  std::string text = json::Write(ToJson(pod_template));
  if (collision_count) text += "#" + std::to_string(*collision_count);
  std::uint64_t hash = kFnvOffset;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * kFnvPrime;
  std::string out;
  for (int i = 0; i < kLength; ++i, hash /= kAlphabet.size()) out += kAlphabet[hash % kAlphabet.size()];
  return out;
}

}  // namespace flyball::controllers
