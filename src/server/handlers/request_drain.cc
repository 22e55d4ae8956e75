#include "server/handlers/request_drain.h"

#include <algorithm>
#include <array>
#include <utility>

namespace flyball::server {
namespace {

constexpr std::array<std::string_view, 4> kExemptPaths{"/readyz", "/livez", "/healthz", "/metrics"};
// Of API servers' calls to themselves.
constexpr std::string_view kExemptUserAgent = "kube-apiserver/";

}  // namespace

bool RequestDrain::IsExempt(std::string_view path, std::string_view user_agent) {
  return user_agent.starts_with(kExemptUserAgent) ||
         std::any_of(kExemptPaths.begin(), kExemptPaths.end(),
                     [&](std::string_view exempt) { return path.starts_with(exempt); });
}

std::optional<RequestDrain::Ticket> RequestDrain::Enter(bool counted) {
  MutexLock lock(mu_);
  if (closed_) return std::nullopt;
  if (counted) ++running_;
  return std::optional<Ticket>(std::in_place, counted ? this : nullptr);
}

Answer RequestDrain::Refusal() {
  Answer answer = TextAnswer(429, "The apiserver is shutting down, please try again later.\n");
  answer.headers.Set("connection", "close");
  answer.headers.Set("retry-after", "5");
  answer.headers.Set("x-content-type-options", "nosniff");
  return answer;
}

void RequestDrain::Leave() {
  Closure done;
  {
    MutexLock lock(mu_);
    if (--running_ == 0) done = std::exchange(done_, nullptr);
  }
  if (done) done();
}

void RequestDrain::Close(Closure done) {
  {
    MutexLock lock(mu_);
    closed_ = true;
    if (running_ > 0) {
      done_ = std::move(done);
      return;
    }
  }
  done();
}

}  // namespace flyball::server
