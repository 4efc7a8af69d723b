"""Fencing tokens: no two leases have the same; one whose attempt began after another was decided has the
greater; and of two holders in succession the later has the greater.

For every number of nodes, clients and claims, with nodes that forget, wait and are repaired. There are no
clocks in this model: what it needs of them, exclusion.py proves, and two rules below say so ("T: ..."). The
first is needed only for holders in succession; the second only if nodes forget.
"""
import z3
from prover import Model


class Fencing(Model):
    theorems = ["unique", "ordered by start", "ordered by holding"]
    # Without any timing of keys, the first two of them remain: (title, broken rule, parts that it costs).
    variants = [("without T for keys: unique, ordered by start", "T: a key outlives its attempt",
                 ["ordered by holding", "key stands by vote", "no votes side by side", "votes after a holder"])]
    state = {
        # Claims: attempts to lock, each with an owner token of its own.
        "began": ("Claim", "Bool"),
        "past": ("Claim", "Bool"),      # its attempt was given up, or its deadline has passed
        "decided": ("Claim", "Bool"),   # it has its fencing token ...
        "token": ("Claim", "Number"),   # ... which is this
        "by": ("Claim", "Majority"),    # ... by the votes of these nodes (only for the proof)
        "after": ("Claim", "Claim", "Bool"),  # the first began when the second was decided (likewise)
        "follows": ("Claim", "Claim", "Bool"),  # they conflict, and the first was decided after the second (likewise)
        "fenced": ("Claim", "Node", "Number", "Bool"),  # this node raised its counter to this number for the claim
        # Nodes.
        "enrolled": ("Node", "Bool"),
        "counter": ("Node", "Number"),
        "has": ("Node", "Claim", "Bool"),     # the claim's key is there
        # Clients that repair a node which may have forgotten.
        "knows": ("Client", "Node", "Bool"),  # the record that it has noted is of the node's present enrolment
        "repairs": ("Client", "Node", "Bool"),
        "read": ("Client", "Node", "Node", "Bool"),     # for the first node, the counter of the second ...
        "checked": ("Client", "Node", "Node", "Bool"),  # ... whose record was then found to be the same still
        "greatest": ("Client", "Node", "Number"),       # of the counters read
    }

    def __init__(self, world):
        self.w = w = world
        self.conflict = w.fresh("conflict", "Claim", "Claim", "Bool")
        self.member = w.fresh("member", "Node", "Majority", "Bool")
        self.vouches = w.fresh("vouches", "Node", "Cover", "Bool")  # in a set of N - q + 1 nodes

    def pending(self, s, c):
        return z3.And(s.began(c), z3.Not(s.past(c)), z3.Not(s.decided(c)))

    def counts(self, s, c, n, t):
        """This vote has decided a token, or may still do so."""
        return z3.And(s.fenced(c, n, t), z3.Or(self.pending(s, c), z3.And(
            s.decided(c), t == s.token(c), self.member(n, s.by(c)))))

    def free(self, s, c, n):
        return self.w.all("Claim", lambda d: z3.Not(z3.And(self.conflict(c, d), s.has(n, d))))

    def axioms(self):
        w = self.w
        return [
            *self.quorums(),
            w.all("Claim", "Claim", lambda c, d: z3.And(
                self.conflict(c, d) == self.conflict(d, c), z3.Not(self.conflict(c, c)))),
        ]

    def quorums(self):
        w, names = self.w, ("two majorities share a node", "N - q + 1 nodes meet every majority")
        if w.sizes is None:
            return [w.rule(names[0], self.meet("Majority", self.member, "Majority", self.member)),
                    w.rule(names[1], self.meet("Cover", self.vouches, "Majority", self.member))]
        n = w.sizes["Node"]
        q = n // 2 + 1
        return [self.sets("Majority", self.member, w.rule(names[0], q, q - 1)),
                self.sets("Cover", self.vouches, w.rule(names[1], n - q + 1, n - q))]

    def initial(self, s):
        w = self.w
        return [
            w.all("Claim", lambda c: z3.Not(z3.Or(s.began(c), s.past(c), s.decided(c)))),
            w.all("Claim", "Claim", lambda c, d: z3.Not(z3.Or(s.after(c, d), s.follows(c, d)))),
            w.all("Claim", "Node", lambda c, n: z3.And(z3.Not(s.has(n, c)), w.all("Number", lambda t: z3.Not(s.fenced(c, n, t))))),
            w.all("Node", lambda n: z3.And(s.enrolled(n), s.counter(n) == 0)),
            w.all("Client", "Node", "Node", lambda p, n, m: z3.Not(z3.Or(
                s.knows(p, n), s.repairs(p, n), s.read(p, n, m), s.checked(p, n, m)))),
        ]

    # --- The invariant ---------------------------------------------------------------------------

    def invariant(self, s):
        w = self.w
        return {
            "unique": w.all("Claim", "Claim", lambda c, d: z3.Implies(
                z3.And(c != d, s.decided(c), s.decided(d)), s.token(c) != s.token(d))),
            "ordered by start": w.all("Claim", "Claim", lambda c, d: z3.Implies(
                z3.And(s.after(d, c), s.decided(d)), s.token(c) < s.token(d))),
            "ordered by holding": w.all("Claim", "Claim", lambda c, d: z3.Implies(
                s.follows(d, c), s.token(c) < s.token(d))),
            # What counts at a node that votes is not above its counter.
            "counter remembers": w.all("Claim", "Node", "Number", lambda c, n, t: z3.Implies(
                z3.And(self.counts(s, c, n, t), s.enrolled(n)), s.counter(n) >= t)),
            "one vote for a number": w.all("Claim", "Claim", "Node", "Number", lambda c, d, n, t: z3.Not(z3.And(
                c != d, self.counts(s, c, n, t), self.counts(s, d, n, t)))),
            "decided by votes": w.all("Claim", "Node", lambda c, n: z3.Implies(
                z3.And(s.decided(c), self.member(n, s.by(c))), s.fenced(c, n, s.token(c)))),
            "votes after a decision": w.all("Claim", "Claim", "Node", "Number", lambda c, d, n, t: z3.Implies(
                z3.And(s.after(d, c), self.member(n, s.by(c)), s.fenced(d, n, t)), t > s.token(c))),
            # For holders in succession: votes of two conflicting attempts under way never meet at a node.
            "key stands by vote": w.all("Claim", "Node", "Number", lambda c, n, t: z3.Implies(
                z3.And(s.fenced(c, n, t), self.pending(s, c), s.enrolled(n)), s.has(n, c))),
            "no votes side by side": w.all("Claim", "Claim", "Node", "Number", "Number", lambda c, d, n, t, u: z3.Not(z3.And(
                self.conflict(c, d), self.pending(s, c), self.pending(s, d), s.fenced(c, n, t), s.fenced(d, n, u)))),
            "votes after a holder": w.all("Claim", "Claim", "Node", "Number", lambda c, d, n, t: z3.Implies(
                z3.And(self.conflict(c, d), s.decided(c), self.pending(s, d), self.member(n, s.by(c)),
                       s.fenced(d, n, t)), t > s.token(c))),
            # Repair.
            "a node that waits": w.all("Client", "Node", "Claim", "Number", lambda p, n, c, t: z3.Implies(
                z3.And(s.repairs(p, n), s.fenced(c, n, t)),
                z3.And(z3.Not(s.enrolled(n)), z3.Not(self.pending(s, c))))),
            "enrolled nodes are not repaired": w.all("Client", "Node", lambda p, n: z3.Not(
                z3.And(s.repairs(p, n), s.enrolled(n)))),
            "what is known": w.all("Client", "Node", lambda p, n: z3.Implies(s.knows(p, n), s.enrolled(n))),
            # A source that was read while it was enrolled had every token that was decided by it and by the node
            # under repair. No more of these will be decided.
            "what was read": w.all("Client", "Node", "Node", "Claim", lambda p, n, m, c: z3.Implies(
                z3.And(s.repairs(p, n), z3.Or(s.checked(p, n, m), z3.And(s.read(p, n, m), s.knows(p, m))),
                       s.decided(c), self.member(n, s.by(c)), self.member(m, s.by(c))),
                s.greatest(p, n) >= s.token(c))),
            "began": w.all("Claim", lambda c: z3.Implies(s.decided(c), s.began(c))),
            "voted": w.all("Claim", "Node", "Number", lambda c, n, t: z3.Implies(s.fenced(c, n, t), s.began(c))),
            "after": w.all("Claim", "Claim", lambda c, d: z3.Implies(
                s.after(d, c), z3.And(s.decided(c), s.began(d), c != d))),
            "follows": w.all("Claim", "Claim", lambda c, d: z3.Implies(
                s.follows(d, c), z3.And(s.decided(c), s.decided(d)))),
        }

    # --- What clients do -------------------------------------------------------------------------

    def do_begin(self, s, c: "Claim"):
        return [z3.Not(s.began(c))], s.but(
            began=lambda d: z3.Or(s.began(d), d == c),
            after=lambda d, e: z3.If(d == c, s.decided(e), s.after(d, e)))

    def do_give_up(self, s, c: "Claim"):
        """The attempt was lost or cancelled, or its deadline has passed. Its requests may still be executed."""
        return [s.began(c)], s.but(past=lambda d: z3.Or(s.past(d), d == c))

    def do_decide(self, s, c: "Claim", q: "Majority", t: "Number"):
        """A majority has voted for one and the same number, before the deadline."""
        w = self.w
        less = lambda n: w.some("Number", lambda u: z3.And(u <= t, s.fenced(c, n, u)))
        return [s.began(c), z3.Not(s.decided(c)), w.rule("a number is decided before the deadline", z3.Not(s.past(c))),
                w.all("Node", lambda n: z3.Implies(self.member(n, q), w.rule(
                    "all votes are for one number", s.fenced(c, n, t), less(n))))], s.but(
            decided=lambda d: z3.Or(s.decided(d), d == c),
            token=lambda d: z3.If(d == c, t, s.token(d)),
            by=lambda d: z3.If(d == c, q, s.by(d)),
            follows=lambda d, e: z3.Or(s.follows(d, e), z3.And(d == c, s.decided(e), self.conflict(c, e))))

    # --- What nodes do ---------------------------------------------------------------------------

    def do_grant(self, s, c: "Claim", n: "Node", t: "Number"):
        """acquire.lua: the number is greater than the counter, and than whatever the client has seen."""
        w = self.w
        return [s.began(c), w.rule("only an enrolled node grants", s.enrolled(n)),
                w.rule("only a free lock is granted", self.free(s, c, n)),
                w.rule("a grant raises the counter", t > s.counter(n), t >= s.counter(n))], \
            self.voted_for(s, c, n, t, t).but(has=lambda m, d: z3.Or(s.has(m, d), z3.And(m == n, d == c)))

    def do_raise(self, s, c: "Claim", n: "Node", t: "Number"):
        """raise.lua: only the owner, and strictly."""
        w = self.w
        strict, greater = w.rule("a raise is strict", t > s.counter(n), t >= s.counter(n)), "a counter that is greater is no yes"
        return [s.began(c), w.rule("only an enrolled node raises", s.enrolled(n)),
                w.rule("only the owner raises", z3.And(s.has(n, c), self.free(s, c, n))), w.rule(greater, strict)], \
            self.voted_for(s, c, n, t, w.rule(greater, t, z3.If(t > s.counter(n), t, s.counter(n))))

    def voted_for(self, s, c, n, t, counter):
        return s.but(fenced=lambda d, m, u: z3.Or(s.fenced(d, m, u), z3.And(d == c, m == n, u == t)),
                     counter=lambda m: z3.If(m == n, counter, s.counter(m)))

    def do_replant(self, s, c: "Claim", n: "Node"):
        """renew.lua sets a lease's key anew, and raises the counter to its token at least."""
        return [s.decided(c), s.enrolled(n), self.free(s, c, n)], s.but(
            has=lambda m, d: z3.Or(s.has(m, d), z3.And(m == n, d == c)),
            counter=lambda m: z3.If(z3.And(m == n, s.token(c) > s.counter(m)), s.token(c), s.counter(m)))

    def do_lose_key(self, s, c: "Claim", n: "Node"):
        """The key runs out or is deleted."""
        w = self.w
        return [w.rule("T: a key outlives its attempt", z3.Not(self.pending(s, c)))], \
            s.but(has=lambda m, d: z3.And(s.has(m, d), z3.Not(z3.And(m == n, d == c))))

    # --- Nodes that forget -----------------------------------------------------------------------

    def do_forget(self, s, n: "Node", left: "Number"):
        """Its counters may be anything, its keys gone or there again. No enrolment, no candidate any more."""
        w = self.w
        has = w.fresh("has", "Claim", "Bool")
        return [], s.but(
            enrolled=lambda m: z3.And(s.enrolled(m), m != n),
            counter=lambda m: z3.If(m == n, left, s.counter(m)),
            has=lambda m, c: z3.If(m == n, has(c), s.has(m, c)),
            repairs=lambda p, m: z3.And(s.repairs(p, m), w.rule("a candidate stands for one wait", m != n)),
            knows=lambda p, m: z3.And(s.knows(p, m), w.rule("a record stands for one enrolment", m != n)))

    def do_note(self, s, p: "Client", n: "Node"):
        """The client reads the node's record. What it has read there before is not covered by this record."""
        w = self.w
        return [s.enrolled(n)], s.but(
            knows=lambda q, m: z3.Or(s.knows(q, m), z3.And(q == p, m == n)),
            read=lambda q, m, o: z3.And(s.read(q, m, o), z3.Or(q != p, w.rule(
                "a record that was noted after the reading does not count", o != n))))

    def do_begin_repair(self, s, p: "Client", n: "Node"):
        """The wait is over: no attempt that had a vote of this node can be decided any more."""
        w = self.w
        return [z3.Not(s.enrolled(n)), w.rule("T: the quarantine outlasts every vote that was forgotten", w.all(
            "Claim", "Number", lambda c, t: z3.Implies(s.fenced(c, n, t), z3.Not(self.pending(s, c)))))], s.but(
            repairs=lambda q, m: z3.Or(s.repairs(q, m), z3.And(q == p, m == n)),
            greatest=lambda q, m: z3.If(z3.And(q == p, m == n), s.counter(n), s.greatest(q, m)),
            read=lambda q, m, o: z3.And(s.read(q, m, o), z3.Not(z3.And(q == p, m == n))),
            checked=lambda q, m, o: z3.And(s.checked(q, m, o), z3.Not(z3.And(q == p, m == n))))

    def do_read(self, s, p: "Client", n: "Node", source: "Node"):
        """SCAN and MGET, whatever the source is by now."""
        found = s.counter(source)
        return [s.repairs(p, n)], s.but(
            read=lambda q, m, o: z3.Or(s.read(q, m, o), z3.And(q == p, m == n, o == source)),
            greatest=lambda q, m: z3.If(z3.And(q == p, m == n, found > s.greatest(q, m)), found, s.greatest(q, m)))

    def do_refuse(self, s, p: "Client", n: "Node", source: "Node"):
        """A number of the source is bad (counters.py), and is left out. So the source does not count."""
        w = self.w
        this = lambda q, m, o: z3.And(q == p, m == n, o == source)
        return [s.repairs(p, n)], s.but(read=lambda q, m, o: w.rule(
            "a source with a refused number does not count", z3.And(s.read(q, m, o), z3.Not(this(q, m, o))),
            z3.Or(s.read(q, m, o), this(q, m, o))))

    def do_check(self, s, p: "Client", n: "Node", source: "Node"):
        """GET: the record is the one that the client has noted."""
        return [s.repairs(p, n), s.read(p, n, source), s.enrolled(source), s.knows(p, source)], s.but(
            checked=lambda q, m, o: z3.Or(s.checked(q, m, o), z3.And(q == p, m == n, o == source)))

    def do_enrol(self, s, p: "Client", n: "Node", v: "Cover"):
        """enrol.lua: the same candidate still stands, and N - q + 1 others were read."""
        w = self.w
        every = w.all("Node", lambda m: z3.Implies(self.vouches(m, v), s.checked(p, n, m)))
        counter = z3.If(s.greatest(p, n) > s.counter(n), s.greatest(p, n), s.counter(n))
        return [s.repairs(p, n), w.rule("counters are repaired", every)], s.but(
            enrolled=lambda m: z3.Or(s.enrolled(m), m == n),
            counter=lambda m: z3.If(m == n, counter, s.counter(m)),
            repairs=lambda q, m: z3.And(s.repairs(q, m), w.rule(
                "a candidate stands for one wait", m != n, z3.Or(m != n, p != q))))


