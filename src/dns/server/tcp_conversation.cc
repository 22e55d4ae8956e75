#include "dns/server/tcp_conversation.h"

namespace flyball::dns {
namespace {

constexpr std::size_t kLengthBytes = 2;

std::size_t LengthAt(std::string_view bytes) {
  return static_cast<std::size_t>(static_cast<unsigned char>(bytes[0])) << 8 |
         static_cast<unsigned char>(bytes[1]);
}

}  // namespace

TcpConversation::TcpConversation(std::shared_ptr<Responder> responder, Executor& executor,
                                 std::shared_ptr<net::Duplex> connection, const Asker& asker)
    : responder_(std::move(responder)),
      executor_(executor),
      connection_(std::move(connection)),
      asker_(asker),
      active_(executor.clock().Steady()) {}

void TcpConversation::Start() {
  connection_->Read([self = shared_from_this()](std::string_view data) { self->OnBytes(data); },
                    [self = shared_from_this()] { self->OnEnd(); });
  CheckIdle();
}

void TcpConversation::OnBytes(std::string_view data) {
  if (closed_) return;
  input_.append(data);
  TakeQuestions();
}

bool TcpConversation::Busy() const {
  return under_way_ >= kMaxUnderWay || connection_->pending_bytes() > kMaxUnsent;
}

void TcpConversation::TakeQuestions() {
  std::size_t at = 0;
  while (!Busy() && input_.size() - at >= kLengthBytes) {
    const std::size_t size = LengthAt(std::string_view(input_).substr(at));
    if (input_.size() - at < kLengthBytes + size) break;
    const std::string packet = input_.substr(at + kLengthBytes, size);
    at += kLengthBytes + size;
    active_ = executor_.clock().Steady();
    ++under_way_;
    // Counted down when the answer is sent, or when there will be none.
    const std::shared_ptr<void> counted(nullptr, [self = shared_from_this()](void*) { self->OnAnswered(); });
    responder_->Answer(packet, asker_, [self = shared_from_this(), counted](const std::string& answer) {
      self->SendAnswer(answer);
    });
  }
  input_.erase(0, at);
  if (paused_ || !Busy()) return;
  paused_ = true;
  connection_->Pause();
}

void TcpConversation::SendAnswer(const std::string& packet) {
  if (closed_) return;
  std::string framed{static_cast<char>(packet.size() >> 8), static_cast<char>(packet.size() & 0xff)};
  framed += packet;
  connection_->Write(MakeBytes(std::move(framed)));
  if (!paused_) return;
  connection_->OnDrained(kMaxUnsent / 2, [self = shared_from_this()] {
    if (self->closed_ || !std::exchange(self->paused_, false)) return;
    self->connection_->Resume();
    self->TakeQuestions();
  });
}

void TcpConversation::OnAnswered() {
  --under_way_;
  EndIfOver();
}

void TcpConversation::OnEnd() {
  ended_ = true;
  EndIfOver();
}

// A client may end its side as soon as it has asked.
void TcpConversation::EndIfOver() {
  if (!ended_ || under_way_ > 0 || closed_) return;
  closed_ = true;
  connection_->End();
}

void TcpConversation::CheckIdle() {
  if (closed_) return;
  const SteadyTime now = executor_.clock().Steady();
  if (under_way_ == 0 && now - active_ >= kIdle) {
    closed_ = true;
    return connection_->Abort();
  }
  executor_.PostAt(std::max(active_ + kIdle, now + std::chrono::seconds(1)), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->CheckIdle();
  });
}

}  // namespace flyball::dns
