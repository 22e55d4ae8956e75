#include "controller/leader/leader_elector.h"

#include <gtest/gtest.h>

#include "base/observe/log.h"
#include "base/run/sim_executor.h"
#include "client/testing/fake_api_server.h"

namespace flyball {
namespace {

using namespace std::chrono_literals;

constexpr char kLeases[] = "/apis/coordination.k8s.io/v1/leases";

class LeaderElectorTest : public ::testing::Test {
 protected:
  LeaderElectorTest()
      : executor_(9),
        server_(std::make_shared<testing::FakeApiServer>(executor_, executor_.random())),
        runtime_{
            .executor = executor_, .random = executor_.random(), .metrics = metrics_, .may_block = false} {
    log::SetLevel(log::Level::kNone);
  }
  ~LeaderElectorTest() override {
    for (auto& candidate : candidates_) candidate->elector = nullptr;
    executor_.RunFor(1min);
    log::SetLevel(log::Level::kInfo);
  }

  // A candidate with its own connection to the server, which can be cut.
  struct Candidate {
    std::string name;
    std::unique_ptr<LeaderElector> elector;
    int started = 0, stopped = 0;
  };
  Candidate& Add(const std::string& name, std::shared_ptr<net::Transport> transport = nullptr) {
    candidates_.push_back(std::make_unique<Candidate>());
    Candidate& c = *candidates_.back();
    c.name = name;
    if (!transport) transport = server_;
    LeaderCallbacks callbacks{.started_leading =
                                  [this, &c] {
                                    ++c.started;
                                    EXPECT_EQ(leader_, nullptr) << c.name << " leads together with another";
                                    leader_ = &c;
                                  },
                              .stopped_leading =
                                  [this, &c] {
                                    ++c.stopped;
                                    EXPECT_EQ(leader_, &c);
                                    leader_ = nullptr;
                                  },
                              .new_leader = nullptr};
    c.elector = std::make_unique<LeaderElector>(Client(std::make_shared<RestClient>(transport, runtime_)),
                                                LeaderElectorOptions{.name = "lease", .identity = name},
                                                std::move(callbacks));
    c.elector->Start();
    return c;
  }
  std::string Holder() {
    const auto lease = server_->Find(kLeases, "default", "lease");
    return lease ? std::string(std::as_const(*lease)["spec"]["holderIdentity"].string_or("")) : "(none)";
  }

  SimExecutor executor_;
  Metrics metrics_;
  std::shared_ptr<testing::FakeApiServer> server_;
  Runtime runtime_;
  Candidate* leader_ = nullptr;
  std::vector<std::unique_ptr<Candidate>> candidates_;
};

// A connection to the server that can be cut.
class Line final : public net::Transport {
 public:
  explicit Line(std::shared_ptr<net::Transport> target) : target_(std::move(target)) {}
  std::shared_ptr<net::Call> Start(net::Request request, std::shared_ptr<net::ResponseSink> sink) override {
    if (!cut) return target_->Start(std::move(request), std::move(sink));
    sink->OnError(Error(Reason::kConnection, "cut"));
    return std::make_shared<NoCall>();
  }
  void OpenWebSocket(net::Request, std::vector<std::string>,
                     UniqueFunction<void(Result<std::shared_ptr<net::WebSocket>>)>) override {}
  bool cut = false;