# --- Histories in a small world -----------------------------------------------------------------------------

three = {"Node": 3, "Majority": 2, "Cover": 2, "Claim": 2, "Client": 2, "Number": 4}
five = {"Node": 5, "Majority": 2, "Cover": 2, "Claim": 2, "Client": 2, "Number": 3}
hold = "begin; grant; grant; decide; "
repair = "begin_repair; read; read; check; check; enrol; "


def repair_of(client, node, sources):
    return (f"begin_repair {client} {node}; " + "".join(f"read {client} {node} {each}; " for each in sources)
            + "".join(f"check {client} {node} {each}; " for each in sources))


# What happens if records do not tell an enrolment from the next one of the same run, and if a source's record is
# compared with the one that is known by then. A was decided on n1, n4 and n5. n4 and n1 forget. Client 1 repairs n4 and
# reads n1, since it has not noticed; client 2 repairs n1; then client 1 finds n1's record as it was.
as_built = (
    "note client1 node1; note client1 node2; note client1 node3; note client2 node2; note client2 node3; "
    "note client2 node5; begin claim1; grant claim1 node1 1; grant claim1 node4 1; grant claim1 node5 1; "
    "decide claim1; forget node4; forget node1; begin_repair client1 node4; read client1 node4 node1; "
    + repair_of("client2", "node1", ["node2", "node3", "node5"]) + "enrol client2 node1; %s"
    "check client1 node4 node1; read client1 node4 node2; read client1 node4 node3; check client1 node4 node2; "
    "check client1 node4 node3; enrol client1 node4; "
    "begin claim2; grant claim2 node2 1; grant claim2 node3 1; grant claim2 node4 1; decide claim2")

