// PlainSession: a connection that never speaks HTTP, as a Duplex.
#pragma once

#include <memory>

#include "net/http/http.h"
#include "net/io/channel.h"

namespace flyball::net {

// A connected socket's bytes as they are, both ways, each with an end of its own. On the loop.
struct PlainConnection {
  std::shared_ptr<Channel> channel;  // not started
  std::shared_ptr<Duplex> duplex;

  static PlainConnection Make(const std::shared_ptr<IoLoop>& loop, int fd);
  // `closed` runs once, when the connection is gone.
  void Start(Closure closed);

 private:
  Closure ready_;
};

}  // namespace flyball::net
