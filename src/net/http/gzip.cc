#include "net/http/gzip.h"

#include <zlib.h>

#include <algorithm>

#include "net/http/unpacking_transport.h"

namespace flyball::net {

namespace {
// Level and reason are upstream's: the least CPU, and nearly the ratio of higher levels on API objects.
constexpr int kLevel = 1;
constexpr int kGzipFormat = 15 + 16;
constexpr std::size_t kPiece = 128u << 10;

// Passes a response on, unpacked if it is packed.
class UnpackingSink final : public ResponseSink {
 public:
  explicit UnpackingSink(std::shared_ptr<ResponseSink> sink) : sink_(std::move(sink)) {}
  ~UnpackingSink() override {
    if (packed_) inflateEnd(&z_);
  }
  UnpackingSink(const UnpackingSink&) = delete;
  UnpackingSink& operator=(const UnpackingSink&) = delete;

  void OnHead(int status, const Headers& headers) override {
    if (headers.Get("content-encoding") != "gzip") return sink_->OnHead(status, headers);
    packed_ = inflateInit2(&z_, kGzipFormat) == Z_OK;
    Headers plain = headers;
    plain.Remove("content-encoding");
    plain.Remove("content-length");
    sink_->OnHead(status, plain);
  }
  void OnData(std::string_view data) override {
    if (!packed_) return sink_->OnData(data);
    z_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
    z_.avail_in = static_cast<uInt>(data.size());
    std::string out(kPiece, 0);
    while (!ended_ && !failed_) {
      z_.next_out = reinterpret_cast<Bytef*>(out.data());
      z_.avail_out = static_cast<uInt>(out.size());
      const int state = inflate(&z_, Z_NO_FLUSH);
      ended_ = state == Z_STREAM_END;
      failed_ = state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR;
      const std::size_t made = out.size() - z_.avail_out;
      if (made > 0) sink_->OnData(std::string_view(out).substr(0, made));
      if (z_.avail_out > 0) break;  // the input is used up
    }
  }
  void OnEnd() override {
    if (packed_ && !ended_)
      sink_->OnError(Error(Reason::kConnection, "the compressed response is damaged"));
    else
      sink_->OnEnd();
  }
  void OnError(const Error& error) override { sink_->OnError(error); }

 private:
  const std::shared_ptr<ResponseSink> sink_;
  z_stream z_{};
  bool packed_ = false, ended_ = false, failed_ = false;
};

class UnpackingTransport final : public Transport {
 public:
  explicit UnpackingTransport(std::shared_ptr<Transport> next) : next_(std::move(next)) {}

  std::shared_ptr<Call> Start(Request request, std::shared_ptr<ResponseSink> sink) override {
    if (request.headers.Has("accept-encoding")) return next_->Start(std::move(request), std::move(sink));
    request.headers.Set("accept-encoding", "gzip");
    return next_->Start(std::move(request), std::make_shared<UnpackingSink>(std::move(sink)));
  }
  void OpenWebSocket(Request request, std::vector<std::string> subprotocols,
                     UniqueFunction<void(Result<std::shared_ptr<WebSocket>>)> done) override {
    next_->OpenWebSocket(std::move(request), std::move(subprotocols), std::move(done));
  }
  void OpenUpgrade(Request request, UpgradeDone done) override {
    next_->OpenUpgrade(std::move(request), std::move(done));
  }

 private:
  const std::shared_ptr<Transport> next_;
};

}  // namespace

std::shared_ptr<Transport> NewUnpackingTransport(std::shared_ptr<Transport> transport) {
  return std::make_shared<UnpackingTransport>(std::move(transport));
}

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
