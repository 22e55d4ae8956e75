// Channel: one socket, plain or TLS, and the Session that gives its bytes a meaning. It knows how to wait,
// read, encrypt and send; it knows no HTTP.
//
// Flow: OnReadable -> Session::OnBytes; Session::Fill -> encrypt -> send. Output is pulled: the session is
// asked for more only when the operating system has taken what it gave before, so a slow peer holds at most
// one batch here. Many small pieces that are ready together leave in one TLS record and one system call.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/run/mutex.h"
#include "base/values/error.h"
#include "net/http/http.h"
#include "net/io/io_loop.h"
#include "net/tls/tls.h"

namespace flyball::net {

// Something that wants its session's attention: a stream with new output, a call to be cancelled.
class Notifiable {
 public:
  virtual ~Notifiable() = default;
};

// One side of one protocol on one connection. Confined to the channel's loop.
class Session {
 public:
  virtual ~Session() = default;

  // Takes all of `data`.
  virtual void OnBytes(std::string_view data) = 0;
  // The peer will send no more.
  virtual void OnEndOfInput() = 0;
  // Appends what is to be sent; stops soon after `limit` bytes. Nothing appended: nothing to send now.
  virtual void Fill(std::string& out, std::size_t limit) = 0;
  // An item given to Channel::Notify.
  virtual void OnNotified(Notifiable& item) = 0;
  // Runs once after each round of OnBytes and OnNotified, before output is collected.
  virtual void OnRoundEnd() {}
  // False: reading stops until Channel::Pump finds it true again.
  virtual bool WantsBytes() const { return true; }
  // True: nothing more will be filled, but the peer may still send: that is said to it (without TLS only).
  virtual bool OutputOver() const { return false; }
  // True: everything has been filled and the conversation is over; the channel closes.
  virtual bool Finished() const = 0;
  // When OnDeadline is to be called, if nothing happens. SteadyTime::max(): never.
  virtual SteadyTime Deadline() const = 0;
  virtual void OnDeadline(SteadyTime now) = 0;
  // The server wants to go: finish what is under way, begin nothing new.
  virtual void BeginShutdown() {}
  // The connection is gone. Called once; nothing is called after it.
  virtual void OnClosed(const Error& error) = 0;
};

// Confined to its loop, except Notify, loop() and peer().
class Channel : public std::enable_shared_from_this<Channel> {
 public:
  struct Options {
    Duration handshake_timeout = std::chrono::seconds(10);
    Duration write_timeout = std::chrono::seconds(60);  // no progress in sending
  };

  // Takes a connected socket.
  Channel(std::shared_ptr<IoLoop> loop, int fd, Options options);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Begins: with TLS after its handshake. Then `ready` runs, which must SetSession or Close. If the handshake
  // fails `ready` is dropped and `on_closed` runs. `on_closed` runs once in any case.
  void Start(std::unique_ptr<TlsStream> tls, Closure ready, UniqueFunction<void(const Error&)> on_closed);
  // Also from within a session's own method: the old session lives until the loop's next round.
  void SetSession(std::unique_ptr<Session> session);
  // Sends what the session has, goes on reading if it wants to, closes if it is finished.
  void Pump();
  // Tells the session; without one the connection just closes.
  void BeginShutdown();
  // At once, without sending what is pending.
  void Close(const Error& error);

  // From any thread: calls Session::OnNotified soon. Many notifications share one wake-up of the loop.
  void Notify(std::shared_ptr<Notifiable> item);

  IoLoop& loop() { return *loop_; }
  const std::shared_ptr<IoLoop>& shared_loop() { return loop_; }
  bool closed() const { return closed_; }
  bool has_session() const { return session_ != nullptr; }
  const TlsStream* tls() const { return tls_.get(); }
  const std::string& peer_address() const { return peer_address_; }
  int fd() const;

 private:
  struct Socket;
  enum class Phase { kHandshake, kOpen, kLinger, kClosed };
  class Round;  // marks the time in which notifications need no wake-up

  void WaitReadable();
  void WaitWritable();
  void OnReadable();
  void OnWritable();
  void Handshake();
  void ReadSome();
  void DiscardInput();
  long Receive(char* data, std::size_t size);
  void SendNow(std::string_view data);
  void FlushUnsent();
  void FillAndSend();
  void ResumeReading();
  void YieldToOthers();
  void BeginLinger();
  void TakeNotified();
  bool HasNotified();
  void ArmTimer();
  void OnTimer();
  SteadyTime NextDeadline() const;

  const std::shared_ptr<IoLoop> loop_;
  const Options options_;
  std::unique_ptr<Socket> socket_;
  std::unique_ptr<TlsStream> tls_;
  std::unique_ptr<Session> session_;
  Closure ready_;
  UniqueFunction<void(const Error&)> on_closed_;
  std::string peer_address_;

  Phase phase_ = Phase::kHandshake;
  bool closed_ = false;
  bool in_round_ = false;
  bool reading_ = false;  // a wait for readability is under way
  bool writing_ = false;
  bool input_ended_ = false;
  bool output_shut_ = false;
  bool paused_ = false;   // the session did not want bytes when last asked
  bool yielded_ = false;  // a read and pump is posted
  std::string unsent_;    // what the operating system has not taken
  SteadyTime unsent_since_{};
  SteadyTime phase_deadline_ = SteadyTime::max();  // of handshake and linger
  TimerId timer_ = kNoTimer;
  SteadyTime timer_at_ = SteadyTime::max();

  Mutex mu_;
  std::vector<std::shared_ptr<Notifiable>> notified_ FLYBALL_GUARDED_BY(mu_);
  bool emptied_ FLYBALL_GUARDED_BY(mu_) = false;  // closed for good: what is notified would never go again
  bool wake_posted_ FLYBALL_GUARDED_BY(mu_) = false;
};

}  // namespace flyball::net
