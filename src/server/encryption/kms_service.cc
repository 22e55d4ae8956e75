#include "server/encryption/kms_service.h"

#include "net/grpc/grpc_channel.h"
#include "server/encryption/kms_wire.h"

namespace flyball::server {
namespace {

// Reads a message whose fields of interest are all bytes; `take` gets their number and content.
template <typename Take>
Status ReadMessage(std::string_view bytes, Take take) {
  WireReader reader(bytes);
  while (reader.NextField()) {
    if (reader.type() == WireType::kBytes)
      take(reader.number(), reader.Bytes());
    else
      reader.Skip();
  }
  if (!reader.ok()) return Unexpected(InternalError("the KMS plugin's answer is malformed"));
  return {};
}

class GrpcKmsService final : public KmsService {
 public:
  GrpcKmsService(std::string name, std::unique_ptr<net::GrpcChannel> channel, Duration timeout,
                 Metrics& metrics)
      : name_(std::move(name)), channel_(std::move(channel)), timeout_(timeout), metrics_(metrics) {}

  Result<KmsStatus> Status() override {
    FLYBALL_ASSIGN(const std::string answer, Call("Status", ""));
    KmsStatus status;
    FLYBALL_TRY(ReadMessage(answer, [&](std::uint32_t number, std::string_view bytes) {
      if (number == 1) status.version = bytes;
      if (number == 2) status.healthz = bytes;
      if (number == 3) status.key_id = bytes;
    }));
    return status;
  }

  Result<KmsCiphertext> Encrypt(const std::string& uid, std::string_view plain) override {
    std::string request;
    WireWriter writer(request);
    writer.Bytes(1, plain);
    writer.Bytes(2, uid);
    FLYBALL_ASSIGN(const std::string answer, Call("Encrypt", request));
    KmsCiphertext sealed;
    FLYBALL_TRY(ReadMessage(answer, [&](std::uint32_t number, std::string_view bytes) {
      if (number == 1) sealed.ciphertext = bytes;
      if (number == 2) sealed.key_id = bytes;
      if (number == 3) ReadAnnotation(bytes, sealed.annotations);
    }));
    return sealed;
  }

  Result<std::string> Decrypt(const std::string& uid, const KmsCiphertext& sealed) override {
    std::string request;
    WireWriter writer(request);
    writer.Bytes(1, sealed.ciphertext);
    writer.Bytes(2, uid);
    writer.Bytes(3, sealed.key_id);
    WriteAnnotations(writer, 4, sealed.annotations);
    FLYBALL_ASSIGN(const std::string answer, Call("Decrypt", request));
    std::string plain;
    FLYBALL_TRY(ReadMessage(answer, [&](std::uint32_t number, std::string_view bytes) {
      if (number == 1) plain = bytes;
    }));
    return plain;
  }

 private:
  // All three calls may be repeated.
  Result<std::string> Call(const std::string& method, std::string_view message) {
    const std::string path = "/v2.KeyManagementService/" + method;
    const SteadyTime began = RealClock().Steady();
    auto answer = channel_->Call(path, message, {.timeout = timeout_, .wait_for_ready = true});
    Observe(path, answer.has_value(), RealClock().Steady() - began);
    return answer;
  }

  void Observe(const std::string& method, bool ok, Duration took) {
    metrics_
        .GetHistogram("apiserver_envelope_encryption_kms_operations_latency_seconds",
                      "KMS operation duration with gRPC error code status total.",
                      {.0001, .0002, .0004, .0008, .0016,  .0032,  .0064,  .0128,   .0256,   .0512,
                       .1024, .2048, .4096, .8192, 1.6384, 3.2768, 6.5536, 13.1072, 26.2144, 52.4288},
                      {{"provider_name", name_},
                       {"method_name", method},
                       {"grpc_status_code", ok ? "OK" : "unknown-non-grpc"}})
        .Observe(std::chrono::duration<double>(took).count());
  }

  const std::string name_;
  const std::unique_ptr<net::GrpcChannel> channel_;
  const Duration timeout_;
  Metrics& metrics_;
};

}  // namespace

Result<std::unique_ptr<KmsService>> NewKmsService(const std::string& name, const std::string& endpoint,
                                                  Duration timeout, Metrics& metrics) {
  if (!endpoint.starts_with("unix://"))
    return Unexpected(BadRequest("a KMS provider listens on a Unix socket, not at \"" + endpoint + "\""));
  FLYBALL_ASSIGN(auto channel, net::GrpcChannel::Make(endpoint));
  return std::unique_ptr<KmsService>(
      std::make_unique<GrpcKmsService>(name, std::move(channel), timeout, metrics));
}

}  // namespace flyball::server
