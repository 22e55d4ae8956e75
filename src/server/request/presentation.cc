#include "server/request/presentation.h"

#include <utility>

#include "api/custom/custom_object.h"
#include "api/wire/protobuf.h"
#include "json/json.h"
#include "json/yaml/yaml.h"

namespace flyball::server {
namespace {

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
  for (const auto& object : objects) total += object->bytes()->size() + 40;
  return total;
}

}  // namespace

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
    out.reserve(object.bytes()->size() + 64);
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

std::string Presenter::Object(const StoredObject& object) const {
  return InWantedLanguage(Text(object, object.revision(), true));
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

void Presenter::AnswerList(std::vector<ObjectPtr> objects, const ListMeta& meta, Answer& answer) const {
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

Bytes Presenter::Line(std::string_view type, const StoredObject& object, store::Revision revision) {
  std::string line = "{\"type\":\"";
  line += type;
  line += "\",\"object\":";
  line += Text(object, revision, !columns_sent_);
  line += "}\n";
  columns_sent_ = true;
  return Framed(MakeBytes(std::move(line)));
}

Bytes Presenter::Framed(Bytes line) const {
  if (!format_.protobuf) return line;
  const auto event = json::Parse(*line);
  auto frame = event ? api::EncodeProtobufWatchFrame(*event) : std::nullopt;
  return frame ? MakeBytes(std::move(*frame)) : line;
}

Bytes Presenter::Event(const Subscriber::Item& item) {
  const auto& shown = item.type == ChangeType::kDeleted ? item.change->previous : item.change->object;
  if (plain(*shown)) return Framed(item.change->Encoded(item.type));
  return Line(ChangeTypeName(item.type), *shown, item.change->revision);
}

Bytes Presenter::Initial(const StoredObject& object) {
  return Line("ADDED", object, object.revision());
}

Bytes Presenter::Bookmark(store::Revision revision, bool initial_events_end) {
  json::Object metadata{{"resourceVersion", std::to_string(revision)}};
  if (initial_events_end) metadata.Set("annotations", json::Object{{"k8s.io/initial-events-end", "true"}});
  const bool partial = format_.form == AnswerForm::kPartialMetadata;
  json::Value object = json::Object{
      {"kind", partial ? std::string_view("PartialObjectMetadata") : resource_->kind->kind},
      {"apiVersion", partial ? "meta.k8s.io/" + std::string(format_.version) : resource_->kind->ApiVersion()},
      {"metadata", std::move(metadata)}};
  std::string line = "{\"type\":\"BOOKMARK\",\"object\":";
  if (format_.form == AnswerForm::kTable) {
    // A row of an object that has nothing but its version.
    auto options = table_options_;
    options.with_columns = !std::exchange(columns_sent_, true);
    line += api::TableFormat(*resource_->kind).SingleTable(object, options);
  } else {
    json::WriteTo(object, line);
  }
  return Framed(MakeBytes(line + "}\n"));
}

}  // namespace flyball::server
