// Static pods and their mirrors, against the real API server, with virtual time and real files.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "node/agent/node_agent.h"
#include "node/runtime/sim_runtime.h"
#include "node/static_pods/static_pod.h"
#include "node/testing/api_fixture.h"

namespace flyball::node {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

std::string ManifestOf(const std::string& name, const std::string& more = "") {
  return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name +
         "\nspec:\n  terminationGracePeriodSeconds: 5\n  containers:\n  - name: c\n    image: img\n" + more;
}

class StaticPodsTest : public ApiTest {
 protected:
  StaticPodsTest() : folder_(fs::temp_directory_path() / ("static-pods-" + Random::System().Uuid())) {
    fs::create_directories(folder_);
  }
  ~StaticPodsTest() override {
    StopAgent();
    containers_->Shutdown();
    fs::remove_all(folder_);
  }
  void StartAgent() {
    agent_ = std::make_unique<NodeAgent>(
        client_, *containers_,
        NodeAgentOptions{.name = "n1", .capacity = SimCapacity(), .static_pods = folder_.string()});
    agent_->Start();
    executor_.RunFor(1s);
  }
  void StopAgent() {
    if (!agent_) return;
    agent_->Stop();
    executor_.RunFor(1min);
    agent_.reset();
  }
  void WriteManifest(const std::string& file, const std::string& text) {
    std::ofstream(folder_ / ".new") << text;
    fs::rename(folder_ / ".new", folder_ / file);
  }
  // Runs on until it is so: files are seen by another thread, in real time.
  void Until(const std::function<bool()>& so) {
    const auto last = RealClock().Steady() + 30s;
    while (!so() && RealClock().Steady() < last) executor_.RunFor(1ms);
    EXPECT_TRUE(so());
  }
  std::optional<Pod> Find(const std::string& name) {
    auto pod = client_.Get<Pod>("default", name);
    return pod ? std::optional(*pod) : std::nullopt;
  }
  std::string PhaseOf(const std::string& name) {
    const auto pod = Find(name);
    return pod ? pod->status.phase : "-";
  }

  const fs::path folder_;
  std::unique_ptr<ContainerRuntime> containers_ = NewSimRuntime(executor_, executor_.random());
  std::unique_ptr<NodeAgent> agent_;
};

TEST_F(StaticPodsTest, RunAndHaveMirrorsThatBelongToTheNode) {
  WriteManifest("web.yaml", ManifestOf("web"));
  WriteManifest(".hidden.yaml", ManifestOf("hidden"));
  WriteManifest("broken.yaml", "kind: Service\n");
  StartAgent();
  const auto pod = Find("web-n1");
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->status.phase, "Running");
  EXPECT_EQ(pod->spec.node_name, "n1");
  EXPECT_EQ(pod->metadata.annotations.at(kConfigSource), "file");
  EXPECT_EQ(pod->metadata.annotations.at(kConfigMirror), pod->metadata.annotations.at(kConfigHash));
  EXPECT_TRUE(pod->metadata.annotations.contains(kConfigSeen));
  ASSERT_EQ(pod->metadata.owner_references.size(), 1u);
  EXPECT_EQ(pod->metadata.owner_references[0].kind, "Node");
  EXPECT_EQ(pod->metadata.owner_references[0].controller, true);
  EXPECT_EQ(client_.List<Pod>("").value().items.size(), 1u);
}

TEST_F(StaticPodsTest, ADeletedMirrorComesBackAndNothingIsRestarted) {
  WriteManifest("web.yaml", ManifestOf("web"));
  StartAgent();
  const auto before = Find("web-n1");
  ASSERT_TRUE(before);
  ASSERT_TRUE(client_.Delete<Pod>("default", "web-n1"));
  executor_.RunFor(1s);
  const auto after = Find("web-n1");
  ASSERT_TRUE(after);
  EXPECT_NE(after->metadata.uid, before->metadata.uid);
  EXPECT_EQ(after->status.phase, "Running");
  ASSERT_EQ(after->status.container_statuses.size(), 1u);
  EXPECT_EQ(after->status.container_statuses[0].container_id,
            before->status.container_statuses[0].container_id);
}

