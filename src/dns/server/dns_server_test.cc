#include "dns/server/dns_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/run/notification.h"
#include "dns/testing/dns_client.h"
#include "dns/testing/zone_objects.h"

namespace flyball::dns {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kWeb[] = "web.default.svc.cluster.local.";
constexpr char kMany[] = "many.default.svc.cluster.local.";

Message AddressReply(const Message& query, std::uint32_t ttl = 60) {
  Message reply;
  reply.answers.push_back({query.question->name, kTypeA, kClassIn, ttl, "\xc0\x01\x02\x03"});
  return reply;
}

Message NoSuchName(std::uint32_t ttl = 60) {
  Message reply;
  reply.rcode = kNxDomain;
  reply.authorities.push_back(
      {*Name::FromText("example."), kTypeSoa, kClassIn, ttl, SoaData({Name(), Name(), 1, 2, 3, 4, ttl})});
  return reply;
}

class DnsServerTest : public ::testing::Test {
 protected:
  void Start(std::vector<Upstream> upstreams = {}, DnsServerOptions options = {}, int port = 0) {
    options.port = port;
    options.forward.upstreams = std::move(upstreams);
    options.forward.try_timeout = std::chrono::milliseconds(300);
    server_ = std::move(*DnsServer::Start(std::move(options), Random::System(), metrics_));
    Service headless = ClusterService("default", "many", {"None"});
    std::vector<Endpoint> endpoints;
    for (int i = 0; i < 100; ++i) endpoints.push_back(ReadyEndpoint("10.3.0." + std::to_string(i + 1)));
    Change([&](Zone& zone) {
      zone.SetNamespace("default", true);
      zone.SetService("default", "web", RecordsOf(ClusterService("default", "web", {"10.3.0.2"}), {}));
      zone.SetService("default", "many", RecordsOf(headless, {SliceOf(endpoints)}));
      Service alias = ClusterService("default", "alias", {""});
      alias.spec.type = "ExternalName";
      alias.spec.external_name = "Www.Example";
      zone.SetService("default", "alias", RecordsOf(alias, {}));
      zone.SetSynced(true);
    });
  }
  void Change(const std::function<void(Zone&)>& fn) {
    Notification<bool> done;
    server_->Change([&](Zone& zone) {
      fn(zone);
      done.Set(true);
    });
    done.Wait();
  }
  Upstream At(const FakeUpstream& fake) { return {"127.0.0.1", fake.port()}; }
  Message Ask(const Message& query) { return UdpClient(server_->port()).Ask(query); }
  Message Ask(const std::string& name, std::uint16_t type = kTypeA) { return Ask(QueryOf(name, type)); }
  Message AskByTcp(const Message& query) {
    net::RawSocket socket(server_->port());
    socket.Send(WithLength(Encode(query, kMaxPacketBytes)));
    return ReadAnswer(socket);
  }
  Message ReadAnswer(net::RawSocket& socket) {
    while (unread_.size() < 2 || unread_.size() < 2 + Length()) {
      char buffer[4096];
      const ssize_t n = recv(socket.fd(), buffer, sizeof buffer, 0);
      if (n <= 0) break;
      unread_.append(buffer, static_cast<std::size_t>(n));
    }
    Message reply;
    if (unread_.size() < 2) return reply;
    EXPECT_EQ(Parse(std::string_view(unread_).substr(2, Length()), reply), Parsed::kOk);
    unread_.erase(0, 2 + Length());
    return reply;
  }
  std::size_t Length() const {
    return static_cast<unsigned char>(unread_[0]) << 8 | static_cast<unsigned char>(unread_[1]);
  }

