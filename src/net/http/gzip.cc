#include "net/http/gzip.h"

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

GzipSource::GzipSource() : deflater_(std::make_unique<Deflater>()) {}

GzipSource::~GzipSource() = default;

void GzipSource::Add(Bytes chunk) {
  if (chunk->empty()) return;
  input_left_ += chunk->size();
  chunks_.push_back(std::move(chunk));
}

std::string GzipSource::Next() {
  std::string out;
  while (out.empty() && !done_ && (input_left_ > 0 || finished_)) {
    std::string_view data;
    if (!chunks_.empty()) data = std::string_view(*chunks_.front()).substr(taken_, kPiece);
    input_left_ -= data.size();
    out = Deflate(data, finished_ && input_left_ == 0);
    taken_ += data.size();
    if (!chunks_.empty() && taken_ == chunks_.front()->size()) {
      chunks_.pop_front();
      taken_ = 0;
    }
  }
  if (done_) deflater_ = nullptr;
  return out;
}

// The output has room for whatever comes of the input, so all of it is taken.
std::string GzipSource::Deflate(std::string_view data, bool last) {
  z_stream& z = deflater_->z;
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  z.avail_in = static_cast<uInt>(data.size());
  std::string out;
  do {
    const std::size_t before = out.size();
    out.resize(before + deflateBound(&z, z.avail_in) + 64);
    z.next_out = reinterpret_cast<Bytef*>(out.data() + before);
    z.avail_out = static_cast<uInt>(out.size() - before);
    done_ = deflate(&z, last ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_END;
    out.resize(out.size() - z.avail_out);
  } while (z.avail_in > 0 || (last && !done_));
  return out;
}

}  // namespace flyball::net
