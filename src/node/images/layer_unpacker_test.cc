#include "node/images/layer_unpacker.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/files/durable_file.h"
#include "base/files/temporary_folder.h"
#include "node/images/blob_store.h"
#include "node/testing/tar_maker.h"

namespace flyball::node {
namespace {

namespace fs = std::filesystem;
constexpr std::int64_t kEnough = 1 << 26;

class LayerUnpackerTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "unpacking layers needs root";
    fs::create_directory(At("layer"));
    std::ofstream(At("outside")) << "untouched";
  }
  std::string At(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string In(const std::string& name) const { return At("layer/" + name); }

  Result<std::string> Unpack(const std::string& bytes, const std::vector<std::string>& lower = {},
                             const LayerLimits& limits = {.max_bytes = kEnough}) {
    FLYBALL_ASSIGN(const auto archive, ArchiveReader::OfBytes(bytes, limits.max_bytes));
    return UnpackLayer(*archive, At("layer"), lower, limits);
  }
  std::string Refusal(const std::string& bytes, const LayerLimits& limits = {.max_bytes = kEnough}) {
    const auto unpacked = Unpack(bytes, {}, limits);
    EXPECT_EQ(*ReadFile(At("outside")), "untouched");
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 2) << "something was made outside";
    return unpacked ? "unpacked" : unpacked.error().message();
  }
  static struct stat StatOf(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(lstat(path.c_str(), &info), 0) << path;
    return info;
  }

  TemporaryFolder folder_ = *TemporaryFolder::Make();
};

TEST_F(LayerUnpackerTest, KeepsWhatAnEntrySays) {
  const std::string bytes = TarMaker(TarMaker::Compression::kGzip)
                                .Folder("bin", 0711)
                                .File("bin/su", "x", 04755, 7, {{"user.note", "hi"}})
                                .Symlink("sh", "/bin/su")
                                .HardLink("bin/doas", "bin/su")
                                .Device("null", S_IFCHR, 1, 3)
                                .File("implied/folder/größe", "y")
                                .Bytes();
  const auto digest = Unpack(bytes);
  ASSERT_TRUE(digest) << digest.error().message();
  EXPECT_EQ(StatOf(In("bin")).st_mode & 07777, 0711u);
  EXPECT_EQ(StatOf(In("bin")).st_mtime, 1000);
  EXPECT_EQ(StatOf(In("bin/su")).st_mode & 07777, 04755u);
  EXPECT_EQ(StatOf(In("bin/su")).st_uid, 7u);
  EXPECT_EQ(StatOf(In("bin/doas")).st_ino, StatOf(In("bin/su")).st_ino);
  EXPECT_EQ(fs::read_symlink(In("sh")), "/bin/su");
  EXPECT_EQ(StatOf(In("null")).st_rdev, makedev(1, 3));
  EXPECT_EQ(*ReadFile(In("implied/folder/größe")), "y");
}

TEST_F(LayerUnpackerTest, TheDigestIsOfTheArchiveWithoutItsCompression) {
  const auto make = [](TarMaker::Compression compression) {
    return TarMaker(compression).File("a", "content").Bytes();
  };
  const std::string plain = make(TarMaker::Compression::kNone);
  for (const auto compression :
       {TarMaker::Compression::kNone, TarMaker::Compression::kGzip, TarMaker::Compression::kZstd}) {
    fs::remove_all(At("layer"));
    fs::create_directory(At("layer"));
    EXPECT_EQ(*Unpack(make(compression)), DigestOf(plain));
  }
}

TEST_F(LayerUnpackerTest, WhiteoutsBecomeOverlayfs) {
  const std::string bytes = TarMaker()
                                .File(".wh.gone", "")
                                .File("kept/.wh..wh..opq", "")
                                .File("kept/file", "x")
                                .File(".wh.replaced", "")
                                .Folder("replaced")
                                .File(".wh..wh.plnk", "")
                                .Bytes();
  ASSERT_TRUE(Unpack(bytes));
  EXPECT_TRUE(S_ISCHR(StatOf(In("gone")).st_mode));
  EXPECT_EQ(StatOf(In("gone")).st_rdev, makedev(0, 0));
  for (const char* folder : {"kept", "replaced"}) {
    char value[2] = {};
    EXPECT_EQ(getxattr(In(folder).c_str(), "trusted.overlay.opaque", value, 1), 1) << folder;
    EXPECT_EQ(value[0], 'y');
  }
  EXPECT_FALSE(fs::exists(In(".wh..wh.plnk")));
}

