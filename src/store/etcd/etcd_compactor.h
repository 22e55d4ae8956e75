// EtcdCompactor: forgets etcd's history, together with every other API server on the same etcd (upstream:
// storage/etcd3's compactor).
//
// Protocol: the key "compact_rev_key" is a clock. Its version is the time; its value the revision compacted
// last. Every interval a server tries to advance the clock from the time it knows. Who succeeds compacts to
// the revision it saw an interval ago. Who fails learns the time and tries again an interval later. So
// history is kept for at least one interval, and one server compacts each time.
#pragma once

#include <cstdint>
#include <memory>

#include "base/run/alarm.h"
#include "store/etcd/etcd_client.h"
#include "store/store.h"

namespace flyball::store::etcd {

// Thread-safe.
class EtcdCompactor : public std::enable_shared_from_this<EtcdCompactor> {
 public:
  // `compacted` is called, on any thread, with revisions up to which history is gone.
  EtcdCompactor(std::shared_ptr<EtcdClient> client, Executor& executor, Duration interval,
                std::function<void(Revision)> compacted);
  ~EtcdCompactor() { Close(); }

  // The first turn is an interval from now; none if that is zero.
  void Start();
  void Close() { alarm_.Close(); }

 private:
  void TakeTurn();
  void OnTurn(Result<std::string> answer);
  void OnCompacted(Revision revision, const Result<std::string>& answer);
  void SetNext();

  const std::shared_ptr<EtcdClient> client_;
  const Duration interval_;
  const std::function<void(Revision)> compacted_;
  std::int64_t time_ = 0;  // one turn at a time
  Revision revision_ = 0;  // of the store at the last turn
  Executor& executor_;
  Alarm alarm_;
};

}  // namespace flyball::store::etcd
