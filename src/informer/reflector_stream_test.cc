#include "informer/reflector_stream.h"

#include <gtest/gtest.h>

#include <atomic>

#include "base/run/executor.h"
#include "base/run/random.h"

namespace flyball {
namespace {

// Another thread takes what has arrived while the call is being paused.
class TakenWhilePausing final : public net::Transport {
 public:
  struct PausedCall final : net::Call {
    void Cancel() override {}
    void Pause() override {
      if (on_pause) on_pause();
      paused = true;
    }
    void Resume() override { paused = false; }
    std::function<void()> on_pause;
    std::atomic<bool> paused = false;
  };
  std::shared_ptr<net::Call> Start(net::Request, std::shared_ptr<net::ResponseSink>) override { return call; }
  void OpenWebSocket(net::Request, std::vector<std::string>,
                     UniqueFunction<void(Result<std::shared_ptr<net::WebSocket>>)>) override {}

  const std::shared_ptr<PausedCall> call = std::make_shared<PausedCall>();
};

TEST(ReflectorStreamTest, IsNotLeftPausedWhenDataIsTakenWhileItPauses) {
  const auto transport = std::make_shared<TakenWhilePausing>();
  ThreadPool pool("pool", 2);
  Random random(1);
  Metrics metrics;
  RestClient client(transport, Runtime{.executor = pool, .random = random, .metrics = metrics});
  const auto stream = std::make_shared<ReflectorStream>([] {});
  stream->Start(client, {.path = "/"}, stream);

  Mutex mu;
  CondVar changed;
  bool taken = false, waited = false;
  const auto tell = [&](bool& what) {
    MutexLock lock(mu);
    what = true;
    changed.NotifyAll();
  };
  transport->call->on_pause = [&] {
    pool.Post([&] {
      stream->Take();
      tell(taken);
    });
    // A stream that pauses under its lock keeps Take waiting; one that does not lets it resume first.
    pool.PostAfter(std::chrono::milliseconds(50), [&] { tell(waited); });
    MutexLock lock(mu);
    while (!taken && !waited) changed.Wait(mu);
  };
  stream->OnData(std::string(ReflectorStream::kMaxPending + 1, 'x'));
  {
    MutexLock lock(mu);
    while (!taken || !waited) changed.Wait(mu);
  }
  EXPECT_FALSE(transport->call->paused) << "everything was taken, so the call goes on";
}

}  // namespace
}  // namespace flyball
