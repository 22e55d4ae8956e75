// RawDuplex: a Duplex on any connection that has left HTTP.
#pragma once

#include <memory>
#include <string>

#include "base/run/mutex.h"
#include "net/http/http.h"
#include "net/io/byte_stream.h"
#include "net/io/io_loop.h"

namespace flyball::net {

// Flow: kWaiting (paused, what comes is kept) -> Read -> kReading -> the peer's end -> kEnded. The connection
// keeps it alive until it is gone.
class RawDuplex final : public Duplex, public ByteListener, public std::enable_shared_from_this<RawDuplex> {
 public:
  RawDuplex(std::shared_ptr<IoLoop> loop, std::shared_ptr<ByteStream> bytes);

  void Read(UniqueFunction<void(std::string_view)> on_data, Closure on_end) override;
  bool Write(Bytes bytes) override { return bytes_->Write(std::move(bytes)); }
  void End() override { bytes_->End(); }
  void Abort() override { bytes_->Abort(); }
  std::size_t pending_bytes() const override { return bytes_->pending_bytes(); }
  void OnDrained(std::size_t low, Closure fn) override { bytes_->OnDrained(low, std::move(fn)); }
  void Pause() override { bytes_->SetPaused(true); }
  void Resume() override { bytes_->SetPaused(false); }

  void OnBytes(std::string_view data) override;
  bool OnEndOfBytes() override;
  void OnGone() override;

 private:
  void Deliver(std::string_view data);
  void TellEnd();

  const std::shared_ptr<IoLoop> loop_;
  const std::shared_ptr<ByteStream> bytes_;
  // Confined to the loop.
  bool reading_ = false, ended_ = false, gone_ = false;
  std::string waiting_;
  UniqueFunction<void(std::string_view)> on_data_;
  Closure on_end_;
};

}  // namespace flyball::net
