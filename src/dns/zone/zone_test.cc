// The DNS specification for Kubernetes, version 1.1.0, section by section.
#include "dns/zone/zone.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dns/testing/zone_objects.h"

namespace flyball::dns {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ZoneTest : public ::testing::Test {
 protected:
  ZoneTest() {
    zone_.SetSynced(true);
    zone_.SetNamespace("default", true);
  }

  void Set(const Service& service, const EndpointSlices& slices = {}) {
    zone_.SetService(service.metadata.namespace_, service.metadata.name, RecordsOf(service, slices));
  }
  Message Ask(const std::string& name, std::uint16_t type) { return AskZone(zone_, name, type); }
  Message AskZone(const Zone& zone, const std::string& name, std::uint16_t type) {
    Message reply;
    reply.question = Question{*Name::FromText(name), type};
    outcome_ = zone.Answer(reply, alias_);
    return reply;
  }
  std::vector<std::string> Answers(const std::string& name, std::uint16_t type) {
    return Lines(Ask(name, type).answers);
  }
  void ExpectNoName(const std::string& name, std::uint16_t type = kTypeA) {
    const Message reply = Ask(name, type);
    EXPECT_EQ(reply.rcode, kNxDomain) << name;
    EXPECT_THAT(Lines(reply.authorities), ElementsAre("cluster.local. SOA soa")) << name;
  }
  void ExpectNoData(const std::string& name, std::uint16_t type) {
    const Message reply = Ask(name, type);
    EXPECT_EQ(reply.rcode, kNoError) << name;
    EXPECT_THAT(reply.answers, IsEmpty()) << name;
    EXPECT_THAT(Lines(reply.authorities), ElementsAre("cluster.local. SOA soa")) << name;
  }
  Service Headless(const std::string& name = "headless") { return ClusterService("default", name, {"None"}); }

