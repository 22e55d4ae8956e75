#include "net/h1/h1_parser.h"

#include <boost/beast/http/basic_parser.hpp>
#include <boost/optional.hpp>
#include <variant>

namespace flyball::net {

namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using boost::beast::string_view;

std::string_view View(string_view s) {
  return {s.data(), s.size()};
}

bool AllDigits(std::string_view s) {
  return !s.empty() && s.size() <= 19 && s.find_first_not_of("0123456789") == std::string_view::npos;
}

bool IsChunked(std::string_view s) {
  constexpr std::string_view kChunked = "chunked";
  if (s.size() != kChunked.size()) return false;
  for (std::size_t i = 0; i < s.size(); ++i)
    if ((s[i] | 0x20) != kChunked[i]) return false;
  return true;
}

// A field that goes on in a second line (obs-fold) is read differently by different servers. Beast takes a
// line only together with the first byte after it, so the fold is always seen here before it is consumed.
bool HasFoldedLine(std::string_view data) {
  const std::string_view head = data.substr(0, data.find("\r\n\r\n"));
  for (std::size_t at = head.find('\n'); at != std::string_view::npos; at = head.find('\n', at + 1))
    if (at + 1 < head.size() && (head[at + 1] == ' ' || head[at + 1] == '\t')) return true;
  return false;
}

// Bytes around the data of a chunked body: so many, and so many for each byte of data (Go's server allows 16
// and twice its length for each chunk, and 16 KiB for all).
constexpr std::uint64_t kChunkOverhead = 16u << 10;
constexpr std::uint64_t kChunkOverheadPerByte = 18;

template <bool IsRequest>
class Collector final : public http::basic_parser<IsRequest> {
 public:
  H1Message message;
  bool head_done = false;
  std::uint64_t chunk_data = 0;  // bytes of data in the chunks so far

 private:
  void on_request_impl(http::verb, string_view method, string_view target, int version,
                       error_code&) override {
    message.method = View(method);
    message.target = View(target);
    message.version = version;
  }
  void on_response_impl(int status, string_view, int version, error_code&) override {
    message.status = status;
    message.version = version;
  }
  void on_field_impl(http::field name, string_view name_text, string_view value, error_code& ec) override {
    if (name == http::field::content_length && (content_length_++ > 0 || !AllDigits(View(value))))
      ec = http::error::bad_content_length;
    if (name == http::field::transfer_encoding && !IsChunked(View(value)))
      ec = http::error::bad_transfer_encoding;
    if (!head_done) message.headers.Add(View(name_text), std::string(View(value)));
  }
  void on_header_impl(error_code&) override {
    head_done = true;
    message.keep_alive = this->keep_alive();
    message.upgrade = this->upgrade();
  }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(string_view body, error_code&) override {
    message.body.append(body.data(), body.size());
    return body.size();
  }
  void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, string_view body, error_code&) override {
    message.body.append(body.data(), body.size());
    chunk_data += body.size();
    return body.size();
  }
  void on_finish_impl(error_code&) override {}

  int content_length_ = 0;
};

}  // namespace

struct H1Parser::Beast {
  template <typename Fn>
  auto With(Fn fn) {
    return request ? fn(*request) : fn(*response);
  }
  boost::optional<Collector<true>> request;
  boost::optional<Collector<false>> response;
  error_code error;
  std::size_t max_element = 0;
  std::uint64_t body_wire = 0;  // bytes taken after the head
};

H1Parser::H1Parser(Kind kind, H1Limits limits) : beast_(std::make_unique<Beast>()) {
  beast_->max_element = limits.header_bytes;
  if (kind == Kind::kRequest)
    beast_->request.emplace();
  else
    beast_->response.emplace();
  beast_->With([&](auto& parser) {
    parser.header_limit(static_cast<std::uint32_t>(limits.header_bytes));
    parser.body_limit(limits.body_bytes);
    return 0;
  });
}

H1Parser::~H1Parser() = default;
H1Parser::H1Parser(H1Parser&&) noexcept = default;
H1Parser& H1Parser::operator=(H1Parser&&) noexcept = default;

std::size_t H1Parser::Put(std::string_view data) {
  if (beast_->error || state() == State::kDone) return 0;
  if (state() == State::kHead && HasFoldedLine(data)) {
    beast_->error = http::error::bad_obs_fold;
    return 0;
  }
  return beast_->With([&](auto& parser) {
    const bool in_body = parser.is_header_done();
    const std::size_t n = parser.put(boost::asio::const_buffer(data.data(), data.size()), beast_->error);
    if (beast_->error == http::error::need_more) beast_->error = {};
    if (!in_body || beast_->error) return n;
    beast_->body_wire += n;
    const bool endless = n == 0 && data.size() > beast_->max_element;
    const bool padded = parser.chunked() &&
                        beast_->body_wire > kChunkOverhead + parser.chunk_data * (1 + kChunkOverheadPerByte);
    if (endless || padded) beast_->error = http::error::bad_chunk_extension;
    return n;
  });
}

void H1Parser::PutEof() {
  if (beast_->error || state() == State::kDone) return;
  beast_->With([&](auto& parser) { return parser.put_eof(beast_->error), 0; });
}

void H1Parser::ExpectNoBody() {
  beast_->With([](auto& parser) { return parser.skip(true), 0; });
}

H1Parser::State H1Parser::state() const {
  if (beast_->error) return State::kError;
  return beast_->With([](auto& parser) {
    return parser.is_done() ? State::kDone : parser.is_header_done() ? State::kBody : State::kHead;
  });
}

int H1Parser::error_status() const {
  if (beast_->error == http::error::body_limit) return 413;
  if (beast_->error == http::error::header_limit) return 431;
  return 400;
}

std::string H1Parser::error_text() const {
  if (beast_->error == http::error::bad_chunk_extension)
    return "the chunked body has a malformed or too long extension or trailer";
  return beast_->error.message();
}

H1Message& H1Parser::message() {
  return beast_->request ? beast_->request->message : beast_->response->message;
}

}  // namespace flyball::net
