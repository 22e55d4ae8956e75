#include "server/request/presentation.h"

#include <utility>

#include "api/custom/custom_object.h"
#include "api/wire/protobuf.h"
#include "api/wire/status.h"
#include "json/json.h"
#include "json/yaml/yaml.h"

namespace flyball::server {
namespace {

constexpr std::string_view kProtobufType = "application/vnd.kubernetes.protobuf";

// Lists of custom objects always say `continue` (upstream: unstructured lists are written as they are).
json::Value MetaValue(const ListMeta& meta, bool unstructured) {
  json::Object out;
  if (unstructured) out.Set("continue", meta.continue_token);
  if (meta.revision > 0) out.Set("resourceVersion", std::to_string(meta.revision));
  if (!meta.continue_token.empty()) out.Set("continue", meta.continue_token);
  if (meta.remaining > 0) out.Set("remainingItemCount", meta.remaining);
  return out;
}

api::IncludeObject IncludeOf(std::string_view text) {
  if (text == "None") return api::IncludeObject::kNone;
  if (text == "Object") return api::IncludeObject::kObject;
  return api::IncludeObject::kMetadata;
}

// Lists of at least this many stored bytes are made piece by piece.
constexpr std::size_t kLargeList = 1u << 20;

std::size_t TotalBytes(const std::vector<ObjectPtr>& objects) {
  std::size_t total = 256;
  for (const auto& object : objects) total += object->size() + 40;
  return total;
}

}  // namespace

AnswerFormat PresentedFormat(const RequestScope& scope, AnswerFormat format) {
  if (scope.audited) format.protobuf = false;
  return format;
}

Presenter::Presenter(ResourcePtr resource, AnswerFormat format, TimePoint now,
                     std::string_view include_object)
    : resource_(std::move(resource)), format_(format), table_options_{now, IncludeOf(include_object)} {
  table_options_.version = format_.version;
}

json::Value Presenter::Served(const StoredObject& object, store::Revision revision) const {
  json::Value value = object.ToValue(revision);
  if (!resource_->hooks->field_annotation.empty() && metadata_only()) HideFieldAnnotation(value);
  if (resource_->conversion) return resource_->conversion->from_stored(std::move(value));
  if (resource_->converter && !object.IsOf(resource_->kind->ApiVersion())) {
    // Strategy None; what a webhook converts comes here converted.
    value["apiVersion"] = resource_->kind->ApiVersion();
    api::PruneCustomObject(resource_->kind->Type(), value);
  }
  return value;
}

void Presenter::HideFieldAnnotation(json::Value& value) const {
  auto& metadata = value["metadata"];
  auto* annotations = metadata.Find("annotations");
  if (!annotations) return;
  annotations->as_object().Erase(resource_->hooks->field_annotation);
  if (annotations->empty()) metadata.as_object().Erase("annotations");
}

void Presenter::AppendMetadataOnly(const StoredObject& object, store::Revision revision,
                                   std::string& out) const {
  api::AppendMetaStart("PartialObjectMetadata", format_.version, out);
  object.AppendMetadata(out, revision);
  out += '}';
}

std::string Presenter::Text(const StoredObject& object, store::Revision revision, bool columns) const {
  std::string out;
  if (plain(object)) {
    out.reserve(object.size() + 64);
    object.AppendJson(out, StoredObject::Form::kWhole, revision);
    return out;
  }
  if (plain_metadata()) {
    AppendMetadataOnly(object, revision, out);
    return out;
  }
  const json::Value value = Served(object, revision);
  switch (format_.form) {
    case AnswerForm::kTable: {
      auto options = table_options_;
      options.with_columns = columns;
      return api::TableFormat(*resource_->kind).SingleTable(value, options);
    }
    case AnswerForm::kPartialMetadata:
      api::AppendPartialObjectMetadata(value, format_.version, out);
      return out;
    default:
      return json::Write(value);
  }
}

std::string Presenter::InWantedLanguage(std::string text) const {
  if (!format_.yaml) return text;
  auto value = json::Parse(text);
  return value ? json::WriteYaml(*value) : text;
}

json::Value Presenter::Shown(const StoredObject& object, store::Revision revision) const {
  json::Value served = Served(object, revision);
  if (format_.form != AnswerForm::kPartialMetadata) return served;
  json::Object shown{{"kind", "PartialObjectMetadata"},
                     {"apiVersion", "meta.k8s.io/" + std::string(format_.version)}};
  shown.Append("metadata", std::move(served["metadata"]));
  return shown;
}

Answer Presenter::Object(const StoredObject& object, int code) const {
  if (format_.protobuf && format_.form != AnswerForm::kTable)
    if (auto message = api::EncodeProtobufAnswer(Shown(object, object.revision())))
      return {code, std::string(kProtobufType), std::move(*message), {}, nullptr, true};
  return {code, std::string(content_type()), InWantedLanguage(Text(object, object.revision(), true))};
}

// The text of a list, made as it is asked for.
class ListText final : public BodySource {
 public:
  ListText(Presenter presenter, std::vector<ObjectPtr> objects, ListMeta meta)
      : presenter_(std::move(presenter)), objects_(std::move(objects)), meta_(std::move(meta)) {}

