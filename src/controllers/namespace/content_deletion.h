// Deletes everything in a namespace, and says what is left.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "client/client.h"
#include "client/discovery.h"

namespace flyball::controllers {

// What is still there after a deletion was asked for.
struct Remaining {
  std::map<std::string, int> objects;     // by "configmaps." or "deployments.apps": how many
  std::map<std::string, int> finalizers;  // by finalizer: on how many objects
  std::vector<std::string> failures;      // of deletes and lists, for people

  bool nothing() const { return objects.empty() && failures.empty(); }
};

// Pods go first, and the rest waits for them: what they use should be there until they have ended.
Remaining DeleteContent(const Client& client, const std::vector<ApiResource>& kinds, const std::string& ns);

}  // namespace flyball::controllers
