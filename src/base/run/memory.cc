#include "base/run/memory.h"

#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

namespace flyball {
namespace {

// /proc/self/pagemap: eight bytes for each page of the address space.
class PageMap {
 public:
  PageMap() : fd_(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}
  ~PageMap() {
    if (fd_ >= 0) close(fd_);
  }
  PageMap(const PageMap&) = delete;
  PageMap& operator=(const PageMap&) = delete;

  // For each page whether it is a copy of this process's own; empty if that cannot be known.
  std::vector<bool> OwnCopies(std::uintptr_t first_page, std::size_t pages) const {
    constexpr std::uint64_t kPresent = std::uint64_t{1} << 63, kSwapped = std::uint64_t{1} << 62,
                            kOfFile = std::uint64_t{1} << 61;
    std::vector<std::uint64_t> entries(pages);
    const auto bytes = static_cast<ssize_t>(pages * sizeof entries[0]);
    const auto offset = static_cast<off_t>(first_page * sizeof entries[0]);
    if (fd_ < 0 || pread(fd_, entries.data(), static_cast<std::size_t>(bytes), offset) != bytes) return {};
    std::vector<bool> own;
    own.reserve(pages);
    for (const std::uint64_t entry : entries)
      own.push_back((entry & kSwapped) != 0 || ((entry & kPresent) != 0 && (entry & kOfFile) == 0));
    return own;
  }

 private:
  const int fd_;
};

void LetGo(const PageMap& map, std::uintptr_t first_page, std::size_t pages, std::size_t page_size) {
  const std::vector<bool> own = map.OwnCopies(first_page, pages);
  for (std::size_t i = 0; i < own.size();) {
    std::size_t end = i;
    while (end < own.size() && !own[end]) ++end;
    if (end > i)
      madvise(reinterpret_cast<void*>((first_page + i) * page_size), (end - i) * page_size, MADV_DONTNEED);
    i = end + 1;
  }
}

int LetGoOfObject(dl_phdr_info* object, std::size_t, void* map) {
  const auto page_size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    // Whole pages: the last one may belong to another segment too.
    const std::uintptr_t first = (begin + page_size - 1) / page_size;
    const std::uintptr_t end = (begin + segment.p_memsz) / page_size;
    if (end > first) LetGo(*static_cast<const PageMap*>(map), first, end - first, page_size);
  }
  return 0;
}

}  // namespace

void ReturnFreeMemory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

void LetGoOfProgramPages() {
  PageMap map;
  dl_iterate_phdr(&LetGoOfObject, &map);
}

}  // namespace flyball
