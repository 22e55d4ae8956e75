#include "informer/reflector_stream.h"

#include <utility>

namespace flyball {

void ReflectorStream::Start(RestClient& client, RestRequest request,
                            const std::shared_ptr<ReflectorStream>& self) {
  auto call = client.Stream(std::move(request), self);
  bool cancelled;
  {
    MutexLock lock(mu_);
    cancelled = cancelled_;
    if (!cancelled && !ended_) call_ = call;
  }
  if (cancelled) call->Cancel();
}

void ReflectorStream::Cancel() {
  std::shared_ptr<net::Call> call;
  {
    MutexLock lock(mu_);
    cancelled_ = true;
    call = std::move(call_);
  }
  if (call) call->Cancel();
}

ReflectorStream::Taken ReflectorStream::Take() {
  Taken taken;
  std::shared_ptr<net::Call> resume;
  {
    MutexLock lock(mu_);
    announced_ = false;
    taken.status = status_;
    taken.headers = headers_;
    taken.data = std::exchange(data_, {});
    taken.ended = ended_;
    taken.error = error_;
    if (std::exchange(paused_, false)) resume = call_;
  }
  if (resume) resume->Resume();
  return taken;
}

void ReflectorStream::OnHead(int status, const net::Headers& headers) {
  MutexLock lock(mu_);
  status_ = status;
  headers_ = headers;
}

void ReflectorStream::OnData(std::string_view data) {
  bool announce = false;
  {
    MutexLock lock(mu_);
    if (cancelled_) return;
    data_.append(data);
    announce = !std::exchange(announced_, true);
    // Under the lock: otherwise a Take in between resumes first, and the stream stays paused for good.
    if (data_.size() > kMaxPending && call_) {
      paused_ = true;
      call_->Pause();
    }
  }
  Wake(announce);
}

void ReflectorStream::OnEnd() {
  bool announce = false;
  {
    MutexLock lock(mu_);
    ended_ = true;
    call_ = nullptr;
    announce = !cancelled_ && !std::exchange(announced_, true);
  }
  Wake(announce);
}

void ReflectorStream::OnError(const Error& error) {
  {
    MutexLock lock(mu_);
    error_ = error;
  }
  OnEnd();
}

void ReflectorStream::Wake(bool announce) {
  if (announce) wake_();
}

}  // namespace flyball
