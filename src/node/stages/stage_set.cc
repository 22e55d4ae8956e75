#include "node/stages/stage_set.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "json/yaml/yaml.h"

namespace flyball::node {
namespace {

namespace fs = std::filesystem;

constexpr char kStageGroup[] = "kwok.x-k8s.io/";

Result<std::vector<json::Value>> ReadDocuments(const fs::path& file) {
  std::ifstream in(file);
  if (!in) return Unexpected(BadRequest("open " + file.string() + ": it cannot be read"));
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  auto documents = json::ParseYamlStream(text);
  if (!documents) return Unexpected(BadRequest(file.string() + ": " + documents.error().message()));
  return documents;
}

// In the order of their names, as kubectl applies them.
std::vector<fs::path> FilesOf(const std::string& path) {
  std::error_code ec;
  if (!fs::is_directory(path, ec)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path, ec)) {
    const std::string ending = entry.path().extension().string();
    if (ending == ".yaml" || ending == ".yml" || ending == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool IsStage(const json::Value& manifest) {
  return manifest["kind"].string_or("") == "Stage" &&
         manifest["apiVersion"].string_or("").starts_with(kStageGroup);
}

}  // namespace

Result<StageSet> StageSet::Load(const std::string& path) {
  std::vector<json::Value> manifests;
  for (const fs::path& file : FilesOf(path)) {
    FLYBALL_ASSIGN(const auto documents, ReadDocuments(file));
    manifests.insert(manifests.end(), documents.begin(), documents.end());
  }
  auto set = Make(manifests);
  if (!set) return Unexpected(BadRequest(path + ": " + set.error().message()));
  if (set->stages_.empty())
    return Unexpected(BadRequest(path + ": no Stages (apiVersion: kwok.x-k8s.io/v1alpha1, kind: Stage)"));
  return set;
}

Result<StageSet> StageSet::Make(const std::vector<json::Value>& manifests) {
  StageSet set;
  for (const json::Value& manifest : manifests) {
    // Without a selector it is for no object.
    if (!IsStage(manifest) || !manifest["spec"]["selector"].is_object()) continue;
    FLYBALL_ASSIGN(Stage stage, Stage::Make(manifest));
    set.stages_.push_back(std::move(stage));
  }
  return set;
}

bool StageSet::Plays(std::string_view kind) const {
  return std::any_of(stages_.begin(), stages_.end(),
                     [&](const Stage& stage) { return stage.kind() == kind; });
}

const Stage* StageSet::Choose(std::string_view kind, const json::Value& object, Random& random) const {
  struct Candidate {
    const Stage* stage;
    std::optional<std::int64_t> weight;
  };
  std::vector<Candidate> candidates;
  for (const Stage& stage : stages_)
    if (stage.kind() == kind && stage.Matches(object)) candidates.push_back({&stage, stage.Weight(object)});
  if (candidates.empty()) return nullptr;
  std::int64_t total = 0;
  for (const Candidate& candidate : candidates)
    total += std::max<std::int64_t>(candidate.weight.value_or(0), 0);
  if (total > 0) {
    auto at = static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(total)));
    for (const Candidate& candidate : candidates)
      if (candidate.weight.value_or(0) > 0 && (at -= *candidate.weight) < 0) return candidate.stage;
  }
  // Those whose weight is known go first.
  if (std::any_of(candidates.begin(), candidates.end(),
                  [](const Candidate& c) { return c.weight.has_value(); }))
    std::erase_if(candidates, [](const Candidate& c) { return !c.weight; });
  return candidates[random.Below(candidates.size())].stage;
}

}  // namespace flyball::node
