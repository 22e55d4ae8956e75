// The native runtime with real processes.
#include "node/runtime/native_runtime.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/run/notification.h"
#include "node/runtime/native_process.h"
#include "node/runtime/orphan_processes.h"

namespace flyball::node {
namespace {

namespace fs = std::filesystem;

class NativeRuntimeTest : public ::testing::Test {
 protected:
  NativeRuntimeTest() {
    std::string pattern = (fs::temp_directory_path() / "flyball-node-XXXXXX").string();
    dir_ = mkdtemp(pattern.data());
    Open();
  }
  ~NativeRuntimeTest() override {
    runtime_.reset();
    fs::remove_all(dir_);
  }

  void Open() {
    auto made = NewNativeRuntime({.data_dir = dir_}, executor_, Random::System());
    ASSERT_TRUE(made) << made.error().ToString();
    runtime_ = std::move(*made);
  }
  ContainerConfig Config(std::vector<std::string> command) {
    return {.pod_namespace = "default",
            .pod_name = "p",
            .pod_uid = "uid",
            .name = "c",
            .image = "host",
            .command = std::move(command),
            .env = {{"GREETING", "hello"}}};
  }
  Result<std::string> Start(const ContainerConfig& config) {
    exit_ = std::make_shared<Notification<ContainerExit>>();
    return runtime_->Start(config, [exit = exit_](const ContainerExit& e) { exit->Set(e); });
  }
  std::string Log(LogQuery query = {}) {
    query.pod_namespace = "default";
    query.pod_name = "p";
    query.pod_uid = "uid";
    query.container = "c";
    std::string text;
    Notification<bool> done;
    runtime_->ReadLog(query, {.write =
                                  [&text](const std::string& part) {
                                    text += part;
                                    return true;
                                  },
                              .done = [&done](const Status&) { done.Set(true); }});
    done.Wait();
    return text;
  }

  std::string dir_;
  ThreadPool executor_{"test", 1};
  std::unique_ptr<ContainerRuntime> runtime_;
  std::shared_ptr<Notification<ContainerExit>> exit_;
};

TEST_F(NativeRuntimeTest, RunsAProcessAndKeepsWhatItWrote) {
  ASSERT_TRUE(Start(Config({"sh", "-c", "echo $GREETING; echo two; exit 3"})));
  EXPECT_EQ(exit_->Wait().exit_code, 3);
  EXPECT_EQ(Log(), "hello\ntwo\n");
  EXPECT_EQ(Log({.tail_lines = 1}), "two\n");
  EXPECT_EQ(Log({.limit_bytes = 3}), "hel");
  EXPECT_NE(Log({.timestamps = true}).find("Z hello"), std::string::npos);
}

TEST_F(NativeRuntimeTest, FollowsALogToTheContainersEnd) {
  ASSERT_TRUE(Start(Config({"sh", "-c", "echo one; sleep 0.2; echo two"})));
  EXPECT_EQ(Log({.follow = true}), "one\ntwo\n");
}

TEST_F(NativeRuntimeTest, ASignalEndsTheWholeGroup) {
  const auto id = Start(Config({"sh", "-c", "sleep 1000 & echo $!; wait"}));
  ASSERT_TRUE(id);
  std::string child;
  Notification<bool> seen;
  runtime_->ReadLog(
      {.pod_namespace = "default", .pod_name = "p", .pod_uid = "uid", .container = "c", .follow = true},
      {.write =
           [&](const std::string& part) {
             child += part;
             seen.Set(true);
             return false;
           },
       .done = [](const Status&) {}});
  seen.Wait();
  runtime_->Signal(*id, SIGTERM);
  const ContainerExit exit = exit_->Wait();
  EXPECT_EQ(exit.exit_code, 143);
  EXPECT_EQ(exit.signal, SIGTERM);
}

TEST_F(NativeRuntimeTest, ASignalReachesEveryProcessOfAContainer) {
  const auto id = Start(Config({"sh", "-c",
                                "trap 'wait; exit 0' TERM; (trap 'echo child; exit' TERM; echo ready; "
                                "while :; do sleep 0.05; done) & wait"}));
  ASSERT_TRUE(id);
  Notification<bool> ready;
  runtime_->ReadLog(
      {.pod_namespace = "default", .pod_name = "p", .pod_uid = "uid", .container = "c", .follow = true},
      {.write =
           [&](const std::string&) {
             ready.Set(true);
             return false;
           },
       .done = [](const Status&) {}});
  ready.Wait();
  runtime_->Signal(*id, SIGTERM);
  EXPECT_EQ(exit_->Wait().exit_code, 0);
  EXPECT_NE(Log().find("child\n"), std::string::npos) << Log();
}

TEST_F(NativeRuntimeTest, SaysWhatIsWrong) {
  const auto missing = Start(Config({"/no/such/program"}));
  ASSERT_FALSE(missing);
  EXPECT_TRUE(missing.error().Is(Reason::kBadRequest));
  const auto empty = Start(Config({}));
  ASSERT_FALSE(empty);
  EXPECT_NE(empty.error().message().find("no command"), std::string::npos);
  EXPECT_FALSE(*runtime_->FindImage({.image = "nginx"}));
  const auto image = runtime_->PullImage({.image = "nginx"});
  ASSERT_FALSE(image);
  EXPECT_NE(image.error().message().find("--runtime sim"), std::string::npos);
  EXPECT_TRUE(*runtime_->FindImage({.image = "host"}));
}

TEST_F(NativeRuntimeTest, RunsCommandsBesideAContainer) {
  const auto id = Start(Config({"sleep", "1000"}));
  ASSERT_TRUE(id);
  Notification<int> code;
  runtime_->Exec(*id, {"sh", "-c", "exit 5"}, std::chrono::seconds(10),
                 [&code](const Result<ExecResult>& result) { code.Set(result ? result->exit_code : -1); });
  EXPECT_EQ(code.Wait(), 5);
  Notification<bool> late;
  runtime_->Exec(*id, {"sleep", "1000"}, std::chrono::milliseconds(50),
                 [&late](const Result<ExecResult>& result) { late.Set(result && result->timed_out); });
  EXPECT_TRUE(late.Wait());
}

// Another process stands for an agent that was killed: its child lives on and is recorded.
TEST_F(NativeRuntimeTest, KillsWhatAnEarlierAgentLeft) {
  runtime_.reset();
  const pid_t pid = fork();
  if (pid == 0) {
    setsid();
    execlp("sleep", "sleep", "1000", nullptr);
    _exit(1);
  }
  fs::create_directories(dir_ + "/containers");
  std::ofstream(dir_ + "/containers/x") << pid << ' ' << ProcessStartTime(pid) << '\n';
  // Its session begins with setsid in the child; only then is it what the record says.
  while (getsid(pid) != pid) {
  }
  EXPECT_EQ(KillLeftovers(dir_ + "/containers", dir_), 1);
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  Open();
}

TEST_F(NativeRuntimeTest, LeavesAProcessAloneThatOnlyHasTheSamePid) {
  runtime_.reset();
  fs::create_directories(dir_ + "/containers");
  std::ofstream(dir_ + "/containers/x") << getsid(0) << ' ' << 1 << '\n';
  EXPECT_EQ(KillLeftovers(dir_ + "/containers", dir_), 0);
  Open();
}

}  // namespace
}  // namespace flyball::node