  Random random_{1};
  Zone zone_{{}, random_};
  Name alias_;
  Zone::Outcome outcome_ = Zone::Outcome::kNotOurs;
};

TEST_F(ZoneTest, SchemaVersion) {
  EXPECT_THAT(Answers("dns-version.cluster.local.", kTypeTxt),
              ElementsAre("dns-version.cluster.local. TXT 1.1.0"));
}

TEST_F(ZoneTest, ServiceWithClusterIp) {
  Set(ClusterService("default", "kubernetes", {"10.3.0.1", "2001:db8::1"}));
  EXPECT_THAT(Answers("kubernetes.default.svc.cluster.local.", kTypeA),
              ElementsAre("kubernetes.default.svc.cluster.local. A 10.3.0.1"));
  EXPECT_THAT(Answers("kubernetes.default.svc.cluster.local.", kTypeAaaa),
              ElementsAre("kubernetes.default.svc.cluster.local. AAAA 2001:db8::1"));
  const Message srv = Ask("_https._tcp.kubernetes.default.svc.cluster.local.", kTypeSrv);
  EXPECT_TRUE(srv.authoritative);
  EXPECT_THAT(Lines(srv.answers),
              ElementsAre("_https._tcp.kubernetes.default.svc.cluster.local. SRV 0 100 443 "
                          "kubernetes.default.svc.cluster.local."));
  EXPECT_THAT(Lines(srv.additionals), ElementsAre("kubernetes.default.svc.cluster.local. A 10.3.0.1",
                                                  "kubernetes.default.svc.cluster.local. AAAA 2001:db8::1"));
  EXPECT_THAT(Answers("1.0.3.10.in-addr.arpa.", kTypePtr),
              ElementsAre("1.0.3.10.in-addr.arpa. PTR kubernetes.default.svc.cluster.local."));
  EXPECT_THAT(Answers("1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa.", kTypePtr),
              SizeIs(1));
}

TEST_F(ZoneTest, UnnamedPortsHaveNoNameOfTheirOwn) {
  Service service = ClusterService("default", "web", {"10.3.0.2"});
  service.spec.ports = {{.name = "", .protocol = "TCP", .port = 80}};
  Set(service);
  ExpectNoName("_._tcp.web.default.svc.cluster.local.", kTypeSrv);
  ExpectNoName("_http._tcp.web.default.svc.cluster.local.", kTypeSrv);
  EXPECT_THAT(Answers("web.default.svc.cluster.local.", kTypeSrv), SizeIs(1)) << "as CoreDNS does";
}

TEST_F(ZoneTest, HeadlessService) {
  Set(Headless(), {SliceOf({ReadyEndpoint("10.3.0.100", "my-pet"), ReadyEndpoint("10.3.0.101", "my-pet-2"),
                            ReadyEndpoint("10.3.0.102"), ReadyEndpoint("10.3.0.103", "late", false)})});
  EXPECT_THAT(Answers("headless.default.svc.cluster.local.", kTypeA),
              ElementsAre("headless.default.svc.cluster.local. A 10.3.0.100",
                          "headless.default.svc.cluster.local. A 10.3.0.101",
                          "headless.default.svc.cluster.local. A 10.3.0.102"));
  EXPECT_THAT(Answers("my-pet.headless.default.svc.cluster.local.", kTypeA),
              ElementsAre("my-pet.headless.default.svc.cluster.local. A 10.3.0.100"));
  EXPECT_THAT(Answers("10-3-0-102.headless.default.svc.cluster.local.", kTypeA), SizeIs(1));
  ExpectNoName("10-3-0-100.headless.default.svc.cluster.local.");
  ExpectNoName("late.headless.default.svc.cluster.local.");
  const Message srv = Ask("_https._tcp.headless.default.svc.cluster.local.", kTypeSrv);
  EXPECT_THAT(Lines(srv.answers), ElementsAre("_https._tcp.headless.default.svc.cluster.local. SRV 0 33 443 "
                                              "10-3-0-102.headless.default.svc.cluster.local.",
                                              "_https._tcp.headless.default.svc.cluster.local. SRV 0 33 443 "
                                              "my-pet-2.headless.default.svc.cluster.local.",
                                              "_https._tcp.headless.default.svc.cluster.local. SRV 0 33 443 "
                                              "my-pet.headless.default.svc.cluster.local."));
  EXPECT_THAT(srv.additionals, SizeIs(3));
  EXPECT_THAT(Answers("100.0.3.10.in-addr.arpa.", kTypePtr),
              ElementsAre("100.0.3.10.in-addr.arpa. PTR my-pet.headless.default.svc.cluster.local."));
  ExpectNoData("headless.default.svc.cluster.local.", kTypeAaaa);
}

TEST_F(ZoneTest, HeadlessServiceWithoutReadyEndpointsDoesNotExist) {
  Set(Headless(), {SliceOf({ReadyEndpoint("10.3.0.1", "a", false)})});
  ExpectNoName("headless.default.svc.cluster.local.");
  Service service = Headless();
  service.spec.publish_not_ready_addresses = true;
  Set(service, {SliceOf({ReadyEndpoint("10.3.0.1", "a", false)})});
  EXPECT_THAT(Answers("headless.default.svc.cluster.local.", kTypeA), SizeIs(1));
  EXPECT_THAT(Answers("a.headless.default.svc.cluster.local.", kTypeA), SizeIs(1));
}

TEST_F(ZoneTest, OneHostnameMayHaveSeveralAddresses) {
  Set(Headless(), {SliceOf({ReadyEndpoint("10.3.0.1", "a"), ReadyEndpoint("10.3.0.2", "a")}),
                   SliceOf({ReadyEndpoint("2001:db8::2", "a")}, 443, "IPv6")});
  EXPECT_THAT(Answers("a.headless.default.svc.cluster.local.", kTypeA), SizeIs(2));
  EXPECT_THAT(Answers("a.headless.default.svc.cluster.local.", kTypeAaaa), SizeIs(1));
  EXPECT_THAT(Answers("_https._tcp.headless.default.svc.cluster.local.", kTypeSrv), SizeIs(1));
}

TEST_F(ZoneTest, EndpointsOfServicesWithAnAddressHaveNamesToo) {
  Set(ClusterService("default", "db", {"10.3.0.9"}), {SliceOf({ReadyEndpoint("10.4.0.1", "db-0")})});
  EXPECT_THAT(Answers("db-0.db.default.svc.cluster.local.", kTypeA),
              ElementsAre("db-0.db.default.svc.cluster.local. A 10.4.0.1"));
  Ask("1.0.4.10.in-addr.arpa.", kTypePtr);
  EXPECT_EQ(outcome_, Zone::Outcome::kNotOurs);
}

TEST_F(ZoneTest, ExternalNames) {
  Service service = ClusterService("default", "foo", {""});
  service.spec.type = "ExternalName";
  service.spec.external_name = "www.example.com";
  Set(service);
  const Message reply = Ask("foo.default.svc.cluster.local.", kTypeA);
  EXPECT_EQ(outcome_, Zone::Outcome::kAlias);
  EXPECT_EQ(alias_, *Name::FromText("www.example.com"));
  EXPECT_THAT(Lines(reply.answers), ElementsAre("foo.default.svc.cluster.local. CNAME www.example.com."));
  Ask("foo.default.svc.cluster.local.", kTypeCname);
  EXPECT_EQ(outcome_, Zone::Outcome::kAnswered);
}

TEST_F(ZoneTest, ExternalNamesWithinTheClusterAreFollowedAndLoopsEnd) {
  Service alias = ClusterService("default", "alias", {""});
  alias.spec.type = "ExternalName";
  alias.spec.external_name = "web.default.svc.cluster.local";
  Set(alias);
  Set(ClusterService("default", "web", {"10.3.0.2"}));
  EXPECT_THAT(Answers("alias.default.svc.cluster.local.", kTypeA),
              ElementsAre("alias.default.svc.cluster.local. CNAME web.default.svc.cluster.local.",
                          "web.default.svc.cluster.local. A 10.3.0.2"));
  alias.spec.external_name = "alias.default.svc.cluster.local";
  Set(alias);
  EXPECT_THAT(Answers("alias.default.svc.cluster.local.", kTypeA), SizeIs(8));
}

TEST_F(ZoneTest, NamesThatExistWithoutRecords) {
  Set(ClusterService("default", "web", {"10.3.0.2"}));
  for (const char* name :
       {"cluster.local.", "svc.cluster.local.", "pod.cluster.local.", "default.svc.cluster.local.",
        "default.pod.cluster.local.", "_tcp.web.default.svc.cluster.local."})
    ExpectNoData(name, kTypeA);
  ExpectNoData("web.default.svc.cluster.local.", kTypeAaaa);
  ExpectNoData("web.default.svc.cluster.local.", kTypeTxt);
  for (const char* name :
       {"none.default.svc.cluster.local.", "web.other.svc.cluster.local.", "other.svc.cluster.local.",
        "x.cluster.local.", "_udp.web.default.svc.cluster.local.", "a.b.c.web.default.svc.cluster.local.",
        "x.web.default.svc.cluster.local."})
    ExpectNoName(name);
}

TEST_F(ZoneTest, TheZoneItself) {
  EXPECT_THAT(Answers("cluster.local.", kTypeSoa), ElementsAre("cluster.local. SOA soa"));
  EXPECT_THAT(Answers("cluster.local.", kTypeNs), ElementsAre("cluster.local. NS ns.dns.cluster.local."));
  Set(ClusterService("kube-system", "kube-dns", {"10.96.0.10"}));
  EXPECT_THAT(Answers("ns.dns.cluster.local.", kTypeA), ElementsAre("ns.dns.cluster.local. A 10.96.0.10"));
}

TEST_F(ZoneTest, CaseDoesNotMatterAndStays) {
  Set(ClusterService("default", "web", {"10.3.0.2"}));
  EXPECT_THAT(Answers("WeB.DEFAULT.svc.Cluster.LOCAL.", kTypeA),
              ElementsAre("WeB.DEFAULT.svc.Cluster.LOCAL. A 10.3.0.2"));
  EXPECT_THAT(Answers("_HTTPS._TCP.web.default.svc.cluster.local.", kTypeSrv), SizeIs(1));
}

TEST_F(ZoneTest, Pods) {
  EXPECT_THAT(Answers("10-1-2-3.default.pod.cluster.local.", kTypeA),
              ElementsAre("10-1-2-3.default.pod.cluster.local. A 10.1.2.3"));
  EXPECT_THAT(Answers("2001-db8--3.default.pod.cluster.local.", kTypeAaaa), SizeIs(1));
  ExpectNoData("10-1-2-3.default.pod.cluster.local.", kTypeAaaa);
  ExpectNoName("10-1-2-3.other.pod.cluster.local.");
  ExpectNoName("10-1-2.default.pod.cluster.local.");
  ExpectNoName("10-1-2-300.default.pod.cluster.local.");
}

TEST_F(ZoneTest, VerifiedAndDisabledPods) {
  Zone verified({.pods = PodNames::kVerified}, random_);
  verified.SetSynced(true);
  verified.SetNamespace("default", true);
  const std::string bytes("\x0a\1\2\3");
  const auto found = [&] {
    return AskZone(verified, "10-1-2-3.default.pod.cluster.local.", kTypeA).answers.size();
  };
  EXPECT_EQ(found(), 0u);
  verified.AddPodAddress("default", bytes);
  verified.AddPodAddress("default", bytes);
  verified.RemovePodAddress("default", bytes);
  EXPECT_EQ(found(), 1u) << "another pod has it already";
  verified.RemovePodAddress("default", bytes);
  EXPECT_EQ(found(), 0u);
  Zone disabled({.pods = PodNames::kDisabled}, random_);
  disabled.SetSynced(true);
  EXPECT_EQ(AskZone(disabled, "pod.cluster.local.", kTypeA).rcode, kNxDomain);
}

TEST_F(ZoneTest, ChangesAndDeletions) {
  Set(ClusterService("default", "web", {"10.3.0.2"}));
  Set(ClusterService("default", "web", {"10.3.0.3"}));
  EXPECT_THAT(Answers("web.default.svc.cluster.local.", kTypeA),
              ElementsAre("web.default.svc.cluster.local. A 10.3.0.3"));
  Ask("2.0.3.10.in-addr.arpa.", kTypePtr);
  EXPECT_EQ(outcome_, Zone::Outcome::kNotOurs);
  zone_.SetService("default", "web", nullptr);
  ExpectNoName("web.default.svc.cluster.local.");
  zone_.SetNamespace("default", false);
  ExpectNoName("default.svc.cluster.local.");
}

TEST_F(ZoneTest, BeforeItIsSyncedNothingIsSaid) {
  zone_.SetSynced(false);
  EXPECT_EQ(Ask("web.default.svc.cluster.local.", kTypeA).rcode, kServFail);
  Ask("example.com.", kTypeA);
  EXPECT_EQ(outcome_, Zone::Outcome::kNotOurs);
}

TEST_F(ZoneTest, AddressesTakeTurns) {
  Set(Headless(), {SliceOf({ReadyEndpoint("10.3.0.1"), ReadyEndpoint("10.3.0.2")})});
  std::set<std::string> first;
  for (int i = 0; i < 100; ++i)
    first.insert(Ask("headless.default.svc.cluster.local.", kTypeA).answers[0].data);
  EXPECT_THAT(first, SizeIs(2));
}

}  // namespace
}  // namespace flyball::dns
