// LiveChannels: the connections of a client that have left its pools, so that they end with it.
#pragma once

#include <memory>
#include <vector>

#include "net/io/channel.h"

namespace flyball::net {

// Confined to the loop.
class LiveChannels {
 public:
  void Add(const std::shared_ptr<Channel>& channel) {
    std::erase_if(channels_, [](const auto& weak) { return weak.expired(); });
    channels_.push_back(channel);
  }
  void CloseAll() {
    for (const auto& weak : std::exchange(channels_, {}))
      if (auto channel = weak.lock()) channel->Close(Error(Reason::kConnection, "the client is closed"));
  }

 private:
  std::vector<std::weak_ptr<Channel>> channels_;
};

}  // namespace flyball::net
