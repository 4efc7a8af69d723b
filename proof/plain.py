"""Plain SETs: without fencing a vote compares no record. Any two sets of votes that win while both leases live share a node
all the same, each SET runs on a node that has a record, and no vote counts that its node has forgotten.

terms.py (read that first) with clients that trust a connection: they have read the node's record on it, and send SETs
for as long as it stands, while a change is under way, too. What the record said and asked for then, they take for what it
says. So a node that has gone on meanwhile still votes for the old list. The connections of clients with another list than
the new one are ended before the look that decides a change; and if its max_ttl is shorter, those of clients that follow
max_ttl, too.

Here each round has connections of its own, perhaps from before it began; a client uses its own for many rounds. That a
node with a record has forgotten no vote is exclusion.py's, where nodes grant only if they are enrolled.
"""
import z3
import members
import terms
from members import blank, change, lease, let_in, settled, settled_1
from terms import Terms, three


class Plain(Terms):
    theorems = ["winners share a node", "who is trusted has a record", "no forgotten vote counts"]
    variants = []
    uses = dict.fromkeys(["win: winners are majorities", "win: winners are short"], [
        "younger votes", "served", "what lives is younger", "seen on a majority", "epochs", "winners are majorities",
        "winners are short"])
    state = {
        **Terms.state,
        "trusts": ("Round", "Node", "Bool"),    # on a connection that stands, the node's record voted for the round's list ...
        "as_of": ("Round", "Node", "Number"),   # ... with this epoch ...
        "for_its": ("Round", "Node", "List"),   # ... and asked for a majority of this list ...
        "serves_as": ("Round", "Node", "List"), # ... and served its clients as this one's
    }

    def axioms(self):
        return super().axioms() + [self.w.all("Node", lambda n: self.honest(n))]

    def initial(self, s):
        return super().initial(s) + [self.w.all("Round", "Node", lambda r, n: z3.Not(s.trusts(r, n)))]

    def known(self, s):
        return {}

    def fits_still(self, s, r, as_, e):
        """What was read on a connection that was not ended by the look at epoch e."""
        shorter = self.max_ttl(s.governs(e)) < self.max_ttl(s.governs(e - 1))
        return z3.And(self.fits(self.list_of(r), s.governs(e)), z3.Implies(
            shorter, self.max_ttl(as_) <= self.max_ttl(s.governs(e))))

    def invariant(self, s):
        w = self.w
        terms = super().invariant(s)
        del terms["served by younger votes"]
        return {
            **super().known(s), **terms,
            "who is trusted has a record": w.all("Round", "Node", lambda r, n: z3.Implies(
                s.trusts(r, n), s.phase(n) != blank)),
            "what was read": w.all("Round", "Node", lambda r, n: z3.Implies(s.trusts(r, n), z3.And(
                self.fits(self.list_of(r), s.serves_as(r, n)), s.as_of(r, n) >= 0, z3.Or(
                    z3.And(s.as_of(r, n) >= 1, s.as_of(r, n) - 1 <= s.now, s.for_its(r, n) == s.governs(s.as_of(r, n) - 1)),
                    z3.And(s.as_of(r, n) <= s.now, s.serves_as(r, n) == s.governs(s.as_of(r, n))))))),
            "younger connections": w.all("Round", "Node", "Number", lambda r, n, e: z3.Implies(
                z3.And(s.trusts(r, n), e >= 1, s.decided(e), self.one_of(n, s.seen(e))), z3.Or(
                    s.as_of(r, n) > e, self.fits_still(s, r, s.serves_as(r, n), e)))),
            # In members.py all votes compare the record, so those for this list are as young.
            "younger votes": w.all("Round", "Node", "Number", lambda r, n, e: z3.Implies(
                z3.And(s.voted(r, n), e >= 1, s.decided(e), z3.Not(s.older(r, e)), self.one_of(n, s.seen(e))), z3.Or(
                    s.tag(r, n) > e, self.fits_still(s, r, s.served(r, n), e)))),
        }

    def do_greet(self, s, r: "Round", n: "Node", tag: "Number"):
        """A client connects, and reads the record, whether a change is under way or not."""
        w, reads = self.w, "a record is read on each connection"
        phase, epoch, came, to = self.record(s, n)
        at = lambda new, old: lambda t, m: z3.If(z3.And(t == r, m == n), new, old(t, m))
        return [phase != blank, w.rule(reads, self.accepts(phase, epoch, came, to, self.list_of(r), tag, self.fits))], s.but(
            trusts=at(z3.BoolVal(True), s.trusts), as_of=at(tag, s.as_of),
            for_its=at(w.rule(reads, z3.If(phase == settled, to, came), self.list_of(r)), s.for_its),
            serves_as=at(w.rule(reads, self.serving(s, n, tag), self.list_of(r)), s.serves_as))

    def do_set(self, s, r: "Round", n: "Node"):
        """SET, whatever the record is by now."""
        after = self.voted_for(s, r, n, s.as_of(r, n), s.for_its(r, n))
        return [s.began(r), s.trusts(r, n), z3.Not(s.voted(r, n))], self.serves(after, r, n, s.serves_as(r, n))

    def do_hang_up(self, s, r: "Round", n: "Node"):
        """A connection breaks, or the client reads the record again: when it is told of a change, or checks."""
        return [], s.but(trusts=lambda t, m: z3.And(s.trusts(t, m), z3.Not(z3.And(t == r, m == n))))

    def do_look(self, s, q: "Voters", e: "Number", l: "List", t: "List"):
        """CLIENT KILL comes before this look, for clients of all lists but this one; and if max_ttl becomes shorter, also for
        clients that do not name it. Who connects then reads what the node is committed to."""
        guards, after = super().do_look(s, q, e, l, t)
        w = self.w
        left = lambda holds: w.all("Round", "Node", lambda r, n: z3.Implies(
            z3.And(self.one_of(n, q), s.trusts(r, n)), holds(r, n)))
        short = lambda r, n: z3.Implies(self.max_ttl(t) < self.max_ttl(l), self.max_ttl(s.serves_as(r, n)) <= self.max_ttl(t))
        return [*guards, w.rule("connections of before the commit end before the look",
                                left(lambda r, n: self.fits(self.list_of(r), t))),
                w.rule("connections that follow a longer max_ttl end, too", left(short))], after

    def do_win(self, s, r: "Round", q: "Voters", last: "Node", e: "Number", m: "Node"):
        """As in members.py. (`e` is the last settled epoch of whose list these are a majority, and whose max_ttl is long
        enough, if there is one; `m` one of them that was seen at the next, if there is one.)"""
        w = self.w
        guards, after = super().do_win(s, r, q, last)
        of = lambda f: z3.And(f >= 0, f <= s.now, self.holds(q, s.governs(f)), self.ttl(r) <= self.max_ttl(s.governs(f)))
        meet = lambda n: z3.And(self.one_of(n, q), self.one_of(n, s.seen(e + 1)))
        tag = s.tag(r, m)
        return [*guards, w.look_at(s.governs(e), s.governs(e + 1), s.governs(tag), s.governs(tag - 1), s.served(r, m)),
                z3.Or(z3.And(of(e), w.all("Number", lambda f: z3.Implies(f > e, z3.Not(of(f))))),
                      w.all("Number", lambda f: z3.Not(of(f)))),
                z3.Or(meet(m), w.all("Node", lambda n: z3.Not(meet(n))))], after

    def do_forget(self, s, n: "Node"):
        """A restart ends all connections."""
        guards, after = super().do_forget(s, n)
        return guards, after.but(trusts=self.w.rule(
            "T: a node that forgets ends its connections", lambda r, m: z3.And(s.trusts(r, m), m != n), s.trusts))


# --- Histories in a small world -----------------------------------------------------------------------------

elsewhere = [*members.broken, *terms.broken]  # these rules have their histories there
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
    # The same three nodes, with a shorter max_ttl. The client that follows it connected to n1 and n2 before the change.
    "connections that follow a longer max_ttl end, too":
        (three, "greet round1 node1; greet round1 node2; " + change + "settle node1; settle node2; settle node3; begin round1; "
         "set round1 node1; set round1 node2; win round1; forget node1; " + let_in("node1", settled_1, ["node2", "node3"])),
    "T: a node that forgets ends its connections": (four, "begin round1; greet round1 node1; forget node1"),
}
