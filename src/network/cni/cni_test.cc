#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "base/files/temporary_folder.h"
#include "json/json.h"
#include "network/cni/cni_network.h"

namespace flyball::network {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

json::Value Parsed(const std::string& text) {
  const auto value = json::Parse(text);
  EXPECT_TRUE(value) << text;
  return value ? *value : json::Value();
}

TEST(CniConfigTest, IsAListOrOnePlugin) {
  const auto list = ParseCniConfig(Parsed(
      R"({"name":"n","cniVersion":"0.4.0","disableCheck":true,"plugins":[{"type":"a"},{"type":"b"}]})"));
  ASSERT_TRUE(list) << list.error().message();
  EXPECT_EQ(list->plugins.size(), 2u);
  EXPECT_TRUE(list->disable_check);
  const auto one = ParseCniConfig(Parsed(R"({"name":"n","type":"a"})"));
  ASSERT_TRUE(one) << one.error().message();
  EXPECT_EQ(one->version, "0.1.0");
  for (const char* bad : {"[]", R"({"type":"a"})", R"({"name":"n"})", R"({"name":"n","plugins":[]})",
                          R"({"name":"n","type":"a","cniVersion":"2.0.0"})"})
    EXPECT_FALSE(ParseCniConfig(Parsed(bad))) << bad;
}

TEST(CniConfigTest, OfSeveralVersionsTakesTheNewestThatIsKnown) {
  const auto config = ParseCniConfig(
      Parsed(R"({"name":"n","type":"a","cniVersion":"0.4.0","cniVersions":["1.0.0","0.3.1","9.0.0"]})"));
  ASSERT_TRUE(config);
  EXPECT_EQ(config->version, "1.0.0");
  EXPECT_TRUE(CniVersionAtLeast("1.0.0", "0.4.0"));
  EXPECT_FALSE(CniVersionAtLeast("0.3.1", "0.4.0"));
}

TEST(CniResultTest, AddressesAreThoseOfThePod) {
  EXPECT_THAT(AddressesOf(Parsed(R"({"ip4":{"ip":"10.1.0.5/24"},"ip6":{"ip":"fd00::5/64"}})")),
              ElementsAre("10.1.0.5", "fd00::5"));
  EXPECT_THAT(AddressesOf(Parsed(R"({"interfaces":[{"name":"cni0"},{"name":"eth0","sandbox":"/x"}],)"
                                 R"("ips":[{"address":"fd00::5/64","interface":1},)"
                                 R"({"address":"10.1.0.1/24","interface":0},{"address":"10.1.0.5/24"}]})")),
              ElementsAre("10.1.0.5", "fd00::5"));
  EXPECT_THAT(AddressesOf(json::Value()), IsEmpty());
}

// Plugins are scripts that write down what they are asked.
class CniPluginsTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = TemporaryFolder::Make();
    ASSERT_TRUE(folder);
    folder_.emplace(std::move(*folder));
  }
  std::string path() const { return folder_->path().string(); }
  void Plugin(const std::string& name, const std::string& says, int exit_code = 0) {
    const std::string file = path() + "/" + name;
    std::ofstream(file) << "#!/bin/sh\necho \"$CNI_COMMAND " << name
                        << " $CNI_CONTAINERID $CNI_IFNAME $CNI_ARGS\" >> " << path() << "/log\ncat >> "
                        << path() << "/log\necho >> " << path() << "/log\n"
                        << "[ $CNI_COMMAND = ADD ] || exit 0\n"
                        << says << "\nexit " << exit_code << "\n";
    chmod(file.c_str(), 0755);
  }
  std::string Log() const {
    std::ifstream file(path() + "/log");
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  CniConfig Config(const std::string& version = "1.1.0") {
    return *ParseCniConfig(Parsed(R"({"name":"n","cniVersion":")" + version +
                                  R"(","plugins":[{"type":"first","capabilities":{"portMappings":true}},)"
                                  R"({"type":"second","x":1}]})"));
  }
  const CniTarget target_{"u1", "/run/netns/none", "K=V", Parsed(R"([{"hostPort":1}])")};
  std::optional<TemporaryFolder> folder_;
};

