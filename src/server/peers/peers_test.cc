#include "server/peers/peers.h"

#include <gtest/gtest.h>

namespace flyball::server {
namespace {

TEST(PeersTest, AMachineHasTheIdentityKubeApiserverHasThere) {
  // base32(sha256(length-prefixed name, "kube-apiserver")[:16]), as upstream makes it.
  EXPECT_EQ(ServerIdentity("host-1"), "apiserver-fl6obw4ijfryx25ur4ugqryswq");
}

}  // namespace
}  // namespace flyball::server
