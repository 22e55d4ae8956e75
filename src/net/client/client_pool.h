// ClientPool: the connections of a client that live on one loop, and the calls waiting for one.
#pragma once

#include <deque>
#include <list>
#include <memory>
#include <vector>

#include "net/exchange/client_call.h"
#include "net/exchange/client_context.h"

namespace flyball::net {

// Confined to its loop. A call goes to a connection that has room, else waits while new ones are made: one at
// a time where HTTP/2 is spoken or still hoped for, one a call where HTTP/1.1 is.
class ClientPool final : public ConnectionOwner, public std::enable_shared_from_this<ClientPool> {
 public:
  ClientPool(std::shared_ptr<IoLoop> loop, std::shared_ptr<const ClientContext> context);
  ~ClientPool() override;

  void Submit(std::shared_ptr<ClientCall> call);
  // Fails what is under way and waiting, closes every connection.
  void Close();

  void Retry(std::shared_ptr<ClientCall> call, const Error& error) override;
  void OnCapacity(ClientConnection& connection) override;
  void OnGoing(ClientConnection& connection) override;

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
