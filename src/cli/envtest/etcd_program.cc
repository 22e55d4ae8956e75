#include "cli/envtest/etcd_program.h"

#include <filesystem>
#include <iostream>

#include "base/files/durable_file.h"
#include "base/observe/log.h"
#include "base/values/ascii.h"
#include "cli/envtest/envtest_settings.h"
#include "cli/envtest/store_location.h"
#include "cli/foreign_flags/etcd_flags.h"
#include "json/json.h"
#include "net/http/origin.h"
#include "net/server/http_server.h"
#include "store/sqlite/sqlite_schema.h"

namespace flyball::cli {
namespace {

constexpr int kUnknownFlag = 2;  // etcd's exit status
// Of the etcd whose flags are known here.
constexpr char kEtcdVersion[] = "3.7.0";

struct EtcdOptions {
  std::string data_dir = "default.etcd";
  std::string listen_client_urls = "http://localhost:2379";
  bool sync = true;
};

EtcdOptions EtcdOptionsOf(const ParsedFlags& parsed) {
  EtcdOptions options;
  for (const auto& [flag, value] : parsed.given) {
    if (flag->name == "data-dir") options.data_dir = value;
    if (flag->name == "listen-client-urls") options.listen_client_urls = value;
    if (flag->name == "unsafe-no-fsync") options.sync = value == "false" || value == "0" || value == "f";
  }
  return options;
}

std::string EtcdVersionText() {
  return json::Write(
      json::Object{{"etcdserver", kEtcdVersion}, {"etcdcluster", "3.7.0"}, {"storage", "3.7.0"}});
}

Task<void> AnswerAsEtcd(StoreLocation location, std::shared_ptr<net::Request> request,
                        std::shared_ptr<net::ResponseStream> stream) {
  const std::string_view target(request->target);
  const std::string_view path = target.substr(0, target.find('?'));
  const net::Headers headers{{"content-type", "application/json"}};
  if (path == "/health" || path == "/health/")
    stream->Send(200, headers, R"({"health":"true","reason":""})");
  else if (path == "/version")
    stream->Send(200, headers, EtcdVersionText());
  else if (path == kStoreLocationPath)
    stream->Send(200, headers, StoreLocationText(location));
  else
    stream->Send(404, {{"content-type", "text/plain; charset=utf-8"}},
                 "404 page not found: this etcd belongs to `flyball envtest` and stores nothing itself\n");
  co_return;
}

Result<std::unique_ptr<net::HttpServer>> ListenAt(const std::string& url, const StoreLocation& location) {
  FLYBALL_ASSIGN(const net::Origin origin, net::ParseOrigin(url));
  if (origin.tls)
    return Unexpected(BadRequest("--listen-client-urls: " + url + ": only http is served here"));
  net::ServerOptions options;
  options.address = origin.host == "localhost" ? "127.0.0.1" : origin.host;
  options.port = origin.port;
  options.io_threads = 1;
  return net::HttpServer::Start(options, [location](std::shared_ptr<net::Request> request,
                                                    std::shared_ptr<net::ResponseStream> stream) {
    return AnswerAsEtcd(location, std::move(request), std::move(stream));
  });
}

Status ServeAsEtcd(const EtcdOptions& options) {
  BlockStopSignals();
  FLYBALL_ASSIGN(const EnvtestSettings settings, ReadEnvtestSettings());
  FLYBALL_ASSIGN(const EnvtestLifetime lifetime, EnvtestLifetime::Begin(settings));
  FLYBALL_TRY(MakePrivateFolder(options.data_dir));
  FLYBALL_ASSIGN(const store::FileLock lock, store::FileLock::Acquire(options.data_dir + "/flyball-etcd"));
  const StoreLocation location{std::filesystem::absolute(options.data_dir).string(), options.sync};
  std::vector<std::unique_ptr<net::HttpServer>> servers;
  for (const std::string& url : SplitWords(options.listen_client_urls, ",")) {
    FLYBALL_ASSIGN(auto server, ListenAt(url, location));
    servers.push_back(std::move(server));
    log::Info("serving client requests", {{"url", url}, {"data-dir", location.data_dir}});
  }
  const bool orphaned = lifetime.Wait();
  servers.clear();
  if (orphaned) RemoveEnvtestFolder(location.data_dir);
  return {};
}

void PrintEtcdHelp() {
  std::cout
      << "Usage:\n\n  etcd [flags]\n    Hold a data folder for the kube-apiserver that `flyball envtest` "
         "writes.\n\n"
         "Flags with an effect: --data-dir, --listen-client-urls, --unsafe-no-fsync. The others are etcd's; "
         "they are accepted.\n\n";
  for (const ForeignFlag& flag : EtcdFlags()) std::cout << FlagUsage(flag) << "\n";
}

}  // namespace

int RunEtcd(const std::vector<std::string>& arguments) {
  const auto parsed = ParseFlags(EtcdFlags(), arguments, FlagStyle::kGo);
  if (!parsed) {
    std::cerr << parsed.error().message() << "\nRun 'etcd --help' for its flags.\n";
    return kUnknownFlag;
  }
  if (parsed->help) {
    PrintEtcdHelp();
    return 0;
  }
  if (!parsed->arguments.empty()) {
    std::cerr << "\"" << parsed->arguments.front() << "\" is not a valid flag\n";
    return 1;
  }
  for (const GivenFlag& given : parsed->given)
    if (given.flag->name == "version") {
      std::cout << "etcd Version: " << kEtcdVersion << "\n";
      return 0;
    }
  if (const Status served = ServeAsEtcd(EtcdOptionsOf(*parsed)); !served) {
    std::cerr << "etcd: " << served.error().message() << "\n";
    return 1;
  }
  return 0;
}

}  // namespace flyball::cli
