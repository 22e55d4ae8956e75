#include "net/gzip.h"

#include <zlib.h>

#include <algorithm>

namespace flyball::net {

namespace {
// Level and reason are upstream's: the least CPU, and nearly the ratio of higher levels on API objects.
constexpr int kLevel = 1;
constexpr int kGzipFormat = 15 + 16;
constexpr std::size_t kPiece = 128u << 10;
}  // namespace

struct GzipSource::Deflater {
  Deflater() { deflateInit2(&z, kLevel, Z_DEFLATED, kGzipFormat, 8, Z_DEFAULT_STRATEGY); }
  ~Deflater() { deflateEnd(&z); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;
  z_stream z{};
};

GzipSource::GzipSource(Bytes body) : body_(std::move(body)), deflater_(std::make_unique<Deflater>()) {}

GzipSource::~GzipSource() = default;

std::string GzipSource::Next() {
  z_stream& z = deflater_->z;
  std::string out;
  while (out.empty() && !done_) {
    const std::size_t n = std::min(kPiece, input_left());
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(body_->data() + taken_));
    z.avail_in = static_cast<uInt>(n);
    const bool last = n == input_left();
    out.resize(deflateBound(&z, n) + 64);
    z.next_out = reinterpret_cast<Bytef*>(out.data());
    z.avail_out = static_cast<uInt>(out.size());
    done_ = deflate(&z, last ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_END;
    taken_ += n - z.avail_in;
    out.resize(out.size() - z.avail_out);
  }
  if (done_) deflater_ = nullptr;
  return out;
}

}  // namespace flyball::net
