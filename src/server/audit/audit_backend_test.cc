#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/files/durable_file.h"
#include "base/run/notification.h"
#include "base/run/sim_executor.h"
#include "json/json.h"
#include "server/audit/audit_batch.h"
#include "server/audit/audit_event.h"
#include "server/audit/audit_log.h"
#include "store/testing/store_testing.h"

namespace flyball::server {
namespace {

using store::TempFolder;

std::vector<std::string> FilesIn(const TempFolder& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(AuditLogTest, RotatesBySizeAndKeepsTheNewestBackups) {
  TempFolder folder;
  SimExecutor executor(1);
  AuditLogOptions options;
  options.path = folder / "audit.log";
  options.max_size_megabytes = 1;
  options.max_backups = 2;
  const auto log = AuditLog::Open(options, executor.clock());
  ASSERT_TRUE(log) << log.error().message();
  const std::string line(300 << 10, 'x');  // three fit
  for (int i = 0; i < 12; ++i) {
    ASSERT_TRUE((*log)->Append(line));
    executor.RunFor(std::chrono::seconds(1));
  }
  const auto names = FilesIn(folder);
  ASSERT_EQ(names.size(), 3u) << testing::PrintToString(names);
  EXPECT_EQ(names[2], "audit.log");
  for (const std::string& name : names) {
    struct stat info {};
    ASSERT_EQ(stat((folder / name).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u) << name;
    EXPECT_LE(info.st_size, 1 << 20) << name;
  }
  // The ones kept are the newest: the second and third rotation.
  EXPECT_LT(names[0], names[1]);
  EXPECT_EQ(names[1].substr(0, 6), "audit-");
}

TEST(AuditLogTest, RemovesBackupsThatAreTooOld) {
  TempFolder folder;
  SimExecutor executor(1);
  AuditLogOptions options;
  options.path = folder / "audit.log";
  options.max_size_megabytes = 1;
  options.max_backups = 0;
  options.max_age_days = 2;
  const auto log = AuditLog::Open(options, executor.clock());
  const std::string line(900 << 10, 'x');
  for (int day = 0; day < 6; ++day) {
    ASSERT_TRUE((*log)->Append(line));
    executor.RunFor(std::chrono::hours(24));
  }
  // Rotated on days 1 to 5; on day 5 those of day 3 and later are young enough.
  EXPECT_EQ(FilesIn(folder).size(), 4u) << testing::PrintToString(FilesIn(folder));
}

TEST(AuditLogTest, WithoutASizeNothingIsRotated) {
  TempFolder folder;
  SimExecutor executor(1);
  AuditLogOptions options;
  options.path = folder / "new/audit.log";
  options.max_size_megabytes = 0;
  const auto log = AuditLog::Open(options, executor.clock());
  ASSERT_TRUE(log) << log.error().message();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE((*log)->Append(std::string(1 << 20, 'x')));
  EXPECT_EQ(std::filesystem::file_size(folder / "new/audit.log"), 3u * ((1 << 20) + 1));
}

AuditEntryPtr TextEntry(const std::string& text) {
  return std::make_shared<const AuditEntry>(AuditEntry{json::Value(text), MakeBytes(text)});
}

// What was handed on, and a way to hold it back.
struct BatchReceiver {
  void Take(AuditBatchEntries batch, UniqueFunction<void(bool)> done) {
    {
      MutexLock lock(mu);
      sizes.push_back(batch.size());
      if (hold) {
        held.push_back(std::move(done));
        return;
      }
    }
    done(true);
  }
  void Release() {
    std::vector<UniqueFunction<void(bool)>> all;
    {
      MutexLock lock(mu);
      hold = false;
      all.swap(held);
    }
    for (auto& done : all) done(true);
  }
  Mutex mu;
  std::vector<std::size_t> sizes;
  std::vector<UniqueFunction<void(bool)>> held;
  bool hold = false;
};

class AuditBatchTest : public testing::Test {
 protected:
  std::unique_ptr<AuditBatch> Make(const AuditBatchOptions& options, std::int64_t bytes = 10 << 20) {
    return std::make_unique<AuditBatch>(
        options, bytes, executor_, metrics_,
        [this](AuditBatchEntries batch, UniqueFunction<void(bool)> done) {
          receiver_.Take(std::move(batch), std::move(done));
        },
        [this] { receiver_.Release(); });
  }
  void Add(AuditBatch& batch, int n) {
    for (int i = 0; i < n; ++i) batch.Process(TextEntry("event"), [](bool ok) { EXPECT_TRUE(ok); });
  }
  double Dropped() {
    return metrics_
        .GetCounter("apiserver_audit_error_total",
                    "Counter of audit events that failed to be audited properly. Plugin "
                    "identifies the plugin affected by the error.",
                    {{"plugin", "buffered"}})
        .Value();
  }

  SimExecutor executor_{1};
  Metrics metrics_;
  BatchReceiver receiver_;
};

TEST_F(AuditBatchTest, SendsFullBatchesAtOnceAndTheRestAfterAWhile) {
  auto batch = Make({.max_size = 10, .max_wait = std::chrono::seconds(30), .throttle_enable = false});
  Add(*batch, 25);
  executor_.RunFor(std::chrono::seconds(1));
  EXPECT_EQ(receiver_.sizes, (std::vector<std::size_t>{10, 10}));
  executor_.RunFor(std::chrono::seconds(30));
  EXPECT_EQ(receiver_.sizes, (std::vector<std::size_t>{10, 10, 5}));
}

TEST_F(AuditBatchTest, BatchesAreBoundedInBytes) {
  auto batch = Make({.max_size = 100, .throttle_enable = false}, 12);  // two events of five bytes
  Add(*batch, 6);
  executor_.RunFor(std::chrono::seconds(31));
  EXPECT_EQ(receiver_.sizes, (std::vector<std::size_t>{2, 2, 2}));
}

TEST_F(AuditBatchTest, TheThrottleSpreadsBatches) {
  auto batch = Make({.max_size = 1, .throttle_enable = true, .throttle_qps = 1, .throttle_burst = 2});
  Add(*batch, 5);
  executor_.RunFor(std::chrono::milliseconds(500));
  EXPECT_EQ(receiver_.sizes.size(), 2u) << "the burst";
  executor_.RunFor(std::chrono::milliseconds(2600));
  EXPECT_EQ(receiver_.sizes.size(), 5u);
}

TEST_F(AuditBatchTest, AFullBufferDropsAndCounts) {
  receiver_.hold = true;  // the other side does not answer
  auto batch = Make({.buffer_size = 10, .max_size = 1, .throttle_enable = false});
  Add(*batch, 100);
  executor_.RunFor(std::chrono::seconds(1));
  EXPECT_EQ(receiver_.sizes.size(), static_cast<std::size_t>(AuditBatch::kMaxUnderWay));
  EXPECT_EQ(Dropped(), 90);
  receiver_.Release();
  executor_.RunFor(std::chrono::seconds(1));
  EXPECT_EQ(receiver_.sizes.size(), 10u);
}

TEST(AuditBatchClosingTest, WhatWaitsIsSentAtTheEnd) {
  ThreadPool thread("audit", 1);
  Metrics metrics;
  BatchReceiver receiver;
  {
    AuditBatch batch({.max_size = 100}, 1 << 20, thread, metrics,
                     [&](AuditBatchEntries b, UniqueFunction<void(bool)> done) {
                       receiver.Take(std::move(b), std::move(done));
                     });
    for (int i = 0; i < 3; ++i) batch.Process(TextEntry("event"), [](bool) {});
  }
  EXPECT_EQ(receiver.sizes, (std::vector<std::size_t>{3}));
}

TEST(AuditEventTest, AccessTokensAreHidden) {
  EXPECT_EQ(RedactTarget("/version"), "/version");
  EXPECT_EQ(RedactTarget("/version?a=1&access_token=s3cret&b=2"), "/version?a=1&access_token=REDACTED&b=2");
  EXPECT_EQ(RedactTarget("/version?Access_Token=s3cret"), "/version?Access_Token=REDACTED");
  EXPECT_EQ(RedactTarget("/version?access%5Ftoken=s3cret&"), "/version?access%5Ftoken=REDACTED&");
  EXPECT_EQ(RedactTarget("/version?a"), "/version?a");
}

TEST(AuditEventTest, LegacyLinesAreUpstreams) {
  const auto event = json::Parse(
      R"({"auditID":"1","stage":"ResponseComplete","verb":"get","user":{"username":"jo","groups":["a","b"]},)"
      R"("sourceIPs":["10.0.0.1"],"userAgent":"curl","objectRef":{"namespace":"ns"},"requestURI":"/x",)"
      R"("responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-01T00:00:00.000000Z"})");
  EXPECT_EQ(
      LegacyAuditLine(*event),
      R"(2026-01-01T00:00:00.000000Z AUDIT: id="1" stage="ResponseComplete" ip="10.0.0.1" method="get" )"
      R"(user="jo" groups="\"a\",\"b\"" as="<self>" asgroups="<lookup>" user-agent="curl" namespace="ns" )"
      R"(uri="/x" response="200")");
}

TEST(AuditEventTest, ManagedFieldsAreDroppedEverywhere) {
  auto list = json::Parse(
      R"({"metadata":{"managedFields":[1]},"items":[{"metadata":{"name":"a","managedFields":[1]}}],)"
      R"("rows":[{"object":{"metadata":{"managedFields":[1]}}}]})");
  DropManagedFields(*list);
  EXPECT_EQ(json::Write(*list).find("managedFields"), std::string::npos);
}

}  // namespace
}  // namespace flyball::server
