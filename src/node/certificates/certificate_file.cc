#include "node/certificates/certificate_file.h"

#include <filesystem>

#include "base/files/durable_file.h"

namespace flyball::node {
namespace {

constexpr std::string_view kBegin = "-----BEGIN ";

// The certificates come first; the key is the block that says so.
std::optional<net::KeyPair> SplitPair(const std::string& text) {
  const std::size_t label = text.find("PRIVATE KEY-----");
  if (label == std::string::npos) return std::nullopt;
  const std::size_t key = text.rfind(kBegin, label);
  if (key == std::string::npos) return std::nullopt;
  return net::KeyPair{text.substr(0, key), text.substr(key)};
}

}  // namespace

std::optional<net::KeyPair> CertificateFile::Load() const {
  if (path_.empty()) return std::nullopt;
  const auto text = ReadFile(path_);
  if (!text) return std::nullopt;
  auto pair = SplitPair(*text);
  if (!pair || !net::IsKeyOf(pair->private_key_pem, pair->certificate_pem)) return std::nullopt;
  return pair;
}

Status CertificateFile::Save(const net::KeyPair& pair) const {
  if (path_.empty()) return {};
  FLYBALL_TRY(MakePrivateFolder(std::filesystem::path(path_).parent_path().string()));
  return WriteFileDurably(path_, pair.certificate_pem + pair.private_key_pem);
}

}  // namespace flyball::node
