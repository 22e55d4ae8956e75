#include "server/serving.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "api/values/ip_address.h"
#include "base/files/durable_file.h"
#include "net/io/socket_address.h"

namespace flyball::server {
namespace {

// The CA of a cluster that is meant to be left running: ten years, as kubeadm's. What it issues: one.
constexpr Duration kAuthorityValidity = std::chrono::hours(24 * 365 * 10);
constexpr Duration kValidity = std::chrono::hours(24 * 365);
// A minute back: clients whose clocks are a little behind accept it too.
constexpr Duration kIssuedBefore = std::chrono::minutes(1);

bool Exists(const std::string& path) {
  return std::filesystem::exists(path);
}

bool IsBlank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

// A file of keys or certificates. An empty one is what a power cut or a full disk has left of it: going on
// without a word would give the cluster another identity.
Result<std::string> ReadPem(const std::string& path) {
  FLYBALL_ASSIGN(std::string text, ReadFile(path));
  if (IsBlank(text))
    return Unexpected(InternalError(path +
                                    " is empty: put its content back from a copy or a snapshot; if there is "
                                    "none, delete it together with its pair to have a new one made"));
  return text;
}

Result<std::string> ReadPrivateKey(const std::string& path) {
  FLYBALL_ASSIGN(std::string key, ReadPem(path));
  if (const auto usable = net::PublicKeyPem(key); !usable)
    return Unexpected(InternalError(path + " holds no usable private key: " + usable.error().message()));
  return key;
}

// The key first: a key alone was cut off before anybody could use it, and is made anew.
Status WritePair(const std::string& dir, const std::string& name, const net::KeyPair& pair) {
  FLYBALL_TRY(WriteFileDurably(dir + "/" + name + ".key", pair.private_key_pem));
  return WriteFileDurably(dir + "/" + name + ".crt", pair.certificate_pem);
}

// The pair in <dir>/<name>.crt and .key, made by `make` if it is not there.
template <typename Make>
Result<net::KeyPair> LoadOrMake(const std::string& dir, const std::string& name, Make make) {
  const std::string certificate = dir + "/" + name + ".crt", key = dir + "/" + name + ".key";
  if (Exists(certificate)) {
    if (!Exists(key))
      return Unexpected(InternalError(certificate + " is there but its key " + key +
                                      " is missing: put the key back, or move the certificate away too to "
                                      "have a new pair made"));
    FLYBALL_ASSIGN(auto certificate_pem, ReadPem(certificate));
    FLYBALL_ASSIGN(auto key_pem, ReadPrivateKey(key));
    return net::KeyPair{std::move(certificate_pem), std::move(key_pem)};
  }
  Result<net::KeyPair> pair = make();
  if (!pair) return pair;
  FLYBALL_TRY(WritePair(dir, name, *pair));
  return pair;
}

TimePoint RenewalOf(const net::KeyPair& pair) {
  const auto info = net::ParseCertificate(pair.certificate_pem);
  return info ? info->not_before + (info->not_after - info->not_before) / 10 * 7 : TimePoint();
}

// Also if another CA has issued it, or if it is one of those for ten years that were issued once.
bool IsDue(const net::KeyPair& pair, const net::KeyPair& ca, TimePoint now) {
  const auto info = net::ParseCertificate(pair.certificate_pem);
  return !info || now >= RenewalOf(pair) || info->not_after > now + kValidity ||
         !net::IsSignedByAny(pair.certificate_pem, ca.certificate_pem);
}

Result<net::KeyPair> IssueFrontProxy(const Pki& pki, TimePoint now) {
  net::CertificateRequest request;
  request.common_name = kFrontProxyUser;
  request.client = true;
  return net::IssueCertificate(pki.front_proxy_ca, request, now, kValidity);
}

Result<net::KeyPair> IssueAdmin(const Pki& pki, TimePoint now) {
  return pki.IssueClient("kubernetes-admin", {std::string(kMastersGroup)}, now);
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
  AddName(MachineName(), request);
  request.ip_addresses = {"127.0.0.1", "::1"};
  AddName(options.bind_address, request);
  AddName(AdvertisedAddress(options), request);
  AddName(options.external_hostname.substr(0, options.external_hostname.find(':')), request);
  for (const std::string& address : options.further_addresses) AddName(address, request);
  for (const std::string& name : options.alternative_names) AddName(name, request);
  return request;
}

// A certificate of the user's own: clients trust whoever signed it, if we know that, else the certificate
// itself.
Status UseServingFiles(const ServingOptions& options, Pki& pki) {
  if (options.tls_private_key_file.empty())
    return Unexpected(BadRequest("--tls-cert-file needs --tls-private-key-file, the certificate's key"));
  FLYBALL_ASSIGN(pki.serving.certificate_pem, ReadPem(options.tls_cert_file));
  FLYBALL_ASSIGN(pki.serving.private_key_pem, ReadPrivateKey(options.tls_private_key_file));
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
    FLYBALL_ASSIGN(const std::string text, ReadPem(path));
    for (std::string& key : SplitPem(text)) pki.service_account_keys.push_back(std::move(key));
  }
  const auto& keys = pki.service_account_keys;
  const auto own = std::find_if(keys.begin(), keys.end(), IsPrivateKey);
  const std::string kept = dir + "/sa.key";
  if (!options.service_account_signing_key_file.empty()) {
    FLYBALL_ASSIGN(pki.service_account_key, ReadPrivateKey(options.service_account_signing_key_file));
  } else if (own != keys.end()) {
    pki.service_account_key = *own;
  } else if (Exists(kept)) {
    FLYBALL_ASSIGN(pki.service_account_key, ReadPrivateKey(kept));
  } else {
    FLYBALL_ASSIGN(pki.service_account_key, net::MakePrivateKey(net::KeyType::kEcdsaP256));
    FLYBALL_TRY(WriteFileDurably(kept, pki.service_account_key));
  }
  return {};
}

}  // namespace

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
  FLYBALL_TRY(MakePrivateFolder(dir));
  ::chmod(dir.c_str(), 0700);  // it may have been made by hand
  const TimePoint now = clock.Now() - kIssuedBefore;
  Pki pki;
  FLYBALL_ASSIGN(pki.ca, LoadOrMake(dir, "ca", [&] {
                   return net::MakeCertificateAuthority("kubernetes", now, kAuthorityValidity);
                 }));
  FLYBALL_ASSIGN(pki.admin, LoadOrMake(dir, "admin", [&] { return IssueAdmin(pki, now); }));
  pki.client_ca_pem = pki.ca.certificate_pem;
  if (!options.client_ca_file.empty()) {
    FLYBALL_ASSIGN(const auto extra, ReadPem(options.client_ca_file));
    pki.client_ca_pem += "\n" + extra;
  }
  if (!options.tls_cert_file.empty()) {
    FLYBALL_TRY(UseServingFiles(options, pki));
  } else {
    // Issued anew each start: names and addresses may have changed, and it costs a fraction of a millisecond.
    FLYBALL_ASSIGN(pki.serving, net::IssueCertificate(pki.ca, ServingRequest(options), now, kValidity));
    pki.server_ca_pem = pki.ca.certificate_pem;
  }
  FLYBALL_ASSIGN(pki.node_client, pki.IssueClient(kNodeClientUser, {}, now));
  if (options.proxy_client_cert_file.empty()) {
    FLYBALL_ASSIGN(pki.front_proxy_ca, LoadOrMake(dir, "front-proxy-ca", [&] {
                     return net::MakeCertificateAuthority("front-proxy-ca", now, kAuthorityValidity);
                   }));
    FLYBALL_ASSIGN(pki.front_proxy_client, IssueFrontProxy(pki, now));
  }
  FLYBALL_TRY(RenewPki(options, clock, pki));
  FLYBALL_TRY(LoadServiceAccountKeys(options, dir, pki));
  return pki;
}

