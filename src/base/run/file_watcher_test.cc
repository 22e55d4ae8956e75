#include "base/run/file_watcher.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>

namespace flyball {
namespace {

namespace fs = std::filesystem;

class FileWatcherTest : public testing::Test {
 protected:
  FileWatcherTest() {
    std::string name = (fs::temp_directory_path() / "watch-XXXXXX").string();
    dir_ = ::mkdtemp(name.data());
  }
  ~FileWatcherTest() override {
    watcher_.Stop();
    fs::remove_all(dir_);
  }

  static void Write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }
  static std::string Read(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // Keeps the text of the file as the watcher tells of it.
  void Follow(const fs::path& path) {
    ASSERT_TRUE(watcher_.Watch({path.string()}, [this, path] {
      const std::string text = Read(path);
      MutexLock lock(mu_);
      seen_ = text;
      ++calls_;
      changed_.NotifyAll();
    }));
  }
  void WaitFor(const std::string& text) {
    MutexLock lock(mu_);
    while (seen_ != text) changed_.Wait(mu_);
  }

  fs::path dir_;
  Mutex mu_;
  CondVar changed_;
  std::string seen_ FLYBALL_GUARDED_BY(mu_);
  int calls_ FLYBALL_GUARDED_BY(mu_) = 0;
  FileWatcher watcher_;
};

TEST_F(FileWatcherTest, SeesWhatComesIntoAFolder) {
  const auto folder = dir_ / "folder";
  ASSERT_TRUE(watcher_.Watch({folder.string() + "/"}, [&] {
    MutexLock lock(mu_);
    seen_.clear();
    std::error_code ec;
    for (const auto& entry : fs::directory_iterator(folder, ec)) seen_ += entry.path().filename().string();
    changed_.NotifyAll();
  }));
  fs::create_directory(folder);
  Write(folder / "a", "1");
  WaitFor("a");
  fs::remove(folder / "a");
  Write(folder / "b", "1");
  WaitFor("b");
}

TEST_F(FileWatcherTest, SeesAFileWrittenInPlaceRenamedOverAndMadeAnew) {
  const auto path = dir_ / "config";
  Write(path, "one");
  Follow(path);
  Write(path, "two");
  WaitFor("two");
  Write(dir_ / "new", "three");
  fs::rename(dir_ / "new", path);
  WaitFor("three");
  fs::remove(path);
  WaitFor("");
  Write(path, "four");
  WaitFor("four");
}

TEST_F(FileWatcherTest, SeesAMountedSecretChange) {
  // As the kubelet writes one: token -> ..data/token, ..data -> ..1, which is replaced by a rename.
  fs::create_directory(dir_ / "..1");
  fs::create_directory(dir_ / "..2");
  fs::create_directory(dir_ / "..3");
  for (const char* n : {"1", "2", "3"}) Write(dir_ / (std::string("..") + n) / "token", n);
  fs::create_directory_symlink("..1", dir_ / "..data");
  fs::create_symlink("..data/token", dir_ / "token");
  Follow(dir_ / "token");
  for (const char* n : {"2", "3"}) {
    fs::create_directory_symlink(std::string("..") + n, dir_ / "..tmp");
    fs::rename(dir_ / "..tmp", dir_ / "..data");
    WaitFor(n);
  }
  Write(dir_ / "..3" / "token", "in place");
  WaitFor("in place");
}

TEST_F(FileWatcherTest, FollowsALinkIntoAnotherDirectory) {
  fs::create_directory(dir_ / "real");
  Write(dir_ / "real" / "ca", "one");
  fs::create_symlink(dir_ / "real" / "ca", dir_ / "ca");
  Follow(dir_ / "ca");
  Write(dir_ / "real" / "ca", "two");
  WaitFor("two");
}

TEST_F(FileWatcherTest, OtherFilesOfTheDirectoryDoNotWakeAnybody) {
  Write(dir_ / "mine", "one");
  Follow(dir_ / "mine");
  for (int i = 0; i < 10; ++i) Write(dir_ / "other", std::to_string(i));
  fs::rename(dir_ / "other", dir_ / "another");
  Write(dir_ / "new", "two");
  fs::rename(dir_ / "new", dir_ / "mine");  // one event
  WaitFor("two");
  MutexLock lock(mu_);
  EXPECT_EQ(calls_, 1);
}

TEST_F(FileWatcherTest, StopsWithoutFilesAndTwice) {
  watcher_.Stop();
  watcher_.Stop();
  EXPECT_TRUE(watcher_.Watch({"/nowhere/at/all"}, [] {}));
}

}  // namespace
}  // namespace flyball
