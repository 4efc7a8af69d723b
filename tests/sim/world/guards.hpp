#pragma once

#include <string_view>

namespace quorumlock::sim {

/// A guard of an action of a model, in the words of proof/: the model's file, its action, and the
/// rule in the guard. A guard that has no name there has words of its own, in brackets.
struct Guard {
  std::string_view model, action, rule;
};

/// The guards that the referee checks.
namespace guard {

// Nodes, in exclusion.py and fencing.py.
inline constexpr Guard grant_enrolled{"exclusion", "grant",
                                      "a node that is not enrolled does not grant"};
inline constexpr Guard grant_free{"exclusion", "grant", "SET has NX"};
inline constexpr Guard grant_life{"exclusion", "grant", "(the key lives for the ttl)"};
inline constexpr Guard extend_enrolled{"exclusion", "extend",
                                       "a node that is not enrolled does not extend"};
inline constexpr Guard extend_own{"exclusion", "extend", "PEXPIRE compares the token"};
inline constexpr Guard extend_kept{"exclusion", "extend", "an expiry is never shortened"};
inline constexpr Guard extend_life{"exclusion", "extend", "a vote to renew refreshes the expiry"};
inline constexpr Guard replant_enrolled{"exclusion", "replant",
                                        "a node that is not enrolled does not re-plant"};
inline constexpr Guard replant_free{"exclusion", "replant", "only a free lock is re-planted"};
inline constexpr Guard replant_life{"exclusion", "replant", "(the key lives for the ttl)"};
inline constexpr Guard delete_own{"exclusion", "delete", "DEL compares the token"};
inline constexpr Guard delete_over{"exclusion", "delete",
                                   "a claim ends before its keys are deleted"};
inline constexpr Guard grant_all{"exclusion", "grant", "(all locks of a claim, or none)"};
inline constexpr Guard grant_raises{"fencing", "grant", "a grant raises the counter"};
inline constexpr Guard raise_enrolled{"fencing", "raise", "only an enrolled node raises"};
inline constexpr Guard raise_own{"fencing", "raise", "only the owner raises"};
inline constexpr Guard raise_strict{"fencing", "raise", "a raise is strict"};
inline constexpr Guard raise_number{"fencing", "raise", "(to the number that was asked for)"};
inline constexpr Guard replant_counter{"fencing", "replant", "(to the token at least)"};
inline constexpr Guard counter_kept{"fencing", "enrol", "(a repair only raises counters)"};
inline constexpr Guard counter_life{"tokens", "vote",
                                    "until the settle a counter lives for the longer memory"};
inline constexpr Guard counter_begins{
    "tokens", "vote", "until the settle an absent counter begins by the shorter memory"};
inline constexpr Guard counter_clocks{
    "memory", "write", "a counter that is there begins by clocks, too, if it is less"};
inline constexpr Guard counter_prolonged{
    "memory", "copy", "a repair prolongs the life of a counter that is as great"};
inline constexpr Guard raise_floor{"memory", "raise", "a raise compares the floor"};
inline constexpr Guard set_greeted{"plain", "greet", "a record is read on each connection"};
inline constexpr Guard greet_named{"plain", "greet",
                                   "(who has read the record is found by a name)"};
// Lines.
inline constexpr Guard grant_first{"waiting", "grant", "a node looks at who is before the caller"};
inline constexpr Guard grant_in_passing{"waiting", "grant_in_passing",
                                        "who does not wait looks at the line, too"};
inline constexpr Guard entry_stays{"waiting", "remove", "T: an entry stays while its waiter waits"};
inline constexpr Guard ticket_grows{"waiting", "enter", "(a ticket only grows)"};
// Work that is done once.
inline constexpr Guard once_enrolled{"once", "answer", "only an enrolled node answers"};
inline constexpr Guard once_holder{"once", "answer", "the counter is at the holder's token"};
inline constexpr Guard once_grows{"once", "answer", "what is noted only grows"};
// Extending by token.
inline constexpr Guard grant_once{"by_token", "grant", "a node is asked to grant a claim once"};
inline constexpr Guard raise_decided{"by_token", "raise",
                                     "nothing greater is asked for than what is decided"};
inline constexpr Guard replant_marked{"by_token", "replant",
                                      "a key that is set anew after another's hold is marked"};
inline constexpr Guard extend_succeeds{"by_token", "succeed", "all votes have one counter"};
inline constexpr Guard extend_unmarked{"by_token", "extend", "a marked key does not count"};
// Nodes that wait.
inline constexpr Guard see_new{"exclusion", "see_candidate", "a candidate has a new nonce"};
inline constexpr Guard see_blank{"exclusion", "see_candidate", "(the node is not enrolled)"};
inline constexpr Guard see_age{"exclusion", "see_candidate", "(its age is zero, by this TIME)"};
inline constexpr Guard witness_same{"exclusion", "add_witness",
                                    "a witness is added to the candidate that was seen"};
inline constexpr Guard witness_after{"exclusion", "watch",
                                     "witnesses are read after the candidate was seen"};
inline constexpr Guard due_waited{"exclusion", "find_due", "a node that forgot is quarantined"};
inline constexpr Guard due_theirs{"exclusion", "find_due",
                                  "it has passed by the TIMEs of N - q + 1 others"};
inline constexpr Guard enrol_same{"exclusion", "enrol", "enrolment compares the candidate"};
inline constexpr Guard enrol_run{"exclusion", "forget", "a candidate stands for one run"};
inline constexpr Guard enrol_nonce{"fencing", "forget", "a record stands for one enrolment"};
inline constexpr Guard enrol_repaired{"fencing", "enrol", "counters are repaired"};
inline constexpr Guard enrol_once{"once", "enrol", "what is done is repaired"};
// Clients.
inline constexpr Guard own_token{"exclusion", "begin_to_acquire",
                                 "every attempt has an owner token of its own"};
inline constexpr Guard margin{"exclusion", "begin_to_acquire",
                              "validity is less than the ttl by the drift"};
inline constexpr Guard rounding{"exclusion", "begin_to_acquire", "and by 2 ms for rounding"};
inline constexpr Guard win_start{"exclusion", "win", "validity counts from before the round"};
inline constexpr Guard win_again_start{"exclusion", "win_again",
                                       "renewal counts from before its round"};
inline constexpr Guard win_votes{"exclusion", "win", "only answers to this round count"};
inline constexpr Guard win_again_votes{"exclusion", "win_again",
                                       "only answers to this round count"};
inline constexpr Guard win_again_end{"exclusion", "win_again",
                                     "a renewal counts only before the old end"};
inline constexpr Guard renew_margin{"exclusion", "begin_to_renew",
                                    "validity is less than the ttl by the drift"};
inline constexpr Guard within_max_ttl{"exclusion", "begin_to_acquire",
                                      "a greater max_ttl counts from the settle"};
inline constexpr Guard decide_number{"fencing", "decide", "all votes are for one number"};
inline constexpr Guard decide_in_time{"fencing", "decide",
                                      "a number is decided before the deadline"};
inline constexpr Guard vote_accepts{"members", "vote", "a committed node refuses the old list"};
inline constexpr Guard win_own_list{"members", "win",
                                    "the votes hold a majority of the client's own list"};
inline constexpr Guard win_asked{"members", "win",
                                 "the votes hold a majority of what each record asks for"};
inline constexpr Guard win_moved{
    "moving", "win", "the votes hold a majority of the list that the client has moved to"};
// Lists of nodes.
inline constexpr Guard list_step{"members", "announce", "(a step of a change, from where it is)"};
inline constexpr Guard enrol_vouched{"members", "enrol", "N - q + 1 nodes vouch"};
inline constexpr Guard settle_decided{"members", "look",
                                      "a commit is seen on a majority of the old list"};
inline constexpr Guard settle_scanned{"tokens", "settle", "a majority of the old list is scanned"};
inline constexpr Guard settle_own{
    "tokens", "settle", "a node's own counters are read before a longer memory is settled on it"};
inline constexpr Guard settle_waits{"exclusion", "settle", "the settle waits for the old max_ttl"};

}  // namespace guard
}  // namespace quorumlock::sim
