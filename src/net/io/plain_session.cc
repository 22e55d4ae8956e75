#include "net/io/plain_session.h"

#include "net/io/outbox.h"
#include "net/io/raw_duplex.h"

namespace flyball::net {

namespace {

class PlainSession final : public Session {
 public:
  PlainSession(std::shared_ptr<Outbox> outbox, std::shared_ptr<ByteListener> listener)
      : outbox_(std::move(outbox)), listener_(std::move(listener)) {}

  void OnBytes(std::string_view data) override { listener_->OnBytes(data); }
  void OnEndOfInput() override {
    input_over_ = true;
    listener_->OnEndOfBytes();
  }
  void Fill(std::string& out, std::size_t) override {
    if (!output_over_) output_over_ = outbox_->Take(out);
  }
  void OnNotified(Notifiable&) override {}
  bool WantsBytes() const override { return !outbox_->paused(); }
  bool OutputOver() const override { return output_over_; }
  bool Finished() const override { return input_over_ && output_over_; }
  SteadyTime Deadline() const override { return SteadyTime::max(); }
  void OnDeadline(SteadyTime) override {}
  void OnClosed(const Error&) override {
    outbox_->Close();
    listener_->OnGone();
  }

 private:
  const std::shared_ptr<Outbox> outbox_;
  const std::shared_ptr<ByteListener> listener_;
  bool input_over_ = false, output_over_ = false;
};

}  // namespace

PlainConnection PlainConnection::Make(const std::shared_ptr<IoLoop>& loop, int fd) {
  PlainConnection made;
  made.channel = std::make_shared<Channel>(loop, fd, Channel::Options{});
  auto outbox = std::make_shared<Outbox>(made.channel);
  auto duplex = std::make_shared<RawDuplex>(loop, outbox);
  Channel* raw = made.channel.get();
  made.ready_ = [raw, outbox, duplex] { raw->SetSession(std::make_unique<PlainSession>(outbox, duplex)); };
  made.duplex = std::move(duplex);
  return made;
}

void PlainConnection::Start(Closure closed) {
  channel->Start(nullptr, std::move(ready_),
                 [closed = std::move(closed)](const Error&) mutable { closed(); });
}

}  // namespace flyball::net
