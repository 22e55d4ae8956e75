#include "server/documents/component_pages.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace flyball::server {
namespace {

const ComponentFacts kFacts{TimePoint(std::chrono::seconds(1000)), {{"secure-port", "6443"}}};

TEST(ComponentPagesTest, TextForPeople) {
  const auto status = StatusPage(kFacts, {"/healthz"}, TimePoint(std::chrono::seconds(1060)), "text/plain");
  ASSERT_TRUE(status);
  EXPECT_NE(status->body.find("Up: 60s\n"), std::string::npos);
  EXPECT_NE(status->body.find("Paths: /healthz\n"), std::string::npos);
  const auto flags = FlagsPage(kFacts, "*/*");
  ASSERT_TRUE(flags);
  EXPECT_TRUE(flags->body.ends_with("secure-port=6443\n"));
}

TEST(ComponentPagesTest, StructuredIfAskedForByName) {
  const auto flags = FlagsPage(kFacts, "application/json;v=v1beta1;g=config.k8s.io;as=Flagz");
  ASSERT_TRUE(flags);
  const json::Value value = *json::Parse(flags->body);
  EXPECT_EQ(value["kind"].string_or(""), "Flagz");
  EXPECT_EQ(value["apiVersion"].string_or(""), "config.k8s.io/v1beta1");
  EXPECT_EQ(value["flags"]["secure-port"].string_or(""), "6443");
}

TEST(ComponentPagesTest, NothingElse) {
  for (const char* accept :
       {"application/json", "image/png", "application/json;v=v1;g=config.k8s.io;as=Flagz"}) {
    const auto page = FlagsPage(kFacts, accept);
    ASSERT_FALSE(page) << accept;
    EXPECT_EQ(page.error().code(), 406);
  }
}

}  // namespace
}  // namespace flyball::server
