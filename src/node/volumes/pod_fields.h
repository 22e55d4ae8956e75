// What fieldRef and resourceFieldRef mean (upstream: pkg/fieldpath), for variables and for files of the
// downward API.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/types/core.h"

namespace flyball::node {

// What fieldRefs can say besides what the pod's object does.
struct PodAddresses {
  std::vector<std::string> pod_ips, host_ips;  // one of each IP family, the primary one first
};

// The value of a field path; "" for one that is not known. Whole maps ("metadata.labels") are lines of
// key="value".
std::string FieldValue(const Pod& pod, const PodAddresses& addresses, const std::string& path);
// What pods of a node may use of it in all.
using NodeAllocatable = std::map<std::string, api::Quantity>;
// A container's request or limit, in units of the divisor, rounded up. A container without a limit may use
// what the node has (upstream: MergeContainerResourceLimits).
std::string ResourceValue(const Container& container, const ResourceFieldSelector& ref,
                          const NodeAllocatable& allocatable);
// The container of the pod that a reference names; `own` if it names none. Null if there is no such one.
const Container* ContainerOf(const Pod& pod, const ResourceFieldSelector& ref, const Container* own);

}  // namespace flyball::node
