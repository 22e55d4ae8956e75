#include "server/certificate_files.h"

#include "base/files/durable_file.h"
#include "base/observe/log.h"
#include "server/auth/config/request_header_config.h"
#include "server/auth/trusted_authorities.h"

namespace flyball::server {

namespace {

// Where the flags say nothing, as kubeadm sets them.
void UseStandardHeaders(RequestHeaderOptions& headers) {
  const auto fill = [](std::vector<std::string>& names, const char* standard) {
    if (names.empty()) names = {standard};
  };
  fill(headers.username_headers, "X-Remote-User");
  fill(headers.uid_headers, "X-Remote-Uid");
  fill(headers.group_headers, "X-Remote-Group");
  fill(headers.extra_header_prefixes, "X-Remote-Extra-");
  fill(headers.allowed_names, kFrontProxyUser);
}

}  // namespace

Status PrepareTrust(Pki& pki, AuthenticationOptions& authentication) {
  FLYBALL_ASSIGN(authentication.client_authorities, TrustedAuthorities::Make(pki.client_ca_pem));
  auto& headers = authentication.request_header;
  if (!headers.client_ca_file.empty()) {
    FLYBALL_ASSIGN(pki.proxy_ca_pem, ReadFile(headers.client_ca_file));
  } else if (!pki.front_proxy_ca.certificate_pem.empty()) {
    pki.proxy_ca_pem = pki.front_proxy_ca.certificate_pem;
    UseStandardHeaders(headers);
  }
  if (!pki.proxy_ca_pem.empty()) {
    FLYBALL_ASSIGN(authentication.proxy_authorities, TrustedAuthorities::Make(pki.proxy_ca_pem));
  }
  return ValidateRequestHeaders(headers, pki.client_ca_pem, pki.proxy_ca_pem);
}

Result<net::KeyPair> ReadProxyClient(const ServingOptions& serving) {
  if (serving.proxy_client_cert_file.empty() || serving.proxy_client_key_file.empty())
    return Unexpected(BadRequest("--proxy-client-cert-file and --proxy-client-key-file go together"));
  net::KeyPair pair;
  FLYBALL_ASSIGN(pair.certificate_pem, ReadFile(serving.proxy_client_cert_file));
  FLYBALL_ASSIGN(pair.private_key_pem, ReadFile(serving.proxy_client_key_file));
  if (!net::IsKeyOf(pair.private_key_pem, pair.certificate_pem))
    return Unexpected(BadRequest("--proxy-client-key-file: " + serving.proxy_client_key_file +
                                 " is not the key of " + serving.proxy_client_cert_file));
  return pair;
}

CertificateFiles::CertificateFiles(const ServingOptions& serving, const Pki& pki,
                                   const AuthenticationOptions& authentication, net::HttpServer& http,
                                   ApiServer& api)
    : serving_(serving),
      authentication_(authentication),
      own_ca_(pki.ca.certificate_pem),
      own_proxy_ca_(pki.proxy_ca_pem),
      http_(http),
      api_(api),
      current_(ServerTlsOf(pki)) {}

Status CertificateFiles::Follow(FileWatcher& files) {
  std::vector<std::string> paths;
  for (const auto& path : {serving_.tls_cert_file, serving_.tls_private_key_file, serving_.client_ca_file,
                           authentication_.request_header.client_ca_file, serving_.proxy_client_cert_file,
                           serving_.proxy_client_key_file})
    if (!path.empty()) paths.push_back(path);
  if (paths.empty()) return {};
  return files.Watch(std::move(paths), [this] { Reload(); });
}

Status CertificateFiles::SetServing(const net::KeyPair& pair) {
  if (!serving_.tls_cert_file.empty()) return {};
  MutexLock lock(mu_);
  net::ServerTls next = current_;
  next.certificate_pem = pair.certificate_pem;
  next.private_key_pem = pair.private_key_pem;
  FLYBALL_TRY(http_.SetTls(next));
  current_ = std::move(next);
  return {};
}

void CertificateFiles::Reload() {
  MutexLock lock(mu_);
  if (const Status reloaded = TryReload(); !reloaded)
    log::Error("cannot use the changed certificate files; the old ones stay in force",
               {{"error", reloaded.error().message()}});
}

Status CertificateFiles::TryReload() {
  net::ServerTls next = current_;
  if (!serving_.tls_cert_file.empty()) {
    FLYBALL_ASSIGN(next.certificate_pem, ReadFile(serving_.tls_cert_file));
    FLYBALL_ASSIGN(next.private_key_pem, ReadFile(serving_.tls_private_key_file));
  }
  std::string users = own_ca_, proxies;
  if (!serving_.client_ca_file.empty()) {
    FLYBALL_ASSIGN(const std::string file, ReadFile(serving_.client_ca_file));
    // A file without certificates is one that is being written.
    FLYBALL_TRY(net::CertificateAuthorities::Parse(file));
    users += "\n" + file;
  }
  proxies = own_proxy_ca_;
  if (const auto& path = authentication_.request_header.client_ca_file; !path.empty()) {
    FLYBALL_ASSIGN(proxies, ReadFile(path));
    FLYBALL_TRY(net::CertificateAuthorities::Parse(proxies));
  }
  FLYBALL_TRY(ValidateRequestHeaders(authentication_.request_header, users, proxies));
  if (!serving_.proxy_client_cert_file.empty()) {
    FLYBALL_ASSIGN(const net::KeyPair pair, ReadProxyClient(serving_));
    api_.SetProxyClient(pair.certificate_pem, pair.private_key_pem);
  }
  next.client_ca_pem = users + "\n" + proxies;
  if (next.certificate_pem == current_.certificate_pem && next.private_key_pem == current_.private_key_pem &&
      next.client_ca_pem == current_.client_ca_pem)
    return {};
  FLYBALL_TRY(http_.SetTls(next));
  FLYBALL_TRY(authentication_.client_authorities->Set(users));
  if (authentication_.proxy_authorities) FLYBALL_TRY(authentication_.proxy_authorities->Set(proxies));
  current_ = std::move(next);
  api_.PublishTrust();
  log::Info("reloaded certificate files");
  return {};
}

}  // namespace flyball::server
