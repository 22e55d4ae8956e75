#include "server/cache/text_packer.h"

#include <lz4.h>

namespace flyball::server {

struct TextPacker::Prepared {
  LZ4_stream_t stream;
};

namespace {

int Int(std::size_t n) {
  return static_cast<int>(n);  // objects are far below 2 GB
}

// What recorders say most, then an Event as the server stores it, with the fields of older and newer
// recorders.
constexpr std::string_view kEventDictionary =
    R"("message":"Back-off restarting failed container in pod "message":"Readiness probe failed: )"
    R"(Liveness probe failed: "message":"Stopping container "message":"Error: ImagePullBackOff)"
    R"("message":"Scaled up replica set  from 0 to 1"message":"Scaled down replica set )"
    R"("message":"Deleted pod: "message":"Created pod: "message":"Pulling image \"registry.k8s.io/)"
    R"("message":"Successfully pulled image \"docker.io/library/\" in . Image size:  bytes.")"
    R"("message":"Successfully assigned default/ to node-"message":"Created container: )"
    R"("message":"Started container "message":"Container image \"\" already present on machine")"
    R"("reason":"Killing","reason":"BackOff","reason":"Failed","reason":"Unhealthy","reason":"FailedScheduling",)"
    R"("reason":"SuccessfulCreate","reason":"SuccessfulDelete","reason":"ScalingReplicaSet","reason":"Pulling",)"
    R"("reason":"Created","reason":"Started","reason":"Scheduled","reason":"Pulled",)"
    R"("kind":"Deployment","namespace":"kube-system","kind":"ReplicaSet","kind":"Job","kind":"Node",)"
    R"("apiVersion":"apps/v1","resourceVersion":"apiVersion":"batch/v1","resourceVersion":")"
    R"("source":{"component":"replicaset-controller"},"source":{"component":"deployment-controller"},)"
    R"("reportingComponent":"replicaset-controller","reportingInstance":"","type":"Warning","eventTime":null,)"
    R"("series":{"count":1,"lastObservedTime":"2026-01-01T00:00:00.000000Z"},)"
    R"("manager":"kubelet","manager":"kube-scheduler","manager":"kube-controller-manager","manager":"flyball",)"
    R"("operation":"Update","apiVersion":"events.k8s.io/v1","time":"2026-01-01T00:00:00Z",)"
    R"("fieldsType":"FieldsV1","fieldsV1":{"f:action":{},"f:eventTime":{},"f:note":{},"f:reason":{},)"
    R"("f:regarding":{},"f:reportingController":{},"f:reportingInstance":{},"f:type":{}}}]},"involvedObject":)"
    R"({"apiVersion":"v1","kind":"Event","metadata":{"name":"pod-0123456789-abcde.18","namespace":"default",)"
    R"("uid":"","creationTimestamp":"2026-01-01T00:00:00Z","managedFields":[{"manager":"kubelet",)"
    R"("operation":"Update","apiVersion":"v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1",)"
    R"("fieldsV1":{"f:count":{},"f:firstTimestamp":{},"f:involvedObject":{},"f:lastTimestamp":{},)"
    R"("f:message":{},"f:reason":{},"f:reportingComponent":{},"f:reportingInstance":{},)"
    R"("f:source":{"f:component":{},"f:host":{}},"f:type":{}}}]},"involvedObject":{"kind":"Pod",)"
    R"("namespace":"default","name":"","uid":"","apiVersion":"v1","resourceVersion":"",)"
    R"("fieldPath":"spec.containers{"},"reason":"Pulled","message":"","source":{"component":"kubelet",)"
    R"("host":"node-"},"source":{},"firstTimestamp":null,"lastTimestamp":null,"type":"Normal",)"
    R"("eventTime":"2026-01-01T00:00:00.000000Z","action":"Binding","reportingComponent":"default-scheduler",)"
    R"("reportingInstance":"default-scheduler-","firstTimestamp":"2026-01-01T00:00:00Z",)"
    R"("lastTimestamp":"2026-01-01T00:00:00Z","count":1,"type":"Normal","eventTime":null,)"
    R"("reportingComponent":"kubelet","reportingInstance":"node-"})";

}  // namespace

TextPacker::TextPacker(std::string_view dictionary)
    : dictionary_(dictionary), prepared_([&] {
        auto prepared = std::make_unique<Prepared>();
        LZ4_initStream(&prepared->stream, sizeof prepared->stream);
        LZ4_loadDict(&prepared->stream, dictionary.data(), Int(dictionary.size()));
        return prepared;
      }()) {}

TextPacker::~TextPacker() = default;

std::string TextPacker::Pack(std::string_view text) const {
  LZ4_stream_t stream = prepared_->stream;
  std::string packed(static_cast<std::size_t>(LZ4_compressBound(Int(text.size()))), '\0');
  const int size = LZ4_compress_fast_continue(&stream, text.data(), packed.data(), Int(text.size()),
                                              Int(packed.size()), 1);
  packed.resize(static_cast<std::size_t>(size));
  return packed;
}

std::string TextPacker::Unpack(std::string_view packed, std::size_t size) const {
  std::string text(size, '\0');
  if (size == 0) return text;
  LZ4_decompress_safe_partial_usingDict(packed.data(), text.data(), Int(packed.size()), Int(size), Int(size),
                                        dictionary_.data(), Int(dictionary_.size()));
  return text;
}

const TextPacker& EventPacker() {
  static const TextPacker packer(kEventDictionary);
  return packer;
}

}  // namespace flyball::server
