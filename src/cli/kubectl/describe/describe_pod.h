// Descriptions of pods and pod templates.
#pragma once

#include <string>

#include "cli/kubectl/session/session.h"
#include "json/value.h"

namespace flyball::cli {

// "Pod Template:\n  Labels:\t..." as in the descriptions of workloads.
std::string PodTemplateText(const json::Value& pod_template);
// Without events.
std::string PodText(const json::Value& pod);

}  // namespace flyball::cli
