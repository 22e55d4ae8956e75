// Flow control by its objects, and what happens to a handler that fails, on a server assembled by hand.
#include "server/flow/flow_control.h"

#include <gtest/gtest.h>

#include "api/kubernetes_version.h"
#include "base/run/sim_executor.h"
#include "server/bootstrap/bootstrap.h"
#include "server/handlers/request_handler.h"
#include "server/in_process_transport.h"
#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

// Fails, or never ends until it is let go.
class TroublesomeEndpoint final : public Endpoint {
 public:
  Task<Result<std::optional<Answer>>> Handle(ServerState&, RequestScope& scope, const net::Request& request,
                                             std::shared_ptr<net::ResponseStream>) override {
    if (request.method == "DELETE") throw std::runtime_error("the roof is on fire");
    auto start = [this](UniqueFunction<void(bool)> done) { held_.push_back(std::move(done)); };
    auto held = Callback<bool>(scope.executor, std::move(start));
    co_await held;
    co_return std::optional(TextAnswer(200, scope.user.name));
  }
  std::size_t held() const { return held_.size(); }
  void LetOneGo() {
    auto done = std::move(held_.front());
    held_.erase(held_.begin());
    done(true);
  }

 private:
  std::vector<UniqueFunction<void(bool)>> held_;
};

class FlowControlTest : public testing::Test {
 protected:
  FlowControlTest() {
    auto endpoint = std::make_unique<TroublesomeEndpoint>();
    endpoint_ = endpoint.get();
    endpoints_.Add("configmaps", std::move(endpoint));
    EXPECT_TRUE(EnsureObjects(state_, BootstrapFlowControl(TimePoint{})));
    sim_.RunReady();
  }
  // Nobody goes while requests wait.
  ~FlowControlTest() override {
    while (endpoint_->held() > 0) {
      endpoint_->LetOneGo();
      sim_.RunReady();
    }
  }

  std::shared_ptr<Reply> As(const User& user, std::string method, std::string query = "",
                            std::string body = "") {
    transports_.push_back(NewInProcessTransport(
        [this](std::shared_ptr<net::Request> request, std::shared_ptr<net::ResponseStream> stream) {
          return handler_.Handle(std::move(request), std::move(stream));
        },
        sim_, FixedPeer(user), true));
    net::Request request;
    request.method = std::move(method);
    request.target = "/api/v1/namespaces/default/configmaps/x" + query;
    request.body = std::move(body);
    auto reply = std::make_shared<Reply>();
    calls_.push_back(transports_.back()->Start(std::move(request), reply));
    sim_.RunReady();
    return reply;
  }

  // How the in-process transport says who asks.
  static AuthenticatorChain::Methods ByCertificate() {
    AuthenticatorChain::Methods methods;
    methods.requests.push_back(NewCertificateAuthenticator());
    return methods;
  }

  // global-default has a share of 20 of 245: two seats of these.
  static constexpr int kSeats = 24;
  static inline const User kEve{"eve", "", {}, {}}, kBob{"bob", "", {}, {}};

  SimExecutor sim_{1};
  Random random_{1};
  Metrics metrics_;
  std::unique_ptr<store::Store> store_ = store::NewMemoryStore(sim_);
  WatchCache cache_{*store_, sim_};
  std::unique_ptr<Catalog> catalog_ = std::move(*Catalog::Make(cache_, RuntimeConfig(api::kKubernetesMinor)));
  AuthenticatorChain authenticator_{ByCertificate(), {}, {.enabled = false}};
  std::unique_ptr<Authorizer> authorizer_ = NewAlwaysAllowAuthorizer();
  AdmissionChain admission_{{}};
  Registry registry_{*store_, admission_, random_, std::chrono::hours(1)};
  ServerState state_{*store_,        cache_,       *catalog_, registry_, admission_,
                     authenticator_, *authorizer_, sim_,      random_,   metrics_};
  EndpointTable endpoints_;
  TroublesomeEndpoint* endpoint_ = nullptr;
  Aggregator aggregator_{state_, "", ""};
  Documents documents_{state_, aggregator_.documents()};
  std::shared_ptr<FlowControl> flow_ = FlowControl::Make(*catalog_, kSeats, metrics_);
  std::unique_ptr<Audit> audit_ = Audit::Off();
  RequestHandler handler_{state_, endpoints_, aggregator_, documents_, *flow_, *audit_};
  std::vector<std::unique_ptr<net::Transport>> transports_;
  std::vector<std::shared_ptr<net::Call>> calls_;
};

