// TLS by OpenSSL. Private to this module; shows no OpenSSL header.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/values/result.h"
#include "net/http/http.h"
#include "net/tls/tls_options.h"

struct ssl_ctx_st;
struct ssl_st;

namespace flyball::net {

// Certificates, trust and protocol choice, shared by many connections. Thread-safe.
class TlsContext {
 public:
  // Offers h2 and http/1.1. Asks for client certificates if there is a client CA, but a client without one,
  // or with one that does not verify, is let in: refusing is the authenticator's work (TlsStream::Describe
  // says which it was).
  static Result<std::shared_ptr<TlsContext>> ForServer(const ServerTls& tls);
  // Asks for h2 too if `http2`. Servers are verified unless told otherwise.
  static Result<std::shared_ptr<TlsContext>> ForClient(const ClientTls& tls, bool http2);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

 private:
  friend class TlsStream;
  explicit TlsContext(ssl_ctx_st* context) : context_(context) {}
  Status AddNamed(const ServerTls& tls);
  static int ChooseCertificate(ssl_st* connection, int* alert, void* self);

  ssl_ctx_st* context_;
  std::map<std::string, ssl_ctx_st*, std::less<>> by_name_;  // owned, once per name
  bool verify_server_ = false;
};

// One TLS connection over a non-blocking socket: reads come from the descriptor itself, what must be sent is
// appended to a string of the caller's. Confined to its connection's loop.
class TlsStream {
 public:
  // `server_name` is what a client expects of the certificate; a server passes "".
  static Result<std::unique_ptr<TlsStream>> New(std::shared_ptr<TlsContext> context, int fd,
                                                const std::string& server_name);
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  enum class Step { kDone, kWantRead, kFailed };
  Step Handshake(std::string& out);

  // Bytes read; 0: none now; -1: the peer has ended or broken the connection.
  static constexpr long kEnded = -1;
  long Read(char* data, std::size_t size, std::string& out);
  bool Write(std::string_view data, std::string& out);
  // Says goodbye (close_notify).
  void Shutdown(std::string& out);
  // The socket has become readable again.
  void OnReadable() { drained_ = false; }

  bool speaks_h2() const;
  // Sets what the client's certificate says.
  void Describe(Peer& peer) const;
  // The certificates the peer sent; null if none.
  std::shared_ptr<const PeerCertificates> PeerChain() const;
  // Why the handshake failed.
  const std::string& failure() const { return failure_; }

 private:
  struct Bio;
  TlsStream(std::shared_ptr<TlsContext> context, int fd) : context_(std::move(context)), fd_(fd) {}
  void NoteFailure(int result);

  std::shared_ptr<TlsContext> context_;
  ssl_st* ssl_ = nullptr;
  int fd_;
  // The last read took all there was: asking the kernel again before the next event would be in vain.
  bool drained_ = false;
  std::string* out_ = nullptr;
  std::string failure_;
};

}  // namespace flyball::net
