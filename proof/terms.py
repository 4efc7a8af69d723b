"""max_ttl as a term of the list, node by node: a vote that its node has forgotten does not count any
more when that node votes again.

members.py (read that first) with two more things: each list has a max_ttl, each round a ttl; and a node that forgot is let in after a
quarantine that outlasts rounds of a ttl up to what the record says that is written. Of clocks only that is used
("T: ..." in members.py, and the guard of do_enrol); exclusion.py has the clocks, and one stage for all nodes.
"""
import z3
import members
from members import Members, announced, blank, lease, let_in, settled, settled_0, unsettled_1


class Terms(Members):
    theorems = ["no forgotten vote counts"]
    variants = []
    state = {
        **Members.state,
        "lost": ("Round", "Node", "Bool"),     # the node voted for the round, and forgot
        "served": ("Round", "Node", "List"),   # as one of which list's clients the node voted for it
    }

    def __init__(self, world):
        super().__init__(world)
        w = world
        self.max_ttl, self.ttl = w.fresh("max_ttl", "List", "Number"), w.fresh("ttl", "Round", "Number")
        if w.sizes is None:
            names = w.fresh("names", "List", "Names")
            holds, covers = (w.fresh(name, "Voters", "Names", "Bool") for name in ("holds_of", "covers_of"))
            has = w.fresh("has", "Node", "Names", "Bool")
            self.holds, self.covers = lambda p, l: holds(p, names(l)), lambda p, l: covers(p, names(l))
            self.member, self.fits = lambda n, l: has(n, names(l)), lambda l, m: names(l) == names(m)
        else:
            self.fits = lambda l, m: z3.And([self.member(n, l) == self.member(n, m) for n in w.elements("Node")])

    def initial(self, s):
        return super().initial(s) + [self.w.all("Round", "Node", lambda r, n: z3.Not(s.lost(r, n)))]

    def invariant(self, s):
        w = self.w
        mine = {
            "no forgotten vote counts": w.all("Round", "Node", lambda r, n: z3.Implies(
                z3.And(s.won(r), self.lives(s, r), self.one_of(n, s.by(r)), s.lost(r, n), self.honest(n)),
                s.phase(n) == blank)),
            # A round that a node forgot, and that lives when the node votes again, is too long to be won.
            "what was forgotten is too long": w.all("Round", "Node", "Number", lambda r, n, k: z3.Implies(
                z3.And(self.lives(s, r), s.lost(r, n), self.honest(n), s.phase(n) != blank, k >= s.now, s.decided(k),
                       z3.Not(s.older(r, k))), self.ttl(r) > self.max_ttl(s.governs(k)))),
            "winners are short": w.all("Round", lambda r: z3.Implies(
                z3.And(s.won(r), self.lives(s, r)), self.ttl(r) <= self.max_ttl(s.governs(s.now)))),
            "votes of winners are short": w.all("Round", "Node", lambda r, n: z3.Implies(
                z3.And(s.won(r), self.one_of(n, s.by(r)), self.honest(n)), self.ttl(r) <= self.max_ttl(s.served(r, n)))),
            "served": w.all("Round", "Node", lambda r, n: z3.Implies(z3.And(s.voted(r, n), self.honest(n)), z3.And(
                self.fits(self.list_of(r), s.served(r, n)), s.tag(r, n) >= 0, z3.Or(
                    z3.And(s.tag(r, n) >= 1, s.tag(r, n) - 1 <= s.now, s.asked(r, n) == s.governs(s.tag(r, n) - 1)),
                    z3.And(s.tag(r, n) <= s.now, s.served(r, n) == s.governs(s.tag(r, n))))))),
            "served by younger votes": w.all("Round", "Node", "Number", lambda r, n, e: z3.Implies(
                z3.And(s.voted(r, n), self.honest(n), e >= 1, s.decided(e), z3.Not(s.older(r, e)),
                       self.one_of(n, s.seen(e)), s.tag(r, n) == e), s.served(r, n) == s.governs(e))),
            # What a voucher does not know of a decision, it said before that, and the votes are older still.
            "late enrolments": w.all("Client", "Node", "Node", "Round", "Number", lambda p, n, m, r, k: z3.Implies(
                z3.And(s.admits(p, n), s.vouched(p, n, m), self.honest(n), self.honest(m), k >= 1, s.decided(k),
                       self.one_of(m, s.seen(k)), s.voted(r, n), z3.Not(self.knows(s, k, *self.admitted(s, p, n)))),
                s.older(r, k))),
            "lost": w.all("Round", "Node", lambda r, n: z3.Implies(
                z3.And(s.lost(r, n), self.honest(n)), z3.And(s.began(r), s.voted(r, n)))),
        }
        return mine

    def known(self, s):
        return super().invariant(s)

    def do_vote(self, s, r: "Round", n: "Node", tag: "Number"):
        """A client that names its list's terms is served as one of that; one that names none, by what the record says."""
        guards, after = super().do_vote(s, r, n, tag)
        return guards, self.serves(after, r, n, self.serving(s, n, tag))

    def serving(self, s, n, tag):
        return z3.If(z3.And(s.phase(n) == announced, tag == s.epoch(n)), s.came(n), s.to(n))

    def serves(self, s, r, n, l):
        return s.but(served=lambda t, m: z3.If(z3.And(t == r, m == n), l, s.served(t, m)))

    def do_win(self, s, r: "Round", q: "Voters", last: "Node"):
        """Votes count only for a ttl within max_ttl of the list whose client it serves, and of the one that the record
        asks for."""
        guards, after = super().do_win(s, r, q, last)
        w = self.w
        asked = w.all("Node", lambda n: z3.Implies(self.one_of(n, q), self.ttl(r) <= self.max_ttl(s.asked(r, n))))
        served = w.all("Node", lambda n: z3.Implies(z3.And(self.one_of(n, q), self.honest(n)), self.ttl(r) <= self.max_ttl(s.served(r, n))))
        return [*guards, served,
                w.rule("a greater max_ttl counts from the settle", asked)], after

    def do_forget(self, s, n: "Node"):
        guards, after = super().do_forget(s, n)
        return guards, after.but(lost=lambda r, m: z3.Or(s.lost(r, m), z3.And(m == n, s.voted(r, m))))

    def do_enrol(self, s, p: "Client", n: "Node", v: "Voters"):
        """T: the quarantine outlasts rounds of a ttl up to max_ttl of what is written."""
        guards, after = super().do_enrol(s, p, n, v)
        w = self.w
        phase, epoch, came, to = self.admitted(s, p, n)
        old, new = self.max_ttl(came), self.max_ttl(to)
        greater = w.rule("while unsettled, a quarantine lasts for the greater max_ttl", z3.If(old > new, old, new), old)
        wait = z3.If(phase == settled, new, z3.If(phase == announced, old, greater))
        outlasted = w.all("Round", lambda r: z3.Implies(z3.And(s.lost(r, n), self.ttl(r) <= wait), z3.Not(self.lives(s, r))))
        return [*guards, outlasted], after


