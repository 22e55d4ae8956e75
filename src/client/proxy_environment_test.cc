#include "client/proxy_environment.h"

#include <gtest/gtest.h>

#include <map>

namespace flyball {
namespace {

EnvironmentReader Of(std::map<std::string, std::string> variables) {
  return [variables](const char* name) {
    const auto it = variables.find(name);
    return it == variables.end() ? std::string() : it->second;
  };
}

bool Proxied(std::string_view url, const std::string& no_proxy) {
  return !ProxyFor(url, Of({{"HTTPS_PROXY", "http://p:3128"}, {"NO_PROXY", no_proxy}})).empty();
}

TEST(ProxyEnvironmentTest, TheVariableOfTheSchemeCounts) {
  EXPECT_EQ(ProxyFor("https://api.example.com", Of({})), "");
  const auto both = Of({{"HTTPS_PROXY", "http://secure:1"}, {"http_proxy", "plain:2"}});
  EXPECT_EQ(ProxyFor("https://api.example.com:6443", both), "http://secure:1");
  EXPECT_EQ(ProxyFor("http://api.example.com", both), "http://plain:2") << "a scheme is added";
  EXPECT_EQ(ProxyFor("https://a", Of({{"HTTPS_PROXY", "http://x"}, {"https_proxy", "http://y"}})),
            "http://x");
}

TEST(ProxyEnvironmentTest, WhatIsOnThisMachineNeedsNone) {
  for (const char* url :
       {"https://localhost:6443", "https://127.0.0.1:6443", "https://127.9.9.9/", "https://[::1]:6443"})
    EXPECT_FALSE(Proxied(url, "")) << url;
}

TEST(ProxyEnvironmentTest, ExcludedHosts) {
  EXPECT_TRUE(Proxied("https://api.example.com:6443", ""));
  EXPECT_TRUE(Proxied("https://api.example.com:6443", "example.org, other"));
  EXPECT_FALSE(Proxied("https://api.example.com:6443", "*"));
  EXPECT_FALSE(Proxied("https://API.example.com:6443", "other, example.COM"));
  EXPECT_FALSE(Proxied("https://example.com", "example.com"));
  EXPECT_TRUE(Proxied("https://notexample.com", "example.com"));
  EXPECT_TRUE(Proxied("https://example.com", ".example.com"));
  EXPECT_FALSE(Proxied("https://api.example.com", "*.example.com"));
  EXPECT_FALSE(Proxied("https://api.example.com:6443", "api.example.com:6443"));
  EXPECT_TRUE(Proxied("https://api.example.com:6443", "api.example.com:443"));
  EXPECT_FALSE(Proxied("https://api.example.com", "api.example.com:443"));
}

TEST(ProxyEnvironmentTest, ExcludedAddresses) {
  EXPECT_FALSE(Proxied("https://10.1.2.3:6443", "10.0.0.0/8"));
  EXPECT_TRUE(Proxied("https://11.1.2.3:6443", "10.0.0.0/8"));
  EXPECT_FALSE(Proxied("https://10.1.2.3:6443", "10.1.2.3"));
  EXPECT_FALSE(Proxied("https://[fd00::1]:6443", "fd00::/8"));
  EXPECT_FALSE(Proxied("https://[fd00::1]:6443", "[fd00::1]:6443"));
  EXPECT_TRUE(Proxied("https://ten.example.com", "10.0.0.0/8")) << "names are not looked up";
}

}  // namespace
}  // namespace flyball
