// ServerConnections: the connections of a server that live on one loop.
#pragma once

#include <memory>
#include <unordered_set>

#include "net/exchange/server_context.h"
#include "net/io/channel.h"
#include "net/tls/tls.h"

namespace flyball::net {

// Confined to the loop.
class ServerConnections : public std::enable_shared_from_this<ServerConnections> {
 public:
  ServerConnections(std::shared_ptr<IoLoop> loop, std::shared_ptr<ServerContext> context,
                    std::shared_ptr<TlsContext> tls);
  ~ServerConnections();

  // Takes over a socket: shakes hands, then speaks what was agreed on. Closes it if there are too many.
  void Accept(int fd);
  // Sockets taken over from now on use it.
  void SetTls(std::shared_ptr<TlsContext> tls) { tls_ = std::move(tls); }
  // Asks every connection to end when its requests have.
  void BeginShutdown();
  void CloseAll();

 private:
  void OnReady(Channel& channel);

  const std::shared_ptr<IoLoop> loop_;
  const std::shared_ptr<ServerContext> context_;
  std::shared_ptr<TlsContext> tls_;
  std::unordered_set<std::shared_ptr<Channel>> channels_;
};

}  // namespace flyball::net
