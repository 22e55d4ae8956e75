#include "net/tls/tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/values/ascii.h"
#include "net/tls/openssl.h"
#include "net/tls/pki.h"

namespace flyball::net {

namespace {

constexpr std::string_view kAlpnBoth("\x02h2\x08http/1.1", 12);
constexpr std::string_view kAlpnHttp1("\x08http/1.1", 9);

int ChooseProtocol(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in,
                   unsigned int in_size, void*) {
  unsigned char* chosen = nullptr;
  const int found =
      SSL_select_next_proto(&chosen, out_size, reinterpret_cast<const unsigned char*>(kAlpnBoth.data()),
                            static_cast<unsigned int>(kAlpnBoth.size()), in, in_size);
  *out = chosen;
  // A client that offers only protocols we do not know gets HTTP/1.1 and may try.
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

// The verdict is kept (SSL_get_verify_result) and used after the handshake.
int AcceptAnyCertificate(int, X509_STORE_CTX*) {
  return 1;
}

SSL_CTX* NewContext(const SSL_METHOD* method) {
  SSL_CTX* context = SSL_CTX_new(method);
  if (!context) return nullptr;
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                   SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_NO_TICKET |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_read_ahead(context, 1);
  // What a TLS 1.2 client may use: forward secrecy and authenticated encryption only.
  SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20");
  return context;
}

Status UseCertificate(SSL_CTX* context, const std::string& certificate_pem, const std::string& key_pem) {
  const BioPtr bio = ReadBio(certificate_pem);
  const X509Ptr leaf(PEM_read_bio_X509_AUX(bio.get(), nullptr, nullptr, nullptr));
  if (!leaf || SSL_CTX_use_certificate(context, leaf.get()) != 1)
    return Unexpected(OpenSslError("using certificate"));
  while (X509* next = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr))
    SSL_CTX_add0_chain_cert(context, next);
  ERR_clear_error();
  FLYBALL_ASSIGN(const KeyPtr key, ReadPrivateKey(key_pem));
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1)
    return Unexpected(OpenSslError("using private key"));
  return {};
}

Status TrustAuthorities(SSL_CTX* context, const std::string& pem, bool announce) {
  const BioPtr bio = ReadBio(pem);
  int count = 0;
  for (; X509* raw = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr); ++count) {
    const X509Ptr authority(raw);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.get());
    // As in Go: whatever is trusted ends the chain, also a server's own certificate.
    X509_STORE_set_flags(SSL_CTX_get_cert_store(context), X509_V_FLAG_PARTIAL_CHAIN);
    if (announce) SSL_CTX_add_client_CA(context, authority.get());
  }
  ERR_clear_error();
  if (count == 0) return Unexpected(BadRequest("no certificate in the authority's PEM text"));
  return {};
}

// OpenSSL looks where the system keeps certificates that it was built on. A program that carries its OpenSSL
// to another system looks there, too.
void TrustSystem(SSL_CTX* context) {
  SSL_CTX_set_default_verify_paths(context);
  if (::access(X509_get_default_cert_dir(), R_OK) == 0 || std::getenv(X509_get_default_cert_file_env()))
    return;
  for (const char* bundle :
       {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
        "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"})
    if (::access(bundle, R_OK) == 0 && SSL_CTX_load_verify_locations(context, bundle, nullptr) == 1) return;
}

Status SetUpServer(SSL_CTX* context, const std::string& certificate_pem, const std::string& key_pem,
                   const std::string& client_ca_pem) {
  if (!context) return Unexpected(OpenSslError("making TLS context"));
  FLYBALL_TRY(UseCertificate(context, certificate_pem, key_pem));
  SSL_CTX_set_alpn_select_cb(context, ChooseProtocol, nullptr);
  SSL_CTX_set_num_tickets(context, 0);
  if (client_ca_pem.empty()) return {};
  FLYBALL_TRY(TrustAuthorities(context, client_ca_pem, true));
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, AcceptAnyCertificate);
  return {};
}

}  // namespace

// OpenSSL's view of the socket. Written by hand because its own socket BIO would raise SIGPIPE and write each
// record by itself; ours gathers records in a string.
struct TlsStream::Bio {
  static TlsStream& Owner(BIO* bio) { return *static_cast<TlsStream*>(BIO_get_data(bio)); }

