// EncryptionReload: takes up changes of the file of --encryption-provider-config while the server runs
// (--encryption-provider-config-automatic-reload).
#pragma once

#include <string>

#include "base/observe/metrics.h"
#include "base/run/alarm.h"
#include "server/encryption/value_encryption.h"

namespace flyball::server {

// Looks at the file once a minute, as kube-apiserver does. A file that cannot be read or makes no sense
// changes nothing; it is logged and counted. Thread-safe.
class EncryptionReload {
 public:
  static constexpr Duration kInterval = std::chrono::minutes(1);

  // `text` is what `encryption` uses now. All must outlive this.
  EncryptionReload(std::string path, std::string text, ValueEncryption& encryption, Executor& executor,
                   Metrics& metrics);

 private:
  void Look();
  void Report(const Status& status);

  const std::string path_;
  std::string text_;  // last taken up; of the alarm's callback alone
  ValueEncryption& encryption_;
  Executor& executor_;
  Metrics& metrics_;
  Alarm alarm_;  // last: closed before the rest goes
};

}  // namespace flyball::server
