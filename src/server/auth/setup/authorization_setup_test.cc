#include "server/auth/setup/authorization_setup.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/run/notification.h"
#include "base/run/sim_executor.h"
#include "base/values/ascii.h"
#include "server/cache/watch_cache.h"
#include "store/memory/memory_store.h"

namespace flyball::server {
namespace {

std::string ChainOf(const std::string& type) {
  return "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers: [{type: " +
         type + ", name: " + LowerCase(type) + "}]\n";
}

class AuthorizationSetupTest : public testing::Test {
 protected:
  // Returns when the watcher has called everybody who watches the file.
  void WriteAndWait(const std::string& text) {
    auto seen = std::make_shared<Notification<bool>>();
    // Called after those that came before.
    ASSERT_TRUE(files_.Watch({path_}, [seen, told = false]() mutable {
      if (!std::exchange(told, true)) seen->Set(true);
    }));
    std::ofstream(path_) << text;
    seen->Wait();
  }

  const std::string path_ = testing::TempDir() + "/authorization_setup_test.yaml";
  SimExecutor sim_{1};
  Random random_{1};
  Metrics metrics_;
  std::unique_ptr<store::Store> store_ = store::NewMemoryStore(sim_);
  WatchCache cache_{*store_, sim_};
  std::unique_ptr<Catalog> catalog_ = std::move(*Catalog::Make(cache_, RuntimeConfig(37)));
  FileWatcher files_;
};

// The callback held the bare pointer. Without the mend this is a use after free, which the sanitizers report.
TEST_F(AuthorizationSetupTest, TheFileMayChangeAfterAuthorizationHasGone) {
  std::ofstream(path_) << ChainOf("AlwaysAllow");
  auto authorization =
      Authorization::Make({.config_file = path_}, {*catalog_, sim_, random_, metrics_, &files_});
  ASSERT_TRUE(authorization) << authorization.error().message();
  authorization->reset();
  WriteAndWait(ChainOf("AlwaysDeny"));
}

TEST_F(AuthorizationSetupTest, AStoppedChainNoLongerFollowsItsFile) {
  std::ofstream(path_) << ChainOf("AlwaysAllow");
  auto authorization =
      Authorization::Make({.config_file = path_}, {*catalog_, sim_, random_, metrics_, &files_});
  ASSERT_TRUE(authorization) << authorization.error().message();
  (*authorization)->Stop();
  WriteAndWait(ChainOf("AlwaysDeny"));
  EXPECT_EQ(metrics_.Serialize().find("automatic_reloads_total{"), std::string::npos);
}

}  // namespace
}  // namespace flyball::server
