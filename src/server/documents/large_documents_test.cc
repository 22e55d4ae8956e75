// Documents that are too large to be kept in memory.
#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

class LargeDocuments : public ServerFixture {
 protected:
  LargeDocuments() {
    const std::string text(1 << 20, 'x');
    for (int i = 0; i < 9; ++i) {
      const std::string plural = "larges" + std::to_string(i);
      const auto made = Do(
          "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
          R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":")" +
              plural + R"(.e.x"},"spec":{"group":"e.x","scope":"Cluster","names":{"plural":")" + plural +
              R"(","kind":"Large)" + std::to_string(i) +
              R"("},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":)" +
              R"({"type":"object","properties":{"a":{"type":"string","description":")" + text +
              R"("}}}}}]}})");
      EXPECT_EQ(made->status, 201) << made->message();
    }
  }
};

TEST_F(LargeDocuments, AreMadeAgainEachTime) {
  const auto first = Do("GET", "/openapi/v2"), second = Do("GET", "/openapi/v2");
  ASSERT_EQ(first->status, 200);
  EXPECT_GT(first->body.size(), std::size_t{9} << 20);
  EXPECT_EQ(second->status, 200);
  EXPECT_EQ(second->body, first->body);
}

}  // namespace
}  // namespace flyball::server
