#include "cli/observe/timeline.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace flyball::cli {
namespace {

FamilyMember Web() {
  FamilyMember member;
  member.kind = {"apps", "v1", "Deployment", "deployments", true};
  member.object = *json::Parse(R"({"metadata":{"name":"web","namespace":"default","uid":"u",
    "creationTimestamp":"2026-01-01T00:00:01Z","managedFields":[{"manager":"kubectl-create","operation":"Update",
    "time":"2026-01-01T00:00:01Z","fieldsV1":{"f:spec":{"f:replicas":{},"f:template":{"f:spec":{}}}}},
    {"manager":"controller","operation":"Update","subresource":"status","time":"2026-01-01T00:00:02Z",
     "fieldsV1":{"f:status":{}}}]}})");
  return member;
}

TEST(Timeline, SaysWhoWroteWhichFields) {
  std::vector<TimelineEntry> entries;
  AddWrites(Web(), entries);
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[1].who, "kubectl-create");
  EXPECT_EQ(entries[1].what, "wrote spec.replicas, spec.template");
  EXPECT_EQ(entries[2].what, "wrote status through /status");
  EXPECT_EQ(entries[2].object, "Deployment default/web");
}

TEST(Timeline, SaysWhyAndHowLongAReconcileTook) {
  std::vector<TimelineEntry> entries;
  const auto record =
      json::Parse(R"({"controller":"deployment","kind":"Deployment","namespace":"default","name":"web",
    "cause":"ReplicaSet default/web-1 updated","began":"2026-01-01T00:00:01.500000Z","waitedSeconds":0.0012,
    "tookSeconds":2.5,"writes":["Deployment default/web at 7"],"outcome":"done"})");
  AddReconcile(Web(), *record, entries);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(
      entries[0].what,
      "reconciled because ReplicaSet default/web-1 updated, waited 1.2 ms, took 2.5 s, wrote Deployment "
      "default/web at 7: done");
  const auto other = json::Parse(R"({"kind":"ReplicaSet","namespace":"default","name":"web"})");
  AddReconcile(Web(), *other, entries);
  EXPECT_EQ(entries.size(), 1u);
}

TEST(Timeline, TakesChangesFromAnAuditLog) {
  std::vector<TimelineEntry> entries;
  const auto line = [](const char* verb) {
    return *json::Parse(
        std::string(R"({"stage":"ResponseComplete","requestReceivedTimestamp":"2026-01-01T00:00:01.1Z",
      "user":{"username":"jane"},"responseStatus":{"code":200},"objectRef":{"resource":"deployments","apiGroup":"apps",
      "namespace":"default","name":"web","subresource":"scale"},"verb":")") +
        verb + "\"}");
  };
  AddAuditLine(Web(), line("get"), entries);
  AddAuditLine(Web(), line("patch"), entries);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].who, "jane");
  EXPECT_EQ(entries[0].what, "audit: patch /scale answered 200");
}

TEST(Timeline, IsInOrderOfTime) {
  std::vector<TimelineEntry> entries{{"2026-01-01T00:00:02Z", "", "", "c"},
                                     {"2026-01-01T00:00:01.500000Z", "", "", "b"},
                                     {"2026-01-01T00:00:01Z", "", "", "a"}};
  SortByTime(entries);
  EXPECT_EQ(entries[0].what + entries[1].what + entries[2].what, "abc");
}

}  // namespace
}  // namespace flyball::cli
