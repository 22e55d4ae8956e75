// GzipSource: compresses a body piece by piece, as it is sent, so that a large one never occupies its loop
// for long.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "base/values/bytes.h"

namespace flyball::net {

// Confined.
class GzipSource {
 public:
  GzipSource();
  ~GzipSource();
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  void Add(Bytes chunk);
  // Nothing more is added.
  void Finish() { finished_ = true; }

  // The end has been given out.
  bool done() const { return done_; }
  // The next piece; empty if it takes more input to make one. Requires !done().
  std::string Next();
  std::size_t input_left() const { return input_left_; }

 private:
  struct Deflater;
  std::string Deflate(std::string_view data, bool last);

  std::deque<Bytes> chunks_;
  std::size_t taken_ = 0;  // of the first chunk
  std::size_t input_left_ = 0;
  bool finished_ = false;
  bool done_ = false;
  std::unique_ptr<Deflater> deflater_;
};

}  // namespace flyball::net
