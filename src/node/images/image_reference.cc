#include "node/images/image_reference.h"

#include <algorithm>

namespace flyball::node {
namespace {

constexpr std::string_view kDefaultRegistry = "docker.io";
constexpr std::string_view kOfficialFolder = "library/";
constexpr std::string_view kDefaultTag = "latest";
constexpr std::size_t kMaxTag = 128, kMaxRepository = 255;
constexpr std::string_view kDigestPrefix = "sha256:";
constexpr std::size_t kHexDigits = 64;

bool IsLower(char c) {
  return c >= 'a' && c <= 'z';
}
bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}
bool IsUpper(char c) {
  return c >= 'A' && c <= 'Z';
}

// Groups of lower-case letters and digits with ".", "_", "__" or dashes between them.
bool IsPathComponent(std::string_view part) {
  std::size_t i = 0;
  const auto group = [&] {
    const std::size_t begin = i;
    while (i < part.size() && (IsLower(part[i]) || IsDigit(part[i]))) ++i;
    return i > begin;
  };
  if (!group()) return false;
  while (i < part.size()) {
    if (part[i] == '.') {
      ++i;
    } else if (part[i] == '_') {
      i += part.substr(i).starts_with("__") ? 2 : 1;
    } else if (part[i] == '-') {
      while (i < part.size() && part[i] == '-') ++i;
    } else {
      return false;
    }
    if (!group()) return false;
  }
  return true;
}

bool IsRepository(std::string_view text) {
  if (text.size() > kMaxRepository) return false;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find('/', begin);
    if (!IsPathComponent(text.substr(begin, end == text.npos ? end : end - begin))) return false;
    if (end == text.npos) return true;
    begin = end + 1;
  }
}

bool IsTag(std::string_view text) {
  const auto word = [](char c) { return IsLower(c) || IsUpper(c) || IsDigit(c) || c == '_'; };
  if (text.empty() || text.size() > kMaxTag || !word(text[0])) return false;
  return std::all_of(text.begin(), text.end(), [&](char c) { return word(c) || c == '.' || c == '-'; });
}

// A host name or address with an optional port.
bool IsRegistry(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const bool bracketed = text.starts_with('[');
  std::string_view host = text;
  if (colon != text.npos && (!bracketed || text[colon - 1] == ']')) {
    const std::string_view port = text.substr(colon + 1);
    if (port.empty() || port.size() > 5 || !std::all_of(port.begin(), port.end(), &IsDigit)) return false;
    host = text.substr(0, colon);
  }
  const auto word = [](char c) { return IsLower(c) || IsUpper(c) || IsDigit(c); };
  if (host.empty() || host.find("..") != host.npos) return false;
  if (!bracketed && (!word(host.front()) || !word(host.back()))) return false;
  return std::all_of(host.begin(), host.end(), [&](char c) {
    const bool name = IsLower(c) || IsUpper(c) || IsDigit(c) || c == '.' || c == '-';
    return name || (bracketed && (c == '[' || c == ']' || c == ':'));
  });
}

// Whether the part before the first slash names a registry, and not a folder of the default one.
bool NamesRegistry(std::string_view first) {
  return first.find_first_of(".:") != first.npos || first == "localhost" ||
         std::any_of(first.begin(), first.end(), &IsUpper);
}

Unexpected BadFormat(const char* why = "invalid reference format") {
  return Unexpected(BadRequest(why));
}

}  // namespace

bool IsDigest(std::string_view text) {
  if (!text.starts_with(kDigestPrefix) || text.size() != kDigestPrefix.size() + kHexDigits) return false;
  text.remove_prefix(kDigestPrefix.size());
  return std::all_of(text.begin(), text.end(), [](char c) { return IsDigit(c) || (c >= 'a' && c <= 'f'); });
}

Result<ImageReference> ImageReference::Parse(std::string_view text) {
  ImageReference reference;
  std::string_view rest = text;
  if (const std::size_t at = rest.find('@'); at != rest.npos) {
    reference.digest = rest.substr(at + 1);
    if (!IsDigest(reference.digest)) return BadFormat();
    rest = rest.substr(0, at);
  }
  const std::size_t slash = rest.find('/');
  if (slash != rest.npos && NamesRegistry(rest.substr(0, slash))) {
    reference.registry = rest.substr(0, slash);
    rest = rest.substr(slash + 1);
  }
  if (const std::size_t colon = rest.rfind(':'); colon != rest.npos) {
    reference.tag = rest.substr(colon + 1);
    if (!IsTag(reference.tag)) return BadFormat();
    rest = rest.substr(0, colon);
  }
  if (std::any_of(rest.begin(), rest.end(), &IsUpper))
    return BadFormat("invalid reference format: repository name must be lowercase");
  if (!IsRepository(rest)) return BadFormat();
  reference.repository = rest;
  if (reference.registry.empty()) reference.registry = kDefaultRegistry;
  if (!IsRegistry(reference.registry)) return BadFormat();
  if (reference.registry == "index.docker.io") reference.registry = kDefaultRegistry;
  if (reference.registry == kDefaultRegistry && rest.find('/') == rest.npos)
    reference.repository = std::string(kOfficialFolder) + reference.repository;
  if (reference.tag.empty() && reference.digest.empty()) reference.tag = kDefaultTag;
  return reference;
}

std::string ImageReference::Name() const {
  return Repository() + (digest.empty() ? ":" + tag : "@" + digest);
}

}  // namespace flyball::node
