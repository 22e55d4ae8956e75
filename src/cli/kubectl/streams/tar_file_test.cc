#include "cli/kubectl/streams/tar_file.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/files/temporary_folder.h"

namespace flyball::cli {
namespace {

namespace fs = std::filesystem;

class TarFileTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) { ASSERT_TRUE(folder_.Write(name, text)); }
  std::string Read(const std::string& name) {
    std::ifstream in(folder_.path() / name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  int Open(int flags) { return ::open((folder_.path() / "a.tar").c_str(), flags | O_CLOEXEC, 0600); }
  Status Unpack(const std::string& prefix, const std::string& target) {
    const int file = Open(O_RDONLY);
    const Status read =
        ReadTar(file, prefix, (folder_.path() / target).string(),
                [this](const std::string& link, const std::string&) { links_.push_back(link); });
    ::close(file);
    return read;
  }
  // An archive of one entry.
  void Pack(const std::string& name, const std::string& text, const char* link = nullptr) {
    const int file = Open(O_WRONLY | O_CREAT | O_TRUNC);
    archive* out = archive_write_new();
    archive_write_set_format_ustar(out);
    archive_write_open_fd(out, file);
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_filetype(entry, link ? AE_IFLNK : AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    if (link) archive_entry_set_symlink(entry, link);
    archive_entry_set_size(entry, link ? 0 : static_cast<la_int64_t>(text.size()));
    archive_write_header(out, entry);
    if (!link) archive_write_data(out, text.data(), text.size());
    archive_entry_free(entry);
    archive_write_free(out);
    ::close(file);
  }

  const TemporaryFolder folder_ = TemporaryFolder::Make().value();
  std::vector<std::string> links_;
};

TEST_F(TarFileTest, AFolderComesBackUnderAnotherName) {
  fs::create_directories(folder_.path() / "in/deep");
  Write("in/one", "1");
  Write("in/deep/two", "22");
  const int file = Open(O_WRONLY | O_CREAT);
  ASSERT_TRUE(WriteTar(file, (folder_.path() / "in").string(), "data"));
  ::close(file);
  ASSERT_TRUE(Unpack("data", "out"));
  EXPECT_EQ(Read("out/one"), "1");
  EXPECT_EQ(Read("out/deep/two"), "22");
}

TEST_F(TarFileTest, AFileComesBack) {
  Pack("etc/hosts", "localhost");
  ASSERT_TRUE(Unpack("etc/hosts", "copy"));
  EXPECT_EQ(Read("copy"), "localhost");
}

TEST_F(TarFileTest, NamesThatLeadOutAreLeftOut) {
  Pack("data/../../escaped", "x");
  fs::create_directories(folder_.path() / "a/b");
  ASSERT_TRUE(Unpack("data", "a/b/out"));
  EXPECT_FALSE(fs::exists(folder_.path() / "a/escaped"));
  EXPECT_FALSE(fs::exists(folder_.path() / "a/b/escaped"));
}

TEST_F(TarFileTest, LinksAreNotMade) {
  Pack("data/link", "", "/etc");
  ASSERT_TRUE(Unpack("data", "out"));
  EXPECT_EQ(links_, std::vector<std::string>{"data/link"});
  EXPECT_FALSE(fs::is_symlink(folder_.path() / "out/link"));
}

TEST_F(TarFileTest, ADamagedArchiveIsAnError) {
  Write("a.tar", std::string(1024, 'x'));
  EXPECT_FALSE(Unpack("data", "out"));
}

}  // namespace
}  // namespace flyball::cli