  static int Read(BIO* bio, char* data, int size) {
    TlsStream& owner = Owner(bio);
    BIO_clear_retry_flags(bio);
    if (owner.drained_) return BIO_set_retry_read(bio), -1;
    const ssize_t n = recv(owner.fd_, data, static_cast<std::size_t>(size), 0);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
      BIO_set_retry_read(bio);
      owner.drained_ = errno != EINTR;
      return -1;
    }
    owner.drained_ = n > 0 && n < size;
    return static_cast<int>(n);
  }

  static int Write(BIO* bio, const char* data, int size) {
    BIO_clear_retry_flags(bio);
    Owner(bio).out_->append(data, static_cast<std::size_t>(size));
    return size;
  }

  static long Control(BIO*, int command, long, void*) {
    return command == BIO_CTRL_FLUSH || command == BIO_CTRL_DUP ? 1 : 0;
  }

  static const BIO_METHOD* Method() {
    static const BIO_METHOD* const method = [] {
      BIO_METHOD* m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "flyball socket");
      BIO_meth_set_read(m, &Bio::Read);
      BIO_meth_set_write(m, &Bio::Write);
      BIO_meth_set_ctrl(m, &Bio::Control);
      return m;
    }();
    return method;
  }
};

TlsContext::~TlsContext() {
  for (const auto& [name, context] : by_name_) SSL_CTX_free(context);
  SSL_CTX_free(context_);
}

Result<std::shared_ptr<TlsContext>> TlsContext::ForServer(const ServerTls& tls) {
  std::shared_ptr<TlsContext> made(new TlsContext(NewContext(TLS_server_method())));
  FLYBALL_TRY(SetUpServer(made->context_, tls.certificate_pem, tls.private_key_pem, tls.client_ca_pem));
  FLYBALL_TRY(made->AddNamed(tls));
  return made;
}

Status TlsContext::AddNamed(const ServerTls& tls) {
  for (const NamedCertificate& named : tls.by_name)
    for (const std::string& name : named.names) {
      if (by_name_.contains(name)) continue;
      SSL_CTX* context = NewContext(TLS_server_method());
      by_name_.emplace(name, context);
      FLYBALL_TRY(SetUpServer(context, named.certificate_pem, named.private_key_pem, tls.client_ca_pem));
    }
  if (by_name_.empty()) return {};
  SSL_CTX_set_tlsext_servername_callback(context_, &TlsContext::ChooseCertificate);
  SSL_CTX_set_tlsext_servername_arg(context_, this);
  return {};
}

// A wildcard stands for one label.
int TlsContext::ChooseCertificate(SSL* connection, int*, void* self) {
  const char* asked = SSL_get_servername(connection, TLSEXT_NAMETYPE_host_name);
  if (!asked) return SSL_TLSEXT_ERR_NOACK;
  const auto& by_name = static_cast<TlsContext*>(self)->by_name_;
  const std::string name = LowerCase(asked);
  auto found = by_name.find(name);
  if (const std::size_t dot = name.find('.'); found == by_name.end() && dot != std::string::npos)
    found = by_name.find("*" + name.substr(dot));
  if (found == by_name.end()) return SSL_TLSEXT_ERR_NOACK;
  SSL_set_SSL_CTX(connection, found->second);
  return SSL_TLSEXT_ERR_OK;
}

Result<std::shared_ptr<TlsContext>> TlsContext::ForClient(const ClientTls& tls, bool http2) {
  std::shared_ptr<TlsContext> made(new TlsContext(NewContext(TLS_client_method())));
  if (!made->context_) return Unexpected(OpenSslError("making TLS context"));
  if (!tls.certificate_pem.empty())
    FLYBALL_TRY(UseCertificate(made->context_, tls.certificate_pem, tls.private_key_pem));
  made->verify_server_ = !tls.insecure_skip_verify;
  if (made->verify_server_) {
    SSL_CTX_set_verify(made->context_, SSL_VERIFY_PEER, nullptr);
    if (!tls.ca_pem.empty())
      FLYBALL_TRY(TrustAuthorities(made->context_, tls.ca_pem, false));
    else
      TrustSystem(made->context_);
  }
  const std::string_view alpn = http2 ? kAlpnBoth : kAlpnHttp1;
  SSL_CTX_set_alpn_protos(made->context_, reinterpret_cast<const unsigned char*>(alpn.data()),
                          static_cast<unsigned int>(alpn.size()));
  return made;
}