TEST_F(CniPluginsTest, EachIsToldWhatTheOneBeforeItMade) {
  Plugin("first", R"(echo '{"cniVersion":"1.1.0","ips":[{"address":"10.1.0.5/24"}]}')");
  Plugin("second", R"(echo '{"cniVersion":"1.1.0","ips":[{"address":"10.1.0.6/24"}]}')");
  const CniPlugins plugins({"/nowhere", path()});
  const auto result = plugins.Add(Config(), target_);
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_THAT(AddressesOf(*result), ElementsAre("10.1.0.6"));
  EXPECT_TRUE(plugins.Check(Config(), target_, *result));
  EXPECT_TRUE(plugins.Delete(Config(), target_, *result));
  EXPECT_TRUE(plugins.Collect(Config(), {"u1"}));
  EXPECT_EQ(Log(), R"(ADD first u1 eth0 K=V
{"type":"first","capabilities":{"portMappings":true},"name":"n","cniVersion":"1.1.0","runtimeConfig":{"portMappings":[{"hostPort":1}]}}
ADD second u1 eth0 K=V
{"type":"second","x":1,"name":"n","cniVersion":"1.1.0","prevResult":{"cniVersion":"1.1.0","ips":[{"address":"10.1.0.5/24"}]}}
CHECK first u1 eth0 K=V
{"type":"first","capabilities":{"portMappings":true},"name":"n","cniVersion":"1.1.0","runtimeConfig":{"portMappings":[{"hostPort":1}]},"prevResult":{"cniVersion":"1.1.0","ips":[{"address":"10.1.0.6/24"}]}}
CHECK second u1 eth0 K=V
{"type":"second","x":1,"name":"n","cniVersion":"1.1.0","prevResult":{"cniVersion":"1.1.0","ips":[{"address":"10.1.0.6/24"}]}}
DEL second u1 eth0 K=V
{"type":"second","x":1,"name":"n","cniVersion":"1.1.0","prevResult":{"cniVersion":"1.1.0","ips":[{"address":"10.1.0.6/24"}]}}
DEL first u1 eth0 K=V
{"type":"first","capabilities":{"portMappings":true},"name":"n","cniVersion":"1.1.0","runtimeConfig":{"portMappings":[{"hostPort":1}]},"prevResult":{"cniVersion":"1.1.0","ips":[{"address":"10.1.0.6/24"}]}}
GC first   
{"type":"first","capabilities":{"portMappings":true},"name":"n","cniVersion":"1.1.0","cni.dev/valid-attachments":[{"containerID":"u1","ifname":"eth0"}]}
GC second   
{"type":"second","x":1,"name":"n","cniVersion":"1.1.0","cni.dev/valid-attachments":[{"containerID":"u1","ifname":"eth0"}]}
)");
}

TEST_F(CniPluginsTest, OldOnesAreNotAskedWhatTheyDoNotKnow) {
  Plugin("first", R"(echo '{"ip4":{"ip":"10.1.0.5/24"}}')");
  Plugin("second", R"(echo '{"ip4":{"ip":"10.1.0.5/24"}}')");
  const CniPlugins plugins({path()});
  const CniConfig config = Config("0.2.0");
  const auto result = plugins.Add(config, target_);
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_TRUE(plugins.Check(config, target_, *result));
  EXPECT_TRUE(plugins.Collect(config, {"u1"}));
  EXPECT_TRUE(plugins.Delete(config, target_, *result));
  EXPECT_THAT(Log(), testing::Not(HasSubstr("CHECK")));
  EXPECT_THAT(Log(), testing::Not(HasSubstr("GC")));
  EXPECT_THAT(Log(), testing::EndsWith("\"runtimeConfig\":{\"portMappings\":[{\"hostPort\":1}]}}\n"));
}

