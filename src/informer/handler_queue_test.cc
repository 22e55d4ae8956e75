#include "informer/handler_queue.h"

#include <gtest/gtest.h>

#include "api/types/core.h"
#include "base/run/sim_executor.h"

namespace flyball {
namespace {

ObjectPtr MakeQueue(const std::string& name, const std::string& version) {
  ConfigMap object;
  object.metadata.name = name;
  object.metadata.resource_version = version;
  return std::make_shared<const ConfigMap>(std::move(object));
}
std::string Text(const ObjectPtr& object) {
  const auto& meta = static_cast<const ConfigMap*>(object.get())->metadata;
  return meta.name + "@" + meta.resource_version;
}

class HandlerQueueTest : public ::testing::Test {
 protected:
  HandlerQueueTest() : executor_(1) {
    ErasedHandler handler;
    handler.on_add = [this](const ObjectPtr& o, bool) { log_.push_back("+" + Text(o)); };
    handler.on_update = [this](const ObjectPtr& a, const ObjectPtr& b) {
      log_.push_back("~" + Text(a) + ">" + Text(b));
    };
    handler.on_delete = [this](const ObjectPtr& o, bool) { log_.push_back("-" + Text(o)); };
    queue_ =
        std::make_shared<HandlerQueue>(executor_, ObjectTypeOf<ConfigMap>(), std::move(handler), Duration{});
  }
  void Add(const std::string& n, const std::string& v) {
    queue_->Push({{Note::Type::kAdd, nullptr, MakeQueue(n, v), false}});
  }
  void Update(const std::string& n, const std::string& from, const std::string& to) {
    queue_->Push({{Note::Type::kUpdate, MakeQueue(n, from), MakeQueue(n, to), false}});
  }
  void Delete(const std::string& n, const std::string& v) {
    queue_->Push({{Note::Type::kDelete, nullptr, MakeQueue(n, v), false}});
  }
  // Fills the buffer so that further notifications are merged.
  void Fill() {
    for (std::size_t i = 0; i < kHandlerBuffer; ++i) Add("filler" + std::to_string(i), "0");
  }
  std::vector<std::string> Tail() {
    executor_.RunReady();
    std::erase_if(log_, [](const std::string& line) { return line.find("filler") != std::string::npos; });
    return log_;
  }

  SimExecutor executor_;
  std::vector<std::string> log_;
  std::shared_ptr<HandlerQueue> queue_;
};

TEST_F(HandlerQueueTest, BelowTheBoundNothingIsMerged) {
  Add("a", "1");
  Update("a", "1", "2");
  Update("a", "2", "3");
  EXPECT_EQ(Tail(), (std::vector<std::string>{"+a@1", "~a@1>a@2", "~a@2>a@3"}));
}

TEST_F(HandlerQueueTest, BeyondItChangesOfOneObjectBecomeOne) {
  Fill();
  Add("added", "1");
  Update("added", "1", "2");
  Update("updated", "1", "2");
  Update("updated", "2", "3");
  Update("deleted", "1", "2");
  Delete("deleted", "3");
  Delete("recreated", "1");
  Add("recreated", "5");
  Add("brief", "1");
  Delete("brief", "2");
  EXPECT_EQ(queue_->backlog(), kHandlerBuffer + 5);
  EXPECT_EQ(Tail(), (std::vector<std::string>{"+added@2", "~updated@1>updated@3", "-deleted@3",
                                              "~recreated@1>recreated@5"}));
}

TEST_F(HandlerQueueTest, AStuckHandlerCostsAtMostOneNotificationAnObject) {
  Fill();
  for (int i = 0; i < 100000; ++i) Update("hot", std::to_string(i), std::to_string(i + 1));
  EXPECT_EQ(queue_->backlog(), kHandlerBuffer + 1);
  EXPECT_EQ(Tail(), std::vector<std::string>{"~hot@0>hot@100000"});
}

TEST_F(HandlerQueueTest, AfterDrainingItStartsAfresh) {
  Fill();
  Update("a", "1", "2");
  executor_.RunReady();
  log_.clear();
  Update("a", "2", "3");
  Update("a", "3", "4");
  EXPECT_EQ(Tail().size(), 2u);
}

}  // namespace
}  // namespace flyball
