#include "node/stages/stage_player.h"

#include "base/observe/log.h"
#include "informer/shared_informer.h"

namespace flyball::node {
namespace {

constexpr Duration kFirstPlayRetry = std::chrono::seconds(1);
constexpr int kMaxPlayRetryDoublings = 11;  // 34 minutes

// The server cannot for the moment; everything else would fail again.
bool MayPass(const Error& error) {
  return error.code() == 0 || error.code() == 429 || error.code() >= 500;
}

}  // namespace

StagePlayer::StagePlayer(Client client, Strand strand, Options options)
    : client_(std::move(client)),
      strand_(std::move(strand)),
      options_(std::move(options)),
      functions_(options_.node, strand_.clock(), client_.runtime().random),
      recorder_(client_, options_.component, options_.node.name) {}

void StagePlayer::Stop() {
  stopped_ = true;
  for (auto& [uid, part] : parts_) strand_.Cancel(part.timer);
  parts_.clear();
}

Closure StagePlayer::OnStrand(std::function<void(StagePlayer&)> fn) {
  return [weak = weak_from_this(), fn = std::move(fn)] {
    if (const auto self = weak.lock(); self && !self->stopped_) fn(*self);
  };
}

void StagePlayer::Changed(const ObjectPtr& object) {
  if (stopped_) return;
  Part& part = parts_[std::string(object->uid())];
  if (part.object && VersionAtLeast(part.object->resource_version(), object->resource_version())) return;
  part.object = object;
  if (!part.playing) Choose(part);
}

void StagePlayer::Gone(const ObjectPtr& object) {
  const auto found = parts_.find(std::string(object->uid()));
  if (found == parts_.end()) return;
  strand_.Cancel(found->second.timer);
  parts_.erase(found);
}

void StagePlayer::Choose(Part& part) {
  Random& random = client_.runtime().random;
  const json::Value& object = part.object->value();
  strand_.Cancel(part.timer);
  part.timer = kNoTimer;
  part.failures = 0;
  part.stage = options_.stages->Choose(options_.kind.kind, object, random);
  if (!part.stage) return;
  Arm(std::string(part.object->uid()), part.stage->Delay(object, strand_.clock().Now(), random));
}

void StagePlayer::Arm(const std::string& uid, Duration delay) {
  parts_[uid].timer = strand_.PostAfter(delay, OnStrand([uid](StagePlayer& self) { self.Play(uid); }));
}

void StagePlayer::Play(const std::string& uid) {
  const auto found = parts_.find(uid);
  if (found == parts_.end()) return;
  Part& part = found->second;
  const Stage& stage = *part.stage;
  const json::Value& object = part.object->value();
  if (const auto& event = stage.event(); event && part.failures == 0)
    recorder_.Record(
        {options_.kind, std::string(part.object->ns()), std::string(part.object->name()), uid, {}, {}},
        event->type, event->reason, event->message);
  auto writes = std::make_shared<Writes>(Writes{.uid = uid, .deletes = stage.deletes()});
  if (auto finalizers = stage.FinalizerPatch(object)) writes->patches.push_back(std::move(*finalizers));
  if (!stage.deletes()) {
    auto patches = stage.Patches(object, functions_);
    if (!patches) return Failed(part, patches.error());
    writes->patches.insert(writes->patches.end(), patches->begin(), patches->end());
  }
  part.timer = kNoTimer;
  part.playing = true;
  part.immediate = stage.immediate();
  part.begun_with = part.object->resource_version();
  Write(writes);
}

void StagePlayer::Write(const std::shared_ptr<Writes>& writes) {
  const auto found = parts_.find(writes->uid);
  if (found == parts_.end()) return;
  const std::string ns(found->second.object->ns()), name(found->second.object->name());
  auto done = [weak = weak_from_this(), strand = strand_, writes](const Result<json::Value>& result) mutable {
    strand.Post([weak, writes, result] {
      if (const auto self = weak.lock(); self && !self->stopped_) self->Written(writes, result);
    });
  };
  const DynamicClient objects = client_.Dynamic(options_.kind);
  if (writes->next < writes->patches.size()) {
    const ObjectPatch& patch = writes->patches[writes->next++];
    objects.PatchAsync(ns, name, patch.type, patch.body, {.subresource = patch.subresource}, std::move(done));
  } else if (std::exchange(writes->deletes, false)) {
    objects.DeleteAsync(ns, name, {.grace_period_seconds = 0, .uid = writes->uid}, std::move(done));
  } else {
    Played(found->second);
  }
}

void StagePlayer::Written(const std::shared_ptr<Writes>& writes, const Result<json::Value>& result) {
  const auto found = parts_.find(writes->uid);
  if (found == parts_.end()) return;
  Part& part = found->second;
  if (!result) return Failed(part, result.error());
  auto object = std::make_shared<const Unstructured>(*result);
  // What a deletion returns may be a Status.
  const bool newer = object->uid() == writes->uid &&
                     !VersionAtLeast(part.object->resource_version(), object->resource_version());
  if (newer) part.object = std::move(object);
  Write(writes);
}

void StagePlayer::Failed(Part& part, const Error& error) {
  const bool changed =
      std::exchange(part.playing, false) && part.object->resource_version() != part.begun_with;
  log::Warning(
      "stage not played",
      {{"stage", part.stage->name()}, {"object", part.object->key().ToString()}, {"error", error.message()}});
  if (changed) return Choose(part);
  if (!MayPass(error)) return;
  const int doublings = std::min(part.failures++, kMaxPlayRetryDoublings);
  Arm(std::string(part.object->uid()), kFirstPlayRetry * (1 << doublings));
}

// The object as it has become decides what is next.
void StagePlayer::Played(Part& part) {
  part.playing = false;
  if (part.immediate || part.object->resource_version() != part.begun_with) Choose(part);
}

}  // namespace flyball::node
