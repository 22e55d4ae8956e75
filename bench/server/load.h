// Requests as clients make them: one after another, and many clients at a time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/run/clock.h"
#include "net/http/http.h"

namespace flyball::bench {

struct Answered {
  int status = 0;
  std::string text{};  // the body, or the error
  std::size_t bytes = 0;
  Duration took{};  // from Start to the last byte
};

// One request; blocks. With keep_body false the body is only counted.
Answered Ask(net::Transport& transport, net::Request request, bool keep_body = true);

struct LoadResult {
  long done = 0;
  long failed = 0;  // answered with anything but 2xx, or not at all
  double seconds = 0;
  std::vector<Duration> latencies{};  // sorted

  double rate() const { return static_cast<double>(done) / seconds; }
  double QuantileMs(double q) const;
};

// `clients` clients, each with one request under way at any time, until `total` are answered. make(i) gives
// the i-th request.
LoadResult RunLoad(net::Transport& transport, int clients, long total,
                   const std::function<net::Request(long)>& make);

double Milliseconds(Duration d);
// Sorts.
double QuantileMs(std::vector<Duration>& values, double q);

}  // namespace flyball::bench
