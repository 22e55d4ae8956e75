// Presentation: objects, lists and watch events as bytes on the wire, in the form the client asked for. Plain
// JSON copies stored bytes; every other form is made from the parsed object.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/tables/table.h"
#include "base/run/clock.h"
#include "base/values/bytes.h"
#include "json/value.h"
#include "server/cache/change.h"
#include "server/cache/watch_cache.h"
#include "server/catalog/catalog.h"
#include "server/request/answer.h"
#include "server/request/negotiation.h"

namespace flyball::server {

struct ListMeta {
  store::Revision revision = 0;  // 0: the list is of nothing that is stored
  std::string continue_token;
  std::int64_t remaining = 0;  // 0: not said
};

// The format that objects are answered in. The audit log keeps answers as JSON: what it may want is made
// protobuf after it has seen it.
AnswerFormat PresentedFormat(const RequestScope& scope, AnswerFormat format);

// One request's way of showing objects. Confined to it. Objects of custom kinds come as ServedForms has them.
class Presenter {
 public:
  // `include_object` is the Table option: "" and "Metadata", "Object" or "None".
  Presenter(ResourcePtr resource, AnswerFormat format, TimePoint now, std::string_view include_object);

  Answer Object(const StoredObject& object, int code = 200) const;
  // A list: in one piece, or, if it is large, made while it is sent.
  void AnswerList(std::vector<ObjectPtr> objects, const ListMeta& meta, Answer& answer) const;
  // Events of a watch, in the client's framing: a line, or a protobuf frame. The first event of a table watch
  // carries the column definitions. An event is made once for all the watchers that want it in this form.
  Bytes Event(const Subscriber::Item& item);
  // The same for an object that is not the change's own, but a converted one.
  Bytes Event(ChangeType type, const StoredObject& object, store::Revision revision) {
    return MakeEvent(ChangeTypeName(type), object, revision, TakeColumns());
  }
  Bytes Initial(const StoredObject& object);
  Bytes Bookmark(store::Revision revision, bool initial_events_end);
  Bytes ErrorEvent(const Error& error) const;

  const AnswerFormat& format() const { return format_; }
  // Ages in tables are counted to here.
  void set_now(TimePoint now) { table_options_.now = now; }

 private:
  // Stored bytes can be sent as they are.
  bool plain(const StoredObject& object) const {
    return format_.form == AnswerForm::kObject && !resource_->conversion &&
           (!resource_->converter || object.IsOf(resource_->kind->ApiVersion()));
  }
  // Whether a list without objects is null: upstream never makes it for metadata, nor for the rows of kinds
  // whose table has the two columns that every kind has.
  bool empty_is_null() const {
    const auto& columns = resource_->kind->columns;
    const bool plain_table =
        !resource_->custom && (columns.empty() || (columns.size() == 2 && columns[1].name == "Created At"));
    return format_.form == AnswerForm::kPartialMetadata ||
           (format_.form == AnswerForm::kTable && plain_table);
  }
  // The metadata can be copied from the stored bytes as it is.
  bool plain_metadata() const {
    return format_.form == AnswerForm::kPartialMetadata && !resource_->conversion &&
           resource_->hooks->field_annotation.empty();
  }
  bool metadata_only() const {
    return format_.form == AnswerForm::kPartialMetadata ||
           (format_.form == AnswerForm::kTable &&
            table_options_.include_object == api::IncludeObject::kMetadata);
  }
  void HideFieldAnnotation(json::Value& value) const;
  json::Value Served(const StoredObject& object, store::Revision revision) const;
  // The text of one object in this format, as JSON.
  std::string Text(const StoredObject& object, store::Revision revision, bool columns) const;
  void AppendMetadataOnly(const StoredObject& object, store::Revision revision, std::string& out) const;
  std::string_view content_type() const { return format_.yaml ? "application/yaml" : "application/json"; }
  std::string InWantedLanguage(std::string text) const;
  // What a protobuf message is made from: the object, or the document with its metadata alone.
  json::Value Shown(const StoredObject& object, store::Revision revision) const;
  // False if there is no message for it.
  bool WriteProtobufList(const std::vector<ObjectPtr>& objects, const ListMeta& meta, Answer& answer) const;
  friend class ListText;
  void AppendListStart(const ListMeta& meta, std::string& out) const;
  void AppendListItem(const StoredObject& object, std::string& out) const;
  void AppendListEnd(std::string& out) const;
  Bytes MakeEvent(std::string_view type, const StoredObject& object, store::Revision revision,
                  bool columns) const;
  Bytes FramedEvent(std::string_view type, const json::Value& object) const;
  Change::Form FormOf(ChangeType type, bool columns) const;
  // True for the first event of a table watch.
  bool TakeColumns() { return !std::exchange(columns_sent_, true); }

  const ResourcePtr resource_;
  const AnswerFormat format_;
  api::TableOptions table_options_;
  bool columns_sent_ = false;
};

}  // namespace flyball::server
