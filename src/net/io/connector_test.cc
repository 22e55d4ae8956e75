#include "net/io/connector.h"

#include <gtest/gtest.h>

namespace flyball::net {
namespace {

// The last owner of a connector may be what waits for it (TcpClient): it must not go on the resolver's
// thread.
TEST(ConnectorTest, ItMayGoWhileItsNameIsLookedUp) {
  for (int i = 0; i < 200; ++i) {
    const auto loop = std::make_shared<IoLoop>("test-loop");
    auto connector =
        std::make_shared<Connector>(*ParseOrigin("http://localhost:1"), nullptr, std::chrono::hours(1));
    const std::weak_ptr<Connector> left = connector;
    auto& begun = *connector;
    begun.Connect(loop, [owner = std::move(connector)](Result<int>) {});
    loop->Stop();
    EXPECT_TRUE(left.expired());
  }
}

}  // namespace
}  // namespace flyball::net
