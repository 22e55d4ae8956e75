// exec and attach on the native runtime, with real processes, pipes and terminals.
#include "node/runtime/native_streams.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/run/notification.h"
#include "node/runtime/native_runtime.h"
#include "node/streams/remote_command.h"

namespace flyball::node {
namespace {

namespace fs = std::filesystem;

// What a client of a process has seen.
struct Watching {
  Mutex mu;
  CondVar changed;
  std::string out FLYBALL_GUARDED_BY(mu), err FLYBALL_GUARDED_BY(mu);
  std::size_t taken FLYBALL_GUARDED_BY(mu) = 0;
  Notification<ContainerExit> exit;

  StreamEvents Events() {
    return {.output =
                [this](Stream stream, std::string_view data) {
                  MutexLock lock(mu);
                  (stream == Stream::kStdout ? out : err).append(data);
                  changed.NotifyAll();
                },
            .input_taken =
                [this](std::size_t bytes) {
                  MutexLock lock(mu);
                  taken += bytes;
                  changed.NotifyAll();
                },
            .ended = [this](const ContainerExit& e) { exit.Set(e); }};
  }
  void WaitForOutput(const std::string& text) {
    MutexLock lock(mu);
    while (out.find(text) == std::string::npos) changed.Wait(mu);
  }
  std::string Out() {
    MutexLock lock(mu);
    return out;
  }
  std::string Err() {
    MutexLock lock(mu);
    return err;
  }
};

class NativeStreamsTest : public ::testing::Test {
 protected:
  NativeStreamsTest() {
    std::string pattern = (fs::temp_directory_path() / "flyball-node-XXXXXX").string();
    dir_ = mkdtemp(pattern.data());
    auto made = NewNativeRuntime({.data_dir = dir_}, executor_, Random::System());
    EXPECT_TRUE(made) << made.error().ToString();
    runtime_ = std::move(*made);
  }
  ~NativeStreamsTest() override {
    runtime_.reset();
    fs::remove_all(dir_);
  }
  std::string StartContainer(std::vector<std::string> command, bool input = false, bool tty = false) {
    ContainerConfig config{.pod_namespace = "default",
                           .pod_name = "p",
                           .pod_uid = "uid",
                           .name = "c",
                           .image = "host",
                           .command = std::move(command),
                           .working_dir = "/tmp",
                           .stdin = input,
                           .stdin_once = input,
                           .tty = tty,
                           .env = {{"GREETING", "hello"}}};
    return *runtime_->Start(config, [](const ContainerExit&) {});
  }
  std::shared_ptr<StreamHandle> Exec(const std::string& id, StreamRequest request) {
    auto opened = runtime_->OpenExec(id, request, seen_->Events());
    EXPECT_TRUE(opened) << opened.error().ToString();
    return *opened;
  }
  static StreamRequest Shell(const std::string& script) {
    return {.command = {"sh", "-c", script}, .stdin = true, .stdout = true, .stderr = true};
  }

