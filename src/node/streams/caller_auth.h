// CallerAuth: who calls a node's server, and whether it may. The node does not decide: it asks the API server
// with a TokenReview and a SubjectAccessReview (upstream: kubelet's webhook authentication and
// authorization).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "client/client.h"
#include "net/http/http.h"

namespace flyball::node {

struct CallerVerdict {
  int status = 200;  // 401, 403, or 500 if the API server could not be asked
  std::string message;
};

// Thread-safe.
class CallerAuth {
 public:
  virtual ~CallerAuth() = default;
  // Decides about a request to the server of that node. `done` is called once, on any thread.
  virtual void Check(const net::Request& request, const std::string& node_name,
                     std::function<void(const CallerVerdict&)> done) = 0;
};

// A caller is whom its certificate names if the client CA vouches for it, else whom the API server says its
// bearer token is; without either it is refused. It needs the right to the verb of its method on the node's
// subresource: nodes/proxy for logs, exec, attach and port-forward; nodes/healthz, nodes/pods, nodes/stats,
// nodes/metrics, nodes/log or nodes/configz for those paths. Verdicts are kept: of tokens two minutes, of
// rights five minutes, of refusals thirty seconds.
std::shared_ptr<CallerAuth> NewDelegatedAuth(Client client);

}  // namespace flyball::node
