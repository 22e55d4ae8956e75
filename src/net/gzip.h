// GzipSource: compresses a body piece by piece, as it is sent, so that a large one never occupies its loop
// for long.
#pragma once

#include <memory>
#include <string>

#include "base/bytes.h"

namespace flyball::net {

// Confined.
class GzipSource {
 public:
  explicit GzipSource(Bytes body);
  ~GzipSource();
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  bool done() const { return done_; }
  // The next piece; not empty. Requires !done().
  std::string Next();
  std::size_t input_left() const { return body_->size() - taken_; }

 private:
  struct Deflater;
  const Bytes body_;
  std::size_t taken_ = 0;
  bool done_ = false;
  std::unique_ptr<Deflater> deflater_;
};

}  // namespace flyball::net
