// Serving: an ApiServer on a port: certificates (made on first start, kept in the data folder), the listener,
// and the kubeconfig for its administrator.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/values/result.h"
#include "net/server/http_server.h"
#include "net/tls/pki.h"
#include "server/api_server.h"

namespace flyball::server {

// The user the API server is to its nodes (upstream's usual name).
inline constexpr char kNodeClientUser[] = "kube-apiserver-kubelet-client";
// The name by which API servers behind this one know it (kubeadm's).
inline constexpr char kFrontProxyUser[] = "front-proxy-client";

struct ServingOptions {
  std::string bind_address = "127.0.0.1";
  int port = 6443;
  std::vector<std::string> further_addresses;  // where it listens too, at the same port
  std::string advertise_address;  // where others reach it; empty: the bind address, or the machine's own
  std::string external_hostname;  // shown to clients in place of the advertised address; may name a port
  std::string data_dir;           // certificates live in <data_dir>/pki
  std::string tls_cert_file, tls_private_key_file;            // empty: issued by our own CA
  std::string client_ca_file;                                 // empty: our own CA
  std::string proxy_client_cert_file, proxy_client_key_file;  // empty: issued by our own front-proxy CA
  std::string
      service_account_signing_key_file;  // empty: the first private one of the next, else made and kept
  std::vector<std::string>
      service_account_key_files;               // tokens signed by these are accepted too; public or private
  std::vector<std::string> alternative_names;  // further names and addresses of an issued certificate
  std::string kubeconfig_out;                  // empty: <data_dir>/kubeconfig
  double goaway_chance = 0;                    // of each HTTP/2 request (net::ServerOptions)
};

// The files of <data_dir>/pki: our CA, and what it has issued. Read if they are there, made otherwise.
struct Pki {
  net::KeyPair ca;
  net::KeyPair serving;
  net::KeyPair admin;               // user kubernetes-admin of system:masters
  net::KeyPair node_client;         // user kNodeClientUser, which the server is to its nodes
  net::KeyPair front_proxy_ca;      // of its own, so that no other certificate may name users in headers
  net::KeyPair front_proxy_client;  // kFrontProxyUser, which the server is to API servers behind it
  std::string client_ca_pem;
  std::string proxy_ca_pem;                       // of the proxies in front; empty: none
  std::string server_ca_pem;                      // what clients have to trust
  std::string service_account_key;                // signs tokens
  std::vector<std::string> service_account_keys;  // accepted too
  // Issues a client certificate for a component (system:kube-scheduler, ...).
  Result<net::KeyPair> IssueClient(const std::string& user, const std::vector<std::string>& groups,
                                   TimePoint now) const;
};
Result<Pki> LoadPki(const ServingOptions& options, const Clock& clock);

// What connections are served with.
net::ServerTls ServerTlsOf(const Pki& pki);
// What our CA issues lasts a year. When the first of it should be issued again: after 70 % of its life.
TimePoint NextRenewal(const Pki& pki);
// Issues again what is due: the serving certificate (unless it is the user's own), the administrator's, whose
// files are rewritten, the one for nodes and the one for API servers behind this one. On an error nothing has
// changed but files.
Status RenewPki(const ServingOptions& options, const Clock& clock, Pki& pki);

// Listens and serves. Requires that the ApiServer outlives it.
Result<std::unique_ptr<net::HttpServer>> Serve(const ServingOptions& options, const Pki& pki,
                                               net::Handler handler);

// The IP address others reach the server at.
std::string AdvertisedAddress(const ServingOptions& options);
// The machine's host name; "localhost" if it has none.
std::string MachineName();

// "host:port" clients are told to use, for a server that listens on `port` (upstream: ExternalAddress).
std::string ExternalAddress(const ServingOptions& options, int port);

// A kubeconfig with one cluster, user and context, certificates inline. It contains a private key: write it
// with WriteFileDurably.
std::string KubeconfigText(const std::string& server_url, const std::string& ca_pem,
                           const net::KeyPair& client, const std::string& user);

}  // namespace flyball::server
