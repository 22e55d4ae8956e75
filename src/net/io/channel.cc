#include "net/io/channel.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

#include "net/io/asio.h"
#include "net/io/socket_address.h"

namespace flyball::net {

namespace {

// One batch: a few TLS records in one system call.
constexpr std::size_t kBatchBytes = 64u << 10;
// After this much one connection lets the others of its loop go first.
constexpr std::size_t kFairShareBytes = 1u << 20;
// How long an answered but still talking peer (a refused upload) may go on before the connection is cut:
// closing at once would reset it and destroy the answer on its way.
constexpr Duration kLinger = std::chrono::seconds(2);

}  // namespace

struct Channel::Socket {
  Socket(boost::asio::io_context& context, int fd) : stream(context) {
    sockaddr_storage name{};
    socklen_t size = sizeof name;
    getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size);
    stream.assign(name.ss_family == AF_INET6 ? boost::asio::ip::tcp::v6() : boost::asio::ip::tcp::v4(), fd);
  }
  boost::asio::ip::tcp::socket stream;
};

class Channel::Round {
 public:
  explicit Round(Channel& channel) : channel_(channel), outer_(channel.in_round_) {
    channel_.in_round_ = true;
  }
  ~Round() { channel_.in_round_ = outer_; }
  Round(const Round&) = delete;
  Round& operator=(const Round&) = delete;

 private:
  Channel& channel_;
  const bool outer_;
};

Channel::Channel(std::shared_ptr<IoLoop> loop, int fd, Options options)
    : loop_(std::move(loop)),
      options_(options),
      socket_(std::make_unique<Socket>(loop_->context(), fd)),
      peer_address_(PeerAddress(fd)) {
  boost::system::error_code ignored;
  socket_->stream.native_non_blocking(true, ignored);
  socket_->stream.set_option(boost::asio::ip::tcp::no_delay(true), ignored);
  // A peer that vanished without a word is noticed some day, also where nobody sends anything.
  socket_->stream.set_option(boost::asio::socket_base::keep_alive(true), ignored);
}

Channel::~Channel() = default;

int Channel::fd() const {
  return socket_->stream.native_handle();
}

void Channel::Start(std::unique_ptr<TlsStream> tls, Closure ready,
                    UniqueFunction<void(const Error&)> on_closed) {
  tls_ = std::move(tls);
  ready_ = std::move(ready);
  on_closed_ = std::move(on_closed);
  if (tls_) {
    phase_deadline_ = loop_->clock().Steady() + options_.handshake_timeout;
    ArmTimer();
    Handshake();
    return;
  }
  phase_ = Phase::kOpen;
  std::exchange(ready_, nullptr)();
  Pump();
}

void Channel::SetSession(std::unique_ptr<Session> session) {
  std::shared_ptr<Session> old(std::move(session_));
  session_ = std::move(session);
  if (old) loop_->Post([old] {});
}

void Channel::Handshake() {
  std::string out;
  const auto step = tls_->Handshake(out);
  if (!out.empty()) SendNow(out);
  if (closed_) return;
  if (step == TlsStream::Step::kFailed) return Close(Error(Reason::kConnection, tls_->failure()));
  if (step == TlsStream::Step::kWantRead) return WaitReadable();
  phase_ = Phase::kOpen;
  phase_deadline_ = SteadyTime::max();
  {
    const Round round(*this);
    std::exchange(ready_, nullptr)();
  }
  // A fast peer's first request may have come with the end of its handshake, and is in OpenSSL's buffer
  // already.
  if (!closed_) ReadSome();
}

void Channel::WaitReadable() {
  if (reading_ || closed_) return;
  reading_ = true;
  socket_->stream.async_wait(boost::asio::ip::tcp::socket::wait_read,
                             [self = shared_from_this()](const boost::system::error_code& error) {
                               self->reading_ = false;
                               if (!error && !self->closed_) self->OnReadable();
                             });
}

void Channel::WaitWritable() {
  if (writing_ || closed_) return;
  writing_ = true;
  socket_->stream.async_wait(boost::asio::ip::tcp::socket::wait_write,
                             [self = shared_from_this()](const boost::system::error_code& error) {
                               self->writing_ = false;
                               if (!error && !self->closed_) self->OnWritable();
                             });
}

