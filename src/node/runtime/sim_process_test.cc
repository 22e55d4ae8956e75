#include "node/runtime/sim_process.h"

#include <gtest/gtest.h>

#include "node/runtime/sim_runtime.h"

namespace flyball::node {
namespace {

using std::chrono::seconds;

// "5s 1" for one that ends after five seconds with code 1; "-" for one that does not end.
std::string EndOf(std::vector<std::string> command, bool to_completion = false,
                  std::map<std::string, std::string> annotations = {}) {
  ContainerConfig config;
  config.command = std::move(command);
  config.annotations = std::move(annotations);
  config.runs_to_completion = to_completion;
  const auto end = SimEndOf(config);
  if (!end) return "-";
  return std::to_string(std::chrono::duration_cast<seconds>(end->after).count()) + "s " +
         std::to_string(end->exit_code);
}

TEST(SimProcessTest, SimpleCommandsDoWhatTheySay) {
  EXPECT_EQ(EndOf({"sleep", "30"}), "30s 0");
  EXPECT_EQ(EndOf({"/bin/sleep", "2m"}), "120s 0");
  EXPECT_EQ(EndOf({"sleep", "infinity"}, true), "-");
  EXPECT_EQ(EndOf({"sleep", "99999999999999999"}), "31536000s 0");
  EXPECT_EQ(EndOf({"false"}), "1s 1");
  EXPECT_EQ(EndOf({"pause"}, true), "-");
  EXPECT_EQ(EndOf({"sh", "-c", "exit 3"}), "1s 3");
  EXPECT_EQ(EndOf({"/bin/sh", "-c", "sleep 5; exit 1"}), "6s 1");
  EXPECT_EQ(EndOf({"sh", "-c", "sleep 5 && true"}), "6s 0");
}

TEST(SimProcessTest, AnImageWithoutACommandRunsTheProgramItIsNamedAfter) {
  ContainerConfig config;
  config.runs_to_completion = true;
  config.image = "registry.k8s.io/pause:3.10";
  EXPECT_EQ(SimEndOf(config), std::nullopt);
  config.image = "localhost:5000/pause@sha256:0123";
  EXPECT_EQ(SimEndOf(config), std::nullopt);
  config.image = "registry.k8s.io/e2e-test-images/agnhost:2.53";
  EXPECT_TRUE(SimEndOf(config));
  config.image = "pause";
  config.command = {"exit"};
  EXPECT_TRUE(SimEndOf(config));
}

TEST(SimProcessTest, WhatItDoesNotUnderstandRunsUnlessItIsToEnd) {
  EXPECT_EQ(EndOf({"nginx"}), "-");
  EXPECT_EQ(EndOf({"nginx"}, true), "4s 0");
  EXPECT_EQ(EndOf({"sh", "-c", "exit 3 | cat"}), "-");
  EXPECT_EQ(EndOf({"sleep", "-1"}), "-");
  EXPECT_EQ(EndOf({"sleep"}), "-");
  EXPECT_EQ(EndOf({}), "-");
}

TEST(SimProcessTest, AnnotationsComeFirst) {
  EXPECT_EQ(EndOf({"sleep", "30"}, false, {{kSimExitAfter, "4"}, {kSimExitCode, "2"}}), "4s 2");
}

TEST(SimProcessTest, SomeImagesDoNotExist) {
  for (const char* image : {"foo:non-existent", "registry.example.com:5000/web/webserver:404",
                            "invalid.registry.k8s.io/invalid/alpine:3.1"})
    EXPECT_FALSE(SimImageExists(image)) << image;
  for (const char* image : {"nginx", "nginx:1.25", "localhost:404/nginx", "my-invalid.example.com/a"})
    EXPECT_TRUE(SimImageExists(image)) << image;
}

}  // namespace
}  // namespace flyball::node
