#include "server/catalog/runtime_config.h"

#include <gtest/gtest.h>

namespace flyball::server {
namespace {

const api::KindInfo& Kind(const char* group, const char* version, const char* kind) {
  return *api::FindBuiltinKind(group, version, kind);
}

TEST(RuntimeConfigTest, TurnsVersionsAndResourcesOff) {
  RuntimeConfig config(37);
  ASSERT_TRUE(config.Set("batch/v1=false,apps/v1/deployments=false,api/beta=false,batch/v1/jobs"));
  EXPECT_FALSE(config.Serves(Kind("batch", "v1", "CronJob")));
  EXPECT_TRUE(config.Serves(Kind("batch", "v1", "Job")));
  EXPECT_FALSE(config.Serves(Kind("apps", "v1", "Deployment")));
  EXPECT_TRUE(config.Serves(Kind("apps", "v1", "ReplicaSet")));
  ASSERT_TRUE(config.Set("api/all=false,v1=true"));
  EXPECT_TRUE(config.Serves(Kind("", "v1", "Pod")));
  EXPECT_FALSE(config.Serves(Kind("apps", "v1", "ReplicaSet")));
}

TEST(RuntimeConfigTest, TheCoreGroupMayBeNamedByItsPath) {
  RuntimeConfig config(37);
  ASSERT_TRUE(config.Set("api/v1"));
  EXPECT_TRUE(config.Serves(Kind("", "v1", "Pod")));
  ASSERT_TRUE(config.Set("api/v1/pods=false"));
  EXPECT_FALSE(config.Serves(Kind("", "v1", "Pod")));
  EXPECT_TRUE(config.Serves(Kind("", "v1", "Service")));
}

TEST(RuntimeConfigTest, RefusesWhatItCannotDo) {
  RuntimeConfig config(37);
  EXPECT_EQ(config.Set("nope.example.com/v1=true").error().message(),
            "--runtime-config: unknown api groups nope.example.com/v1");
  EXPECT_EQ(config.Set("batch/v1beta1=true").error().message(),
            "--runtime-config: batch/v1beta1 is not served: flyball has stable versions only");
  EXPECT_EQ(config.Set("batch/v1=maybe").error().message(), "--runtime-config: invalid value batch/v1=maybe");
  EXPECT_TRUE(config.Set("batch/v1beta1=false"));
}

TEST(RuntimeConfigTest, AnEmulatedReleaseHasItsOwnKinds) {
  EXPECT_TRUE(RuntimeConfig(37).Serves(Kind("certificates.k8s.io", "v1", "ClusterTrustBundle")));
  EXPECT_FALSE(RuntimeConfig(36).Serves(Kind("certificates.k8s.io", "v1", "ClusterTrustBundle")));
}

}  // namespace
}  // namespace flyball::server
