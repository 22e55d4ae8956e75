#include "net/io/raw_duplex.h"

#include <exception>

#include "base/observe/log.h"

namespace flyball::net {

namespace {

// What one side of a splice may owe the other before that is not read any more, and when it is again.
constexpr std::size_t kSpliceHigh = 1u << 20;
constexpr std::size_t kSpliceLow = 256u << 10;

void CopyFrom(const std::shared_ptr<Duplex>& from, const std::shared_ptr<Duplex>& to) {
  from->Read(
      [weak = std::weak_ptr(from), to](std::string_view data) {
        const auto source = weak.lock();
        if (!to->Write(MakeBytes(std::string(data)))) {
          if (source) source->Abort();
          return;
        }
        if (!source || to->pending_bytes() <= kSpliceHigh) return;
        source->Pause();
        to->OnDrained(kSpliceLow, [source] { source->Resume(); });
      },
      [to] { to->End(); });
}

}  // namespace

void Splice(const std::shared_ptr<Duplex>& a, const std::shared_ptr<Duplex>& b) {
  CopyFrom(a, b);
  CopyFrom(b, a);
}

RawDuplex::RawDuplex(std::shared_ptr<IoLoop> loop, std::shared_ptr<ByteStream> bytes)
    : loop_(std::move(loop)), bytes_(std::move(bytes)) {
  bytes_->SetPaused(true);
}

void RawDuplex::Read(UniqueFunction<void(std::string_view)> on_data, Closure on_end) {
  struct Callbacks {
    UniqueFunction<void(std::string_view)> on_data;
    Closure on_end;
  };
  loop_->Post([self = shared_from_this(),
               callbacks = std::make_shared<Callbacks>(Callbacks{std::move(on_data), std::move(on_end)})] {
    self->on_data_ = std::move(callbacks->on_data);
    self->on_end_ = std::move(callbacks->on_end);
    self->reading_ = true;
    if (const std::string waiting = std::exchange(self->waiting_, {}); !waiting.empty())
      self->Deliver(waiting);
    if (self->ended_) self->TellEnd();
    if (self->gone_) self->on_data_ = nullptr;
    self->bytes_->SetPaused(false);
  });
}

void RawDuplex::OnBytes(std::string_view data) {
  if (reading_)
    Deliver(data);
  else
    waiting_.append(data);
}

// A listener that throws must not unwind through the protocol's code.
void RawDuplex::Deliver(std::string_view data) {
  if (!on_data_) return;
  try {
    on_data_(data);
  } catch (const std::exception& e) {
    log::Error("a connection's listener failed", {{"what", e.what()}});
    Abort();
  }
}

bool RawDuplex::OnEndOfBytes() {
  if (!std::exchange(ended_, true) && reading_) TellEnd();
  return true;
}

void RawDuplex::OnGone() {
  OnEndOfBytes();
  gone_ = true;
  // What the callbacks own must not outlive the connection; not now, for one of them may be the caller.
  loop_->Post([self = shared_from_this()] { self->on_data_ = nullptr; });
}

void RawDuplex::TellEnd() {
  if (on_end_) loop_->Post(std::exchange(on_end_, nullptr));
}

}  // namespace flyball::net
