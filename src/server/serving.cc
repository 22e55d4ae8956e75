#include "server/serving.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "api/values/ip_address.h"
#include "net/io/socket_address.h"

namespace flyball::server {
namespace {

// Certificates of a cluster that is meant to be left running: ten years, as kubeadm gives its CA.
constexpr Duration kValidity = std::chrono::hours(24 * 365 * 10);

Error FileError(const std::string& what, const std::string& path) {
  return InternalError("cannot " + what + " " + path + ": " + std::strerror(errno));
}

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Unexpected(FileError("read", path));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

bool Exists(const std::string& path) {
  return std::filesystem::exists(path);
}

// The pair in <dir>/<name>.crt and .key, made by `make` if it is not there.
template <typename Make>
Result<net::KeyPair> LoadOrMake(const std::string& dir, const std::string& name, Make make) {
  const std::string certificate = dir + "/" + name + ".crt", key = dir + "/" + name + ".key";
  if (Exists(certificate) && Exists(key)) {
    FLYBALL_ASSIGN(auto certificate_pem, ReadFile(certificate));
    FLYBALL_ASSIGN(auto key_pem, ReadFile(key));
    return net::KeyPair{std::move(certificate_pem), std::move(key_pem)};
  }
  Result<net::KeyPair> pair = make();
  if (!pair) return pair;
  FLYBALL_TRY(WritePrivateFile(key, pair->private_key_pem));
  FLYBALL_TRY(WritePrivateFile(certificate, pair->certificate_pem));
  return pair;
}

// A name, or an address, of a certificate to be.
void AddName(const std::string& name, net::CertificateRequest& request) {
  const auto ip = api::ParseIp(name);
  if (ip && ip->IsUnspecified()) return;
  auto& names = ip ? request.ip_addresses : request.dns_names;
  const std::string text = ip ? ip->ToString() : name;
  if (!text.empty() && std::find(names.begin(), names.end(), text) == names.end()) names.push_back(text);
}

net::CertificateRequest ServingRequest(const ServingOptions& options) {
  net::CertificateRequest request;
  request.common_name = "kube-apiserver";
  request.server = true;
  request.dns_names = {"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
                       "kubernetes.default.svc.cluster.local"};
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) == 0) AddName(host, request);
  request.ip_addresses = {"127.0.0.1", "::1"};
  AddName(options.bind_address, request);
  AddName(AdvertisedAddress(options), request);
  AddName(options.external_hostname.substr(0, options.external_hostname.find(':')), request);
  for (const std::string& name : options.alternative_names) AddName(name, request);
  return request;
}

// A certificate of the user's own: clients trust whoever signed it, if we know that, else the certificate
// itself.
Status UseServingFiles(const ServingOptions& options, Pki& pki) {
  if (options.tls_private_key_file.empty())
    return Unexpected(BadRequest("--tls-cert-file needs --tls-private-key-file, the certificate's key"));
  FLYBALL_ASSIGN(pki.serving.certificate_pem, ReadFile(options.tls_cert_file));
  FLYBALL_ASSIGN(pki.serving.private_key_pem, ReadFile(options.tls_private_key_file));
  const bool known = net::IsSignedByAny(pki.serving.certificate_pem, pki.client_ca_pem);
  pki.server_ca_pem = known ? pki.client_ca_pem : pki.serving.certificate_pem;
  return {};
}

// The keys of a PEM text, each by itself.
std::vector<std::string> SplitPem(const std::string& text) {
  constexpr std::string_view kBegin = "-----BEGIN ";
  std::vector<std::string> out;
  for (auto at = text.find(kBegin); at != std::string::npos;) {
    const auto next = text.find(kBegin, at + kBegin.size());
    out.push_back(text.substr(at, next == std::string::npos ? next : next - at));
    at = next;
  }
  return out;
}

bool IsPrivateKey(const std::string& pem) {
  return pem.find("PRIVATE KEY-----") != std::string::npos;
}

Status LoadServiceAccountKeys(const ServingOptions& options, const std::string& dir, Pki& pki) {
  for (const std::string& path : options.service_account_key_files) {
    FLYBALL_ASSIGN(const std::string text, ReadFile(path));
    for (std::string& key : SplitPem(text)) pki.service_account_keys.push_back(std::move(key));
  }
  const auto& keys = pki.service_account_keys;
  const auto own = std::find_if(keys.begin(), keys.end(), IsPrivateKey);
  const std::string kept = dir + "/sa.key";
  if (!options.service_account_signing_key_file.empty()) {
    FLYBALL_ASSIGN(pki.service_account_key, ReadFile(options.service_account_signing_key_file));
  } else if (own != keys.end()) {
    pki.service_account_key = *own;
  } else if (Exists(kept)) {
    FLYBALL_ASSIGN(pki.service_account_key, ReadFile(kept));
  } else {
    FLYBALL_ASSIGN(pki.service_account_key, net::MakePrivateKey(net::KeyType::kEcdsaP256));
    FLYBALL_TRY(WritePrivateFile(kept, pki.service_account_key));
  }
  return {};
}

}  // namespace

