#include "server/serving.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "api/ip_address.h"
#include "net/socket_address.h"

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

net::CertificateRequest ServingRequest(const std::string& bind_address) {
  net::CertificateRequest request;
  request.common_name = "kube-apiserver";
  request.server = true;
  request.dns_names = {"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
                       "kubernetes.default.svc.cluster.local"};
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) == 0 && host[0] != '\0') request.dns_names.emplace_back(host);
  request.ip_addresses = {"127.0.0.1", "::1"};
  const auto ip = api::ParseIp(bind_address);
  if (ip && !ip->IsUnspecified() && !ip->IsLoopback()) request.ip_addresses.push_back(ip->ToString());
  return request;
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
  if (!options.tls_cert_file.empty()) {
    FLYBALL_ASSIGN(pki.serving.certificate_pem, ReadFile(options.tls_cert_file));
    FLYBALL_ASSIGN(pki.serving.private_key_pem, ReadFile(options.tls_private_key_file));
  } else {
    // Issued anew each start: names and addresses may have changed, and it costs a fraction of a millisecond.
    FLYBALL_ASSIGN(pki.serving,
                   net::IssueCertificate(pki.ca, ServingRequest(options.bind_address), now, kValidity));
  }
  FLYBALL_ASSIGN(pki.admin, LoadOrMake(dir, "admin", [&] {
                   return pki.IssueClient("kubernetes-admin", {std::string(kMastersGroup)}, now);
                 }));
  pki.client_ca_pem = pki.ca.certificate_pem;
  if (!options.client_ca_file.empty()) {
    FLYBALL_ASSIGN(const auto extra, ReadFile(options.client_ca_file));
    pki.client_ca_pem += "\n" + extra;
  }
  const std::string key_path =
      options.service_account_key_file.empty() ? dir + "/sa.key" : options.service_account_key_file;
  if (Exists(key_path) || !options.service_account_key_file.empty()) {
    FLYBALL_ASSIGN(pki.service_account_key, ReadFile(key_path));
  } else {
    FLYBALL_ASSIGN(pki.service_account_key, net::MakePrivateKey(net::KeyType::kEcdsaP256));
    FLYBALL_TRY(WritePrivateFile(key_path, pki.service_account_key));
  }
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

std::string ExternalAddress(const ServingOptions& options, int port) {
  std::string host = options.external_hostname;
  if (host.find(':') != std::string::npos && !api::ParseIp(host)) return host;
  if (host.empty()) host = options.advertise_address;
  if (host.empty()) {
    const auto bound = api::ParseIp(options.bind_address);
    const bool reachable = bound && !bound->IsUnspecified() && !bound->IsLoopback();
    host = reachable ? options.bind_address : net::HostAddress();
  }
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
