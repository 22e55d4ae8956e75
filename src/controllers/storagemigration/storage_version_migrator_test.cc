#include "api/types/apiextensions.h"
#include "api/types/core.h"
#include "api/types/storagemigration.h"
#include "controllers/testing/control_plane_test.h"

namespace flyball::controllers {
namespace {

class MigratorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ControllersOptions options;
    options.enabled = {"storage-version-migrator-controller"};
    plane_.StartControllers(options);
  }
  void Migrate(const std::string& name, const std::string& group, const std::string& resource) {
    plane_.Create("apiVersion: storagemigration.k8s.io/v1\nkind: StorageVersionMigration\nmetadata: {name: " +
                  name + "}\nspec: {resource: {group: \"" + group + "\", resource: " + resource + "}}\n");
  }
  StorageVersionMigration Migration(const std::string& name) {
    return plane_.Get<StorageVersionMigration>("", name);
  }
  testing::ControlPlane plane_;
};

TEST_F(MigratorTest, RewritesEveryObjectAndSaysSo) {
  plane_.Create("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\ndata: {x: z1}\n");
  Migrate("m", "", "configmaps");
  plane_.Run(10s);
  const auto migration = Migration("m");
  EXPECT_TRUE(IsConditionTrue(migration.status.conditions, "Succeeded"));
  const auto* running = FindCondition(migration.status.conditions, "Running");
  ASSERT_TRUE(running);
  EXPECT_EQ(running->status + " " + running->reason, "False MigrationCompleted");
  EXPECT_FALSE(migration.status.resource_version.empty());
  EXPECT_EQ(plane_.Get<ConfigMap>("default", "a").data.at("x"), "z1");
}

TEST_F(MigratorTest, AResourceThatDoesNotExistFailsAfterAWhile) {
  Migrate("m", "example.com", "things");
  plane_.Run(30s);
  EXPECT_FALSE(IsConditionTrue(Migration("m").status.conditions, "Failed"));
  plane_.Run(60s);
  const auto migration = Migration("m");
  const auto* failed = FindCondition(migration.status.conditions, "Failed");
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->reason + ": " + failed->message,
            "StorageVersionMigrationFailed: resource does not exist in discovery");
}

TEST_F(MigratorTest, ADefinitionForgetsTheVersionsNothingIsStoredInAnyMore) {
  plane_.Create(R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {plural: things, singular: thing, kind: Thing}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
)");
  plane_.Run(2s);
  plane_.MergePatch<CustomResourceDefinition>("", "things.example.com", "status: {storedVersions: [v0, v1]}",
                                              "status");
  Migrate("m", "example.com", "things");
  plane_.Run(30s);
  const auto definition = plane_.Get<CustomResourceDefinition>("", "things.example.com");
  EXPECT_EQ(definition.status.stored_versions, std::vector<std::string>{"v1"});
  const auto* note = FindCondition(definition.status.conditions, "StorageMigrating");
  ASSERT_TRUE(note);
  EXPECT_EQ(note->message, "The migration has succeeded and the stored versions have been updated");
}

}  // namespace
}  // namespace flyball::controllers