Status WritePrivateFile(const std::string& path, std::string_view text) {
  const std::string temporary = path + ".tmp";
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return Unexpected(FileError("write", temporary));
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const bool closed = ::close(fd) == 0;
  if (!written || !closed || ::rename(temporary.c_str(), path.c_str()) != 0)
    return Unexpected(FileError("write", path));
  return {};
}

Result<net::KeyPair> Pki::IssueClient(const std::string& user, const std::vector<std::string>& groups,
                                      TimePoint now) const {
  net::CertificateRequest request;
  request.common_name = user;
  request.organizations = groups;
  request.client = true;
  return net::IssueCertificate(ca, request, now, kValidity);
}

Result<Pki> LoadPki(const ServingOptions& options, const Clock& clock) {
  const std::string dir = options.data_dir + "/pki";
  std::error_code ec;
  std::filesystem::create_directories(dir, ec);
  if (ec) return Unexpected(InternalError("cannot make the folder " + dir + ": " + ec.message()));
  ::chmod(dir.c_str(), 0700);
  // A minute back: clients whose clocks are a little behind accept it too.
  const TimePoint now = clock.Now() - std::chrono::minutes(1);
  Pki pki;
  FLYBALL_ASSIGN(pki.ca, LoadOrMake(dir, "ca", [&] {
                   return net::MakeCertificateAuthority("kubernetes", now, kValidity);
                 }));
  FLYBALL_ASSIGN(pki.admin, LoadOrMake(dir, "admin", [&] {
                   return pki.IssueClient("kubernetes-admin", {std::string(kMastersGroup)}, now);
                 }));
  pki.client_ca_pem = pki.ca.certificate_pem;
  if (!options.client_ca_file.empty()) {
    FLYBALL_ASSIGN(const auto extra, ReadFile(options.client_ca_file));
    pki.client_ca_pem += "\n" + extra;
  }
  if (!options.tls_cert_file.empty()) {
    FLYBALL_TRY(UseServingFiles(options, pki));
  } else {
    // Issued anew each start: names and addresses may have changed, and it costs a fraction of a millisecond.
    FLYBALL_ASSIGN(pki.serving, net::IssueCertificate(pki.ca, ServingRequest(options), now, kValidity));
    pki.server_ca_pem = pki.ca.certificate_pem;
  }
  FLYBALL_TRY(LoadServiceAccountKeys(options, dir, pki));
  return pki;
}

Result<std::unique_ptr<net::HttpServer>> Serve(const ServingOptions& options, const Pki& pki,
                                               net::Handler handler) {
  net::ServerTls tls{pki.serving.certificate_pem, pki.serving.private_key_pem, pki.client_ca_pem};
  net::ServerOptions server;
  server.address = options.bind_address;
  server.port = options.port;
  server.tls = &tls;
  return net::HttpServer::Start(server, std::move(handler));
}

std::string AdvertisedAddress(const ServingOptions& options) {
  if (!options.advertise_address.empty()) return options.advertise_address;
  const auto bound = api::ParseIp(options.bind_address);
  const bool reachable = bound && !bound->IsUnspecified() && !bound->IsLoopback();
  return reachable ? options.bind_address : net::HostAddress();
}

std::string ExternalAddress(const ServingOptions& options, int port) {
  std::string host = options.external_hostname;
  if (host.find(':') != std::string::npos && !api::ParseIp(host)) return host;
  if (host.empty()) host = AdvertisedAddress(options);
  if (host.find(':') != std::string::npos) host = "[" + host + "]";
  return host + ":" + std::to_string(port);
}

std::string KubeconfigText(const std::string& server_url, const std::string& ca_pem,
                           const net::KeyPair& client, const std::string& user) {
  const auto base64 = [](const std::string& pem) { return net::Base64Encode(pem); };
  return "apiVersion: v1\n"
         "kind: Config\n"
         "clusters:\n"
         "- name: flyball\n"
         "  cluster:\n"
         "    server: " +
         server_url +
         "\n"
         "    certificate-authority-data: " +
         base64(ca_pem) +
         "\n"
         "users:\n"
         "- name: " +
         user +
         "\n"
         "  user:\n"
         "    client-certificate-data: " +
         base64(client.certificate_pem) +
         "\n"
         "    client-key-data: " +
         base64(client.private_key_pem) +
         "\n"
         "contexts:\n"
         "- name: " +
         user +
         "@flyball\n"
         "  context:\n"
         "    cluster: flyball\n"
         "    user: " +
         user +
         "\n"
         "current-context: " +
         user + "@flyball\n";
}

}  // namespace flyball::server