 private:
  class NoCall final : public net::Call {
   public:
    void Cancel() override {}
    void Pause() override {}
    void Resume() override {}
  };
  const std::shared_ptr<net::Transport> target_;
};

TEST_F(LeaderElectorTest, OneLeadsAndRenews) {
  auto& a = Add("a");
  executor_.RunFor(1s);
  EXPECT_TRUE(a.elector->IsLeader());
  auto& b = Add("b");
  executor_.RunFor(10min);
  EXPECT_EQ(Holder(), "a");
  EXPECT_EQ(b.started, 0);
  EXPECT_EQ(b.elector->leader(), "a");
  const auto lease = server_->Find(kLeases, "default", "lease");
  EXPECT_EQ(std::as_const(*lease)["spec"]["leaseTransitions"].int_or(-1), 0);
  EXPECT_EQ(std::as_const(*lease)["spec"]["leaseDurationSeconds"].int_or(0), 15);
}

TEST_F(LeaderElectorTest, ReleasedOnStopAndTakenSoon) {
  auto& a = Add("a");
  executor_.RunFor(1s);
  auto& b = Add("b");
  executor_.RunFor(10s);
  bool done = false;
  a.elector->Stop([&] { done = true; });
  executor_.RunFor(5s);
  EXPECT_TRUE(done);
  EXPECT_EQ(a.stopped, 1);
  EXPECT_TRUE(b.elector->IsLeader());
}

TEST_F(LeaderElectorTest, ALeaderThatCannotRenewStopsBeforeAnotherStarts) {
  auto line = std::make_shared<Line>(server_);
  auto& a = Add("a", line);
  executor_.RunFor(1s);
  auto& b = Add("b");
  executor_.RunFor(5s);
  line->cut = true;
  executor_.RunFor(11s);
  EXPECT_EQ(a.stopped, 1) << "after the renew deadline of 10 s";
  executor_.RunFor(20s);
  EXPECT_TRUE(b.elector->IsLeader());
  EXPECT_EQ(Holder(), "b");
  line->cut = false;
  executor_.RunFor(1min);
  EXPECT_FALSE(a.elector->IsLeader());
}

TEST_F(LeaderElectorTest, ADeadLeaderIsReplacedAsSoonAsItsLeaseIsOver) {
  std::vector<std::shared_ptr<Line>> lines;
  for (const char* name : {"a", "b"}) {
    lines.push_back(std::make_shared<Line>(server_));
    Add(name, lines.back());
  }
  executor_.RunFor(5s);
  for (int i = 0; i < 100; ++i) {
    executor_.RunFor(std::chrono::milliseconds(30000 + executor_.random().Below(5000)));
    const bool a_leads = candidates_[0]->elector->IsLeader();
    LeaderElector& other = *candidates_[a_leads ? 1 : 0]->elector;
    lines[a_leads ? 0 : 1]->cut = true;
    const SteadyTime cut = executor_.clock().Steady();
    while (!other.IsLeader()) executor_.RunFor(10ms);
    EXPECT_LT(executor_.clock().Steady() - cut, 15s + 2400ms + 100ms) << "round " << i;
    lines[a_leads ? 0 : 1]->cut = false;
  }
}

TEST_F(LeaderElectorTest, ExpiryIsJudgedByOurOwnClock) {
  // A record from a holder whose clock is a year ahead and who never renews.
  server_->Put(kLeases, json::Object{{"metadata", json::Object{{"name", "lease"}, {"namespace", "default"}}},
                                     {"spec", json::Object{{"holderIdentity", "ghost"},
                                                           {"leaseDurationSeconds", 15},
                                                           {"renewTime", "2099-01-01T00:00:00.000000Z"}}}});
  auto& a = Add("a");
  executor_.RunFor(14s);
  EXPECT_FALSE(a.elector->IsLeader());
  executor_.RunFor(10s);
  EXPECT_TRUE(a.elector->IsLeader());
  const auto lease = server_->Find(kLeases, "default", "lease");
  EXPECT_EQ(std::as_const(*lease)["spec"]["leaseTransitions"].int_or(-1), 1);
}

TEST_F(LeaderElectorTest, ChaosNeverHasTwoLeaders) {
  std::vector<std::shared_ptr<Line>> lines;
  for (const char* name : {"a", "b", "c"}) {
    lines.push_back(std::make_shared<Line>(server_));
    Add(name, lines.back());
  }
  for (int i = 0; i < 500; ++i) {
    lines[executor_.random().Below(3)]->cut = executor_.random().OneIn(2);
    executor_.RunFor(std::chrono::milliseconds(executor_.random().Below(20000)));
  }
  for (auto& line : lines) line->cut = false;
  executor_.RunFor(1min);
  EXPECT_NE(leader_, nullptr);
  int changes = 0;
  for (const auto& c : candidates_) changes += c->started;
  EXPECT_GT(changes, 20);
}

}  // namespace
}  // namespace flyball
