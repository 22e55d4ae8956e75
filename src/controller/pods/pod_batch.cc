#include "controller/pods/pod_batch.h"

#include <utility>

#include "controller/pods/pod_state.h"

namespace flyball::controllers {
namespace {

constexpr std::string_view kNamespaceTerminating = "NamespaceTerminating";

Status RecordCreation(const PodBatch& batch, const Result<json::Value>& answer) {
  if (answer) {
    const json::Value& made = *answer;
    batch.recorder.Normal(batch.owner, "SuccessfulCreate",
                          "Created pod: " + std::string(made["metadata"]["name"].string_or("")));
    return {};
  }
  if (!answer.error().HasCause(kNamespaceTerminating))
    batch.recorder.Warning(batch.owner, "FailedCreate", "Error creating: " + answer.error().message());
  return Unexpected(answer.error());
}

Status RecordDeletion(const PodBatch& batch, const Pod& pod, const Result<json::Value>& answer) {
  if (answer) {
    batch.recorder.Normal(batch.owner, "SuccessfulDelete", "Deleted pod: " + pod.metadata.name);
    return {};
  }
  if (!answer.error().Is(Reason::kNotFound) && !answer.error().Is(Reason::kConflict))
    batch.recorder.Warning(batch.owner, "FailedDelete", "Error deleting: " + answer.error().message());
  return Unexpected(answer.error());
}

BatchResult CreateEach(const PodBatch& batch, int count, const std::function<void()>& failed,
                       const std::function<void(int i, DynamicClient::Done done)>& create) {
  BatchResult result = SlowStart(count, [&](int i, UniqueFunction<void(Status)> done) {
    create(i, [&, done = std::move(done)](Result<json::Value> answer) mutable {
      const Status status = RecordCreation(batch, answer);
      if (!status && failed) failed();
      done(status);
    });
  });
  if (!result.status && result.status.error().HasCause(kNamespaceTerminating)) result.status = {};
  return result;
}

}  // namespace

BatchResult CreatePods(const PodBatch& batch, int count, const std::function<Pod(int i)>& make,
                       const std::function<void()>& failed) {
  const DynamicClient pods = batch.client.Of<Pod>();
  return CreateEach(batch, count, failed, [&](int i, DynamicClient::Done done) {
    pods.CreateAsync(ToJson(make(i)), {}, std::move(done));
  });
}

BatchResult CreatePods(const PodBatch& batch, int count, const Pod& pod) {
  const DynamicClient pods = batch.client.Of<Pod>();
  const EncodedObject encoded = pods.Encode(ToJson(pod));
  return CreateEach(batch, count, nullptr,
                    [&](int, DynamicClient::Done done) { pods.CreateAsync(encoded, std::move(done)); });
}

BatchResult DeletePods(const PodBatch& batch, const std::vector<std::shared_ptr<const Pod>>& pods,
                       const std::function<void(const Pod&)>& failed, DeleteIf which) {
  const DynamicClient client = batch.client.Of<Pod>();
  return StartAll(static_cast<int>(pods.size()), [&](int i, UniqueFunction<void(Status)> done) {
    const Pod& pod = *pods[static_cast<std::size_t>(i)];
    DeleteParams params;
    params.uid = pod.metadata.uid;
    if (which == DeleteIf::kUnreadyAsSeen && !IsPodReady(pod))
      params.resource_version = pod.metadata.resource_version;
    client.DeleteAsync(pod.metadata.namespace_, pod.metadata.name, params,
                       [&, done = std::move(done)](Result<json::Value> answer) mutable {
                         Status status = RecordDeletion(batch, pod, answer);
                         if (!status && failed) failed(pod);
                         // Already gone, which is what was requested. A conflict does not mean that.
                         if (!status && status.error().Is(Reason::kNotFound)) status = {};
                         done(status);
                       });
  });
}

}  // namespace flyball::controllers
