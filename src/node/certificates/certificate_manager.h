// CertificateManager: a certificate of a node, asked for by a CertificateSigningRequest and renewed before it
// expires (upstream: k8s.io/client-go/util/certificate).
//
// Flow: begins with the certificate kept in its file, if that is still good; otherwise, and again when 70 to
// 90 % of its life is over, it makes a key, sends a request and watches it until it is issued. A request that
// is denied, fails or is not answered for 15 minutes is followed by another, later each time.
// Guarantees: a certificate that has been published is in its file, if it has one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/types/certificates.h"
#include "base/run/clock.h"
#include "base/run/executor.h"
#include "base/run/random.h"
#include "client/client.h"
#include "informer/informer_factory.h"
#include "net/tls/pki.h"
#include "node/certificates/certificate_file.h"

namespace flyball::node {

struct CertificateOptions {
  std::string signer_name;
  std::vector<std::string> usages;
  net::CertificateRequest subject;
  std::string file;  // empty: not kept
};
// What a kubelet asks for: its client certificate, and its serving certificate for that address.
CertificateOptions NodeClientCertificate(const std::string& node_name, std::string file);
CertificateOptions NodeServingCertificate(const std::string& node_name, const std::string& address,
                                          std::string file);

// When to renew a certificate: after 70 to 90 % of its life.
TimePoint RenewalTime(const net::CertificateInfo& certificate, Random& random);

// Thread-safe. Owned by shared_ptr.
class CertificateManager : public std::enable_shared_from_this<CertificateManager> {
 public:
  // `client`: whom to ask with at that moment; `use`: called with each new certificate, on any thread.
  CertificateManager(CertificateOptions options, std::function<Client()> client,
                     std::function<void(const net::KeyPair&)> use);

  // Begins, in the background.
  void Start();
  // No more requests, and no more calls of `use` once it returns (where the runtime may block).
  void Stop();

 private:
  using Csr = CertificateSigningRequest;
  enum class State { kIdle, kSending, kPending, kSaving, kStopped };

  void OnStrand(UniqueFunction<void(CertificateManager&)> fn);
  TimerId After(Duration delay, UniqueFunction<void(CertificateManager&)> fn);
  bool UseKept();
  void Use(const net::KeyPair& pair, const net::CertificateInfo& info);
  void RequestAt(TimePoint when);
  void Request();
  void Sent(const Result<json::Value>& created);
  void Watch(const std::string& name);
  void Changed(const Csr& csr);
  void Saved(const Status& saved, const net::KeyPair& pair, const net::CertificateInfo& info);
  void Retry(const std::string& why);
  void EndWatch();

  const CertificateOptions options_;
  const CertificateFile file_;
  const std::function<Client()> client_;
  const std::function<void(const net::KeyPair&)> use_;
  const Runtime runtime_;
  Strand strand_;
  // On the strand from here on.
  State state_ = State::kIdle;
  int failures_ = 0;
  std::uint64_t round_ = 0;  // of requests: a timer or an event of an earlier one means nothing
  std::string private_key_pem_;
  std::unique_ptr<InformerFactory> informers_;
  std::shared_ptr<HandlerRegistration> handler_;
};

}  // namespace flyball::node
