// ClientCall: one request of a client, from Start to its end.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "net/exchange/upload.h"
#include "net/http/http.h"
#include "net/io/channel.h"
#include "net/io/io_loop.h"

namespace flyball::net {

class ClientCall;

// A connection that carries calls. Confined to its loop.
class ClientConnection {
 public:
  virtual ~ClientConnection() = default;
  virtual void Submit(std::shared_ptr<ClientCall> call) = 0;
  // Gives the call up; it has ended already.
  virtual void Drop(ClientCall& call) = 0;
  // The call was paused or resumed.
  virtual void OnPauseChanged(ClientCall& call) = 0;
  // There is more of the call's upload.
  virtual void OnUploadGrown(ClientCall&) {}
  // How many more calls may be submitted now.
  virtual std::size_t capacity() const = 0;
};

// Who gives calls to connections and hears how they fare: the pool of a client. Confined to its loop.
class ConnectionOwner {
 public:
  virtual ~ConnectionOwner() = default;
  // Sends a call again that certainly was not processed, or fails it if that happened too often.
  virtual void Retry(std::shared_ptr<ClientCall> call, const Error& error) = 0;
  // The connection has room for calls again.
  virtual void OnCapacity(ClientConnection& connection) = 0;
  // The connection is going away and takes no more calls.
  virtual void OnGoing(ClientConnection& connection) = 0;
};

// Call's methods from any thread; everything else confined to the loop.
class ClientCall final : public Call, public Notifiable, public std::enable_shared_from_this<ClientCall> {
 public:
  ClientCall(std::shared_ptr<IoLoop> loop, Request request, std::shared_ptr<ResponseSink> sink);
  ~ClientCall() override;

  void Cancel() override;
  void Pause() override;
  void Resume() override;

  // A connection has taken it.
  void Submitted(ClientConnection& carrier, std::int32_t stream);
  // What happens to it. Nothing reaches the sink after End or Fail, or, but for the error, after Cancel.
  void Head(int status, const Headers& headers);
  void Data(std::string_view data);
  void Trailers(const Headers& trailers);
  void End();
  void Fail(const Error& error);

  const Request& request() const { return request_; }
  // Its body, if that is still being written; else null.
  Upload* upload() const { return upload_.get(); }
  bool ended() const { return sink_ == nullptr; }
  bool head_seen() const { return head_seen_; }
  bool paused() const { return paused_; }
  // False once it has been tried too often to be sent by itself again. An upload is sent once.
  bool TakeRetry() { return !upload_ && retries_++ < kMaxRetries; }

  // Who carries it, or null; and its id there.
  ClientConnection* connection = nullptr;
  std::int32_t stream_id = 0;

 private:
  static constexpr int kMaxRetries = 3;
  template <typename Fn>
  void Guard(Fn fn);
  void OnLoop(void (ClientCall::*method)());
  void CancelOnLoop();
  void ApplyPause();
  void ApplyGrowth();

  const std::shared_ptr<IoLoop> loop_;
  const Request request_;
  std::shared_ptr<ResponseSink> sink_;  // until it has ended
  const std::shared_ptr<Upload> upload_;
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> want_pause_{false};
  bool paused_ = false;
  bool head_seen_ = false;
  int retries_ = 0;
};

}  // namespace flyball::net