  Metrics metrics_;
  std::unique_ptr<DnsServer> server_;
  std::string unread_;
};

TEST_F(DnsServerTest, AnswersByUdpAndTcp) {
  Start();
  for (const Message& reply : {Ask(kWeb), AskByTcp(QueryOf(kWeb, kTypeA))}) {
    EXPECT_EQ(reply.id, 4711);
    EXPECT_TRUE(reply.response);
    EXPECT_TRUE(reply.authoritative);
    EXPECT_TRUE(reply.recursion_desired);
    EXPECT_TRUE(reply.recursion_available);
    EXPECT_FALSE(reply.edns) << "not asked for";
    EXPECT_THAT(Lines(reply.answers), ElementsAre(std::string(kWeb) + " A 10.3.0.2"));
  }
  const std::string text = metrics_.Serialize();
  EXPECT_NE(
      text.find(
          "coredns_dns_requests_total{family=\"1\",proto=\"udp\",type=\"A\",zone=\"cluster.local.\"} 1"),
      std::string::npos);
  EXPECT_NE(text.find("coredns_dns_responses_total{rcode=\"NOERROR\",zone=\"cluster.local.\"} 2"),
            std::string::npos);
}

TEST_F(DnsServerTest, LargeAnswersAreTruncatedOnUdpAndWholeOnTcp) {
  Start();
  const Message small = Ask(kMany);
  EXPECT_TRUE(small.truncated);
  EXPECT_THAT(small.answers, SizeIs((512 - 12 - 36) / 16));
  const Message larger = Ask(QueryOf(kMany, kTypeA, Edns{.udp_size = 4096}));
  EXPECT_TRUE(larger.truncated) << "1232 bytes and no more, whatever the client says";
  EXPECT_THAT(larger.answers, SizeIs((1232 - 12 - 36 - 11) / 16));
  const Message whole = AskByTcp(QueryOf(kMany, kTypeA));
  EXPECT_FALSE(whole.truncated);
  EXPECT_THAT(whole.answers, SizeIs(100));
}

TEST_F(DnsServerTest, PipelinedQuestionsOnOneConnection) {
  Start();
  net::RawSocket socket(server_->port());
  std::string sent;
  for (std::uint16_t i = 0; i < 300; ++i) {
    Message query = QueryOf(i % 2 ? kWeb : kMany, kTypeA);
    query.id = i;
    sent += WithLength(Encode(query, kMaxPacketBytes));
  }
  Thread sender("sender", [&] { socket.Send(sent); });
  std::set<std::uint16_t> ids;
  for (int i = 0; i < 300; ++i) ids.insert(ReadAnswer(socket).id);
  sender.Join();
  EXPECT_THAT(ids, SizeIs(300));
}

TEST_F(DnsServerTest, AClientThatHasSaidAllGetsItsAnswerAndTheEnd) {
  FakeUpstream upstream([](const Message& query, bool) { return AddressReply(query); });
  Start({At(upstream)});
  net::RawSocket socket(server_->port());
  socket.Send(WithLength(Encode(QueryOf("www.example.", kTypeA), 512)));
  socket.EndSending();
  unread_ = socket.ReadAll();
  EXPECT_THAT(ReadAnswer(socket).answers, SizeIs(1));
}

TEST_F(DnsServerTest, WhatIsRefused) {
  Start();
  for (const std::uint16_t type : {kTypeAxfr, kTypeIxfr, kTypeAny}) {
    EXPECT_EQ(Ask("cluster.local.", type).rcode, kRefused);
    EXPECT_EQ(AskByTcp(QueryOf("cluster.local.", type)).rcode, kRefused);
  }
  Message chaos = QueryOf("version.bind.", kTypeTxt);
  chaos.question->klass = 3;
  EXPECT_EQ(Ask(chaos).rcode, kRefused);
  Message notify = QueryOf(kWeb, kTypeA);
  notify.opcode = 4;
  EXPECT_EQ(Ask(notify).rcode, kNotImp);
  EXPECT_EQ(Ask(notify).opcode, 4);
  Message no_recursion = QueryOf("example.com.", kTypeA);
  no_recursion.recursion_desired = false;
  EXPECT_EQ(Ask(no_recursion).rcode, kRefused);
  Message no_question = QueryOf(kWeb, kTypeA);
  no_question.question.reset();
  EXPECT_EQ(Ask(no_question).rcode, kFormErr);
  EXPECT_EQ(Ask(QueryOf(kWeb, kTypeA, Edns{.version = 1})).rcode, kBadVers);
}

TEST_F(DnsServerTest, WhoIsNotAllowedIsRefused) {
  Start({}, {.allow = {*api::ParseCidr("10.0.0.0/8")}});
  EXPECT_EQ(Ask(kWeb).rcode, kRefused);
}

TEST_F(DnsServerTest, GarbageAndAnswersGetNoAnswer) {
  Start();
  UdpClient client(server_->port());
  client.Send("short");
  Message answer = QueryOf(kWeb, kTypeA);
  answer.response = true;
  client.Send(Encode(answer, 512));
  client.Send(std::string("\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\xc0\x0c\x00\x01\x00\x01", 18));
  const std::string packet = client.Receive();
  Message reply;
  ASSERT_EQ(Parse(packet, reply), Parsed::kOk);
  EXPECT_EQ(reply.id, 1) << "the third, which can be answered";
  EXPECT_EQ(reply.rcode, kFormErr);
}

TEST_F(DnsServerTest, SpellingStays) {
  Start();
  Message query = QueryOf("wEB.dEFAULT.sVC.cluster.LOCAL.", kTypeA);
  const Message reply = Ask(query);
  EXPECT_EQ(reply.question->name.ToText(), "wEB.dEFAULT.sVC.cluster.LOCAL.");
  EXPECT_EQ(reply.answers.at(0).owner.ToText(), "wEB.dEFAULT.sVC.cluster.LOCAL.");
}

TEST_F(DnsServerTest, OtherNamesAreForwardedAndCached) {
  FakeUpstream upstream([](const Message& query, bool) { return AddressReply(query); });
  Start({At(upstream)});
  EXPECT_THAT(Lines(Ask("www.example.").answers), ElementsAre("www.example. A 192.1.2.3"));
  const Message again = Ask("WWW.example.");
  EXPECT_THAT(Lines(again.answers), ElementsAre("WWW.example. A 192.1.2.3"));
  EXPECT_FALSE(again.authoritative);
  EXPECT_EQ(upstream.asked(), 1);
  Ask("www.example.", kTypeAaaa);
  EXPECT_EQ(upstream.asked(), 2);
}

TEST_F(DnsServerTest, NamesThatDoNotExistAreCachedAndFailuresAreNotForLong) {
  FakeUpstream upstream([](const Message&, bool) { return NoSuchName(); });
  Start({At(upstream)});
  for (int i = 0; i < 3; ++i) {
    const Message reply = Ask("none.example.");
    EXPECT_EQ(reply.rcode, kNxDomain);
    EXPECT_THAT(reply.authorities, SizeIs(1));
  }
  EXPECT_EQ(upstream.asked(), 1);
}

TEST_F(DnsServerTest, TruncatedAnswersOfUpstreamsAreFetchedByTcp) {
  FakeUpstream upstream([](const Message& query, bool tcp) {
    Message reply = AddressReply(query);
    reply.truncated = !tcp;
    if (!tcp) reply.answers.clear();
    return reply;
  });
  Start({At(upstream)});
  EXPECT_THAT(Ask("www.example.").answers, SizeIs(1));
  EXPECT_EQ(upstream.asked_by_tcp(), 1);
}

TEST_F(DnsServerTest, TheNextUpstreamIsAskedWhenOneIsSilentOrUnhelpful) {
  FakeUpstream silent([](const Message&, bool) { return std::nullopt; });
  FakeUpstream refusing([](const Message&, bool) {
    Message reply;
    reply.rcode = kRefused;
    return reply;
  });
  FakeUpstream good([](const Message& query, bool) { return AddressReply(query); });
  Start({At(silent), At(refusing), At(good)});
  EXPECT_THAT(Ask("a.example.").answers, SizeIs(1));
  EXPECT_THAT(Ask("b.example.").answers, SizeIs(1));
  EXPECT_EQ(silent.asked(), 1) << "not asked again for a while";
}

TEST_F(DnsServerTest, WithoutAnAnswerThereIsAnError) {
  FakeUpstream silent([](const Message&, bool) { return std::nullopt; });
  Start({At(silent)});
  EXPECT_EQ(Ask("a.example.").rcode, kServFail);
  EXPECT_EQ(silent.asked(), 2) << "datagrams get lost";
  EXPECT_THAT(Ask(kWeb).answers, SizeIs(1));
}

TEST_F(DnsServerTest, TheSameQuestionIsAskedOnce) {
  Notification<bool> go;
  std::atomic<int> waiting{0};
  FakeUpstream upstream([&](const Message& query, bool) {
    if (++waiting == 1) go.Wait();
    return AddressReply(query, 0);
  });
  Start({At(upstream)});
  UdpClient client(server_->port());
  for (int i = 0; i < 20; ++i) client.Send(Encode(QueryOf("www.example.", kTypeA), 512));
  Ask(kWeb);  // by now the others have been read
  go.Set(true);
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(client.Receive().empty());
  EXPECT_EQ(upstream.asked(), 1);
}

TEST_F(DnsServerTest, ForgedAnswersArePassedOver) {
  FakeUpstream upstream([](const Message& query, bool) {
    Message reply = AddressReply(query);
    reply.answers[0].owner = *Name::FromText("victim.example");
    return reply;
  });
  Start({At(upstream)});
  Ask("a.example.");
  EXPECT_THAT(Ask("victim.example.").answers, SizeIs(1));
  EXPECT_EQ(upstream.asked(), 2) << "what an answer says of other names is not kept";
}

TEST_F(DnsServerTest, ExternalNamesAreCompletedByUpstreams) {
  FakeUpstream upstream([](const Message& query, bool) { return AddressReply(query); });
  Start({At(upstream)});
  EXPECT_THAT(Lines(Ask("alias.default.svc.cluster.local.").answers),
              ElementsAre("Www.Example. A 192.1.2.3", "alias.default.svc.cluster.local. CNAME Www.Example."));
}

TEST_F(DnsServerTest, AnUpstreamThatLeadsBackIsNotUsed) {
  Start();
  const int port = server_->port();
  server_.reset();
  Start({{"127.0.0.1", port}}, {}, port);
  const auto noticed = [&] {
    return metrics_.Serialize().find("flyball_dns_looping_upstreams 1") != std::string::npos;
  };
  while (!noticed()) Ask(kWeb);
  EXPECT_EQ(Ask("x.example.").rcode, kServFail);
  EXPECT_THAT(Ask(kWeb).answers, SizeIs(1));
}

TEST_F(DnsServerTest, UdpAnswersHaveABudgetPerClient) {
  // Too little comes back in time, however slow the machine is.
  Start({}, {.udp_budget = {.bytes_per_second = 1, .burst = 64 << 10}});
  UdpClient client(server_->port());
  const std::string query = Encode(QueryOf(kMany, kTypeA, Edns{.udp_size = 1232}), 512);
  bool limited = false;
  for (int i = 0; i < 1000 && !limited; ++i) {
    client.Send(query);
    const std::string packet = client.Receive();
    Message reply;
    ASSERT_EQ(Parse(packet, reply), Parsed::kOk);
    limited = reply.answers.empty() && reply.truncated && packet.size() <= query.size();
  }
  EXPECT_TRUE(limited);
  EXPECT_THAT(Ask(kWeb).answers, SizeIs(1)) << "small answers are always given";
  EXPECT_THAT(AskByTcp(QueryOf(kMany, kTypeA)).answers, SizeIs(100));
}

}  // namespace
}  // namespace flyball::dns