void Channel::OnReadable() {
  if (tls_) tls_->OnReadable();
  switch (phase_) {
    case Phase::kHandshake:
      return Handshake();
    case Phase::kOpen:
      return ReadSome();
    case Phase::kLinger:
      return DiscardInput();
    case Phase::kClosed:
      return;
  }
}

long Channel::Receive(char* data, std::size_t size) {
  if (tls_) {
    std::string out;
    const long n = tls_->Read(data, size, out);
    if (!out.empty()) SendNow(out);
    return closed_ ? TlsStream::kEnded : n;
  }
  const ssize_t n = recv(fd(), data, size, 0);
  if (n > 0) return n;
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return 0;
  return TlsStream::kEnded;
}

void Channel::ReadSome() {
  const auto self = shared_from_this();
  {
    const Round round(*this);
    std::string& input = loop_->scratch().input;
    for (std::size_t total = 0;
         !closed_ && phase_ == Phase::kOpen && !input_ended_ && session_->WantsBytes();) {
      const long n = Receive(input.data(), input.size());
      if (n == 0 || closed_) break;
      if (n < 0) {
        input_ended_ = true;
        session_->OnEndOfInput();
        break;
      }
      session_->OnBytes({input.data(), static_cast<std::size_t>(n)});
      total += static_cast<std::size_t>(n);
      // Without TLS a short read says that there is no more.
      if (!tls_ && static_cast<std::size_t>(n) < input.size()) break;
      if (total < kFairShareBytes) continue;
      YieldToOthers();
      break;
    }
  }
  Pump();
}

void Channel::Pump() {
  if (closed_ || phase_ != Phase::kOpen || !session_) return;
  const auto self = shared_from_this();
  {
    const Round round(*this);
    // What runs here may notify again, and nobody else would come to look.
    do {
      TakeNotified();
      if (!closed_) session_->OnRoundEnd();
      if (!closed_) FillAndSend();
    } while (!closed_ && HasNotified());
  }
  if (closed_ || phase_ != Phase::kOpen) return;
  if (unsent_.empty() && !yielded_ && session_->Finished()) return BeginLinger();
  if (unsent_.empty() && !tls_ && !output_shut_ && session_->OutputOver()) {
    output_shut_ = true;
    shutdown(fd(), SHUT_WR);
  }
  ResumeReading();
  ArmTimer();
}

// What was not read while the session wanted nothing may sit in OpenSSL's buffer, where no event would tell
// of it.
void Channel::ResumeReading() {
  if (input_ended_ || yielded_) return;
  if (!session_->WantsBytes()) {
    paused_ = true;
  } else if (std::exchange(paused_, false)) {
    YieldToOthers();
  } else {
    WaitReadable();
  }
}

void Channel::YieldToOthers() {
  if (std::exchange(yielded_, true)) return;
  loop_->Post([self = shared_from_this()] {
    self->yielded_ = false;
    if (!self->closed_ && self->phase_ == Phase::kOpen) self->ReadSome();
  });
}

void Channel::FillAndSend() {
  auto& scratch = loop_->scratch();
  for (std::size_t total = 0; unsent_.empty() && !closed_;) {
    scratch.output.clear();
    session_->Fill(scratch.output, kBatchBytes);
    if (scratch.output.empty()) return;
    total += scratch.output.size();
    if (tls_) {
      scratch.cipher.clear();
      if (!tls_->Write(scratch.output, scratch.cipher))
        return Close(Error(Reason::kConnection, "tls: the connection broke"));
      SendNow(scratch.cipher);
    } else {
      SendNow(scratch.output);
    }
    if (total >= kFairShareBytes) return YieldToOthers();
  }
}