TEST_F(FlowControlTest, AHandlerThatThrowsAnswers500AndTheServerLives) {
  const auto failed = As(kEve, "DELETE");
  EXPECT_EQ(failed->status, 500);
  EXPECT_EQ(failed->value()["reason"].string_or(""), "InternalError");
  const auto next = As(kEve, "GET");
  EXPECT_EQ(endpoint_->held(), 1u);
  endpoint_->LetOneGo();
  sim_.RunReady();
  EXPECT_EQ(next->status, 200);
}

TEST_F(FlowControlTest, OneGreedyUserDoesNotStarveAnother) {
  std::vector<std::shared_ptr<Reply>> greedy;
  for (int i = 0; i < 20; ++i) greedy.push_back(As(kEve, "GET"));
  const std::size_t seats = endpoint_->held();
  ASSERT_GT(seats, 0u);
  ASSERT_LT(seats, 20u);
  const auto modest = As(kBob, "GET");
  EXPECT_EQ(endpoint_->held(), seats);  // bob waits, behind eighteen of eve's
  endpoint_->LetOneGo();
  sim_.RunReady();
  for (std::size_t i = 1; i < seats; ++i) endpoint_->LetOneGo();
  endpoint_->LetOneGo();
  sim_.RunReady();
  EXPECT_EQ(modest->body, "bob");
}

TEST_F(FlowControlTest, WhoWaitsTooLongIsToldToComeAgain) {
  for (int i = 0; i < 5; ++i) As(kEve, "GET");
  const auto late = As(kEve, "GET");
  EXPECT_EQ(late->status, 0);
  sim_.RunFor(std::chrono::seconds(16));
  EXPECT_EQ(late->status, 429);
  EXPECT_EQ(late->headers.Get("retry-after"), "1");
}

TEST_F(FlowControlTest, AFullQueueRefusesAtOnceAndMastersAreExempt) {
  std::shared_ptr<Reply> last;
  // Two run, and as many wait as the six queues of a hand hold, fifty each.
  for (int i = 0; i < 300; ++i) last = As(kEve, "GET");
  EXPECT_EQ(last->status, 0);
  for (int i = 0; i < 10; ++i) last = As(kEve, "GET");
  EXPECT_EQ(last->status, 429);
  const auto seats = endpoint_->held();
  const auto root = As({"root", "", {std::string(kMastersGroup)}, {}}, "GET");
  EXPECT_EQ(endpoint_->held(), seats + 1) << root->status << root->body;
}

// Whatever the handler does, the client is answered in time, once.
TEST_F(FlowControlTest, ARequestThatTakesTooLongIsAnswered504) {
  const auto slow = As(kEve, "GET");
  sim_.RunFor(std::chrono::seconds(59));
  EXPECT_EQ(slow->status, 0);
  sim_.RunFor(std::chrono::seconds(2));
  EXPECT_EQ(slow->status, 504);
  EXPECT_EQ(slow->message(), "Timeout: request did not complete within the allotted timeout");
  EXPECT_EQ(slow->value()["reason"].string_or(""), "Timeout");
  EXPECT_FALSE(slow->headers.Get("audit-id").empty());
  const std::string answered = slow->body;
  endpoint_->LetOneGo();
  sim_.RunReady();
  EXPECT_EQ(slow->body, answered);
}

TEST_F(FlowControlTest, AClientMayAskForLessTimeButNotForMore) {
  const auto hasty = As(kEve, "GET", "?timeout=5s");
  const auto patient = As(kEve, "GET", "?timeout=10m");
  sim_.RunFor(std::chrono::seconds(6));
  EXPECT_EQ(hasty->status, 504);
  EXPECT_EQ(patient->status, 0);
  sim_.RunFor(std::chrono::seconds(55));
  EXPECT_EQ(patient->status, 504);
  const auto odd = As(kEve, "GET", "?timeout=soon");
  EXPECT_EQ(odd->status, 400);
  EXPECT_EQ(odd->message(), "invalid timeout specified in the request URL - time: invalid duration \"soon\"");
}

