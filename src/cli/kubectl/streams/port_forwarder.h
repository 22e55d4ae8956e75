// PortForwarder: local TCP ports whose connections lead to ports of a pod. Each connection is one WebSocket
// (subprotocol v4.channel.k8s.io).
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "base/values/result.h"
#include "cli/kubectl/session/session.h"

namespace flyball::cli {

struct PortPair {
  std::uint16_t local = 0;  // 0: any free port
  std::uint16_t remote = 0;
};

// Thread-compatible: Listen, then Run, on one thread.
class PortForwarder {
 public:
  // `path` is the pod's portforward subresource.
  PortForwarder(Session& session, std::string path);
  ~PortForwarder();

  // Listens and prints "Forwarding from 127.0.0.1:80 -> 8080". The error says why the port cannot be had.
  Status Listen(const std::string& address, const PortPair& ports);
  // Serves connections until the process is interrupted; returns only if it cannot go on.
  Status Run();

 private:
  class Connection;
  struct Listener {
    int descriptor = -1;
    PortPair ports;
  };

  void Accept(const Listener& listener);

  Session& session_;
  const std::string path_;
  std::vector<Listener> listeners_;
  std::list<std::unique_ptr<Connection>> connections_;
};

}  // namespace flyball::cli
