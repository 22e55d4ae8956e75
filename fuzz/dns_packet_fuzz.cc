// DNS: any packet is parsed or refused, what is parsed can be written and read again, and the server's whole
// way from a packet to its answer ends with at most one answer that is DNS, of a bounded size.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "dns/server/responder.h"

namespace {

using namespace flyball;       // NOLINT(google-build-using-namespace)
using namespace flyball::dns;  // NOLINT(google-build-using-namespace)

void Check(bool holds) {
  if (!holds) std::abort();
}

Service HeadlessService() {
  Service service;
  service.metadata.namespace_ = "default";
  service.metadata.name = "db";
  service.spec.cluster_ip = "None";
  return service;
}

std::shared_ptr<const EndpointSlice> Slice() {
  auto slice = std::make_shared<EndpointSlice>();
  slice->address_type = "IPv4";
  slice->ports = {{.name = "sql", .protocol = "TCP", .port = 5432}};
  for (int i = 1; i < 200; ++i) {
    Endpoint endpoint{.addresses = {"10.0.0." + std::to_string(i)}};
    if (i % 2) endpoint.hostname = "db-" + std::to_string(i);
    slice->endpoints.push_back(std::move(endpoint));
  }
  return slice;
}

struct Server {
  Server() {
    zone.SetNamespace("default", true);
    zone.SetService("default", "db", RecordsOf(HeadlessService(), {Slice()}));
    zone.SetSynced(true);
  }
  Random random{1};
  Metrics metrics;
  Zone zone{{}, random};
  Responder responder{zone, nullptr, PrivateRanges(), RealClock(), random, metrics};
};

void AnswerOnce(Server& server, std::string_view packet, Transport transport) {
  int answers = 0;
  const Asker asker{.ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}, .transport = transport};
  server.responder.Answer(packet, asker, [&](const std::string& answer) {
    ++answers;
    Message message;
    Check(Parse(answer, message) == Parsed::kOk && message.response);
    Check(answer.size() <= (transport == Transport::kUdp ? kMaxUdpAnswer : kMaxPacketBytes));
  });
  Check(answers <= 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static auto& server = *new Server;
  const std::string_view packet(reinterpret_cast<const char*>(data), size);
  Message message;
  if (Parse(packet, message) == Parsed::kOk) {
    const std::string again = Encode(message, kMaxPacketBytes);
    Message back;
    Check(Parse(again, back) == Parsed::kOk);
    Check(back.question == message.question);
    // What was longer than a packet without the compression it came with is cut, and says so.
    Check(back.truncated || (back.answers == message.answers && back.authorities == message.authorities));
    Check(Encode(message, 512).size() <= 512);
    if (message.question) Check(Name::FromText(message.question->name.ToText()) == message.question->name);
  }
  AnswerOnce(server, packet, Transport::kUdp);
  AnswerOnce(server, packet, Transport::kTcp);
  return 0;
}
