// The functions that the templates of Stages may call besides Go's: KWOK's own and the usual ones of sprig,
// which stage_functions.cc lists. A template that calls another one is refused when it is read.
#pragma once

#include <functional>
#include <string>

#include "api/template/template_functions.h"
#include "base/run/clock.h"
#include "base/run/random.h"

namespace flyball::node {

// What they know of the node they are called on.
struct StageNode {
  std::string name, address;
  int port = 0;
  std::function<std::string(const std::string& uid)> pod_ip{};  // the same one for each pod
};

// Thread-safe if StageNode::pod_ip is.
class StageFunctions final : public api::TemplateFunctions {
 public:
  StageFunctions(StageNode node, const Clock& clock, Random& random);
  bool Has(std::string_view name) const override;
  Result<api::TemplateValue> Call(std::string_view name,
                                  const std::vector<api::TemplateValue>& args) const override;

  const StageNode& node() const { return node_; }
  const Clock& clock() const { return clock_; }
  Random& random() const { return random_; }
  TimePoint start_time() const { return start_time_; }

 private:
  const StageNode node_;
  const Clock& clock_;
  Random& random_;
  const TimePoint start_time_;
};

// For reading templates: knows the same names; is never called.
const api::TemplateFunctions& KnownStageFunctions();

}  // namespace flyball::node
