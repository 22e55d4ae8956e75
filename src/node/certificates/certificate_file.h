// CertificateFile: where a node keeps a certificate and its key between runs, both in one PEM file as kubelet
// keeps them (kubelet-client-current.pem).
#pragma once

#include <optional>
#include <string>

#include "base/values/result.h"
#include "net/tls/pki.h"

namespace flyball::node {

// Thread-compatible.
class CertificateFile {
 public:
  // Empty: nothing is kept.
  explicit CertificateFile(std::string path) : path_(std::move(path)) {}

  // What was saved last, if it is there and the key is the certificate's.
  std::optional<net::KeyPair> Load() const;
  // Replaces the file atomically and durably; for its owner alone (0600).
  Status Save(const net::KeyPair& pair) const;

 private:
  const std::string path_;
};

}  // namespace flyball::node