possible = [
    ("numbers differ, are raised and decided", three,
     "begin claim1; grant claim1 node1 1; grant claim1 node2 2; raise claim1 node1 2; decide",
     lambda model, s: model.w.some("Claim", lambda c: s.decided(c))),
    ("a key is set anew, an attempt is given up, and a node is repaired after a number was refused", three,
     "note; note; " + hold + "lose_key; replant; begin; give_up; forget; begin_repair; refuse; read; read; check; check; "
     "enrol", lambda model, s: model.w.all("Node", lambda n: s.enrolled(n))),
    ("tokens grow across a node that forgot and was repaired", three,
     "note; note; " + hold + "forget; " + repair + hold,
     lambda model, s: model.w.some("Claim", "Claim", lambda c, d: z3.And(s.follows(d, c), s.token(c) < s.token(d)))),
]

# With a broken rule these lead to a token that is given twice, or to a later token that is smaller.
broken = {
    "two majorities share a node": (three, "begin; grant; decide; begin; grant; decide"),
    "N - q + 1 nodes meet every majority": (three, "note; " + hold + "forget; begin_repair; read; check; enrol; " + hold),
    "a number is decided before the deadline":
        (three, "note; note; begin; grant; give_up; forget; " + repair + "grant; decide; " + hold),
    "all votes are for one number": (three, hold + "lose_key; " + hold),
    "only an enrolled node grants": (three, hold + "forget; " + hold),
    "only a free lock is granted": (three, "begin; begin; grant; grant; grant; decide; grant; decide"),
    "a grant raises the counter": (three, hold + "lose_key; " + hold),
    "only an enrolled node raises": (three, hold + "begin; forget; raise; grant; decide"),
    "only the owner raises": (three, "begin; begin; grant; grant; grant; raise; decide; lose_key; grant; decide"),
    "a raise is strict":
        (three, "begin; begin; grant; grant; grant; grant; raise; raise; raise; raise; decide; decide"),
    "a counter that is greater is no yes":
        (three, "begin; begin; grant; grant; grant; decide; lose_key; grant; raise; decide"),
    "counters are repaired": (three, hold + "forget; begin_repair; enrol; " + hold),
    "a source with a refused number does not count":
        (three, "note; note; " + hold + "forget; begin_repair; refuse; refuse; check; check; enrol; " + hold),
    "a candidate stands for one wait":
        (three, "forget node2; note client1 node1; note client1 node3; " + repair_of("client1", "node2", ["node1", "node3"])
         + "note client2 node1; note client2 node3; " + repair_of("client2", "node2", ["node1", "node3"])
         + "enrol client2 node2; begin claim1; grant claim1 node1 1; grant claim1 node2 1; decide claim1; forget node2; "
         "enrol client1 node2; begin claim2; grant claim2 node2 1; grant claim2 node3 1; decide claim2"),
    "a record stands for one enrolment": (five, as_built % ""),
    "a record that was noted after the reading does not count": (five, as_built % "note client1 node1; "),
    "T: a key outlives its attempt": (three, "begin; begin; grant; lose_key; grant; grant; decide; grant; decide"),
    "T: the quarantine outlasts every vote that was forgotten":
        (three, "note; note; begin; grant; forget; " + repair + "grant; decide; " + hold),
}
