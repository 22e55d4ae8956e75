// StageSet: the Stages of a file, and which of them is next for an object.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "node/stages/stage.h"

namespace flyball::node {

// Immutable once made; thread-safe.
class StageSet {
 public:
  // The documents of a YAML or JSON file, or of all *.yaml, *.yml and *.json files of a folder. Documents
  // that are not Stages are ignored, so that KWOK's own configuration files can be read. BadRequest, naming
  // the file, if a Stage has what is not understood, or there is none.
  static Result<StageSet> Load(const std::string& path);
  // Of documents.
  static Result<StageSet> Make(const std::vector<json::Value>& manifests);

  // There are Stages for objects of that kind.
  bool Plays(std::string_view kind) const;
  // The one that the object goes on with: of several that match, one by their weights (KWOK's
  // Lifecycle.Match). Null: it stays as it is.
  const Stage* Choose(std::string_view kind, const json::Value& object, Random& random) const;

 private:
  std::vector<Stage> stages_;
};

}  // namespace flyball::node