# --- Histories in a small world: the same three nodes, another max_ttl ---------------------------------------

elsewhere = list(members.broken)  # these rules have their histories there
three = {"Node": 3, "List": 2, "Voters": 4, "Round": 2, "Client": 1, "Number": 4}

possible = [
    ("a node forgets, and votes again once the lease is over", three,
     lease("round1", "node1", "node2") + "forget node1; pass round1; " + let_in("node1", settled_0, ["node2", "node3"])
     + lease("round2", "node1", "node3"),
     lambda model, s: z3.And(*[s.won(r) for r in model.w.elements("Round")])),
]

# With a broken rule a lease lives whose vote was forgotten by a node that votes again.
broken = {
    # n1 has settled, the others have not yet when they vouch; then n2 settles, too, and its vote wins a long lease.
    "while unsettled, a quarantine lasts for the greater max_ttl":
        (three, "announce node1; announce node2; announce node3; commit node1; commit node2; commit node3; look; "
         "settle node1; begin round1; vote round1 node1; forget node1; "
         + let_in("node1", unsettled_1, ["node2", "node3"]).replace("enrol", "settle node2; vote round1 node2; win round1; enrol")),
    "a greater max_ttl counts from the settle":
        (three, "announce node1; announce node2; " + lease("round1", "node1", "node2") + "withdraw node1; withdraw node2; "
         "forget node1; " + let_in("node1", settled_0, ["node2", "node3"])),
}
