#include "node/registry/registry_client.h"

#include <charconv>

#include "client/rest_client.h"
#include "node/images/image_reference.h"
#include "node/registry/registry_auth.h"

namespace flyball::node {
namespace {

// Connections for one blob. All of them, however far each gets: a server that gives a byte each time must
// not keep a pull alive for ever.
constexpr int kMaxAttempts = 6;
constexpr Duration kRetryDelay = std::chrono::milliseconds(200);

bool IsServerTrouble(int status) {
  return status == 408 || status == 429 || status >= 500;
}

Error UnexpectedStatus(const std::string& url, int status) {
  const std::string text = "unexpected status from GET request to " + url + ": " + std::to_string(status);
  if (status == 404) return Error(Reason::kNotFound, text);
  if (status == 401 || status == 403) return Error(Reason::kUnauthorized, text);
  return IsServerTrouble(status) ? Error(Reason::kServiceUnavailable, text) : BadRequest(text);
}

// Whether the same request may work a moment later.
bool IsPassing(const Error& error) {
  return error.Is(Reason::kConnection) || error.Is(Reason::kTimeout) || error.Is(Reason::kServiceUnavailable);
}

// The first byte that a "bytes 100-199/200" has; -1 if it says none.
std::int64_t RangeStart(std::string_view text) {
  constexpr std::string_view kUnit = "bytes ";
  std::int64_t start = -1;
  if (text.starts_with(kUnit)) {
    text.remove_prefix(kUnit.size());
    if (std::from_chars(text.data(), text.data() + text.size(), start).ec != std::errc()) return -1;
  }
  return start;
}

}  // namespace

RegistryClient::RegistryClient(RegistryHttp& http, RegistryEndpoint endpoint, std::string registry,
                               std::string repository, std::optional<RegistryCredentials> credentials)
    : http_(http),
      endpoint_(std::move(endpoint)),
      registry_(std::move(registry)),
      repository_(std::move(repository)),
      credentials_(std::move(credentials)) {}

bool RegistryClient::used_credentials() const {
  MutexLock lock(mu_);
  return used_credentials_;
}

std::string RegistryClient::UrlOf(const std::string& path) const {
  std::string url = endpoint_.url + "/v2/" + repository_ + path;
  // As containerd: a mirror of several registries has to know which is meant.
  if (endpoint_.mirror) url += "?ns=" + PercentEncode(registry_);
  return url;
}

Result<std::unique_ptr<RegistryResponse>> RegistryClient::Get(const std::string& path, net::Headers headers) {
  const std::string url = UrlOf(path);
  for (bool again = false;; again = true) {
    {
      MutexLock lock(mu_);
      if (!authorization_.empty()) headers.Set("authorization", authorization_);
    }
    FLYBALL_ASSIGN(auto response, http_.Send(url, {.headers = headers}));
    // A token that has expired is asked for anew, once: who refuses a new one refuses.
    if (response->status() != 401 || again) return response;
    const auto challenges = ParseChallenges(response->headers().GetAll("www-authenticate"));
    FLYBALL_ASSIGN(const RegistryAuthorization authorization,
                   Authorize(http_, url, challenges, "repository:" + repository_ + ":pull", credentials_));
    MutexLock lock(mu_);
    authorization_ = authorization.header;
    used_credentials_ = used_credentials_ || authorization.with_credentials;
  }
}

Result<RegistryDocument> RegistryClient::Manifest(const std::string& tag_or_digest) {
  const std::string path = "/manifests/" + tag_or_digest;
  net::Headers headers;
  headers.Set("accept", std::string(kOciIndexType) + ", " + kOciManifestType + ", " + kDockerIndexType +
                            ", " + kDockerManifestType);
  FLYBALL_ASSIGN(const auto response, Get(path, std::move(headers)));
  if (response->status() != 200) return Unexpected(UnexpectedStatus(UrlOf(path), response->status()));
  RegistryDocument document;
  FLYBALL_ASSIGN(document.text, response->ReadAll(kMaxImageDocument));
  document.digest = DigestOf(document.text);
  std::string expected(response->headers().Get("docker-content-digest"));
  if (IsDigest(tag_or_digest)) expected = tag_or_digest;
  if (!expected.empty() && expected != document.digest)
    return Unexpected(BadRequest("manifest has digest " + document.digest + ", expected " + expected));
  return document;
}

Result<bool> RegistryClient::Continue(const ContentDescriptor& blob, BlobWriter& writer,
                                      const std::atomic<bool>& stop, std::atomic<std::int64_t>* fetched) {
  const std::string path = "/blobs/" + blob.digest;
  net::Headers headers;
  if (writer.size() > 0) headers.Set("range", "bytes=" + std::to_string(writer.size()) + "-");
  FLYBALL_ASSIGN(const auto response, Get(path, std::move(headers)));
  std::int64_t skip = 0;
  if (response->status() == 200)
    skip = writer.size();  // it does not know ranges, and begins again
  else if (response->status() != 206)
    return Unexpected(UnexpectedStatus(UrlOf(path), response->status()));
  else if (RangeStart(response->headers().Get("content-range")) != writer.size())
    return Unexpected(
        BadRequest("the registry sends another part of " + blob.digest + " than it was asked for"));
  while (!stop) {
    FLYBALL_ASSIGN(const std::string data, response->Read());
    if (data.empty()) return writer.size() == blob.size;
    const auto skipped = std::min<std::int64_t>(skip, static_cast<std::int64_t>(data.size()));
    skip -= skipped;
    FLYBALL_TRY(writer.Write(std::string_view(data).substr(static_cast<std::size_t>(skipped))));
    if (fetched) *fetched += static_cast<std::int64_t>(data.size()) - skipped;
  }
  return Unexpected(Error(Reason::kCancelled, "the pull has failed elsewhere"));
}

Status RegistryClient::Blob(const ContentDescriptor& blob, const BlobStore& store,
                            const std::atomic<bool>& stop, std::atomic<std::int64_t>* fetched) {
  FLYBALL_ASSIGN(const auto writer, store.New(blob.size));
  for (int attempt = 1;; ++attempt) {
    const Result<bool> whole = Continue(blob, *writer, stop, fetched);
    if (whole && *whole) break;
    const Error error = whole ? Error(Reason::kConnection, "content " + blob.digest + " ends after " +
                                                               std::to_string(writer->size()) + " of " +
                                                               std::to_string(blob.size) + " bytes")
                              : whole.error();
    if (attempt == kMaxAttempts || !IsPassing(error)) return Unexpected(error);
    http_.Sleep(kRetryDelay * attempt);
  }
  auto digest = writer->Commit(blob.digest);
  if (!digest) return Unexpected(digest.error());
  return {};
}

}  // namespace flyball::node