TEST_F(CniPluginsTest, SayWhatHasFailed) {
  const CniPlugins plugins({"/opt/none", path()});
  const auto error = [&] { return plugins.Add(Config(), target_).error().message(); };
  EXPECT_EQ(error(),
            "plugin type=\"first\" failed (add): failed to find plugin \"first\" in path [/opt/none " +
                path() + "]");
  Plugin("first", R"(echo '{"code":7,"msg":"no addresses","details":"range is full"}')", 1);
  EXPECT_EQ(error(), "plugin type=\"first\" failed (add): no addresses; range is full");
  Plugin("first", "echo oops >&2", 1);
  EXPECT_THAT(error(), HasSubstr("netplugin failed: \"oops"));
  Plugin("first", "", 3);
  EXPECT_EQ(error(),
            "plugin type=\"first\" failed (add): netplugin failed with no error message: exit status 3");
}

class CniNetworkTest : public CniPluginsTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "network namespaces need root";
    CniPluginsTest::SetUp();
    Plugin("first", R"(echo '{"cniVersion":"1.1.0","ips":[{"address":"10.1.0.5/24"}]}')");
  }
  void Configure() {
    std::ofstream(path() + "/10-n.conflist")
        << R"({"name":"n","cniVersion":"1.1.0","plugins":[{"type":"first"}]})";
  }
  std::unique_ptr<CniNetwork> Open() {
    CniNetworkOptions options{
        .node = {.node = "n1", .name = "fbcni" + std::to_string(getpid()), .ns = {}, .addresses = {}},
        .cluster = {},
        .data_dir = path(),
        .config_folder = path(),
        .plugin_folders = {path()}};
    auto network = CniNetwork::Open(std::move(options));
    EXPECT_TRUE(network) << network.error().message();
    return network ? std::move(*network) : nullptr;
  }
  static Pod PodWith(const std::string& uid) {
    return {.metadata = {.name = "p", .namespace_ = "d", .uid = uid}};
  }
};

TEST_F(CniNetworkTest, WaitsForAConfiguration) {
  const auto network = Open();
  EXPECT_THAT(network->WhyNotReady(), HasSubstr("cni plugin not initialized"));
  const auto early = network->Attach(PodWith("u1"));
  ASSERT_FALSE(early);
  EXPECT_THAT(early.error().message(),
              HasSubstr("failed to setup network for sandbox \"u1\": no network config"));
  Configure();
  EXPECT_EQ(network->WhyNotReady(), "");
  const auto made = network->Attach(PodWith("u1"));
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_THAT(made->ips, ElementsAre("10.1.0.5"));
  EXPECT_EQ(access(made->namespace_path.c_str(), F_OK), 0);
  network->Detach("u1");
  EXPECT_NE(access(made->namespace_path.c_str(), F_OK), 0);
  EXPECT_THAT(Log(), HasSubstr("DEL first u1"));
}

TEST_F(CniNetworkTest, FindsWhatAnEarlierProgramHasLeft) {
  Configure();
  {
    const auto earlier = Open();
    ASSERT_TRUE(earlier->Attach(PodWith("stays")));
    ASSERT_TRUE(earlier->Attach(PodWith("goes")));
  }
  const auto network = Open();
  const auto again = network->Attach(PodWith("stays"));
  ASSERT_TRUE(again);
  EXPECT_THAT(again->ips, ElementsAre("10.1.0.5"));
  EXPECT_THAT(Log(), HasSubstr("CHECK first stays"));
  network->KeepOnly({});
  EXPECT_THAT(Log(), HasSubstr("DEL first goes"));
  EXPECT_THAT(Log(), testing::Not(HasSubstr("DEL first stays")));
  EXPECT_THAT(Log(), HasSubstr(R"("cni.dev/valid-attachments":[{"containerID":"stays","ifname":"eth0"}])"));
  network->Detach("stays");
}

TEST_F(CniNetworkTest, AFailedNetworkLeavesNothing) {
  Configure();
  Plugin("first", R"(echo '{"msg":"no"}')", 1);
  const auto network = Open();
  const auto failed = network->Attach(PodWith("u1"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message(),
            "failed to setup network for sandbox \"u1\": plugin type=\"first\" failed (add): no");
  EXPECT_THAT(Log(), HasSubstr("DEL first u1"));
  EXPECT_NE(access((path() + "/cni/u1.json").c_str(), F_OK), 0);
}

}  // namespace
}  // namespace flyball::network
