#include <gtest/gtest.h>

#include "base/run/random.h"
#include "dns/packet/message.h"
#include "dns/packet/wire_reader.h"

namespace flyball::dns {
namespace {

Name N(const std::string& text) {
  return *Name::FromText(text);
}

std::string Header(int questions, int answers = 0, int authorities = 0, int additionals = 0) {
  std::string out("\x12\x34\x01\x00", 4);
  for (const int count : {questions, answers, authorities, additionals}) {
    out += static_cast<char>(count >> 8);
    out += static_cast<char>(count & 0xff);
  }
  return out;
}

TEST(DnsNameTest, TextAndWire) {
  EXPECT_EQ(N("a.Example.").wire(), std::string("\1a\7Example\0", 11));
  EXPECT_EQ(N("a.example"), N("A.EXAMPLE."));
  EXPECT_EQ(N("a.Example").ToText(), "a.Example.") << "the spelling stays";
  EXPECT_EQ(N(".").ToText(), ".");
  EXPECT_EQ(N("a\\.b.c").Labels().front(), "a.b");
  EXPECT_EQ(N("a\\.b.\\001c").ToText(), "a\\.b.\\001c.");
  EXPECT_TRUE(N("x.cluster.local").IsWithin(N("Cluster.Local")));
  EXPECT_FALSE(N("xcluster.local").IsWithin(N("cluster.local")));
  EXPECT_TRUE(N("cluster.local").IsWithin(N("cluster.local")));
  // The last bytes are those of "\1b\0", but no label begins there.
  EXPECT_FALSE(N("a\\001b").IsWithin(N("b")));
}

TEST(DnsNameTest, Limits) {
  EXPECT_FALSE(Name::FromText("a..b"));
  EXPECT_FALSE(Name::FromText(std::string(64, 'a')));
  EXPECT_TRUE(Name::FromText(std::string(63, 'a')));
  std::string longest;
  for (int i = 0; i < 3; ++i) longest += std::string(63, 'a') + ".";
  EXPECT_TRUE(Name::FromText(longest + std::string(61, 'b')));
  EXPECT_FALSE(Name::FromText(longest + std::string(62, 'b')));
  EXPECT_FALSE(N(longest + std::string(61, 'b')).Child("c"));
}

Message Sample() {
  Message message;
  message.id = 7;
  message.response = message.authoritative = message.recursion_desired = true;
  message.question = Question{N("WEB.default.svc.cluster.local"), kTypeSrv};
  message.answers.push_back({N("WEB.default.svc.cluster.local"), kTypeSrv, kClassIn, 5,
                             SrvData(0, 100, 80, N("a.web.default.svc.cluster.local"))});
  message.answers.push_back(
      {N("x.example"), kTypeMx, kClassIn, 9, std::string("\0\5", 2) + N("mx.x.example").wire()});
  message.authorities.push_back(
      {N("cluster.local"), kTypeSoa, kClassIn, 5,
       SoaData({N("ns.dns.cluster.local"), N("hostmaster.cluster.local"), 1, 2, 3, 4, 5})});
  message.additionals.push_back({N("a.web.default.svc.cluster.local"), kTypeA, kClassIn, 5, "\1\2\3\4"});
  message.edns = Edns{1232, 0, true};
  return message;
}

TEST(DnsMessageTest, WhatIsEncodedIsParsed) {
  const Message message = Sample();
  const std::string packet = Encode(message, 4096);
  Message back;
  ASSERT_EQ(Parse(packet, back), Parsed::kOk);
  EXPECT_EQ(back.question->name.ToText(), "WEB.default.svc.cluster.local.");
  EXPECT_EQ(back.answers, message.answers);
  EXPECT_EQ(back.authorities, message.authorities);
  EXPECT_EQ(back.additionals, message.additionals);
  EXPECT_EQ(back.edns, message.edns);
  EXPECT_EQ(*SoaMinimum(back.authorities[0].data), 5u);
  EXPECT_EQ(Encode(back, 4096), packet);
  EXPECT_LT(packet.size(), 300u) << "compressed";
}

TEST(DnsMessageTest, WhatDoesNotFitIsLeftOutWholeAndSaid) {
  Message message;
  message.response = true;
  message.question = Question{N("many.example"), kTypeA};
  for (int i = 0; i < 100; ++i)
    message.answers.push_back({N("many.example"), kTypeA, kClassIn, 5, "\1\2\3\4"});
  message.edns = Edns{};
  const std::string packet = Encode(message, 512);
  EXPECT_LE(packet.size(), 512u);
  Message back;
  ASSERT_EQ(Parse(packet, back), Parsed::kOk);
  EXPECT_TRUE(back.truncated);
  EXPECT_EQ(back.answers.size(), (512u - 12 - 18 - 11) / 16);
  EXPECT_TRUE(back.edns) << "there is always room for this";
  EXPECT_EQ(Encode(message, 65535).size(), 12u + 18 + 100 * 16 + 11);
}

TEST(DnsMessageTest, AdditionalRecordsAreLeftOutSilently) {
  Message message;
  message.question = Question{N("a.example"), kTypeSrv};
  for (int i = 0; i < 100; ++i)
    message.additionals.push_back({N("a.example"), kTypeA, kClassIn, 5, "\1\2\3\4"});
  Message back;
  ASSERT_EQ(Parse(Encode(message, 512), back), Parsed::kOk);
  EXPECT_FALSE(back.truncated);
}

TEST(DnsMessageTest, HostilePackets) {
  Message out;
  EXPECT_EQ(Parse("", out), Parsed::kNotDns);
  EXPECT_EQ(Parse(std::string(11, '\0'), out), Parsed::kNotDns);
  EXPECT_EQ(Parse(Header(2) + std::string("\0\0\1\0\1\0\0\1\0\1", 10), out), Parsed::kBad) << "two questions";
  EXPECT_EQ(Parse(Header(1), out), Parsed::kBad) << "a question that is not there";
  // A pointer to itself, forwards, and in a circle of two.
  EXPECT_EQ(Parse(Header(1) + std::string("\xc0\x0c\0\1\0\1", 6), out), Parsed::kBad);
  EXPECT_EQ(Parse(Header(1) + std::string("\xc0\x20\0\1\0\1", 6) + std::string(64, '\0'), out), Parsed::kBad);
  EXPECT_EQ(Parse(Header(1, 1) + std::string("\1a\xc0\x10\0\1\0\1\1b\xc0\x0c", 12), out), Parsed::kBad);
  // Reserved label types.
  EXPECT_EQ(Parse(Header(1) + std::string("\x40"
                                          "a\0\0\1\0\1",
                                          7),
                  out),
            Parsed::kBad);
  EXPECT_EQ(Parse(Header(1) + std::string("\x80"
                                          "a\0\0\1\0\1",
                                          7),
                  out),
            Parsed::kBad);
  // More records than there are bytes.
  EXPECT_EQ(Parse(Header(0, 65535), out), Parsed::kBad);
  // Data that ends within a name, and a name that goes beyond its data.
  const std::string cname("\0\0\5\0\1\0\0\0\1\0\2\1a\0", 14);
  EXPECT_EQ(Parse(Header(0, 1) + cname, out), Parsed::kBad);
  // Two OPT records, and one where answers are.
  const std::string opt("\0\0\x29\x04\xd0\0\0\0\0\0\0", 11);
  EXPECT_EQ(Parse(Header(0, 0, 0, 1) + opt, out), Parsed::kOk);
  EXPECT_EQ(Parse(Header(0, 0, 0, 2) + opt + opt, out), Parsed::kBad);
  EXPECT_EQ(Parse(Header(0, 1) + opt, out), Parsed::kBad);
}

TEST(DnsMessageTest, ALongChainOfPointersEnds) {
  // Each name is one label and a pointer to the one before: 127 of them are a name of 255 bytes, more are
  // none.
  std::string packet = Header(0) + std::string("\1a\0", 3);
  std::size_t last = 12;
  for (int i = 2; i < 200; ++i) {
    const std::size_t at = packet.size();
    packet += std::string("\1a", 2) + static_cast<char>(0xc0 | last >> 8) + static_cast<char>(last & 0xff);
    last = at;
    Name name;
    WireReader reader(packet, at);
    EXPECT_EQ(reader.ReadName(name), i <= 127) << i;
    EXPECT_TRUE(i > 127 || reader.at() == packet.size());
  }
}

TEST(DnsMessageTest, ChangedBytesAreParsedOrRefused) {
  Random random(1);
  const std::string packet = Encode(Sample(), 4096);
  for (int i = 0; i < 20000; ++i) {
    std::string changed = packet;
    for (std::uint64_t n = 1 + random.Below(4); n > 0; --n)
      changed[random.Below(changed.size())] = static_cast<char>(random.Next());
    changed.resize(random.OneIn(3) ? random.Below(changed.size()) : changed.size());
    Message out;
    if (Parse(changed, out) != Parsed::kOk) continue;
    Message again;
    EXPECT_EQ(Parse(Encode(out, kMaxPacketBytes), again), Parsed::kOk);
    EXPECT_EQ(again.answers, out.answers);
  }
}

TEST(DnsMessageTest, Names) {
  EXPECT_EQ(TypeName(kTypeAaaa), "AAAA");
  EXPECT_EQ(TypeName(65280), "TYPE65280");
  EXPECT_EQ(RcodeName(kNxDomain), "NXDOMAIN");
  EXPECT_EQ(RcodeName(23), "RCODE23");
}

}  // namespace
}  // namespace flyball::dns
