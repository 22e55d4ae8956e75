#include "network/nft/nftables.h"

#include <gmock/gmock.h>

#include "network/testing/own_namespace.h"

namespace flyball::network {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(NftablesTest, RunsAllCommandsOrNone) {
  InOwnNamespace([] {
    auto nft = Nftables::Open();
    ASSERT_TRUE(nft) << nft.error().message();
    ASSERT_TRUE((*nft)->Run("add table ip one\nadd chain ip one first"));

    const Status failed = (*nft)->Run("add chain ip one second\nadd rule ip one third accept");
    ASSERT_FALSE(failed);
    EXPECT_THAT(failed.error().message(), HasSubstr("No such file or directory"));

    const auto listed = (*nft)->Query("list table ip one");
    ASSERT_TRUE(listed);
    EXPECT_THAT(*listed, HasSubstr("chain first"));
    EXPECT_THAT(*listed, Not(HasSubstr("chain second")));
  });
}

TEST(NftablesTest, ChangesOnlyItsOwnNamespace) {
  InOwnNamespace([] { ASSERT_TRUE((*Nftables::Open())->Run("add table ip one")); });
  InOwnNamespace([] {
    const auto listed = (*Nftables::Open())->Query("list tables");
    ASSERT_TRUE(listed);
    EXPECT_EQ(*listed, "");
  });
}

}  // namespace
}  // namespace flyball::network
