#include "node/images/image_reference.h"

#include <gtest/gtest.h>

namespace flyball::node {
namespace {

std::string NameOf(const std::string& text) {
  const auto parsed = ImageReference::Parse(text);
  return parsed ? parsed->Name() : parsed.error().message();
}

const std::string kSomeDigest = "sha256:" + std::string(64, 'a');

TEST(ImageReferenceTest, FillsInWhatIsNotSaid) {
  EXPECT_EQ(NameOf("busybox"), "docker.io/library/busybox:latest");
  EXPECT_EQ(NameOf("bitnami/nginx:1.27"), "docker.io/bitnami/nginx:1.27");
  EXPECT_EQ(NameOf("localhost/web"), "localhost/web:latest");
  EXPECT_EQ(NameOf("127.0.0.1:5000/a/b/c:v1.2-3_4"), "127.0.0.1:5000/a/b/c:v1.2-3_4");
  EXPECT_EQ(NameOf("registry.k8s.io/pause:3.10"), "registry.k8s.io/pause:3.10");
  EXPECT_EQ(NameOf("index.docker.io/library/busybox"), "docker.io/library/busybox:latest");
}

TEST(ImageReferenceTest, ADigestDecidesOverATag) {
  EXPECT_EQ(NameOf("busybox@" + kSomeDigest), "docker.io/library/busybox@" + kSomeDigest);
  EXPECT_EQ(NameOf("busybox:1@" + kSomeDigest), "docker.io/library/busybox@" + kSomeDigest);
}

TEST(ImageReferenceTest, RefusesWhatIsNotAName) {
  for (const char* text : {"", ":latest", "a b", "busybox:", "busybox:ä", "a//b", "/a", "a/", "a/-b", "a___b",
                           "../../etc:x", "busybox@sha256:12", "busybox@md5:aa", "host:port/x", "a/../b"})
    EXPECT_EQ(NameOf(text), "invalid reference format") << text;
  EXPECT_EQ(NameOf("a/Busybox"), "invalid reference format: repository name must be lowercase");
  EXPECT_EQ(NameOf("Busybox"), "invalid reference format: repository name must be lowercase");
}

}  // namespace
}  // namespace flyball::node
