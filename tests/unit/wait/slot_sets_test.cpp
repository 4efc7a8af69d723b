#include "wait/slot_sets.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "support/seeded_random.hpp"

// Sets of slots, compared with models that look at each slot by itself.
namespace quorumlock::core {
namespace {

using test::SeededRandom;

/// A model of SlotViews that works slot by slot.
struct SlowViews {
  int slots;
  std::map<int, NodeSet> free, taken;

  void learn(int node, int from, int named) {
    bool behind = false;
    for (int i = 0; i < slots; ++i) {
      const int slot = (from - 1 + i) % slots + 1;
      behind = behind || slot == named;
      taken[slot].remove(node);
      if (!behind && !free[slot].contains(node)) taken[slot].add(node);
    }
    if (named != 0) learn_free(node, named);
  }
  void learn_free(int node, int slot) {
    free[slot].add(node);
    taken[slot].remove(node);
  }
  int likely(NodeSet asked, int quorum) {
    int likely = 0;
    for (int slot = 1; slot <= slots; ++slot) {
      const bool may_be = (asked - taken[slot]).size() >= quorum;
      const int votes = (asked & free[slot]).size();
      if (may_be && votes > (likely == 0 ? 0 : (asked & free[likely]).size())) likely = slot;
    }
    return likely;
  }
};

TEST(SlotSetsViews, EqualLookingAtEachSlot) {
  // There are few slots or many, up to the ends of words; the nodes' reports are random and come in
  // any order.
  SlotViews views;
  for (const int slots : {1, 2, 3, 63, 64, 65, 128, 200}) {
    SeededRandom random(static_cast<std::uint64_t>(slots));
    constexpr int nodes = 5;
    views.begin(nodes, slots);
    SlowViews slow{slots, {}, {}};
    for (int step = 0; step < 400; ++step) {
      const int node = random.between(0, nodes - 1);
      const int slot = random.between(1, slots);
      switch (random.between(0, 9)) {
        case 0:
          views.doubt(node);
          for (auto& [each, taken] : slow.taken) taken.remove(node);
          break;
        case 1:
        case 2:
          views.forget(slot);
          slow.free[slot] = slow.taken[slot] = NodeSet();
          break;
        case 3:
          views.learn_free(node, slot);
          slow.learn_free(node, slot);
          break;
        default:
          const int named = random.one_in(3) ? 0 : random.between(1, slots);
          views.learn(node, slot, named);
          slow.learn(node, slot, named);
      }
      const NodeSet asked =
          random.one_in(3) ? NodeSet::first(4) - NodeSet::only(1) : NodeSet::first(nodes);
      const int likely = slow.likely(asked, 3);
      ASSERT_EQ(views.likely(asked, 3), likely) << slots << " slots, step " << step;
      ASSERT_EQ(views.free_votes(asked, slot), (asked & slow.free[slot]).size());
    }
  }
}

TEST(SlotSetsViews, ANumberThatIsNotASlotChangesNothing) {
  // A node may answer with any number.
  SlotViews views;
  views.begin(3, 4);
  for (const int number : {-1, 0, 5, 64, 1'000'000}) {
    views.learn_free(0, number);
    views.learn(0, number, 2);
    if (number != 0) views.learn(0, 2, number);
  }
  EXPECT_EQ(views.likely(NodeSet::first(3), 2), 0);
}

TEST(SlotSetsViews, ANewNodeHasReportedNothing) {
  // Node 1 is replaced by another one with its number, and node 4 is new.
  SlotViews views;
  views.begin(3, 70);
  for (const int node : {0, 1}) views.learn_free(node, 66);
  views.add_node(1);
  views.add_node(4);
  EXPECT_EQ(views.free_votes(NodeSet::first(5), 66), 1);
  views.learn_free(4, 66);
  views.learn_free(9, 66);  // node 9 is not known
  EXPECT_EQ(views.free_votes(NodeSet::first(5), 66), 2);
}

TEST(SlotSetsViews, AreEmptyAfterBegin) {
  SlotViews views;
  views.begin(3, 100);
  for (int node = 0; node < 3; ++node) views.learn_free(node, 77);
  EXPECT_EQ(views.likely(NodeSet::first(3), 2), 77);
  views.begin(5, 80);
  EXPECT_EQ(views.likely(NodeSet::first(5), 3), 0);
}

TEST(SlotSetsOwn, TheSlotThatWasLeftLastIsTriedFirst) {
  // The other free slots follow from there on, wrapping, each of them once.
  OwnSlots own;
  EXPECT_EQ(own.left(100), 0);
  for (const int slot : {7, 70, 30}) own.use(slot);
  for (const int slot : {7, 70, 30}) own.leave(slot);
  for (const int slot : {30, 70, 7}) {
    EXPECT_EQ(own.left(100), slot);
    own.use(slot);
  }
  EXPECT_EQ(own.left(100), 0);
  own.leave(70);
  EXPECT_EQ(own.left(69), 0);
}

TEST(SlotSetsOwn, SlotsInUseAreSkipped) {
  OwnSlots own;
  EXPECT_EQ(own.unused(64, 64), 64);
  std::set<int> used;
  for (int i = 0; i < 64; ++i) {
    const int slot = own.unused(40, 64);
    EXPECT_TRUE(used.insert(slot).second) << slot;
    own.use(slot);
  }
  EXPECT_EQ(own.unused(40, 64), 40);  // all of them are in use
  EXPECT_EQ(own.unused(40, 65), 65);
  own.drop(3);
  EXPECT_EQ(own.unused(40, 64), 3);
  own.leave(50);
  EXPECT_EQ(own.unused(4, 64), 50);
  own.drop(1000);  // a slot that was never used
}

}  // namespace
}  // namespace quorumlock::core
