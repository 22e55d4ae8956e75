// Which pod an argument means: `POD`, or `TYPE/NAME` for a pod of that object.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/values/result.h"
#include "cli/kubectl/session/session.h"
#include "json/value.h"

namespace flyball::cli {

// The pod itself, or those that the object selects, running ones first. Never empty: a pod is waited for.
Result<std::vector<json::Value>> PodsBehind(Session& session, const std::string& argument,
                                            Duration wait = {});
// --pod-running-timeout; `otherwise` unless it is given.
inline constexpr const char* kPodRunningTimeout = "1m0s";
void AddPodRunningTimeout(const Command& command, std::string* timeout,
                          const std::string& otherwise = kPodRunningTimeout);
// BadRequest, in kubectl's words, if it is no duration or not more than zero.
Result<Duration> PodRunningTimeout(const std::string& timeout);

// Whether the pod has a container of that name, of whatever sort.
bool HasContainer(const json::Value& pod, std::string_view name);
// "a, b, c (init)": what users can choose from.
std::string ContainerNames(const json::Value& pod);

}  // namespace flyball::cli