  std::string dir_;
  ThreadPool executor_{"test", 1};
  // The runtime's thread may tell it of a process' end until the very last.
  const std::shared_ptr<Watching> seen_ = std::make_shared<Watching>();
  std::unique_ptr<ContainerRuntime> runtime_;
};

// Sockets of the node that a container kept open could not be closed any more.
TEST_F(NativeStreamsTest, NothingThatWeHaveOpenIsInherited) {
  const int ours = fcntl(STDIN_FILENO, F_DUPFD, 100);  // ends with exec only if somebody takes care
  ASSERT_GE(ours, 100);
  const std::string id = StartContainer({"sleep", "100"});
  Exec(id, Shell("test -e /proc/self/fd/" + std::to_string(ours) + " && echo open || echo closed"));
  seen_->exit.Wait();
  close(ours);
  EXPECT_EQ(seen_->Out(), "closed\n");
}

TEST_F(NativeStreamsTest, ExecRunsInTheContainersEnvironment) {
  const std::string id = StartContainer({"sleep", "100"});
  Exec(id, Shell("echo $GREETING; pwd; echo bad >&2; exit 4"));
  EXPECT_EQ(seen_->exit.Wait().exit_code, 4);
  EXPECT_EQ(seen_->Out(), "hello\n/tmp\n");
  EXPECT_EQ(seen_->Err(), "bad\n");
}

TEST_F(NativeStreamsTest, InputIsReadToItsEndAndCounted) {
  const std::string id = StartContainer({"sleep", "100"});
  const auto handle = Exec(id, Shell("wc -c"));
  const std::string block(300'000, 'x');
  for (int i = 0; i < 5; ++i) handle->WriteInput(block);
  handle->CloseInput();
  EXPECT_EQ(seen_->exit.Wait().exit_code, 0);
  EXPECT_EQ(std::stoi(seen_->Out()), 1'500'000);
  MutexLock lock(seen_->mu);
  EXPECT_EQ(seen_->taken, 1'500'000u);
}

TEST_F(NativeStreamsTest, InputNobodyReadsIsGivenBack) {
  const std::string id = StartContainer({"sleep", "100"});
  const auto handle = Exec(id, Shell("exec 0<&-; sleep 100"));
  handle->WriteInput(std::string(1'000'000, 'x'));
  {
    MutexLock lock(seen_->mu);
    while (seen_->taken < 1'000'000u) seen_->changed.Wait(seen_->mu);
  }
  handle->Stop();
  EXPECT_EQ(seen_->exit.Wait().signal, SIGKILL);
}

// The shell sleeps in small steps: a signal that comes before a sleep begins is taken when that one ends.
TEST_F(NativeStreamsTest, ATerminalHasASizeAndTakesControlC) {
  const std::string id = StartContainer({"sleep", "100"});
  const auto handle = Exec(
      id, {.command = {"sh", "-c", "trap 'stty size; exit 9' INT; echo ready; while :; do sleep 0.1; done"},
           .stdin = true,
           .stdout = true,
           .tty = true});
  seen_->WaitForOutput("ready");
  handle->Resize({77, 33});
  handle->WriteInput("\x03");
  EXPECT_EQ(seen_->exit.Wait().exit_code, 9);
  EXPECT_NE(seen_->Out().find("33 77"), std::string::npos);
}

TEST_F(NativeStreamsTest, PausedOutputHoldsTheProcessBack) {
  const std::string id = StartContainer({"sleep", "100"});
  const auto handle = Exec(id, Shell("read go; head -c 5000000 /dev/zero; echo done >&2"));
  EXPECT_TRUE(handle->PauseOutput(true));
  handle->WriteInput("go\n");
  {
    MutexLock lock(seen_->mu);
    while (seen_->taken < 3u) seen_->changed.Wait(seen_->mu);
  }
  // A pipe holds 64 KB; nothing of it was read.
  EXPECT_EQ(seen_->Out(), "");
  EXPECT_FALSE(seen_->exit.ready());
  handle->PauseOutput(false);
  EXPECT_EQ(seen_->exit.Wait().exit_code, 0);
  EXPECT_EQ(seen_->Out().size(), 5'000'000u);
}

TEST_F(NativeStreamsTest, AttachSeesAndFeedsTheContainerItself) {
  const std::string id =
      StartContainer({"sh", "-c", "while read line; do echo \"got $line\"; done; exit 2"}, true);
  const auto attached = runtime_->Attach(id, {.stdin = true, .stdout = true}, seen_->Events());
  ASSERT_TRUE(attached) << attached.error().ToString();
  (*attached)->WriteInput("one\n");
  seen_->WaitForOutput("got one\n");
  EXPECT_FALSE((*attached)->PauseOutput(true));
  (*attached)->CloseInput();
  EXPECT_EQ(seen_->exit.Wait().exit_code, 2);
}

TEST_F(NativeStreamsTest, WhatDoesNotRunOrIsNotThereIsAnError) {
  EXPECT_TRUE(runtime_->OpenExec("nobody", Shell("true"), seen_->Events()).error().Is(Reason::kNotFound));
  EXPECT_TRUE(runtime_->Attach("nobody", {}, seen_->Events()).error().Is(Reason::kNotFound));
  const std::string id = StartContainer({"sleep", "100"});
  const auto opened = runtime_->OpenExec(id, {.command = {"no-such-program"}}, seen_->Events());
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message().find("no-such-program"), std::string::npos);
}

TEST(ExecStatusTest, ExitCodesAreCauses) {
  EXPECT_EQ(ExecStatus({}, {.exit_code = 0})["status"].string_or(""), "Success");
  const auto failed = ExecStatus({.command = {"sh", "-c", "x"}}, {.exit_code = 3});
  EXPECT_EQ(failed["reason"].string_or(""), "NonZeroExitCode");
  EXPECT_EQ(failed["details"]["causes"].as_array()[0]["reason"].string_or(""), "ExitCode");
  EXPECT_EQ(failed["details"]["causes"].as_array()[0]["message"].string_or(""), "3");
  EXPECT_EQ(StatusText(failed, false), failed["message"].string_or(""));
}

TEST(TerminalSizeTest, ReadsWhatKubectlSends) {
  EXPECT_EQ(ParseTerminalSize(R"({"Width":80,"Height":24})").width, 80);
  EXPECT_EQ(ParseTerminalSize(R"({"Width":80,"Height":24})").height, 24);
  EXPECT_EQ(ParseTerminalSize("nonsense").width, 0);
  EXPECT_EQ(ParseTerminalSize(R"({"Width":-5,"Height":99999999})").height, 65535);
}

}  // namespace
}  // namespace flyball::node
