"""Founding a list: no node has a record, and so nobody can vouch. Whoever is let in as a founder has had no record since a
moment at which no node of the list had one. So what was forgotten is what all of them had forgotten, and fencing.py,
once.py and members.py begin at that moment. And no two lists have one founding.

For every number of nodes, clients, lists and foundings, with nodes that forget at any time, and others that are let in
because enough nodes vouch. A client looks at one node after the other, and knows of none what it is by now. That nobody
holds a lease who was voted for by a node which forgot does not depend on this: whoever lets the node in, it has waited
(exclusion.py), and clients of one list share a node whatever the records say (members.py).
"""
import z3
from prover import Model


class Founding(Model):
    theorems = ["a founder has forgotten nothing", "a founding is of one list"]
    state = {
        # Nodes.
        "blank": ("Node", "Bool"),        # it has no record
        "waits": ("Node", "Bool"),        # it has a candidate ...
        "nonce": ("Node", "Number"),      # ... of this nonce ...
        "founding": ("Node", "Number"),   # ... and of this founding. A record has that of its candidate
        "of": ("Node", "List"),           # the list of the candidate, or of the record
        "founder": ("Node", "Bool"),      # it has its record by a founding
        "drawn": ("Number",),             # so many nonces were drawn, ...
        "founded": ("Number",),           # ... and so many foundings ...
        "meant": ("Number", "List"),      # ... each for this list (only for the proof)
        "voted": ("Node", "List", "Bool"),  # it has had a record since no node of the list had one (only for the proof)
        "lost": ("Bool",),                # a founder had voted before (likewise)
        # Clients.
        "list": ("Client", "List"),
        "own": ("Client", "Number"),      # the founding that it proposes
        "seen": ("Client", "Node", "Bool"),   # it has seen the node wait ...
        "mark": ("Client", "Node", "Number"),  # ... with this nonce ...
        "again": ("Client", "Node", "Bool"),  # ... and once more, after it had seen all of them
        "waited": ("Client", "Bool"),     # all have waited together ...
        "with_": ("Client", "Node", "Number"),  # ... with these nonces
        # When the last one was seen for the first time (only for the proof):
        "all": ("Client", "Bool"),        # this was so, and ...
        "stood": ("Client", "Node", "Bool"),  # ... what was seen on the node stood there,
        "met": ("Client", "Bool"),        # on each of them, ...
        "lacks": ("Client", "Node"),      # ... or else not on this one
    }

    def __init__(self, world):
        self.w = w = world
        self.member = w.fresh("member", "Node", "List", "Bool")

    def axioms(self):
        return []

    def initial(self, s):
        w = self.w
        return [s.drawn == 0, s.founded == 0, z3.Not(s.lost),
                w.all("Node", lambda n: z3.And(s.blank(n), z3.Not(s.waits(n)), z3.Not(s.founder(n)))),
                w.all("Node", "List", lambda n, l: z3.Not(s.voted(n, l))),
                w.all("Client", lambda p: z3.And(z3.Not(s.waited(p)), z3.Not(s.all(p)), z3.Not(s.met(p)), s.own(p) < 0)),
                w.all("Client", "Node", lambda p, n: z3.Not(z3.Or(s.seen(p, n), s.again(p, n))))]

    def of_all(self, l, holds):
        return self.w.all("Node", lambda n: z3.Implies(self.member(n, l), holds(n)))

    def stands(self, s, n, nonce):
        return z3.And(s.waits(n), s.nonce(n) == nonce)

    def invariant(self, s):
        w = self.w
        return {
            "a founder has forgotten nothing": z3.Not(s.lost),
            "a founding is of one list": w.all("Node", "Node", lambda n, m: z3.Implies(
                z3.And(s.founder(n), s.founder(m), s.founding(n) == s.founding(m)), s.of(n) == s.of(m))),
            "as it was meant": w.all("Node", lambda n: z3.Implies(z3.Or(s.founder(n), s.waits(n)), z3.And(
                0 <= s.founding(n), s.founding(n) < s.founded, s.of(n) == s.meant(s.founding(n))))),
            "what clients propose": w.all("Client", lambda p: z3.And(s.own(p) < s.founded, z3.Implies(
                0 <= s.own(p), s.meant(s.own(p)) == s.list(p)))),
            "who waits is blank": w.all("Node", lambda n: z3.And(
                z3.Implies(s.waits(n), z3.And(s.blank(n), s.nonce(n) < s.drawn)), z3.Implies(s.founder(n), z3.Not(s.blank(n))))),
            "nonces": z3.And(s.drawn >= 0, s.founded >= 0, w.all("Client", "Node", lambda p, n: z3.And(
                z3.Implies(s.seen(p, n), s.mark(p, n) < s.drawn),
                z3.Implies(z3.And(s.waited(p), self.member(n, s.list(p))), s.with_(p, n) < s.drawn)))),
            "all are seen": w.all("Client", "Node", lambda p, n: z3.Implies(
                z3.And(s.all(p), self.member(n, s.list(p))), s.seen(p, n))),
            "none has voted if all are blank": w.all("List", "Node", lambda l, n: z3.Implies(
                z3.And(s.voted(n, l), self.member(n, l)), z3.Not(self.of_all(l, s.blank)))),
            "what stands stood": w.all("Client", "Node", lambda p, n: z3.Implies(
                z3.And(s.all(p), self.member(n, s.list(p)), self.stands(s, n, s.mark(p, n))), s.stood(p, n))),
            "seen again": w.all("Client", "Node", lambda p, n: z3.Implies(s.again(p, n), z3.And(
                s.all(p), s.seen(p, n), s.stood(p, n)))),
            "all or not": w.all("Client", lambda p: z3.And(z3.Implies(s.met(p), s.all(p)), z3.Implies(
                z3.And(s.all(p), z3.Not(s.met(p))),
                z3.And(self.member(s.lacks(p), s.list(p)), z3.Not(s.stood(p, s.lacks(p))))))),
            "who has stood since": w.all("Client", "Node", lambda p, n: z3.Implies(
                z3.And(s.met(p), self.member(n, s.list(p)), self.stands(s, n, s.mark(p, n))), z3.Not(s.voted(n, s.list(p))))),
            "who has waited": w.all("Client", "Node", lambda p, n: z3.Implies(
                z3.And(s.waited(p), self.member(n, s.list(p)), self.stands(s, n, s.with_(p, n))), z3.Not(s.voted(n, s.list(p))))),
        }

    # --- Nodes -----------------------------------------------------------------------------------

    def do_forget(self, s, n: "Node"):
        """Perhaps it was the last one that had a record. A candidate is gone, too."""
        after = s.but(blank=lambda m: z3.Or(s.blank(m), m == n), waits=lambda m: z3.And(s.waits(m), m != n),
                      founder=lambda m: z3.And(s.founder(m), m != n))
        return [], after.but(voted=lambda m, l: z3.And(s.voted(m, l), z3.Not(self.of_all(l, after.blank))))

    def do_put(self, s, p: "Client", n: "Node"):
        """candidate.lua: where none stands, or in place of another one."""
        at = lambda new, old: lambda m: z3.If(m == n, new, old(m))
        return [s.blank(n), s.own(p) >= 0], s.but(
            waits=lambda m: z3.Or(s.waits(m), m == n), nonce=at(s.drawn, s.nonce), founding=at(s.own(p), s.founding),
            of=at(s.list(p), s.of), drawn=s.drawn + 1)

    def got_record(self, s, n):
        return s.but(blank=lambda m: z3.And(s.blank(m), m != n), waits=lambda m: z3.And(s.waits(m), m != n),
                     voted=lambda m, l: z3.Or(s.voted(m, l), m == n))

    def do_let_in(self, s, n: "Node"):
        """Enough nodes vouch for it, and it is repaired; or an operator does."""
        after = self.got_record(s, n)
        return [s.blank(n)], after.but(founder=lambda m: z3.And(s.founder(m), m != n))

    # --- Clients ---------------------------------------------------------------------------------

    def do_take_list(self, s, p: "Client", l: "List"):
        """set_nodes. What it has seen was for the list before."""
        this = lambda q: q == p
        return [], s.but(
            list=lambda q: z3.If(this(q), l, s.list(q)), own=lambda q: z3.If(this(q), self.w.rule(
                "a list that changes has a founding of its own", z3.IntVal(-1), s.own(p)), s.own(q)),
            seen=lambda q, n: z3.And(s.seen(q, n), q != p), again=lambda q, n: z3.And(s.again(q, n), q != p),
            all=lambda q: z3.And(s.all(q), q != p), met=lambda q: z3.And(s.met(q), q != p),
            waited=lambda q: z3.And(s.waited(q), q != p))

    def do_draw(self, s, p: "Client"):
        number = self.w.rule("a founding is drawn", s.founded, z3.IntVal(0))
        return [], s.but(own=lambda q: z3.If(q == p, number, s.own(q)), founded=s.founded + 1,
                         meant=lambda f: z3.If(f == number, s.list(p), s.meant(f)))

    def do_join(self, s, p: "Client", n: "Node"):
        """The founding of a candidate that stands takes the place of the client's own."""
        ours = self.w.rule("a founding is taken over for its list", s.of(n) == s.list(p))
        return [s.waits(n), ours], s.but(own=lambda q: z3.If(q == p, s.founding(n), s.own(q)))

    def do_see(self, s, p: "Client", n: "Node", lacks: "Node"):
        """It sees a candidate for the first time. If that is the last one, all others have to be seen again."""
        w = self.w
        this = lambda q, m: z3.And(q == p, m == n)
        after = s.but(seen=lambda q, m: z3.Or(s.seen(q, m), this(q, m)),
                      mark=lambda q, m: z3.If(this(q, m), s.nonce(n), s.mark(q, m)),
                      again=lambda q, m: z3.And(s.again(q, m), q != p))
        l = s.list(p)
        stood = lambda m: self.stands(s, m, after.mark(p, m))
        seen = self.of_all(l, lambda m: after.seen(p, m))
        met = self.of_all(l, stood)
        return [s.waits(n), self.member(n, l), z3.Or(met, z3.And(self.member(lacks, l), z3.Not(stood(lacks))))], after.but(
            all=lambda q: z3.If(q == p, seen, s.all(q)), met=lambda q: z3.If(q == p, z3.And(seen, met), s.met(q)),
            stood=lambda q, m: z3.If(q == p, stood(m), s.stood(q, m)), lacks=lambda q: z3.If(q == p, lacks, s.lacks(q)))

    def do_see_again(self, s, p: "Client", n: "Node"):
        return [self.stands(s, n, s.mark(p, n)), s.seen(p, n), self.member(n, s.list(p)),
                self.of_all(s.list(p), lambda m: s.seen(p, m)), s.all(p)], s.but(
            again=lambda q, m: z3.Or(s.again(q, m), z3.And(q == p, m == n)))

    def do_meet(self, s, p: "Client"):
        together = self.w.rule("all nodes of the list wait at one moment", self.of_all(s.list(p), lambda n: s.again(p, n)))
        return [s.all(p), together], s.but(
            waited=lambda q: z3.Or(s.waited(q), q == p),
            with_=lambda q, n: z3.If(q == p, s.mark(p, n), s.with_(q, n)))

    def do_found(self, s, p: "Client", n: "Node"):
        """enrol.lua"""
        w = self.w
        after = self.got_record(s, n)
        return [s.waited(p), s.waits(n), self.member(n, s.list(p)), s.of(n) == s.list(p),
                w.rule("a founder has the candidate with which it waited", s.mark(p, n) == s.with_(p, n)),
                w.rule("enrolment compares the candidate", s.nonce(n) == s.mark(p, n))], after.but(
            founder=lambda m: z3.Or(s.founder(m), m == n), lost=z3.Or(s.lost, s.voted(n, s.list(p))))


