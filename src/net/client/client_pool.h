// ClientPool: the connections of a client that live on one loop, and the calls waiting for one.
#pragma once

#include <deque>
#include <list>
#include <memory>
#include <vector>

#include "net/client/http_client.h"
#include "net/exchange/client_call.h"
#include "net/io/connector.h"
#include "net/tls/tls.h"

namespace flyball::net {

// What the connections of a client share. Immutable.
struct ClientContext {
  ClientOptions options;
  Origin origin;
  std::shared_ptr<TlsContext> tls;        // null: plain text
  std::shared_ptr<TlsContext> tls_http1;  // offers HTTP/1.1 only: for WebSockets
  std::shared_ptr<Connector> connector;

  const std::string& server_name() const {
    return options.tls.server_name.empty() ? origin.host : options.tls.server_name;
  }
};

// Confined to its loop. A call goes to a connection that has room, else waits while new ones are made: one at
// a time where HTTP/2 is spoken or still hoped for, one a call where HTTP/1.1 is.
class ClientPool : public std::enable_shared_from_this<ClientPool> {
 public:
  ClientPool(std::shared_ptr<IoLoop> loop, std::shared_ptr<const ClientContext> context);
  ~ClientPool();

  void Submit(std::shared_ptr<ClientCall> call);
  // Fails what is under way and waiting, closes every connection.
  void Close();

  // From connections.
  // Sends a call again that certainly was not processed, or fails it if that happened too often.
  void Retry(std::shared_ptr<ClientCall> call, const Error& error);
  // There is room again.
  void OnCapacity(ClientConnection& connection);
  // No more calls to this one: it is going away.
  void OnGoing(ClientConnection& connection);

 private:
  struct Entry {
    std::shared_ptr<Channel> channel;
    ClientConnection* connection;
  };

  void ConnectIfNeeded();
  std::size_t ConnectionsWanted() const;
  void OnConnected(Result<int> fd);
  void OnReady(const std::shared_ptr<Channel>& channel);
  void OnConnectFailed(const Error& error);
  void ServeWaiting();
  ClientConnection* FindRoom();

  enum class Protocol { kUnknown, kH1, kH2 };

  const std::shared_ptr<IoLoop> loop_;
  const std::shared_ptr<const ClientContext> context_;
  Protocol protocol_ = Protocol::kUnknown;
  std::size_t connecting_ = 0;
  std::deque<std::shared_ptr<ClientCall>> waiting_;
  std::vector<Entry> usable_;
  std::vector<std::shared_ptr<Channel>> channels_;  // all that are open
  bool closed_ = false;
};

}  // namespace flyball::net
