// What $FLYBALL_ENVTEST asks of the programs that `flyball envtest` writes, and what they clean up.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/values/result.h"
#include "cli/programs/signals.h"

namespace flyball::cli {

// A comma-separated list of these words.
struct EnvtestSettings {
  bool controllers = false;  // "controllers": kube-apiserver also runs controllers, scheduler and a node
  bool keep = false;         // "keep": go on when the parent ends
};

// BadRequest naming the word that means nothing.
Result<EnvtestSettings> ParseEnvtestSettings(std::string_view text);
// Those of this process.
Result<EnvtestSettings> ReadEnvtestSettings();

// How long such a program runs: until a stop signal, or the end of its parent. Thread-compatible.
class EnvtestLifetime {
 public:
  // Requires that stop signals are blocked.
  static Result<EnvtestLifetime> Begin(const EnvtestSettings& settings);
  // Blocks. True if the parent has ended: nobody is left to remove what it has made.
  bool Wait() const;

 private:
  explicit EnvtestLifetime(std::unique_ptr<ParentWatch> parent) : parent_(std::move(parent)) {}
  std::unique_ptr<ParentWatch> parent_;  // null: not watched
};

// Removes the folder with all that is in it if controller-runtime's envtest has made it, judged by the name
// that it gives to its folders. Leaves every other folder alone.
void RemoveEnvtestFolder(const std::string& path);

}  // namespace flyball::cli
