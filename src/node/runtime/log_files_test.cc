#include "node/runtime/log_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/run/sim_executor.h"
#include "node/runtime/container_log.h"
#include "node/runtime/log_reader.h"

namespace flyball::node {
namespace {

namespace fs = std::filesystem;

class LogFilesTest : public ::testing::Test {
 protected:
  LogFilesTest() {
    std::string pattern = (fs::temp_directory_path() / "flyball-log-XXXXXX").string();
    dir_ = mkdtemp(pattern.data());
    path_ = dir_ + "/c/0.log";
  }
  ~LogFilesTest() override { fs::remove_all(dir_); }

  static std::string Text(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  static mode_t ModeOf(const std::string& path) {
    struct stat info {};
    ::stat(path.c_str(), &info);
    return info.st_mode & 0777;
  }
  // Everything a reader gives until the end.
  static std::string Rest(LogReader& reader) {
    std::string text;
    while (true) {
      const auto part = reader.Read();
      if (!part) return text + "error: " + part.error().message();
      text += part->text;
      if (part->at_end || part->exhausted) return text;
    }
  }

  std::string dir_, path_;
  SimExecutor sim_{1};
};

TEST_F(LogFilesTest, AFullFileIsRotatedAndTheOldestDropped) {
  LogWriter writer(path_, {.max_size = 10, .max_files = 3}, sim_.clock());
  for (const char c : {'a', 'b', 'c', 'd', 'e'}) {
    writer.Add(std::string(5, c) + "\n");
    writer.Flush();
    sim_.RunFor(std::chrono::seconds(1));
  }
  const auto segments = LogSegments(path_);
  ASSERT_EQ(segments.size(), 3u);
  EXPECT_EQ(Text(segments[0]), "ccccc\n");
  EXPECT_EQ(Text(segments[1]), "ddddd\n");
  EXPECT_EQ(segments[2], path_);
  EXPECT_EQ(Text(segments[2]), "eeeee\n");
}

TEST_F(LogFilesTest, DiskUseIsBoundedHoweverMuchIsWrittenAtOnce) {
  LogWriter writer(path_, {.max_size = 1000, .max_files = 5}, sim_.clock());
  // In one moment of the clock: the names differ all the same.
  for (int i = 0; i < 100'000; ++i) writer.Add("0123456789\n");
  writer.Flush();
  std::uintmax_t bytes = 0;
  for (const auto& segment : LogSegments(path_)) {
    EXPECT_LE(fs::file_size(segment), 1000u);
    bytes += fs::file_size(segment);
  }
  EXPECT_EQ(LogSegments(path_).size(), 5u);
  EXPECT_LE(bytes, 5000u);
}

TEST_F(LogFilesTest, NobodyElseReadsALog) {
  LogWriter writer(path_, {.max_size = 10}, sim_.clock());
  writer.Add("aaaaaaaa\n");
  writer.Add("bbbbbbbb\n");
  writer.Flush();
  for (const auto& segment : LogSegments(path_)) EXPECT_EQ(ModeOf(segment), 0640u) << segment;
  EXPECT_EQ(ModeOf(fs::path(path_).parent_path()), 0750u);
}

TEST_F(LogFilesTest, ALogIsContinuedAfterARestart) {
  { LogWriter(path_, {.max_size = 20}, sim_.clock()).Add("lost: never flushed\n"); }
  for (int i = 0; i < 3; ++i) {
    LogWriter writer(path_, {.max_size = 20}, sim_.clock());
    writer.Add("line of it\n");
    writer.Flush();
  }
  EXPECT_EQ(LogSegments(path_).size(), 3u);
}

class LogReaderTest : public LogFilesTest {
 protected:
  LogReaderTest() : log_(path_, {.max_size = 200, .max_files = 3}, sim_.clock()) {}
  void Write(int from, int to) {
    for (int i = from; i <= to; ++i) log_.Append(Stream::kStdout, std::to_string(i) + "\n");
  }
  static std::string Numbers(int from, int to) {
    std::string text;
    for (int i = from; i <= to; ++i) text += std::to_string(i) + "\n";
    return text;
  }
  ContainerLog log_;
};

TEST_F(LogReaderTest, ReadsAcrossFiles) {
  Write(1, 10);
  ASSERT_EQ(LogSegments(path_).size(), 3u);
  LogReader reader(path_, {});
  EXPECT_EQ(Rest(reader), Numbers(1, 10));
  EXPECT_EQ(Rest(reader), "");
  Write(11, 12);
  EXPECT_EQ(Rest(reader), Numbers(11, 12));
}

TEST_F(LogReaderTest, TheTailMayBeginInARotatedFile) {
  Write(1, 10);
  for (int tail = 0; tail <= 10; ++tail) {
    LogReader reader(path_, {.tail_lines = tail});
    EXPECT_EQ(Rest(reader), Numbers(11 - tail, 10)) << tail;
  }
  LogReader more(path_, {.tail_lines = 100});
  EXPECT_EQ(Rest(more), Numbers(1, 10));
}

TEST_F(LogReaderTest, OneWhoFollowsLosesNothingToRotation) {
  LogReader reader(path_, {});
  std::string seen;
  for (int i = 0; i < 50; ++i) {
    // More than one rotation between two reads, and reads that end in the middle of a file.
    Write(7 * i + 1, 7 * i + 7);
    seen += Rest(reader);
  }
  EXPECT_EQ(seen, Numbers(1, 350));
}

TEST_F(LogReaderTest, OneWhoIsTooSlowGoesOnWithWhatIsLeft) {
  Write(1, 4);
  LogReader reader(path_, {});
  EXPECT_EQ(Rest(reader), Numbers(1, 4));
  Write(5, 40);
  const std::string rest = Rest(reader);
  EXPECT_TRUE(rest.ends_with(Numbers(38, 40))) << rest;
}

TEST_F(LogReaderTest, LimitsAndMissingLogs) {
  Write(1, 10);
  LogReader reader(path_, {.limit_bytes = 5});
  EXPECT_EQ(Rest(reader), "1\n2\n3");
  LogReader none(dir_ + "/none/0.log", {});
  EXPECT_TRUE(none.Read().error().Is(Reason::kNotFound));
}

TEST_F(LogReaderTest, APumpWaitsForItsReader) {
  LogLimits large{.max_size = 10 << 20};
  const std::string path = dir_ + "/big/0.log";
  ContainerLog big(path, large, sim_.clock());
  const std::string line(1000, 'x');
  for (int i = 0; i < 1000; ++i) big.Append(Stream::kStdout, line + "\n");
  std::size_t taken = 0, most = 0;
  Closure ready;
  bool done = false;
  LogSink sink{.write =
                   [&](const std::string& text) {
                     taken += text.size();
                     return true;
                   },
               .wait =
                   [&](Closure fn) {
                     ready = std::move(fn);
                     return true;
                   },
               .done = [&](const Status& status) { done = static_cast<bool>(status); }};
  auto pump = std::make_shared<LogPump>(path, LogQuery{}, sink, sim_);
  ASSERT_TRUE(pump->Wake(true));
  for (int i = 0; i < 100 && !done; ++i) {
    const std::size_t before = taken;
    sim_.RunReady();
    most = std::max(most, taken - before);
    if (ready) std::exchange(ready, Closure())();
  }
  sim_.RunReady();
  EXPECT_TRUE(done);
  EXPECT_EQ(taken, 1'001'000u);
  // Nothing came while it said that it was behind.
  EXPECT_LE(most, 128u << 10);
  EXPECT_FALSE(pump->Wake(true));
}

}  // namespace
}  // namespace flyball::node
