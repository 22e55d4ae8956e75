#include "api/rules/certificate_reader.h"

#include <atomic>

#include "api/values/base64.h"
#include "base/values/ascii.h"

namespace flyball::api {
namespace {

constexpr std::string_view kPemBegin = "-----BEGIN ", kPemEnd = "-----END ", kPemDashes = "-----";

std::atomic<const CertificateReader*>& ProcessReader() {
  static std::atomic<const CertificateReader*> reader{nullptr};
  return reader;
}

// The lines between BEGIN and END: headers ("Key: value", up to an empty line), then base64.
std::optional<PemBlock> ReadBlock(std::string type, std::string_view body) {
  PemBlock block{.type = std::move(type), .headers = false, .der = {}};
  std::string base64;
  for (const std::string& line : SplitText(body, '\n')) {
    const std::string_view text = Trimmed(line);
    if (text.find(':') != std::string_view::npos) {
      block.headers = true;
    } else {
      base64 += text;
    }
  }
  std::size_t bad = 0;
  if (!DecodeBase64(base64, block.der, bad)) return std::nullopt;
  return block;
}

}  // namespace

void SetCertificateReader(const CertificateReader* reader) {
  ProcessReader() = reader;
}

const CertificateReader* GetCertificateReader() {
  return ProcessReader();
}

std::vector<PemBlock> ReadPem(std::string_view text) {
  std::vector<PemBlock> blocks;
  for (std::size_t at; (at = text.find(kPemBegin)) != std::string_view::npos;) {
    text.remove_prefix(at + kPemBegin.size());
    const std::size_t type_end = text.find(kPemDashes);
    if (type_end == std::string_view::npos) break;
    const std::string type(text.substr(0, type_end));
    const std::string end = std::string(kPemEnd) + type + std::string(kPemDashes);
    const std::size_t body = type_end + kPemDashes.size(), finish = text.find(end, body);
    if (finish == std::string_view::npos) continue;
    if (auto block = ReadBlock(type, text.substr(body, finish - body))) blocks.push_back(std::move(*block));
    text.remove_prefix(finish + end.size());
  }
  return blocks;
}

}  // namespace flyball::api
