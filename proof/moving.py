"""A client moves to another list in the middle of a round (set_nodes): two sets of votes that win while both leases live
share a node all the same.

members.py (read that first) with rounds that move, once at the most. Votes are cast for the list that the client had or for
the one that it has moved to, as a node's record accepts it: a request says only with which record it counts. Nobody lies
here. The client moves to any list: when it moves is a matter of progress.
"""
import z3
import members
from members import Members, change, lease, let_in, settled, settled_1


class Moving(Members):
    theorems = ["winners share a node"]
    variants = []
    uses = {"win: winners are majorities": [
        "votes", "younger votes", "what lives is younger", "seen on a majority", "epochs", "winners are majorities", "by tags",
        "votes are for its lists", "who has not moved"]}
    state = {
        **Members.state,
        "goes_to": ("Round", "List"),        # the list that the client has moved to, or still the one that it began with
        "has_moved": ("Round", "Bool"),
        "given": ("Round", "Node", "List"),  # the list that the node's vote is for
    }

    def axioms(self):
        return super().axioms() + [self.w.all("Node", lambda n: self.honest(n))]

    def initial(self, s):
        return super().initial(s) + [self.w.all("Round", lambda r: z3.And(
            z3.Not(s.has_moved(r)), s.goes_to(r) == self.list_of(r)))]

    def invariant(self, s):
        w = self.w
        parts = super().invariant(s)
        del parts["clients of one list share a node"]
        return {
            **parts,
            "won": w.all("Round", lambda r: z3.Implies(s.won(r), z3.And(
                s.began(r), self.holds(s.by(r), self.list_of(r)), self.holds(s.by(r), s.goes_to(r))))),
            "votes": w.all("Round", "Node", lambda r, n: z3.Implies(s.voted(r, n), z3.And(
                s.began(r), s.tag(r, n) >= 0, z3.Or(
                    z3.And(s.tag(r, n) >= 1, s.tag(r, n) - 1 <= s.now, s.asked(r, n) == s.governs(s.tag(r, n) - 1)),
                    z3.And(s.tag(r, n) <= s.now, s.given(r, n) == s.governs(s.tag(r, n))))))),
            "younger votes": w.all("Round", "Node", "Number", lambda r, n, e: z3.Implies(
                z3.And(s.voted(r, n), e >= 1, s.decided(e), z3.Not(s.older(r, e)), self.one_of(n, s.seen(e))), z3.And(
                    s.tag(r, n) >= e, z3.Implies(s.tag(r, n) == e, s.given(r, n) == s.governs(e))))),
            "votes are for its lists": w.all("Round", "Node", lambda r, n: z3.Implies(s.voted(r, n), z3.Or(
                s.given(r, n) == self.list_of(r), s.given(r, n) == s.goes_to(r)))),
            "who has not moved": w.all("Round", lambda r: z3.Or(s.has_moved(r), s.goes_to(r) == self.list_of(r))),
        }

    def do_move(self, s, r: "Round", l: "List"):
        """A round that sees another move is lost (do_pass)."""
        return [s.began(r), z3.Not(s.won(r)), z3.Not(s.has_moved(r))], s.but(
            has_moved=lambda t: z3.Or(s.has_moved(t), t == r), goes_to=lambda t: z3.If(t == r, l, s.goes_to(t)))

    def do_vote(self, s, r: "Round", n: "Node", tag: "Number", l: "List"):
        """As in members.py. The list is the one of both that the node's record accepts."""
        phase, epoch, came, to = self.record(s, n)
        after = self.voted_for(s, r, n, tag, z3.If(phase == settled, to, came))
        return [s.began(r), z3.Not(s.voted(r, n)), z3.Or(l == self.list_of(r), l == s.goes_to(r)), phase != members.blank,
                self.accepts(phase, epoch, came, to, l, tag)], after.but(
            given=lambda t, m: z3.If(z3.And(t == r, m == n), l, s.given(t, m)))

    def do_win(self, s, r: "Round", q: "Voters", last: "Node"):
        """As in members.py, and a majority of the list that the client has moved to."""
        guards, after = super().do_win(s, r, q, last)
        return [*guards, self.w.rule("the votes hold a majority of the list that the client has moved to",
                                     self.holds(q, s.goes_to(r)))], after


# --- Histories in a small world -----------------------------------------------------------------------------

elsewhere = list(members.broken)  # these rules have their histories there
four = {"Node": 4, "List": 2, "Voters": 5, "Round": 2, "Client": 2, "Number": 4}
possible = [
    ("a client moves while a change is announced, and has votes for both lists", four,
     "begin round1; announce node1; vote round1 node2; move round1; vote round1 node1; win round1",
     lambda model, s: z3.And(s.won(model.w.elements("Round")[0]), *[
         s.given(model.w.elements("Round")[0], node) == model.list_of(model.w.elements("Round")[0]) if given else
         s.given(model.w.elements("Round")[0], node) != model.list_of(model.w.elements("Round")[0])
         for node, given in zip(model.w.elements("Node"), [False, True])])),
]
broken = {
    # Two nodes become five: those that are committed ask for a majority of the two.
    "the votes hold a majority of the list that the client has moved to":
        ({**four, "Node": 5}, change + "begin round1; move round1; vote round1 node1; vote round1 node2; win round1; "
         "settle node1; settle node2; settle node3; " + let_in("node4", settled_1, ["node1", "node2", "node3"])
         + let_in("node5", settled_1, ["node1", "node2", "node3"]) + lease("round2", "node3", "node4", "node5")),
}
