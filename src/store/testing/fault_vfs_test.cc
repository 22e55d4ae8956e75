// FaultVfs's definition; in a file of tests so that it is part of no program.
#include "store/testing/fault_vfs.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace flyball::store {
namespace {

struct FaultFile {
  sqlite3_file base;
  sqlite3_file* real;
  std::string* path;
};

sqlite3_file* Real(sqlite3_file* file) {
  return reinterpret_cast<FaultFile*>(file)->real;
}
const std::string& PathOf(sqlite3_file* file) {
  return *reinterpret_cast<FaultFile*>(file)->path;
}
sqlite3_vfs* RealVfs() {
  return sqlite3_vfs_find(nullptr);
}
bool Dead() {
  return FaultVfs::Get().power_lost();
}

int Close(sqlite3_file* file) {
  auto* fault = reinterpret_cast<FaultFile*>(file);
  const int code = fault->real->pMethods ? fault->real->pMethods->xClose(fault->real) : SQLITE_OK;
  sqlite3_free(fault->real);
  delete fault->path;
  return code;
}
int Read(sqlite3_file* file, void* data, int size, sqlite3_int64 offset) {
  return Dead() ? SQLITE_IOERR_READ : Real(file)->pMethods->xRead(Real(file), data, size, offset);
}

// Before a sector changes for the first time since the last sync, keeps what it was.
void KeepSectors(sqlite3_file* file, int size, sqlite3_int64 offset) {
  FaultVfs& vfs = FaultVfs::Get();
  for (std::int64_t s = offset / FaultVfs::kSector; s * FaultVfs::kSector < offset + size; ++s) {
    if (vfs.Remembers(PathOf(file), s)) continue;
    std::string content(FaultVfs::kSector, '\0');
    Real(file)->pMethods->xRead(Real(file), content.data(), static_cast<int>(FaultVfs::kSector),
                                s * FaultVfs::kSector);
    vfs.Remember(PathOf(file), s, std::move(content));
  }
}

int Write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  sqlite3_int64 file_size = 0;
  Real(file)->pMethods->xFileSize(Real(file), &file_size);
  bool torn = false;
  const int code = FaultVfs::Get().BeforeWrite(PathOf(file), offset, size, file_size, &torn);
  if (code != SQLITE_OK && !torn) return code;
  KeepSectors(file, size, offset);
  const int written = Real(file)->pMethods->xWrite(Real(file), data, torn ? size / 2 : size, offset);
  return torn ? code : written;
}
int Truncate(sqlite3_file* file, sqlite3_int64 size) {
  return Dead() ? SQLITE_IOERR_TRUNCATE : Real(file)->pMethods->xTruncate(Real(file), size);
}
int Sync(sqlite3_file* file, int) {
  return FaultVfs::Get().OnSync(PathOf(file));
}
int FileSize(sqlite3_file* file, sqlite3_int64* size) {
  return Real(file)->pMethods->xFileSize(Real(file), size);
}
int Lock(sqlite3_file* file, int level) {
  return Real(file)->pMethods->xLock(Real(file), level);
}
int Unlock(sqlite3_file* file, int level) {
  return Real(file)->pMethods->xUnlock(Real(file), level);
}
int CheckLock(sqlite3_file* file, int* out) {
  return Real(file)->pMethods->xCheckReservedLock(Real(file), out);
}
int FileControl(sqlite3_file* file, int op, void* arg) {
  return Real(file)->pMethods->xFileControl(Real(file), op, arg);
}
int SectorSize(sqlite3_file* file) {
  return Real(file)->pMethods->xSectorSize(Real(file));
}
int Device(sqlite3_file* file) {
  return Real(file)->pMethods->xDeviceCharacteristics(Real(file));
}
int ShmMap(sqlite3_file* file, int page, int size, int extend, void volatile** out) {
  return Real(file)->pMethods->xShmMap(Real(file), page, size, extend, out);
}
int ShmLock(sqlite3_file* file, int offset, int n, int flags) {
  return Real(file)->pMethods->xShmLock(Real(file), offset, n, flags);
}
void ShmBarrier(sqlite3_file* file) {
  Real(file)->pMethods->xShmBarrier(Real(file));
}
int ShmUnmap(sqlite3_file* file, int remove) {
  return Real(file)->pMethods->xShmUnmap(Real(file), remove);
}

