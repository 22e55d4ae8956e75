// Images in archives: whatever the bytes are, they are loaded whole or refused, and what is refused leaves
// nothing behind. As root layers are unpacked too; otherwise it ends at the first one.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/files/temporary_folder.h"
#include "node/images/image_archive.h"

namespace {

constexpr std::int64_t kMostBytes = 1 << 20;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto folder = flyball::TemporaryFolder::Make();
  if (!folder) std::abort();
  const std::string root = (folder->path() / "images").string();
  auto store = flyball::node::ImageStore::Open(root, {.max_bytes = kMostBytes});
  if (!store) std::abort();
  const auto file = folder->Write("image.tar", std::string(reinterpret_cast<const char*>(data), size));
  if (!file) std::abort();
  const auto loaded = flyball::node::LoadImageArchive(*store, *file, "fuzz:1");
  // Whatever it was named, nothing is where the store does not keep things.
  std::size_t outside = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder->path()))
    if (entry.path().filename() != "images" && entry.path().filename() != "image.tar") ++outside;
  if (outside > 0) std::abort();
  if (!loaded && !store->blobs().List().empty()) std::abort();
  return 0;
}
