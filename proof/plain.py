"""Plain SETs: without fencing a vote compares no record. Any two sets of votes that win while both leases live share a node
all the same, and each SET runs on a node that has a record.

members.py (read that first) with clients that trust a connection: they have read the node's record on it, and send SETs
for as long as it stands, while a change is under way, too. What the record said and asked for then, they take for what it
says. So a node that has gone on meanwhile still votes for the old list. The connections of clients with another list than
the new one are ended before the look that decides a change.

Here each round has connections of its own, perhaps from before it began; a client uses its own for many rounds. That a
node with a record has forgotten no vote is exclusion.py's, where nodes grant only if they are enrolled.
"""
import z3
import members
from members import Members, blank, change, lease, let_in, settled, settled_1


class Plain(Members):
    theorems = ["winners share a node", "who is trusted has a record"]
    variants = []
    uses = {"win: winners are majorities": [
        "votes", "younger votes", "what lives is younger", "seen on a majority", "epochs", "winners are majorities", "by tags"]}
    state = {
        **Members.state,
        "trusts": ("Round", "Node", "Bool"),    # on a connection that stands, the node's record voted for the round's list ...
        "as_of": ("Round", "Node", "Number"),   # ... with this epoch ...
        "for_its": ("Round", "Node", "List"),   # ... and asked for a majority of this list
    }

    def axioms(self):
        return super().axioms() + [self.w.all("Node", lambda n: self.honest(n))]

    def initial(self, s):
        return super().initial(s) + [self.w.all("Round", "Node", lambda r, n: z3.Not(s.trusts(r, n)))]

    def invariant(self, s):
        w = self.w
        return {
            **super().invariant(s),
            "who is trusted has a record": w.all("Round", "Node", lambda r, n: z3.Implies(
                s.trusts(r, n), s.phase(n) != blank)),
            "what was read": w.all("Round", "Node", lambda r, n: z3.Implies(s.trusts(r, n), z3.And(s.as_of(r, n) >= 0, z3.Or(
                z3.And(s.as_of(r, n) >= 1, s.as_of(r, n) - 1 <= s.now, s.for_its(r, n) == s.governs(s.as_of(r, n) - 1)),
                z3.And(s.as_of(r, n) <= s.now, self.list_of(r) == s.governs(s.as_of(r, n))))))),
            "younger connections": w.all("Round", "Node", "Number", lambda r, n, e: z3.Implies(
                z3.And(s.trusts(r, n), e >= 1, s.decided(e), self.one_of(n, s.seen(e))), z3.Or(
                    s.as_of(r, n) > e, self.list_of(r) == s.governs(e)))),
            # In members.py all votes compare the record, so those for this list are as young.
            "younger votes": w.all("Round", "Node", "Number", lambda r, n, e: z3.Implies(
                z3.And(s.voted(r, n), e >= 1, s.decided(e), z3.Not(s.older(r, e)), self.one_of(n, s.seen(e))), z3.Or(
                    s.tag(r, n) > e, self.list_of(r) == s.governs(e)))),
        }

    def do_greet(self, s, r: "Round", n: "Node", tag: "Number"):
        """A client connects, and reads the record, whether a change is under way or not."""
        w, reads = self.w, "a record is read on each connection"
        phase, epoch, came, to = self.record(s, n)
        at = lambda new, old: lambda t, m: z3.If(z3.And(t == r, m == n), new, old(t, m))
        return [phase != blank, w.rule(reads, self.accepts(phase, epoch, came, to, self.list_of(r), tag))], s.but(
            trusts=at(z3.BoolVal(True), s.trusts), as_of=at(tag, s.as_of),
            for_its=at(w.rule(reads, z3.If(phase == settled, to, came), self.list_of(r)), s.for_its))

    def do_set(self, s, r: "Round", n: "Node"):
        """SET, whatever the record is by now."""
        return [s.began(r), s.trusts(r, n), z3.Not(s.voted(r, n))], self.voted_for(s, r, n, s.as_of(r, n), s.for_its(r, n))

    def do_hang_up(self, s, r: "Round", n: "Node"):
        """A connection breaks, or the client reads the record again: when it is told of a change, or checks."""
        return [], s.but(trusts=lambda t, m: z3.And(s.trusts(t, m), z3.Not(z3.And(t == r, m == n))))

    def do_look(self, s, q: "Voters", e: "Number", l: "List", t: "List"):
        """CLIENT KILL comes before this look, for clients of all lists but this one. Who connects then reads what the node
        is committed to."""
        guards, after = super().do_look(s, q, e, l, t)
        ended = self.w.all("Round", "Node", lambda r, n: z3.Implies(
            z3.And(self.one_of(n, q), s.trusts(r, n)), self.list_of(r) == t))
        return [*guards, self.w.rule("connections of before the commit end before the look", ended)], after

    def do_win(self, s, r: "Round", q: "Voters", last: "Node", e: "Number"):
        """As in members.py. (`e` is the last settled epoch of whose list these are a majority, if there is one.)"""
        w = self.w
        guards, after = super().do_win(s, r, q, last)
        of = lambda f: z3.And(f >= 0, f <= s.now, self.holds(q, s.governs(f)))
        return [*guards, w.look_at(s.seen(e + 1)), z3.Or(
            z3.And(of(e), w.all("Number", lambda f: z3.Implies(f > e, z3.Not(of(f))))),
            w.all("Number", lambda f: z3.Not(of(f))))], after

    def do_forget(self, s, n: "Node"):
        """A restart ends all connections."""
        guards, after = super().do_forget(s, n)
        return guards, after.but(trusts=self.w.rule(
            "T: a node that forgets ends its connections", lambda r, m: z3.And(s.trusts(r, m), m != n), s.trusts))


# --- Histories in a small world -----------------------------------------------------------------------------

elsewhere = list(members.broken)  # these rules have their histories there
four = {"Node": 4, "List": 2, "Voters": 5, "Round": 2, "Client": 2, "Number": 4}


def plain(round, *nodes):
    return (f"begin {round}; " + "".join(f"greet {round} {node}; " for node in nodes)
            + "".join(f"set {round} {node}; " for node in nodes) + f"win {round}; ")


possible = [
    ("a plain lease of the old list, the list changes, a plain lease of the new one", four,
     plain("round1", "node1", "node3") + "hang_up round1 node1; announce node1; announce node2; commit node1; commit node2; "
     "look; pass round1; settle node1; settle node2; " + let_in("node4", settled_1, ["node1", "node2"])
     + plain("round2", "node2", "node4"), lambda model, s: z3.And(*[s.won(r) for r in model.w.elements("Round")])),
    ("a node forgets", four, "forget node1", lambda model, s: s.phase(model.w.elements("Node")[0]) == blank),
]

changed = change + "settle node1; settle node2; " + let_in("node4", settled_1, ["node1", "node2"])
# With a broken rule these lead to two leases that share no node, or to a SET on a node without a record.
broken = {
    "a record is read on each connection": (four, changed + plain("round1", "node1", "node3") + lease("round2", "node2", "node4")),
    # The client of the second lease connected to n1 before the change.
    "connections of before the commit end before the look":
        (four, "greet round2 node1; greet round2 node3; " + changed + "begin round2; set round2 node1; set round2 node3; "
         "win round2; " + lease("round1", "node2", "node4")),
    "T: a node that forgets ends its connections": (four, "begin round1; greet round1 node1; forget node1"),
}