  bool Next(std::size_t size, std::string& out) override {
    const std::size_t enough = out.size() + size;
    if (!started_) presenter_.AppendListStart(meta_, out);
    started_ = true;
    if (objects_.empty() && presenter_.empty_is_null()) {
      out.back() = 'n';
      out += "ull}";
      return false;
    }
    for (; next_ < objects_.size() && out.size() < enough; ++next_) {
      if (next_ > 0) out += ',';
      presenter_.AppendListItem(*objects_[next_], out);
      objects_[next_] = nullptr;
    }
    if (next_ < objects_.size()) return true;
    presenter_.AppendListEnd(out);
    return false;
  }

 private:
  const Presenter presenter_;
  std::vector<ObjectPtr> objects_;
  const ListMeta meta_;
  std::size_t next_ = 0;
  bool started_ = false;
};

bool Presenter::WriteProtobufList(const std::vector<ObjectPtr>& objects, const ListMeta& meta,
                                  Answer& answer) const {
  if (format_.form == AnswerForm::kTable) return false;
  const bool metadata = format_.form == AnswerForm::kPartialMetadata;
  auto list = api::ProtobufListWriter::Make(
      metadata ? "meta.k8s.io/" + std::string(format_.version) : resource_->kind->ApiVersion(),
      metadata ? std::string_view("PartialObjectMetadata") : resource_->kind->kind, MetaValue(meta, false));
  if (!list) return false;
  for (const auto& object : objects) list->Add(Shown(*object, object->revision()));
  answer.body = std::move(*list).Finish();
  answer.content_type = kProtobufType;
  answer.encoded = true;
  return true;
}

void Presenter::AnswerList(std::vector<ObjectPtr> objects, const ListMeta& meta, Answer& answer) const {
  if (format_.protobuf && WriteProtobufList(objects, meta, answer)) return;
  answer.content_type = content_type();
  const std::size_t total = TotalBytes(objects);
  ListText text(*this, std::move(objects), meta);
  if (!format_.yaml && !format_.protobuf && total >= kLargeList) {
    answer.source = std::make_shared<ListText>(std::move(text));
    return;
  }
  if (format_.form == AnswerForm::kObject) answer.body.reserve(total);
  text.Next(std::string::npos / 2, answer.body);
  answer.body = InWantedLanguage(std::move(answer.body));
}

void Presenter::AppendListStart(const ListMeta& meta, std::string& out) const {
  const bool unstructured = resource_->custom && format_.form == AnswerForm::kObject;
  const json::Value metadata = MetaValue(meta, unstructured);
  if (format_.form == AnswerForm::kTable)
    return api::TableFormat(*resource_->kind).AppendStart(metadata, table_options_, out);
  if (format_.form == AnswerForm::kPartialMetadata)
    return api::AppendPartialObjectMetadataListStart(metadata, format_.version, out);
  out += "{\"kind\":\"" + std::string(resource_->kind->kind) + "List\",\"apiVersion\":\"" +
         resource_->kind->ApiVersion() + "\",\"metadata\":" + json::Write(metadata) + ",\"items\":[";
}

void Presenter::AppendListItem(const StoredObject& object, std::string& out) const {
  // Items of built-in lists say neither apiVersion nor kind; those of custom ones do.
  if (plain(object))
    return object.AppendJson(out,
                             resource_->custom ? StoredObject::Form::kWhole : StoredObject::Form::kListItem);
  if (plain_metadata()) return AppendMetadataOnly(object, object.revision(), out);
  json::Value value = Served(object, object.revision());
  if (format_.form == AnswerForm::kTable)
    return api::TableFormat(*resource_->kind).AppendRow(value, table_options_, out);
  if (format_.form == AnswerForm::kPartialMetadata)
    return api::AppendPartialObjectMetadata(value, format_.version, out);
  if (!resource_->custom) {
    value.as_object().Erase("apiVersion");
    value.as_object().Erase("kind");
  }
  json::WriteTo(value, out);
}

void Presenter::AppendListEnd(std::string& out) const {
  if (format_.form == AnswerForm::kTable) return api::TableFormat::AppendEnd(out);
  out += "]}";
}

Bytes Presenter::MakeEvent(std::string_view type, const StoredObject& object, store::Revision revision,
                           bool columns) const {
  if (format_.protobuf)
    if (auto frame = api::EncodeProtobufWatchFrame(type, Shown(object, revision)))
      return MakeBytes(std::move(*frame));
  std::string line = "{\"type\":\"";
  line += type;
  line += "\",\"object\":";
  line += Text(object, revision, columns);
  line += "}\n";
  return MakeBytes(std::move(line));
}

Change::Form Presenter::FormOf(ChangeType type, bool columns) const {
  const bool table = format_.form == AnswerForm::kTable;
  std::uint32_t number = static_cast<std::uint32_t>(type);
  number = number * 4 + static_cast<std::uint32_t>(format_.form);
  number = number * 2 + (format_.protobuf ? 1 : 0);
  number = number * 2 + (format_.version == "v1" ? 1 : 0);
  number = number * 4 + (table ? static_cast<std::uint32_t>(table_options_.include_object) : 0);
  number = number * 2 + (columns ? 1 : 0);
  const auto second = std::chrono::duration_cast<std::chrono::seconds>(table_options_.now.time_since_epoch());
  return {resource_->kind->ApiVersion(), number, table ? second.count() : 0};
}

Bytes Presenter::Event(const Subscriber::Item& item) {
  const Change& change = *item.change;
  const bool table = format_.form == AnswerForm::kTable;
  const bool columns = table && TakeColumns();
  const auto make = [&] {
    return MakeEvent(ChangeTypeName(item.type), *change.Shown(item.type), change.revision, columns);
  };
  // The columns of a custom kind may change with its definition.
  if (table && resource_->custom) return make();
  return change.Encoded(FormOf(item.type, columns), make);
}

Bytes Presenter::Initial(const StoredObject& object) {
  return MakeEvent("ADDED", object, object.revision(), TakeColumns());
}

Bytes Presenter::FramedEvent(std::string_view type, const json::Value& object) const {
  if (format_.protobuf)
    if (auto frame = api::EncodeProtobufWatchFrame(type, object)) return MakeBytes(std::move(*frame));
  json::Object event{{"type", type}, {"object", object}};
  return MakeBytes(json::Write(json::Value(std::move(event))) + "\n");
}

Bytes Presenter::ErrorEvent(const Error& error) const {
  return FramedEvent("ERROR", api::StatusFromError(error));
}

Bytes Presenter::Bookmark(store::Revision revision, bool initial_events_end) {
  json::Object metadata{{"resourceVersion", std::to_string(revision)}};
  if (initial_events_end) metadata.Set("annotations", json::Object{{"k8s.io/initial-events-end", "true"}});
  const bool partial = format_.form == AnswerForm::kPartialMetadata;
  json::Value object = json::Object{
      {"kind", partial ? std::string_view("PartialObjectMetadata") : resource_->kind->kind},
      {"apiVersion", partial ? "meta.k8s.io/" + std::string(format_.version) : resource_->kind->ApiVersion()},
      {"metadata", std::move(metadata)}};
  if (format_.form != AnswerForm::kTable) return FramedEvent("BOOKMARK", object);
  // A row of an object that has nothing but its version.
  auto options = table_options_;
  options.with_columns = TakeColumns();
  const std::string table = api::TableFormat(*resource_->kind).SingleTable(object, options);
  return MakeBytes("{\"type\":\"BOOKMARK\",\"object\":" + table + "}\n");
}

}  // namespace flyball::server
