#include "server/endpoints/nodes/proxy.h"

#include <gtest/gtest.h>

#include "json/json.h"
#include "server/endpoints/nodes/node_location.h"

namespace flyball::server {
namespace {

TEST(ProxyNameTest, SchemeNameAndPort) {
  ProxyName name;
  ASSERT_TRUE(ParseProxyName("web", name));
  EXPECT_EQ(name.scheme + "|" + name.name + "|" + name.port, "|web|");
  ASSERT_TRUE(ParseProxyName("web:80", name));
  EXPECT_EQ(name.scheme + "|" + name.name + "|" + name.port, "|web|80");
  ASSERT_TRUE(ParseProxyName("https:web:http", name));
  EXPECT_EQ(name.scheme + "|" + name.name + "|" + name.port, "https|web|http");
  ASSERT_TRUE(ParseProxyName("https:web:", name));
  EXPECT_EQ(name.port, "");
  for (const char* wrong : {"", ":80", "ftp:web:80", "a:b:c:d", "https::80"})
    EXPECT_FALSE(ParseProxyName(wrong, name)) << wrong;
}

TEST(ProxiedTargetTest, WhatIsBehindTheSubresourceStaysAsItWas) {
  EXPECT_EQ(ProxiedTarget("/api/v1/namespaces/d/pods/web/proxy/a%20b/?c=%2f"), "/a%20b/?c=%2f");
  EXPECT_EQ(ProxiedTarget("/api/v1/namespaces/d/services/x:80/proxy"), "");
  EXPECT_EQ(ProxiedTarget("/api/v1/namespaces/d/services/x:80/proxy?a=b"), "?a=b");
  EXPECT_EQ(ProxiedTarget("/api/v1/nodes/n1/proxy/healthz"), "/healthz");
  // A pod, a namespace and a node that are called so themselves.
  EXPECT_EQ(ProxiedTarget("/api/v1/namespaces/proxy/pods/proxy/proxy/proxy/x"), "/proxy/x");
  EXPECT_EQ(ProxiedTarget("/api/v1/nodes/proxy/proxy/x"), "/x");
}

TEST(ContainerOfTest, TheOneThatIsMeantOrWhichThereAre) {
  const auto pod = *json::Parse(
      R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"a"},{"name":"b"}],"initContainers":[{"name":"i"}]}})");
  EXPECT_EQ(*ContainerOf(pod, "i"), "i");
  EXPECT_EQ(ContainerOf(pod, "x").error().message(), "container x is not valid for pod p");
  EXPECT_EQ(ContainerOf(pod, "").error().message(),
            "a container name must be specified for pod p, choose one of: [a b] or one of the init "
            "containers: [i]");
  EXPECT_EQ(*ContainerOf(*json::Parse(R"({"spec":{"containers":[{"name":"only"}]}})"), ""), "only");
}

}  // namespace
}  // namespace flyball::server
