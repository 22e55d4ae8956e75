#include "net/tls/authorities.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <optional>

#include "base/run/mutex.h"
#include "net/tls/openssl.h"
#include "net/tls/peer_chain.h"
#include "net/tls/tls.h"

namespace flyball::net {
namespace {

using StorePtr = std::unique_ptr<X509_STORE, OpenSslFree<X509_STORE_free>>;
using StoreContextPtr = std::unique_ptr<X509_STORE_CTX, OpenSslFree<X509_STORE_CTX_free>>;

std::vector<X509Ptr> ReadCertificates(std::string_view pem) {
  std::vector<X509Ptr> out;
  const BioPtr bio = ReadBio(pem);
  while (X509* next = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) out.emplace_back(next);
  ERR_clear_error();
  return out;
}

std::uint64_t NextId() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

PeerCertificates::PeerCertificates(std::unique_ptr<Chain> chain) : chain_(std::move(chain)) {
  X509* leaf = chain_->leaf.get();
  if (auto names = SubjectValues(leaf, NID_commonName); !names.empty())
    common_name_ = std::move(names.back());
  organizations_ = SubjectValues(leaf, NID_organizationName);
}

PeerCertificates::~PeerCertificates() = default;

Result<std::shared_ptr<const PeerCertificates>> PeerCertificates::Parse(std::string_view pem) {
  auto all = ReadCertificates(pem);
  if (all.empty()) return Unexpected(BadRequest("no certificate in the PEM text"));
  auto chain = std::make_unique<Chain>();
  chain->leaf = std::move(all.front());
  for (std::size_t i = 1; i < all.size(); ++i) sk_X509_push(chain->others.get(), all[i].release());
  return std::shared_ptr<const PeerCertificates>(new PeerCertificates(std::move(chain)));
}

std::shared_ptr<const PeerCertificates> TlsStream::PeerChain() const {
  X509* leaf = SSL_get0_peer_certificate(ssl_);
  if (!leaf) return nullptr;
  auto chain = std::make_unique<PeerCertificates::Chain>();
  X509_up_ref(leaf);
  chain->leaf.reset(leaf);
  // On the server's side the list has no leaf.
  const STACK_OF(X509)* sent = SSL_get_peer_cert_chain(ssl_);
  for (int i = 0; i < sk_X509_num(sent); ++i) {
    X509* other = sk_X509_value(sent, i);
    X509_up_ref(other);
    sk_X509_push(chain->others.get(), other);
  }
  return std::shared_ptr<const PeerCertificates>(new PeerCertificates(std::move(chain)));
}

bool ShareCertificate(std::string_view a_pem, std::string_view b_pem) {
  const auto others = ReadCertificates(b_pem);
  for (const auto& one : ReadCertificates(a_pem))
    for (const auto& other : others)
      if (X509_cmp(one.get(), other.get()) == 0) return true;
  return false;
}

std::string CombineCertificates(const std::vector<std::string>& pems, TimePoint now) {
  std::vector<X509Ptr> kept;
  const BioPtr out(BIO_new(BIO_s_mem()));
  for (const auto& pem : pems)
    for (auto& one : ReadCertificates(pem)) {
      const bool known = std::any_of(kept.begin(), kept.end(), [&](const X509Ptr& other) {
        return X509_cmp(one.get(), other.get()) == 0;
      });
      if (known || TimeOf(X509_get0_notAfter(one.get())) < now) continue;
      PEM_write_bio_X509(out.get(), one.get());
      kept.push_back(std::move(one));
    }
  return BioText(out.get());
}

struct CertificateAuthorities::Store {
  StorePtr trusted;
};

CertificateAuthorities::CertificateAuthorities(std::unique_ptr<Store> store)
    : store_(std::move(store)), id_(NextId()) {}

CertificateAuthorities::~CertificateAuthorities() = default;

Result<std::shared_ptr<const CertificateAuthorities>> CertificateAuthorities::Parse(std::string_view pem) {
  const auto all = ReadCertificates(pem);
  if (all.empty()) return Unexpected(BadRequest("no certificate in the authority's PEM text"));
  auto store = std::make_unique<Store>();
  store->trusted.reset(X509_STORE_new());
  for (const auto& authority : all) X509_STORE_add_cert(store->trusted.get(), authority.get());
  // As in Go: whatever is trusted ends the chain.
  X509_STORE_set_flags(store->trusted.get(), X509_V_FLAG_PARTIAL_CHAIN);
  return std::shared_ptr<const CertificateAuthorities>(new CertificateAuthorities(std::move(store)));
}

Status CertificateAuthorities::VerifyClient(const PeerCertificates& peer, TimePoint now) const {
  auto& chain = *peer.chain_;
  {
    MutexLock lock(chain.mu);
    if (chain.checked && chain.checked->authorities == id_ && now >= chain.checked->from &&
        now <= chain.checked->until)
      return {};
  }
  const StoreContextPtr context(X509_STORE_CTX_new());
  if (!context ||
      X509_STORE_CTX_init(context.get(), store_->trusted.get(), chain.leaf.get(), chain.others.get()) != 1)
    return Unexpected(OpenSslError("verifying certificate"));
  X509_STORE_CTX_set_default(context.get(), "ssl_client");
  X509_STORE_CTX_set_time(context.get(), 0,
                          std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count());
  if (X509_verify_cert(context.get()) != 1) {
    const int reason = X509_STORE_CTX_get_error(context.get());
    ERR_clear_error();
    return Unexpected(
        Error(Reason::kUnauthorized, std::string("x509: ") + X509_verify_cert_error_string(reason)));
  }
  PeerCertificates::Chain::Checked found{id_, TimePoint::min(), TimePoint::max()};
  const STACK_OF(X509)* verified = X509_STORE_CTX_get0_chain(context.get());
  for (int i = 0; i < sk_X509_num(verified); ++i) {
    found.from = std::max(found.from, TimeOf(X509_get0_notBefore(sk_X509_value(verified, i))));
    found.until = std::min(found.until, TimeOf(X509_get0_notAfter(sk_X509_value(verified, i))));
  }
  MutexLock lock(chain.mu);
  chain.checked = found;
  return {};
}

}  // namespace flyball::net
