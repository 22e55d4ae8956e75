// KmsService: a key management plugin, which encrypts and decrypts the keys that objects are encrypted with
// (upstream: k8s.io/kms, v2.KeyManagementService over gRPC on a Unix socket).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/observe/metrics.h"
#include "base/run/clock.h"
#include "base/values/result.h"

namespace flyball::server {

struct KmsStatus {
  std::string version, healthz, key_id;
};

// What a plugin makes of a key, and needs to give it back.
struct KmsCiphertext {
  std::string ciphertext, key_id;
  std::map<std::string, std::string> annotations;
};

// Thread-safe. Every call blocks until the plugin has answered or its timeout has passed; so none is made on
// an I/O thread.
class KmsService {
 public:
  virtual ~KmsService() = default;
  virtual Result<KmsStatus> Status() = 0;
  virtual Result<KmsCiphertext> Encrypt(const std::string& uid, std::string_view plain) = 0;
  virtual Result<std::string> Decrypt(const std::string& uid, const KmsCiphertext& sealed) = 0;
};

// `endpoint`: "unix:///path". While nobody listens there, calls wait for it until their timeout. BadRequest
// if it is no such endpoint. `name` is the provider's, for metrics.
Result<std::unique_ptr<KmsService>> NewKmsService(const std::string& name, const std::string& endpoint,
                                                  Duration timeout, Metrics& metrics);

}  // namespace flyball::server