TEST_F(LayerUnpackerTest, FoldersAndHardLinksAreCompletedFromTheLayersBelow) {
  fs::create_directories(At("below/opt/app"));
  ::chmod(At("below/opt/app").c_str(), 0700);
  std::ofstream(At("below/opt/app/data")) << "from below";
  ASSERT_TRUE(Unpack(TarMaker().HardLink("opt/app/link", "opt/app/data").Bytes(), {At("below")}));
  EXPECT_EQ(*ReadFile(In("opt/app/link")), "from below");
  EXPECT_EQ(StatOf(In("opt/app")).st_mode & 07777, 0700u);
}

TEST_F(LayerUnpackerTest, NamesThatLeadOutAreRefused) {
  EXPECT_EQ(Refusal(TarMaker().File("../outside", "x").Bytes()),
            "path \"../outside\" leads out of its folder");
  EXPECT_EQ(Refusal(TarMaker().File("a/../../outside", "x").Bytes()),
            "path \"a/../../outside\" leads out of its folder");
  EXPECT_EQ(Refusal(TarMaker().HardLink("in", "../outside").Bytes()),
            "path \"../outside\" leads out of its folder");
}

TEST_F(LayerUnpackerTest, AbsoluteNamesAndHardLinksStayInside) {
  // Both mean the layer's own root.
  EXPECT_EQ(Refusal(TarMaker().HardLink("in", At("outside")).Bytes()).substr(0, 12), "hard link in");
  EXPECT_TRUE(Unpack(TarMaker().File(At("outside"), "x").Bytes()));
  EXPECT_EQ(*ReadFile(At("outside")), "untouched");
}

TEST_F(LayerUnpackerTest, SymbolicLinksAreFollowedInsideOnly) {
  EXPECT_NE(Refusal(TarMaker().Symlink("up", "..").File("up/outside", "x").Bytes()), "");
  EXPECT_EQ(*ReadFile(At("outside")), "untouched");
  EXPECT_NE(Refusal(TarMaker().Symlink("abs", folder_.path()).File("abs/outside", "x").Bytes()), "");
  EXPECT_EQ(*ReadFile(At("outside")), "untouched");
  // A file that replaces a link does not write through it.
  EXPECT_EQ(Refusal(TarMaker().Symlink("f", "../outside").File("f", "x").Bytes()), "unpacked");
  EXPECT_TRUE(S_ISREG(StatOf(In("f")).st_mode));
}

TEST_F(LayerUnpackerTest, OverlayfsOwnAttributesAndDisguisedWhiteoutsAreNotTaken) {
  ASSERT_TRUE(Unpack(TarMaker().File("f", "x", 0644, 0, {{"trusted.overlay.redirect", "/etc"}}).Bytes()));
  char value[16];
  EXPECT_LT(lgetxattr(In("f").c_str(), "trusted.overlay.redirect", value, sizeof(value)), 0);
  EXPECT_EQ(Refusal(TarMaker().Device("d", S_IFCHR, 0, 0).Bytes()),
            "entry d is a device that stands for a whiteout");
}

TEST_F(LayerUnpackerTest, SizeAndCountAreBounded) {
  const std::string bomb =
      TarMaker(TarMaker::Compression::kGzip).File("big", std::string(8 << 20, '\0')).Bytes();
  EXPECT_LT(bomb.size(), 100u << 10);
  EXPECT_EQ(Refusal(bomb, {.max_bytes = 1 << 20}), "the archive has more than the 1048576 bytes it may have");
  EXPECT_EQ(Refusal(TarMaker().File("a", "").File("b", "").File("c", "").Bytes(),
                    {.max_bytes = kEnough, .max_entries = 2}),
            "the layer has more than 2 entries");
  std::string deep;
  for (int i = 0; i < 300; ++i) deep += "d/";
  EXPECT_NE(Refusal(TarMaker().Folder(deep).Bytes()).find("nested too deeply"), std::string::npos);
}

TEST_F(LayerUnpackerTest, DamagedArchivesAreRefused) {
  const std::string good = TarMaker(TarMaker::Compression::kGzip).File("a", std::string(100000, 'x')).Bytes();
  EXPECT_NE(Refusal(good.substr(0, good.size() / 2)), "unpacked");
  EXPECT_NE(Refusal("this is no archive at all, and long enough to be sure of it"), "unpacked");
}

}  // namespace
}  // namespace flyball::node