void Channel::SendNow(std::string_view data) {
  if (closed_) return;
  if (unsent_.empty()) {
    while (!data.empty()) {
      const ssize_t n = send(fd(), data.data(), data.size(), MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
      if (n < 0) return Close(Error(Reason::kConnection, "the connection was closed by the peer"));
      data.remove_prefix(static_cast<std::size_t>(n));
    }
    if (data.empty()) return;
    unsent_since_ = loop_->clock().Steady();
  }
  unsent_.append(data);
  WaitWritable();
  ArmTimer();
}

void Channel::FlushUnsent() {
  std::string data = std::exchange(unsent_, {});
  SendNow(data);
}

void Channel::OnWritable() {
  const auto self = shared_from_this();
  FlushUnsent();
  if (closed_ || !unsent_.empty()) return;
  if (phase_ == Phase::kOpen) Pump();
}

void Channel::TakeNotified() {
  std::vector<std::shared_ptr<Notifiable>> items;
  {
    MutexLock lock(mu_);
    items.swap(notified_);
  }
  for (auto& item : items) {
    if (closed_) return;
    session_->OnNotified(*item);
  }
}

bool Channel::HasNotified() {
  MutexLock lock(mu_);
  return !notified_.empty();
}

void Channel::Notify(std::shared_ptr<Notifiable> item) {
  const bool in_round = loop_->OnThisThread() && in_round_;
  {
    MutexLock lock(mu_);
    if (emptied_) return;
    notified_.push_back(std::move(item));
    if (in_round || wake_posted_) return;
    wake_posted_ = true;
  }
  loop_->Post([self = shared_from_this()] {
    {
      MutexLock lock(self->mu_);
      self->wake_posted_ = false;
    }
    self->Pump();
  });
}

void Channel::BeginLinger() {
  phase_ = Phase::kLinger;
  if (tls_) {
    std::string out;
    tls_->Shutdown(out);
    if (!out.empty()) SendNow(out);
    if (closed_) return;
  }
  shutdown(fd(), SHUT_WR);
  if (input_ended_) return Close(Error(Reason::kConnection, "the connection is over"));
  phase_deadline_ = loop_->clock().Steady() + kLinger;
  ArmTimer();
  DiscardInput();
}

void Channel::DiscardInput() {
  std::string& input = loop_->scratch().input;
  const ssize_t n = recv(fd(), input.data(), input.size(), 0);
  const bool more = n > 0 || (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR));
  if (!more) return Close(Error(Reason::kConnection, "the connection is over"));
  WaitReadable();
}

void Channel::Close(const Error& error) {
  if (closed_) return;
  closed_ = true;
  phase_ = Phase::kClosed;
  const auto self = shared_from_this();
  if (timer_ != kNoTimer) loop_->Cancel(timer_);
  timer_ = kNoTimer;
  socket_ = nullptr;
  unsent_ = {};
  if (session_) session_->OnClosed(error);
  ready_ = nullptr;
  if (auto fn = std::exchange(on_closed_, nullptr)) fn(error);
  // The caller may be a method of the session: it goes in the next round.
  loop_->Post([self] {
    self->session_ = nullptr;
    self->tls_ = nullptr;
    MutexLock lock(self->mu_);
    self->emptied_ = true;
    self->notified_.clear();
  });
}

void Channel::BeginShutdown() {
  if (closed_ || phase_ == Phase::kLinger) return;
  if (!session_) return Close(Error(Reason::kConnection, "the server is shutting down"));
  {
    const Round round(*this);
    session_->BeginShutdown();
  }
  Pump();
}

SteadyTime Channel::NextDeadline() const {
  SteadyTime next = phase_deadline_;
  if (!unsent_.empty()) next = std::min(next, unsent_since_ + options_.write_timeout);
  if (session_ && phase_ == Phase::kOpen) next = std::min(next, session_->Deadline());
  return next;
}

// Deadlines mostly move later, with every request; the timer is left where it was and looks again when it
// fires. So a busy connection touches the timer queue once in a while only.
void Channel::ArmTimer() {
  const SteadyTime next = NextDeadline();
  if (closed_ || next >= timer_at_) return;
  if (timer_ != kNoTimer) loop_->Cancel(timer_);
  timer_at_ = next;
  timer_ = loop_->PostAt(next, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->OnTimer();
  });
}

void Channel::OnTimer() {
  timer_ = kNoTimer;
  timer_at_ = SteadyTime::max();
  if (closed_) return;
  const SteadyTime now = loop_->clock().Steady();
  if (now >= phase_deadline_) return Close(Error(Reason::kTimeout, "the peer took too long"));
  if (!unsent_.empty() && now >= unsent_since_ + options_.write_timeout)
    return Close(Error(Reason::kTimeout, "the peer does not read"));
  if (session_ && phase_ == Phase::kOpen && now >= session_->Deadline()) {
    const Round round(*this);
    session_->OnDeadline(now);
  }
  if (closed_) return;
  Pump();
  ArmTimer();
}

}  // namespace flyball::net
