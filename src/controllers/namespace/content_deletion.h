// Deletes everything in a namespace, and reports what is left.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "client/client.h"
#include "client/discovery.h"

namespace flyball::controllers {

// What remains after the deletion was requested.
struct Remaining {
  std::map<std::string, int> objects;     // by "configmaps." or "deployments.apps": the number of objects
  std::map<std::string, int> finalizers;  // by finalizer: the number of objects
  std::vector<std::string> failures;      // errors of deletes and lists, for users

  bool nothing() const { return objects.empty() && failures.empty(); }
};

// Pods are deleted first, and everything else waits for them: what they use should exist until they have
// ended.
Remaining DeleteContent(const Client& client, const std::vector<ApiResource>& kinds, const std::string& ns);

}  // namespace flyball::controllers