// Its seats are as many as its work is large: of two one is enough for the small, both for the large.
TEST_F(FlowControlTest, LargeRequestsTakeMoreSeats) {
  EXPECT_EQ((WorkSize{1, 1000}.Seats(10)), 1);
  EXPECT_EQ((WorkSize{1, 100'001}.Seats(10)), 2);
  EXPECT_EQ((WorkSize{50'000, 77'000'000}.Seats(100)), 10);
  EXPECT_EQ((WorkSize{50'000, 77'000'000}.Seats(3)), 3);
  // 20 of 245 shares of 2,450 seats, a hand of six queues: up to 30 for one.
  flow_ = FlowControl::Make(*catalog_, 2450, metrics_);
  RequestHandler handler(state_, endpoints_, aggregator_, documents_, *flow_, *audit_);
  const auto start = [&](std::string body) {
    transports_.push_back(NewInProcessTransport(
        [&](std::shared_ptr<net::Request> request, std::shared_ptr<net::ResponseStream> stream) {
          return handler.Handle(std::move(request), std::move(stream));
        },
        sim_, FixedPeer(kEve), true));
    net::Request request;
    request.method = "PUT";
    request.target = "/api/v1/namespaces/default/configmaps/x";
    request.body = std::move(body);
    calls_.push_back(transports_.back()->Start(std::move(request), std::make_shared<Reply>()));
    sim_.RunReady();
  };
  for (int i = 0; i < 100; ++i) start(std::string(1'000'000, 'x'));
  EXPECT_EQ(endpoint_->held(), 20u);
  while (endpoint_->held() > 0) {
    endpoint_->LetOneGo();
    sim_.RunReady();
  }
}

// The timer of a request that waits for a seat may outlive the flow control it belongs to.
TEST_F(FlowControlTest, AWaitingRequestDoesNotOutliveFlowControlByItsTimer) {
  auto flow = FlowControl::Make(*catalog_, kSeats, metrics_);
  const std::weak_ptr<FlowControl> weak = flow;
  RequestScope scope(*ParseRequestInfo("GET", "/api/v1/namespaces/default/configmaps/x"),
                     {"eve", "", {"system:authenticated"}, {}}, sim_, TimePoint{});
  std::vector<FlowControl::Ticket> tickets;
  int refused = 0;
  const auto admit = [&](FlowControl& control) -> Task<void> {
    auto ticket = co_await control.Admit(scope, {});
    if (ticket)
      tickets.push_back(std::move(*ticket));
    else
      ++refused;
  };
  for (int i = 0; i < 3; ++i) Spawn(admit(*flow), [](std::exception_ptr) {});
  EXPECT_EQ(tickets.size(), 2u);
  flow.reset();
  sim_.RunFor(std::chrono::seconds(16));
  EXPECT_EQ(refused, 1);
  tickets.clear();
  EXPECT_TRUE(weak.expired());
}

TEST_F(FlowControlTest, AnswersSayToWhichSchemaAndLevelTheyBelonged) {
  const auto failed = As(kEve, "DELETE");
  const auto level = catalog_->Find("flowcontrol.apiserver.k8s.io", "v1", "prioritylevelconfigurations")
                         ->cache->Get("global-default");
  EXPECT_EQ(failed->headers.Get("x-kubernetes-pf-prioritylevel-uid"), level->uid());
  EXPECT_FALSE(failed->headers.Get("x-kubernetes-pf-flowschema-uid").empty());
}

TEST(FlowSchemaTest, MatchesBySubjectVerbGroupResourceAndNamespace) {
  const auto schema = FlowSchema::From(*json::Parse(R"({"metadata":{"name":"s"},"spec":{
      "priorityLevelConfiguration":{"name":"l"},"distinguisherMethod":{"type":"ByNamespace"},"rules":[{
        "subjects":[{"kind":"ServiceAccount","serviceAccount":{"namespace":"ns","name":"*"}}],
        "resourceRules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods/log"],"namespaces":["a"]}],
        "nonResourceRules":[{"verbs":["get"],"nonResourceURLs":["/healthz/*"]}]}]}})"));
  const User account{"system:serviceaccount:ns:x", "", {}, {}},
      other{"system:serviceaccount:other:x", "", {}, {}};
  const auto log = *ParseRequestInfo("GET", "/api/v1/namespaces/a/pods/p/log");
  EXPECT_TRUE(schema.Matches(account, log));
  EXPECT_FALSE(schema.Matches(other, log));
  EXPECT_FALSE(schema.Matches(account, *ParseRequestInfo("GET", "/api/v1/namespaces/b/pods/p/log")));
  EXPECT_FALSE(schema.Matches(account, *ParseRequestInfo("GET", "/api/v1/namespaces/a/pods/p")));
  EXPECT_TRUE(schema.Matches(account, *ParseRequestInfo("GET", "/healthz/ping")));
  EXPECT_EQ(schema.FlowOf(account, log), "s/a");
}

}  // namespace
}  // namespace flyball::server
