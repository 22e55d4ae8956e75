// The words of HTTP that server and client share, whatever the protocol version: messages, and the streams
// they travel on. Nothing here shows Asio, Beast, nghttp2 or OpenSSL.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/run/executor.h"
#include "base/run/task.h"
#include "base/values/bytes.h"
#include "base/values/result.h"

namespace flyball::net {

// Header fields in order. Names are lower case. Thread-compatible.
class Headers {
 public:
  Headers() = default;
  Headers(std::initializer_list<std::pair<std::string, std::string>> fields);

  void Add(std::string_view name, std::string value);
  void Set(std::string_view name, std::string value);
  void Remove(std::string_view name);
  // The first value, or "" if there is none.
  std::string_view Get(std::string_view name) const;
  bool Has(std::string_view name) const;
  std::vector<std::string_view> GetAll(std::string_view name) const;

  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }
  std::size_t size() const { return fields_.size(); }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

class PeerCertificates;

// Who is at the other end of a connection.
struct Peer {
  std::string address;  // "127.0.0.1:40312"; "in-process" for the transport without sockets
  bool tls = false;
  // The subject of the client certificate, if one was sent and it chains to the server's client CA.
  bool verified = false;
  std::string common_name;
  std::vector<std::string> organizations;
  std::string certificate_sha256;  // hex, of the DER
  // All that was sent, to be checked against other authorities, or later again; null if none was.
  std::shared_ptr<const PeerCertificates> certificates{};
};

struct Request {
  std::string method = "GET";
  std::string target{};  // path and query, still percent-encoded; starts with '/'
  Headers headers{};
  std::string body{};  // complete
  Peer peer{};         // set by the server
};

// Bytes both ways, on a connection that has left HTTP by an upgrade or never spoke it. Thread-safe; callbacks
// come one at a time on the connection's executor. Whoever has one ends it: it lives until the peer is gone.
class Duplex {
 public:
  virtual ~Duplex() = default;
  // Begins to read; nothing is read before. `on_end` comes once: the peer will send no more, or is gone. Then
  // what is still to be written can be, until End.
  virtual void Read(UniqueFunction<void(std::string_view)> on_data, Closure on_end) = 0;
  // Queues; false once the peer is gone. Each piece leaves in a TLS record of its own.
  virtual bool Write(Bytes bytes) = 0;
  // Nothing more will be written: what is queued is sent, then that is said.
  virtual void End() = 0;
  // At once, both ways; what is queued is lost.
  virtual void Abort() = 0;
  virtual std::size_t pending_bytes() const = 0;
  // Calls fn once when pending_bytes() is `low` or below, or the peer is gone.
  virtual void OnDrained(std::size_t low, Closure fn) = 0;
  // Back-pressure: while paused, no more than a few pieces arrive.
  virtual void Pause() = 0;
  virtual void Resume() = 0;
};

// Copies both ways until both sides have ended, and slows each down to what the other takes.
void Splice(const std::shared_ptr<Duplex>& a, const std::shared_ptr<Duplex>& b);

// A message-based stream after an upgrade. Send is thread-safe; callbacks come one at a time on the
// connection's executor.
class WebSocket {
 public:
  virtual ~WebSocket() = default;
  enum class Type { kText, kBinary };
  // Called for each whole message. Set before the first suspension after accepting.
  virtual void OnMessage(UniqueFunction<void(Type, std::string)> fn) = 0;
  // Called once when the stream has ended, for whatever reason.
  virtual void OnClose(Closure fn) = 0;
  // Queues; false once closed.
  virtual bool Send(Type type, std::string message) = 0;
  virtual std::size_t pending_bytes() const = 0;
  // As a Duplex has them.
  virtual void OnDrained(std::size_t low, Closure fn) = 0;
  virtual void Pause() = 0;
  virtual void Resume() = 0;
  virtual void Close(int code, std::string_view reason) = 0;
  // The protocol that was agreed on; "" if none.
  virtual std::string_view subprotocol() const { return {}; }
};

// The answer to one request, on the server's side. Either Send once; or Begin, Write*, End; or
// AcceptWebSocket. Dropping the last reference without an end resets the stream. Thread-safe: each call may
// come from any thread; what is written arrives in the order of the calls.
class ResponseStream {
 public:
  virtual ~ResponseStream() = default;

  // The whole answer. Adds content-length, and gzips large bodies if the request accepts it.
  virtual void Send(int status, Headers headers, std::string body) = 0;

