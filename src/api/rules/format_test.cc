#include "api/rules/format.h"

#include <gtest/gtest.h>

#include "api/values/ip_address.h"

namespace flyball::api {
namespace {

TEST(FormatTest, GoodOnesHaveNoProblems) {
  const std::pair<const char*, const char*> good[] = {
      {"dns-label", "a-1"},
      {"dns-subdomain", "a.b-c.1"},
      {"dns-1035-label", "a1"},
      {"wildcard-subdomain", "*.a.b"},
      {"qualified-name", "a.b/C_d.e"},
      {"label-value", ""},
      {"c-identifier", "_a1"},
      {"env-var-name", "A b"},
      {"config-map-key", ".a-B_1"},
      {"http-header-name", "X-A"},
      {"port-name", "a-1"},
      {"ip", "2001:db8::1"},
      {"cidr", "10.0.0.0/8"},
      {"percent", "5%"},
      {"path-segment", "a:b"},
  };
  for (const auto& [format, value] : good) {
    EXPECT_TRUE(FormatProblems(format, value).empty()) << format << " " << value;
  }
}

TEST(FormatTest, BadOnesHaveSome) {
  const std::pair<const char*, const char*> bad[] = {
      {"dns-label", "A"},          {"dns-subdomain", "a..b"},
      {"dns-1035-label", "1a"},    {"wildcard-subdomain", "a.b"},
      {"qualified-name", "a/b/c"}, {"label-value", "-"},
      {"c-identifier", "1"},       {"env-var-name", "a=b"},
      {"config-map-key", "a/b"},   {"http-header-name", "a_b"},
      {"port-name", "1"},          {"ip", "1.2.3"},
      {"cidr", "10.0.0.0/33"},     {"percent", "%"},
      {"path-segment", "a/b"},
  };
  for (const auto& [format, value] : bad) {
    EXPECT_FALSE(FormatProblems(format, value).empty()) << format << " " << value;
  }
}

TEST(FormatTest, ProblemsAreUpstreams) {
  EXPECT_EQ(DnsLabelProblems("a.b"), Problems{"must not contain dots"});
  EXPECT_EQ(DnsLabelProblems(std::string(64, 'a')), Problems{"must be no more than 63 characters"});
  EXPECT_EQ(QualifiedNameProblems("/x"), Problems{"prefix part must be non-empty"});
  EXPECT_EQ(ConfigMapKeyProblems(".."), Problems{"must not be '..'"});
  EXPECT_EQ(PathSegmentProblems("a/%"), (Problems{"may not contain '/'", "may not contain '%'"}));
  EXPECT_EQ(PortNumberProblems(0), Problems{"must be between 1 and 65535, inclusive"});
  EXPECT_EQ(PortNameProblems("-"),
            (Problems{"must contain at least one letter (a-z)", "must not begin or end with a hyphen"}));
}

TEST(FormatTest, DomainsNeedParts) {
  FieldErrors errors;
  ValidateFullyQualifiedName("a.b", FieldPath("name"), errors);
  ValidateFullyQualifiedDomain("a.b.", FieldPath("name"), errors);
  ASSERT_EQ(errors.causes().size(), 1u);
  EXPECT_EQ(errors.causes()[0].message,
            "Invalid value: \"a.b\": should be a domain with at least three segments separated by dots");
}

TEST(IpAddressTest, ReadsAndWrites) {
  const std::pair<const char*, const char*> cases[] = {
      {"10.1.2.3", "10.1.2.3"},
      {"010.001.002.003", "10.1.2.3"},
      {"::", "::"},
      {"::1", "::1"},
      {"2001:DB8:0:0:1::1", "2001:db8::1:0:0:1"},
      {"1::", "1::"},
      {"::ffff:1.2.3.4", "1.2.3.4"},
      {"1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"},
  };
  for (const auto& [text, want] : cases) {
    const auto ip = ParseIp(text);
    ASSERT_TRUE(ip) << text;
    EXPECT_EQ(ip->ToString(), want);
  }
  for (const char* text : {"", "1.2.3", "1.2.3.4.5", "256.1.1.1", "1:2", ":::", "1::2::3",
                           "1:2:3:4:5:6:7:8:9", "g::", "1:", "::1:", "1.2.3.-4", "1.2.3.4/8"}) {
    EXPECT_FALSE(ParseIp(text)) << text;
  }
}

TEST(IpAddressTest, Classes) {
  EXPECT_TRUE(ParseIp("127.9.9.9")->IsLoopback());
  EXPECT_TRUE(ParseIp("::1")->IsLoopback());
  EXPECT_TRUE(ParseIp("0.0.0.0")->IsUnspecified());
  EXPECT_TRUE(ParseIp("169.254.1.1")->IsLinkLocalUnicast());
  EXPECT_TRUE(ParseIp("fe80::1")->IsLinkLocalUnicast());
  EXPECT_TRUE(ParseIp("224.0.0.1")->IsLinkLocalMulticast());
  EXPECT_TRUE(ParseIp("ff02::1")->IsLinkLocalMulticast());
}

TEST(CidrTest, ContainsAndNetwork) {
  const auto block = ParseCidr("10.96.5.0/16");
  ASSERT_TRUE(block);
  EXPECT_EQ(block->Network().ToString(), "10.96.0.0");
  EXPECT_TRUE(block->Contains(*ParseIp("10.96.255.1")));
  EXPECT_FALSE(block->Contains(*ParseIp("10.97.0.1")));
  EXPECT_FALSE(block->Contains(*ParseIp("::1")));
  EXPECT_FALSE(ParseCidr("10.0.0.0"));
  EXPECT_FALSE(ParseCidr("10.0.0.0/"));
}

}  // namespace
}  // namespace flyball::api
