// HTTP/1.1: any bytes are parsed or refused, the same whether they come at once or one by one, and nothing
// that is not data of the body is kept beyond the limit.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "net/exchange/request_head.h"
#include "net/h1/h1_parser.h"

namespace {

using flyball::net::H1Limits;
using flyball::net::H1Parser;

constexpr H1Limits kLimits{8192, 1u << 20};

struct Outcome {
  H1Parser::State state;
  std::size_t taken = 0, kept = 0;
  std::string head, body;
};

// As a session feeds it: what is not taken is given again with more.
Outcome Parse(H1Parser::Kind kind, std::string_view text, std::size_t step) {
  H1Parser parser(kind, kLimits);
  Outcome outcome{};
  std::size_t end = 0;
  while (parser.state() != H1Parser::State::kDone && parser.state() != H1Parser::State::kError) {
    const std::size_t taken = parser.Put(text.substr(outcome.taken, end - outcome.taken));
    outcome.taken += taken;
    if (taken > 0) continue;
    outcome.kept = end - outcome.taken;
    if (parser.state() == H1Parser::State::kBody && outcome.kept > kLimits.header_bytes) std::abort();
    if (end == text.size()) break;
    end = std::min(text.size(), end + step);
  }
  outcome.state = parser.state();
  outcome.head = parser.message().method + " " + parser.message().target;
  for (const auto& [name, value] : parser.message().headers) outcome.head += name + ":" + value + "\n";
  outcome.body = parser.message().body;
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto kind = data[0] % 2 == 0 ? H1Parser::Kind::kRequest : H1Parser::Kind::kResponse;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Outcome whole = Parse(kind, text, text.size());
  const Outcome pieces = Parse(kind, text, 1 + data[0] / 2);
  if (whole.state == H1Parser::State::kDone && pieces.state == H1Parser::State::kDone &&
      (whole.head != pieces.head || whole.body != pieces.body || whole.taken != pieces.taken))
    std::abort();
  // One of them refused what the other took: requests could be smuggled.
  if ((whole.state == H1Parser::State::kDone) != (pieces.state == H1Parser::State::kDone)) std::abort();
  std::string target(text.substr(0, 200));
  if (flyball::net::NormalizeTarget(target) && !target.starts_with('/')) std::abort();
  return 0;
}