const sqlite3_io_methods kMethods = {
    2,           Close,      Read,   Write,  Truncate, Sync,       FileSize, Lock,    Unlock, CheckLock,
    FileControl, SectorSize, Device, ShmMap, ShmLock,  ShmBarrier, ShmUnmap, nullptr, nullptr};

int Open(sqlite3_vfs*, const char* path, sqlite3_file* file, int flags, int* out_flags) {
  auto* fault = reinterpret_cast<FaultFile*>(file);
  fault->base.pMethods = nullptr;
  if (Dead()) return SQLITE_CANTOPEN;
  fault->real = static_cast<sqlite3_file*>(sqlite3_malloc(RealVfs()->szOsFile));
  std::memset(fault->real, 0, static_cast<std::size_t>(RealVfs()->szOsFile));
  const int code = RealVfs()->xOpen(RealVfs(), path, fault->real, flags, out_flags);
  if (code != SQLITE_OK) {
    sqlite3_free(fault->real);
    return code;
  }
  fault->path = new std::string(path ? path : "");
  fault->base.pMethods = &kMethods;
  return SQLITE_OK;
}
int Remove(sqlite3_vfs*, const char* path, int sync_folder) {
  return Dead() ? SQLITE_IOERR_DELETE : RealVfs()->xDelete(RealVfs(), path, sync_folder);
}

}  // namespace

FaultVfs::FaultVfs() {
  static sqlite3_vfs vfs = *RealVfs();
  vfs.szOsFile = sizeof(FaultFile);
  vfs.zName = kName;
  vfs.pNext = nullptr;
  vfs.xOpen = Open;
  vfs.xDelete = Remove;
  sqlite3_vfs_register(&vfs, 0);
}

FaultVfs& FaultVfs::Get() {
  static FaultVfs vfs;
  return vfs;
}

void FaultVfs::Reset() {
  MutexLock lock(mu_);
  durable_.clear();
  free_space_ = -1;
  failing_syncs_ = 0;
  operations_left_ = -1;
  dead_ = false;
}

void FaultVfs::FailSyncs(int n) {
  MutexLock lock(mu_);
  failing_syncs_ = n;
}

void FaultVfs::SetFreeSpace(std::int64_t bytes) {
  MutexLock lock(mu_);
  free_space_ = bytes;
}

void FaultVfs::LosePowerAfter(std::int64_t n) {
  MutexLock lock(mu_);
  operations_left_ = n;
  if (n == 0) dead_ = true;
}

bool FaultVfs::CountDown() {
  if (operations_left_ > 0 && --operations_left_ == 0) {
    dead_ = true;
    return true;
  }
  return false;
}

int FaultVfs::BeforeWrite(const std::string&, std::int64_t offset, int size, std::int64_t file_size,
                          bool* torn) {
  MutexLock lock(mu_);
  if (dead_) return SQLITE_IOERR_WRITE;
  if (CountDown()) {
    *torn = true;
    return SQLITE_IOERR_WRITE;
  }
  const std::int64_t growth = std::max<std::int64_t>(0, offset + size - file_size);
  if (free_space_ >= 0 && growth > free_space_) return SQLITE_FULL;
  if (free_space_ >= 0) free_space_ -= growth;
  return SQLITE_OK;
}

int FaultVfs::OnSync(const std::string& path) {
  MutexLock lock(mu_);
  if (dead_ || CountDown()) return SQLITE_IOERR_FSYNC;
  if (failing_syncs_ > 0) {
    --failing_syncs_;
    return SQLITE_IOERR_FSYNC;
  }
  ++syncs_;
  durable_.erase(path);
  return SQLITE_OK;
}

bool FaultVfs::Remembers(const std::string& path, std::int64_t sector) {
  MutexLock lock(mu_);
  const auto file = durable_.find(path);
  return file != durable_.end() && file->second.contains(sector);
}

void FaultVfs::Remember(const std::string& path, std::int64_t sector, std::string content) {
  MutexLock lock(mu_);
  durable_[path].emplace(sector, std::move(content));
}

void FaultVfs::ApplyPowerLoss(Random& random) {
  MutexLock lock(mu_);
  for (const auto& [path, sectors] : durable_) {
    const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) continue;
    const std::uint64_t one_in = 1 + random.Below(3);  // sometimes everything unsynced is lost
    for (const auto& [sector, content] : sectors) {
      if (!random.OneIn(one_in)) continue;
      EXPECT_EQ(pwrite(fd, content.data(), content.size(), sector * kSector), kSector);
    }
    close(fd);
  }
  durable_.clear();
}

}  // namespace flyball::store
