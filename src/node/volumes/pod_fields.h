// What fieldRef and resourceFieldRef mean (upstream: pkg/fieldpath), for variables and for files of the
// downward API.
#pragma once

#include <string>

#include "api/types/core.h"

namespace flyball::node {

// What fieldRefs can say besides what the pod's object does.
struct PodAddresses {
  std::string pod_ip, host_ip;
};

// The value of a field path; "" for one that is not known. Whole maps ("metadata.labels") are lines of
// key="value".
std::string FieldValue(const Pod& pod, const PodAddresses& addresses, const std::string& path);
// A container's request or limit, in units of the divisor, rounded up.
std::string ResourceValue(const Container& container, const ResourceFieldSelector& ref);

}  // namespace flyball::node
