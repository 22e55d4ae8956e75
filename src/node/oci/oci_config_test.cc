#include "node/oci/oci_config.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/files/temporary_folder.h"
#include "json/json.h"

namespace flyball::node {
namespace {

class OciConfigTest : public testing::Test {
 protected:
  OciConfigTest() {
    pod_->metadata = {.name = "web", .namespace_ = "default", .uid = "u1"};
    spec_->name = "c";
    image_.entrypoint = {"/entry"};
    image_.cmd = {"a", "b"};
    image_.env = {"PATH=/bin", "A=image"};
    config_.pod_name = "web";
  }
  Result<json::Value> Make() {
    pod_->spec.containers = {*spec_};
    config_.pod = pod_;
    config_.spec = spec_;
    return MakeOciConfig({.container = config_,
                          .image = image_,
                          .user = {},
                          .monitor = 42,
                          .cgroup_path = PodCgroup(PodsCgroup(""), *pod_) + "/id",
                          .mounts = {},
                          .seccomp_folder = profiles_});
  }
  static std::string Text(const json::Value& value) { return json::Write(value); }

  std::shared_ptr<Pod> pod_ = std::make_shared<Pod>();
  std::shared_ptr<Container> spec_ = std::make_shared<Container>();
  ContainerConfig config_;
  ImageConfig image_;
  std::string profiles_;
};

TEST_F(OciConfigTest, CommandAndArgumentsAreCompletedFromTheImage) {
  const auto command = [&] { return *CommandOf(config_, image_); };
  EXPECT_EQ(command(), (std::vector<std::string>{"/entry", "a", "b"}));
  config_.args = {"x"};
  EXPECT_EQ(command(), (std::vector<std::string>{"/entry", "x"}));
  config_.command = {"/own"};
  EXPECT_EQ(command(), (std::vector<std::string>{"/own", "x"}));
  config_.args.clear();
  EXPECT_EQ(command(), (std::vector<std::string>{"/own"}));
  config_.command.clear();
  EXPECT_EQ(CommandOf(config_, ImageConfig()).error().message(), "no command specified");
}

TEST_F(OciConfigTest, TheSpecsVariablesReplaceTheImages) {
  config_.env = {{"A", "spec"}};
  EXPECT_EQ(EnvironmentOf(config_, image_),
            (std::vector<std::string>{"PATH=/bin", "HOSTNAME=web", "A=spec"}));
}

TEST_F(OciConfigTest, AnOrdinaryContainerIsConfined) {
  const auto made = Make();
  ASSERT_TRUE(made);
  const json::Value& document = *made;
  EXPECT_EQ(document["linux"]["cgroupsPath"].string_or(""), "/kubepods/besteffort/podu1/id");
  EXPECT_EQ(
      Text(document["linux"]["namespaces"]),
      R"([{"type":"mount"},{"type":"pid"},{"type":"ipc","path":"/proc/42/ns/ipc"},{"type":"uts","path":"/proc/42/ns/uts"}])");
  EXPECT_EQ(document["linux"]["maskedPaths"].size(), 11u);
  EXPECT_EQ(document["process"]["capabilities"]["bounding"].size(), 14u);
  EXPECT_EQ(document["process"]["oomScoreAdj"].int_or(0), 1000);
  EXPECT_FALSE(document["process"]["noNewPrivileges"].bool_or(true));
  EXPECT_EQ(Text(document["linux"]["resources"]["devices"]), R"([{"allow":false,"access":"rwm"}])");
}

TEST_F(OciConfigTest, CapabilitiesAreAddedAndDropped) {
  spec_->security_context = SecurityContext();
  spec_->security_context->capabilities = Capabilities{.add = {"NET_ADMIN"}, .drop = {"ALL"}};
  spec_->security_context->allow_privilege_escalation = false;
  spec_->security_context->read_only_root_filesystem = true;
  auto made = Make();
  ASSERT_TRUE(made);
  EXPECT_EQ(Text((*made)["process"]["capabilities"]["effective"]), R"(["CAP_NET_ADMIN"])");
  EXPECT_TRUE((*made)["process"]["noNewPrivileges"].bool_or(false));
  EXPECT_TRUE((*made)["root"]["readonly"].bool_or(false));
  spec_->security_context->capabilities->add = {"FLY"};
  EXPECT_EQ(Make().error().message(), "unknown capability \"FLY\"");
}

TEST_F(OciConfigTest, LimitsAndRequestsBecomeCgroups) {
  spec_->resources.limits = {{"cpu", *api::Quantity::Parse("500m")},
                             {"memory", *api::Quantity::Parse("64Mi")}};
  spec_->resources.requests = {{"cpu", *api::Quantity::Parse("250m")}};
  const auto made = Make();
  ASSERT_TRUE(made);
  EXPECT_EQ(Text((*made)["linux"]["resources"]["cpu"]), R"({"shares":256,"quota":50000,"period":100000})");
  EXPECT_EQ((*made)["linux"]["resources"]["memory"]["limit"].int_or(0), 64 << 20);
  EXPECT_EQ((*made)["linux"]["cgroupsPath"].string_or(""), "/kubepods/burstable/podu1/id");
}

TEST_F(OciConfigTest, SeccompProfilesAreOursOrThoseOfTheMachine) {
  spec_->security_context = SecurityContext();
  spec_->security_context->seccomp_profile = SeccompProfile{.type = "RuntimeDefault"};
  EXPECT_EQ((*Make())["linux"]["seccomp"]["defaultAction"].string_or(""), "SCMP_ACT_ALLOW");
  spec_->security_context->seccomp_profile->type = "Localhost";
  spec_->security_context->seccomp_profile->localhost_profile = "own.json";
  const TemporaryFolder folder = *TemporaryFolder::Make();
  profiles_ = folder.path().string();
  EXPECT_TRUE(Make().error().message().starts_with("cannot load seccomp profile"));
  std::ofstream(folder.path() / "own.json")
      << R"({"defaultAction":"SCMP_ACT_LOG","archMap":[],"syscalls":[{"names":["x"],"action":"SCMP_ACT_ALLOW","comment":""}]})";
  EXPECT_EQ(Text((*Make())["linux"]["seccomp"]),
            R"({"defaultAction":"SCMP_ACT_LOG","syscalls":[{"names":["x"],"action":"SCMP_ACT_ALLOW"}]})");
  std::ofstream(folder.path() / "own.json") << "{}";
  EXPECT_TRUE(Make().error().message().starts_with("decoding seccomp profile failed"));
}

TEST_F(OciConfigTest, AppArmorProfilesArePassedOn) {
  EXPECT_FALSE((*Make())["process"].Find("apparmorProfile"));
  spec_->security_context = SecurityContext();
  spec_->security_context->app_armor_profile =
      AppArmorProfile{.type = "Localhost", .localhost_profile = "web"};
  EXPECT_EQ((*Make())["process"]["apparmorProfile"].string_or(""), "web");
  spec_->security_context->app_armor_profile->type = "Unconfined";
  EXPECT_FALSE((*Make())["process"].Find("apparmorProfile"));
}

TEST_F(OciConfigTest, UsersAreLookedUpInTheImage) {
  const TemporaryFolder root = *TemporaryFolder::Make();
  std::filesystem::create_directory(root.path() / "etc");
  std::ofstream(root.path() / "etc/passwd") << "root:x:0:0::/:\nweb:x:1000:2000::/:\n";
  std::ofstream(root.path() / "etc/group") << "web:x:2000:\nextra:x:3000:web,other\n";
  const auto resolve = [&](const std::string& user) { return ResolveUser(*pod_, *spec_, user, root.path()); };
  EXPECT_EQ(resolve("")->uid, 0);
  EXPECT_EQ(resolve("web")->uid, 1000);
  EXPECT_EQ(resolve("web")->groups, (std::vector<std::int64_t>{2000, 3000}));
  EXPECT_EQ(resolve("5:extra")->gid, 3000);
  EXPECT_EQ(resolve("nobody").error().message(),
            "unable to find user nobody: no matching entries in passwd file");
  spec_->security_context = SecurityContext();
  spec_->security_context->run_as_non_root = true;
  const std::string where = " (pod: \"web_default(u1)\", container: c)";
  EXPECT_EQ(resolve("").error().message(), "container has runAsNonRoot and image will run as root" + where);
  EXPECT_EQ(
      resolve("web").error().message(),
      "container has runAsNonRoot and image has non-numeric user (web), cannot verify user is non-root" +
          where);
  spec_->security_context->run_as_user = 0;
  EXPECT_EQ(resolve("web").error().message(), "container's runAsUser breaks non-root policy" + where);
  spec_->security_context->run_as_user = 7;
  EXPECT_EQ(resolve("web")->uid, 7);
}

}  // namespace
}  // namespace flyball::node