net::ServerTls ServerTlsOf(const Pki& pki) {
  return {pki.serving.certificate_pem, pki.serving.private_key_pem,
          pki.client_ca_pem + "\n" + pki.proxy_ca_pem};
}

TimePoint NextRenewal(const Pki& pki) {
  TimePoint first = std::min(RenewalOf(pki.admin), RenewalOf(pki.node_client));
  if (!pki.front_proxy_client.certificate_pem.empty())
    first = std::min(first, RenewalOf(pki.front_proxy_client));
  // A certificate of the user's own is the user's to renew.
  if (net::IsSignedByAny(pki.serving.certificate_pem, pki.ca.certificate_pem))
    first = std::min(first, RenewalOf(pki.serving));
  return first;
}

Status RenewPki(const ServingOptions& options, const Clock& clock, Pki& pki) {
  const TimePoint now = clock.Now(), from = now - kIssuedBefore;
  Pki renewed = pki;
  if (options.tls_cert_file.empty() && IsDue(pki.serving, pki.ca, now)) {
    FLYBALL_ASSIGN(renewed.serving, net::IssueCertificate(pki.ca, ServingRequest(options), from, kValidity));
  }
  if (IsDue(pki.node_client, pki.ca, now)) {
    FLYBALL_ASSIGN(renewed.node_client, pki.IssueClient(kNodeClientUser, {}, from));
  }
  if (!pki.front_proxy_client.certificate_pem.empty() &&
      IsDue(pki.front_proxy_client, pki.front_proxy_ca, now)) {
    FLYBALL_ASSIGN(renewed.front_proxy_client, IssueFrontProxy(pki, from));
  }
  if (IsDue(pki.admin, pki.ca, now)) {
    FLYBALL_ASSIGN(renewed.admin, IssueAdmin(pki, from));
    FLYBALL_TRY(WritePair(options.data_dir + "/pki", "admin", renewed.admin));
  }
  pki = std::move(renewed);
  return {};
}

Result<std::unique_ptr<net::HttpServer>> Serve(const ServingOptions& options, const Pki& pki,
                                               net::Handler handler) {
  const net::ServerTls tls = ServerTlsOf(pki);
  net::ServerOptions server;
  server.address = options.bind_address;
  server.port = options.port;
  server.tls = &tls;
  server.goaway_chance = options.goaway_chance;
  FLYBALL_ASSIGN(auto http, net::HttpServer::Start(server, handler));
  for (const std::string& address : options.further_addresses)
    if (const auto port = http->AlsoListen(http->port(), handler, address); !port)
      return Unexpected(port.error());
  return http;
}

std::string MachineName() {
  char host[256] = {};
  return ::gethostname(host, sizeof host - 1) == 0 && host[0] != '\0' ? host : "localhost";
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