TEST_F(StaticPodsTest, FollowItsFile) {
  StartAgent();
  WriteManifest("web.yaml", ManifestOf("web"));
  Until([&] { return PhaseOf("web-n1") == "Running"; });
  const auto before = Find("web-n1");
  // Another manifest: the pod ends, and the new one begins.
  WriteManifest("web.yaml", ManifestOf("web", "    env: [{name: A, value: b}]\n"));
  Until([&] {
    const auto now = Find("web-n1");
    return now && now->metadata.uid != before->metadata.uid && now->status.phase == "Running";
  });
  EXPECT_EQ(Find("web-n1")->spec.containers[0].env.size(), 1u);
  fs::remove(folder_ / "web.yaml");
  Until([&] { return !Find("web-n1"); });
}

TEST_F(StaticPodsTest, ANodeThatStartsAgainKnowsItsMirrors) {
  WriteManifest("web.yaml", ManifestOf("web"));
  WriteManifest("gone.yaml", ManifestOf("gone"));
  StartAgent();
  const auto before = Find("web-n1");
  ASSERT_TRUE(before && Find("gone-n1"));
  StopAgent();
  fs::remove(folder_ / "gone.yaml");
  StartAgent();
  const auto after = Find("web-n1");
  ASSERT_TRUE(after);
  EXPECT_EQ(after->metadata.uid, before->metadata.uid);
  EXPECT_FALSE(Find("gone-n1"));
}

std::string ErrorOfManifest(const std::string& text) {
  const auto pod = ReadStaticPod(text, "/m/f.yaml", "n1");
  return pod ? "" : pod.error().message();
}

TEST(StaticPodTest, RefusesWhatNeedsTheServer) {
  EXPECT_EQ(ErrorOfManifest(ManifestOf("a", "  serviceAccountName: x\n")),
            "static pods may not reference serviceaccounts");
  EXPECT_EQ(ErrorOfManifest(ManifestOf("a", "    envFrom: [{secretRef: {name: s}}]\n")),
            "static pods may not reference secrets");
  EXPECT_EQ(ErrorOfManifest(ManifestOf("a", "  volumes: [{name: v, configMap: {name: c}}]\n")),
            "static pods may not reference configmaps (via configmap volumes)");
  EXPECT_EQ(
      ErrorOfManifest(ManifestOf("a", "  volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]\n")),
      "static pods may not reference persistentvolumeclaims");
  EXPECT_EQ(ErrorOfManifest(
                ManifestOf("a", "  volumes: [{name: v, emptyDir: {}}, {name: h, hostPath: {path: /x}}]\n")),
            "");
}

TEST(StaticPodTest, SaysWhatIsWrong) {
  EXPECT_EQ(ErrorOfManifest("kind: Service\napiVersion: v1\n"),
            "/m/f.yaml: couldn't parse as pod(invalid pod: apiVersion \"v1\", kind \"Service\"), please "
            "check config "
            "file");
  EXPECT_EQ(ErrorOfManifest("kind: Pod\napiVersion: v1\nspec: {}\n"),
            "invalid pod: name is needed for the pod");
  EXPECT_TRUE(ErrorOfManifest("kind: Pod\napiVersion: v1\nmetadata: {name: a}\nspec: {}\n")
                  .starts_with("invalid pod: "));
}

TEST(StaticPodTest, ItsUidIsThatOfItsManifestFileAndNode) {
  const auto uid = [](const std::string& text, const std::string& file, const std::string& node) {
    return (*ReadStaticPod(text, file, node))->metadata.uid;
  };
  const std::string text = ManifestOf("a");
  EXPECT_EQ(uid(text, "f", "n"), uid("# a comment\n" + text, "f", "n"));
  EXPECT_NE(uid(text, "f", "n"), uid(text, "g", "n"));
  EXPECT_NE(uid(text, "f", "n"), uid(text, "f", "m"));
  EXPECT_NE(uid(text, "f", "n"), uid(ManifestOf("b"), "f", "n"));
  EXPECT_EQ(uid(text, "f", "n").size(), 32u);
}

}  // namespace
}  // namespace flyball::node
