// One question to one upstream.
#pragma once

#include <memory>

#include "base/run/random.h"
#include "dns/forward/upstream.h"
#include "dns/packet/message.h"
#include "net/client/tcp_client.h"
#include "net/io/io_loop.h"

namespace flyball::dns {

// What all exchanges of a forwarder share.
struct ExchangeContext {
  std::shared_ptr<net::IoLoop> loop;
  Random& random;
  net::TcpDialer dialer;
};

using ExchangeDone = UniqueFunction<void(Result<Message>)>;

// Asks by UDP from a port of its own that the kernel chooses at random, under a random id, and by TCP if the
// answer is truncated. Datagrams that are not the answer (another id, another question) are passed over: they
// may be forged. `done` runs once on the loop, later: the answer, kTimeout or kConnection. On the loop.
void AskUpstream(std::shared_ptr<ExchangeContext> context, const Upstream& upstream, Message query,
                 Duration timeout, ExchangeDone done);

}  // namespace flyball::dns
