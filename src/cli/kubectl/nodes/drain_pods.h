// Which pods of a node a drain removes, and removing them.
#pragma once

#include <string>
#include <vector>

#include "base/run/clock.h"
#include "base/values/result.h"
#include "cli/kubectl/session/session.h"
#include "json/value.h"

namespace flyball::cli {

struct DrainFlags {
  bool force = false, ignore_daemon_sets = false, delete_empty_dir_data = false, disable_eviction = false;
  int grace_seconds = -1;              // negative: as the pod says
  int skip_deleted_after_seconds = 0;  // pods that have been going for longer are not waited for; 0: all are
  Duration timeout{};                  // zero: for ever
  std::string pod_selector, dry_run;
};

// The pods to remove. Prints warnings about the rest; pods that must not be removed are the error.
Result<std::vector<json::Value>> PodsToDrain(Session& session, const DrainFlags& flags,
                                             const std::string& node);

// Evicts (or deletes) the pods and waits until they are gone. A refused eviction is tried again until the
// timeout.
Status RemovePods(Session& session, const DrainFlags& flags, const std::vector<json::Value>& pods);

}  // namespace flyball::cli