# --- Histories in a small world -----------------------------------------------------------------------------

two = {"Node": 2, "List": 1, "Client": 2, "Number": 9}
puts = "draw client1; put client1 node1; put client1 node2; "
sees = "see {0} node1; see {0} node2; see_again {0} node1; see_again {0} node2; meet {0}; "
waits = puts + sees.format("client1")
founds = "found client1 node1; found client1 node2"

possible = [
    ("a list is founded, and again when all nodes have forgotten it", two,
     waits + founds + "; forget node1; forget node2; put client1 node1; put client1 node2; " + sees.format("client1") + founds,
     lambda model, s: z3.And(*[s.founder(n) for n in model.w.elements("Node")], *[
         model.member(n, model.w.elements("List")[0]) for n in model.w.elements("Node")])),
    ("another client takes the founding over, and the first one changes its list", {**two, "List": 2},
     "draw client1; put client1 node1; take_list client1; join client2 node1; put client2 node2; "
     + sees.format("client2") + "found client2 node2", lambda model, s: s.founder(model.w.elements("Node")[1])),
    ("a node is let in", two, "let_in node1", lambda model, s: z3.Not(s.blank(model.w.elements("Node")[0]))),
]

# With a broken rule these lead to a founder that had voted before, or to two lists of one founding.
broken = {
    "all nodes of the list wait at one moment":
        (two, puts + "see client2 node2; " + sees.format("client1") + founds + "; forget node1; put client1 node1; "
         "see client2 node1; meet client2; found client2 node1"),
    "a founder has the candidate with which it waited":
        (two, waits + founds + "; forget node1; put client1 node1; see client1 node1; found client1 node1"),
    "enrolment compares the candidate": (two, waits + founds + "; forget node1; put client1 node1; found client1 node1"),
    "a list that changes has a founding of its own":
        ({**two, "List": 2}, "draw client1; put client1 node1; see client1 node1; see_again client1 node1; meet client1; "
         "found client1 node1; take_list client1; put client1 node2; see client1 node2; see_again client1 node2; "
         "meet client1; found client1 node2"),
    "a founding is drawn":
        ({**two, "List": 2}, "draw client1; put client1 node1; see client1 node1; see_again client1 node1; meet client1; "
         "found client1 node1; draw client2; put client2 node2; see client2 node2; see_again client2 node2; "
         "meet client2; found client2 node2"),
    "a founding is taken over for its list":
        ({**two, "List": 2}, "draw client1; put client1 node1; join client2 node1; put client2 node2; see client1 node1; "
         "see_again client1 node1; meet client1; found client1 node1; see client2 node2; see_again client2 node2; "
         "meet client2; found client2 node2"),
}