  // A streamed answer (chunked in HTTP/1.1). Begin sends the head at once.
  virtual void Begin(int status, Headers headers) = 0;
  // The same for a body that is large and has an end: gzipped if the request accepts it.
  virtual void BeginCompressible(int status, Headers headers) { Begin(status, std::move(headers)); }
  // Queues a shared chunk. False if the peer is gone: stop. Never blocks; the caller watches pending_bytes().
  virtual bool Write(Bytes chunk) = 0;
  virtual void End() = 0;

  // Bytes accepted by Write and not yet handed to the operating system.
  virtual std::size_t pending_bytes() const = 0;
  // Calls fn once, on executor(), when pending_bytes() falls to `low` or below or the peer is gone.
  virtual void OnDrained(std::size_t low, Closure fn) = 0;
  // Calls fn once, on executor(), when the peer goes away or the server shuts down (at once if it has
  // already).
  virtual void OnClose(Closure fn) = 0;
  virtual bool closed() const = 0;
  // Most likely nobody waits for the answer any more: closed(), or the client has closed its side of an
  // HTTP/1.1 connection, as one that goes away does. Cheap: long work asks now and then.
  virtual bool likely_gone() const { return closed(); }

  // Answers 101 (HTTP/1.1) or extended CONNECT (HTTP/2, RFC 8441). BadRequest if the request is no such
  // upgrade.
  virtual Result<std::shared_ptr<WebSocket>> AcceptWebSocket(std::string_view subprotocol) = 0;

  // Answers 101 with these headers and leaves HTTP; on an extended CONNECT of HTTP/2, 200 with those that
  // have a meaning there. BadRequest if the request asks for no upgrade.
  virtual Result<std::shared_ptr<Duplex>> AcceptUpgrade(Headers headers) {
    (void)headers;
    return Unexpected(BadRequest("this connection cannot be upgraded"));
  }

  // Where this connection's work runs; coroutines handling the request should resume here.
  virtual Executor& executor() = 0;
};

// Handles one request. Runs on stream->executor(). An exception that leaves it before an answer was begun is
// answered with 500 by the caller.
using Handler = std::function<Task<void>(std::shared_ptr<Request>, std::shared_ptr<ResponseStream>)>;

// The answer to one request, on the client's side. Calls come one at a time: OnHead, OnData*, then OnEnd or
// OnError; OnError alone if there was no answer. They must not block: they run on an I/O thread.
class ResponseSink {
 public:
  virtual ~ResponseSink() = default;
  virtual void OnHead(int status, const Headers& headers) = 0;
  virtual void OnData(std::string_view data) = 0;
  virtual void OnEnd() = 0;
  virtual void OnError(const Error& error) = 0;  // reason kConnection, kTimeout or kCancelled
};

// A request under way. Thread-safe.
class Call {
 public:
  virtual ~Call() = default;
  // The sink gets OnError(kCancelled) unless it has ended; no call to it begins after that. Idempotent.
  virtual void Cancel() = 0;
  // Back-pressure: while paused, at most one flow-control window more arrives. Pause never calls the sink.
  virtual void Pause() = 0;
  virtual void Resume() = 0;
};

// The answer to a request for an upgrade.
struct Upgraded {
  Headers headers;
  std::shared_ptr<Duplex> stream;
};
using UpgradeDone = UniqueFunction<void(Result<Upgraded>)>;

// Something requests can be sent through: HTTPS to one origin (http_client.h), or a server in this process
// (server/in_process_transport.h). Thread-safe. Sinks are kept alive until they have ended.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::shared_ptr<Call> Start(Request request, std::shared_ptr<ResponseSink> sink) = 0;
  // Opens a WebSocket; `done` gets it, or the error (with the status and message the server answered).
  virtual void OpenWebSocket(Request request, std::vector<std::string> subprotocols,
                             UniqueFunction<void(Result<std::shared_ptr<WebSocket>>)> done) = 0;
  // Sends a request for an upgrade ("upgrade" and what else it takes are among its headers) on a connection
  // of its own. `done` gets the connection, or the error (with the status the server answered, and the body
  // as message).
  virtual void OpenUpgrade(Request request, UpgradeDone done) {
    (void)request;
    done(Unexpected(BadRequest("this transport cannot leave HTTP")));
  }
};

struct Response {
  int status = 0;
  Headers headers;
  std::string body;
};

// Sends and blocks until the whole answer is there. Cancels after `timeout` (zero: never) by a timer of
// `executor`.
Result<Response> RoundTrip(Transport& transport, Request request, Executor& executor, Duration timeout);

}  // namespace flyball::net
