// port-forward: a client's connections joined to ports of a pod (upstream: kubelet's portforward).
//
// SPDY/3.1, also tunnelled in the binary messages of a WebSocket: two streams a connection, `data` and
// `error`, which their headers `requestid` and `port` bring together. WebSocket channels: the ports are in
// the request; channel 2i carries the data of the i-th, 2i+1 its error; both begin with the port as two
// bytes, low one first.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/client/tcp_client.h"
#include "net/http/http.h"
#include "node/pod/pod_source.h"

namespace flyball::node {

struct ForwardTarget {
  std::string address;            // where the pod's ports are
  std::string network_namespace;  // the pod's, in which they are at its loopback address; empty: at `address`
  std::string description;        // "<pod>_<namespace>, uid <uid>", for errors
  std::shared_ptr<net::TcpDialer> dialer;
  std::function<bool(int port)> may_forward;  // asked before each connection
};

// Accepts the upgrade and forwards until the client leaves; answers the request itself if it asks for none of
// these protocols. On the stream's executor.
void ServePortForward(const net::Request& request, const std::shared_ptr<net::ResponseStream>& stream,
                      const ForwardTarget& target);

}  // namespace flyball::node
