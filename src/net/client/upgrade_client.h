// The client's side of leaving HTTP: a connection of its own, one request, and its bytes ever after.
#pragma once

#include <memory>
#include <string>

#include "net/client/client_pool.h"
#include "net/http/http.h"
#include "net/io/byte_stream.h"
#include "net/io/io_loop.h"
#include "net/io/live_channels.h"

namespace flyball::net {

// Who takes over a connection whose upgrade was accepted. Called on the loop: one of the two, once.
struct UpgradeTaker {
  // Bytes go to what it returns from then on; an error closes the connection.
  UniqueFunction<Result<std::shared_ptr<ByteListener>>(const Headers& headers, std::shared_ptr<IoLoop> loop,
                                                       std::shared_ptr<ByteStream> bytes)>
      accepted;
  // An answer other than 101 gives an Error with its status as code and its body as message.
  UniqueFunction<void(const Error&)> failed;
};

// `request` asks for the upgrade with its own headers.
void OpenUpgradeOn(const std::shared_ptr<IoLoop>& loop, const std::shared_ptr<const ClientContext>& context,
                   const std::shared_ptr<LiveChannels>& channels, const Request& request, UpgradeTaker taker);

// A taker that makes a Duplex of it.
UpgradeTaker DuplexTaker(UpgradeDone done);

}  // namespace flyball::net
