// FaultVfs: an SQLite VFS over the real one in which disks fill up, syncs fail and the power goes. For tests
// only.
//
// Syncs do not reach the disk: the VFS itself remembers, sector by sector, what the last sync has made
// durable, and LosePower puts that back for a random part of what was written since. So a test of power loss
// needs no real one.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>

#include "base/run/mutex.h"
#include "base/run/random.h"

namespace flyball::store {

// Thread-safe. One for the program, registered with SQLite under kName at its first use.
class FaultVfs {
 public:
  static constexpr const char* kName = "flyball-fault";
  static FaultVfs& Get();

  // Everything works from now on; nothing is unsynced.
  void Reset();
  // The next `n` syncs fail.
  void FailSyncs(int n);
  // Files may grow by so many bytes from now on; then the disk is full. Negative: without limit.
  void SetFreeSpace(std::int64_t bytes);
  // After `n` more writes or syncs the power goes: that write is torn, this and every later operation fails.
  void LosePowerAfter(std::int64_t n);
  void LosePowerNow() { LosePowerAfter(0); }
  bool power_lost() const { return dead_; }
  // Once all files are closed: leaves on the real disk what the power loss has left.
  void ApplyPowerLoss(Random& random);

  std::uint64_t syncs() const { return syncs_; }

  // For the file methods.
  int BeforeWrite(const std::string& path, std::int64_t offset, int size, std::int64_t file_size, bool* torn);
  int OnSync(const std::string& path);
  void Remember(const std::string& path, std::int64_t sector, std::string content);
  bool Remembers(const std::string& path, std::int64_t sector);

  static constexpr std::int64_t kSector = 512;

 private:
  FaultVfs();
  // True if the power goes with this operation.
  bool CountDown() FLYBALL_REQUIRES(mu_);

  Mutex mu_;
  // By file and sector: the content that is durable, while another is in the file.
  std::map<std::string, std::map<std::int64_t, std::string>> durable_ FLYBALL_GUARDED_BY(mu_);
  std::int64_t free_space_ FLYBALL_GUARDED_BY(mu_) = -1;
  int failing_syncs_ FLYBALL_GUARDED_BY(mu_) = 0;
  std::int64_t operations_left_ FLYBALL_GUARDED_BY(mu_) = -1;
  std::atomic<bool> dead_{false};
  std::atomic<std::uint64_t> syncs_{0};
};

}  // namespace flyball::store
