// What a client is warned of in a pod or pod template that is nevertheless taken (upstream: api/pod
// warnings).
#pragma once

#include <string>
#include <vector>

#include "api/rules/field_error.h"
#include "json/value.h"

namespace flyball::api {

// For the hooks of kinds whose template is at spec.template.
void WarnOfTemplate(const json::Value& object, std::vector<std::string>& out);
void WarnOfPod(const json::Value& object, std::vector<std::string>& out);
// A pod template or Pod anywhere else; `prefix` is "" or ends in '.'.
void WarnOfPodSpec(const json::Value& pod, const std::string& prefix, std::vector<std::string>& out);

// Part of the above: ports that several containers define.
void WarnOfPorts(const json::Value& spec, const FieldPath& path, std::vector<std::string>& out);

}  // namespace flyball::api