Result<std::unique_ptr<TlsStream>> TlsStream::New(std::shared_ptr<TlsContext> context, int fd,
                                                  const std::string& server_name) {
  std::unique_ptr<TlsStream> stream(new TlsStream(std::move(context), fd));
  stream->ssl_ = SSL_new(stream->context_->context_);
  BIO* bio = BIO_new(Bio::Method());
  if (!stream->ssl_ || !bio) return Unexpected(OpenSslError("making TLS connection"));
  BIO_set_data(bio, stream.get());
  BIO_set_init(bio, 1);
  SSL_set_bio(stream->ssl_, bio, bio);
  if (SSL_is_server(stream->ssl_)) {
    SSL_set_accept_state(stream->ssl_);
    return stream;
  }
  SSL_set_connect_state(stream->ssl_);
  unsigned char address[sizeof(in6_addr)];
  const bool is_ip = inet_pton(AF_INET, server_name.c_str(), address) == 1 ||
                     inet_pton(AF_INET6, server_name.c_str(), address) == 1;
  if (is_ip)
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(stream->ssl_), server_name.c_str());
  else if (SSL_set_tlsext_host_name(stream->ssl_, server_name.c_str()) != 1 ||
           SSL_set1_host(stream->ssl_, server_name.c_str()) != 1)
    return Unexpected(OpenSslError("setting server name"));
  return stream;
}

TlsStream::~TlsStream() {
  SSL_free(ssl_);
}

void TlsStream::NoteFailure(int result) {
  if (const long verdict = SSL_get_verify_result(ssl_); verdict != X509_V_OK && !SSL_is_server(ssl_))
    failure_ = std::string("tls: failed to verify certificate: ") + X509_verify_cert_error_string(verdict);
  else if (ERR_peek_error() != 0)
    failure_ = OpenSslError("tls").message();
  else
    failure_ = result == 0 ? "tls: the peer closed the connection" : "tls: the connection broke";
  ERR_clear_error();
}

TlsStream::Step TlsStream::Handshake(std::string& out) {
  out_ = &out;
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_);
  if (result == 1) return Step::kDone;
  if (SSL_get_error(ssl_, result) == SSL_ERROR_WANT_READ) return Step::kWantRead;
  NoteFailure(result);
  return Step::kFailed;
}

long TlsStream::Read(char* data, std::size_t size, std::string& out) {
  out_ = &out;
  ERR_clear_error();
  std::size_t got = 0;
  const int result = SSL_read_ex(ssl_, data, size, &got);
  if (result == 1) return static_cast<long>(got);
  if (SSL_get_error(ssl_, result) == SSL_ERROR_WANT_READ) return 0;
  ERR_clear_error();
  return kEnded;
}

bool TlsStream::Write(std::string_view data, std::string& out) {
  out_ = &out;
  ERR_clear_error();
  while (!data.empty()) {
    std::size_t written = 0;
    if (SSL_write_ex(ssl_, data.data(), data.size(), &written) != 1) {
      ERR_clear_error();
      return false;
    }
    data.remove_prefix(written);
  }
  return true;
}

void TlsStream::Shutdown(std::string& out) {
  out_ = &out;
  ERR_clear_error();
  if (SSL_is_init_finished(ssl_)) SSL_shutdown(ssl_);
  ERR_clear_error();
}

bool TlsStream::speaks_h2() const {
  const unsigned char* name = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(ssl_, &name, &size);
  return std::string_view(reinterpret_cast<const char*>(name), size) == "h2";
}

void TlsStream::Describe(Peer& peer) const {
  peer.tls = true;
  X509* certificate = SSL_get0_peer_certificate(ssl_);
  if (!certificate) return;
  peer.certificate_sha256 = Fingerprint(certificate);
  peer.certificates = PeerChain();
  peer.verified = SSL_get_verify_result(ssl_) == X509_V_OK;
  if (!peer.verified) return;
  if (auto names = SubjectValues(certificate, NID_commonName); !names.empty())
    peer.common_name = std::move(names.back());
  peer.organizations = SubjectValues(certificate, NID_organizationName);
}

}  // namespace flyball::net
