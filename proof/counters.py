"""A number that few nodes made up does not reach the others: every counter of an honest node stays within
fencing_memory of the clocks, but for one step for each grant. So no honest node is taken for a bad one for longer
than clocks differ, and a microsecond for each grant: then the client's own clock explains its number.

For every number of nodes and clients, if no more than N - q nodes lie. A client takes a number (a counter or a floor)
from an answer only if it is within fencing_memory of the client's own clock, or of the TIME of N - q + 1 nodes (that
is, of the (N - q + 1)-th greatest), or if N - q + 1 nodes have one as great (lock/counter_bound.hpp). Otherwise the
number is bad: the node's vote for that lock is left out (lock/ballot.hpp), and the node is no source of a repair
(members/repair.cpp) or of an operator's floor (MembersChange::counts_up_to). Leaving out votes and sources is safe: see
fencing.py and tokens.py, where a source with a refused number does not count.

Clocks may be wrong: "latest" is the clock that is furthest on, of all honest nodes and clients. A token that was
decided is on q nodes, and N - q + 1 <= q: whoever hears them all believes it, whatever clocks do.
"""
import z3
from prover import Model


class Counters(Model):
    theorems = ["counters stay near the clocks", "a clock explains them"]
    state = {
        "counter": ("Node", "Number"),          # of one lock
        "latest": ("Number",),                  # the clock of an honest node or client that is furthest on
        "grants": ("Number",),                  # that there were
        "told": ("Client", "Node", "Bool"),     # the node has answered the client ...
        "heard": ("Client", "Node", "Number"),  # ... with this number ...
        "time": ("Client", "Node", "Number"),   # ... and this TIME
        "then": ("Client", "Node", "Number"),   # the latest clock at that moment, and one step for each grant
        "seen": ("Client", "Number"),           # what the client's next number has to exceed
    }

    def __init__(self, world):
        self.w = w = world
        self.honest = w.fresh("honest", "Node", "Bool")
        self.member = w.fresh("member", "Node", "Cover", "Bool")  # in a set of N - q + 1 nodes
        self.memory = w.fresh("memory", "Number")  # fencing_memory

    def axioms(self):
        w, few = self.w, "no more than N - q nodes lie"
        if w.sizes is None:
            return [self.memory >= 0, w.rule(few, w.all("Cover", lambda k: w.some("Node", lambda n: z3.And(
                self.member(n, k), self.honest(n)))))]
        n = w.sizes["Node"]
        least = n - n // 2  # N - q + 1
        liars = z3.Sum([z3.If(self.honest(each), 0, 1) for each in w.elements("Node")])
        return [self.memory >= 0, self.sets("Cover", self.member, least), w.rule(few, liars < least)]

    def initial(self, s):
        w = self.w
        return [s.latest >= 0, s.grants == 0, w.all("Node", lambda n: s.counter(n) <= s.latest),
                w.all("Client", lambda p: s.seen(p) == 0),
                w.all("Client", "Node", lambda p, n: z3.Not(s.told(p, n)))]

    def limit(self, s):
        return s.latest + self.memory + s.grants

    def invariant(self, s):
        w = self.w
        return {
            "counters stay near the clocks": w.all("Node", lambda n: z3.Implies(
                self.honest(n), s.counter(n) <= self.limit(s))),
            "so does what clients go by": w.all("Client", lambda p: s.seen(p) <= self.limit(s)),
            "honest answers": w.all("Client", "Node", lambda p, n: z3.Implies(
                z3.And(s.told(p, n), self.honest(n)), z3.And(
                    s.heard(p, n) <= self.limit(s), s.time(p, n) <= s.latest))),
            # When the client's own clock has come this far, it believes an honest node.
            "a clock explains them": w.all("Client", "Node", lambda p, n: z3.Implies(
                z3.And(s.told(p, n), self.honest(n)), s.heard(p, n) <= s.then(p, n) + self.memory)),
            "numbers": z3.And(s.latest >= 0, s.grants >= 0),
        }

    def good(self, s, p, number, wall, k):
        """The number may be taken, by the client's clock or by what the nodes k say."""
        w = self.w
        of_each = lambda says: w.all("Node", lambda n: z3.Implies(self.member(n, k), z3.And(s.told(p, n), says(n))))
        of_one = lambda says: w.some("Node", lambda n: z3.And(s.told(p, n), says(n)))
        near = lambda n: number <= s.time(p, n) + self.memory
        as_great = lambda n: s.heard(p, n) >= number
        return z3.And(wall <= s.latest, z3.Or(
            number <= wall + self.memory,
            w.rule("TIMEs of N - q + 1 nodes count, and not the greatest", of_each(near), of_one(near)),
            w.rule("N - q + 1 nodes have one as great", of_each(as_great), of_one(as_great))))

    def do_time_passes(self, s, latest: "Number"):
        return [latest >= s.latest], s.but(latest=latest)

    def do_answer(self, s, p: "Client", n: "Node", number: "Number", time: "Number"):
        """An answer, perhaps an old one. Who lies says anything."""
        this = lambda q, m: z3.And(q == p, m == n)
        return [z3.Implies(self.honest(n), z3.And(number <= s.counter(n), time <= s.latest))], s.but(
            told=lambda q, m: z3.Or(s.told(q, m), this(q, m)),
            heard=lambda q, m: z3.If(this(q, m), number, s.heard(q, m)),
            time=lambda q, m: z3.If(this(q, m), time, s.time(q, m)),
            then=lambda q, m: z3.If(this(q, m), s.latest + s.grants, s.then(q, m)))

    def do_take(self, s, p: "Client", n: "Node", k: "Cover", wall: "Number"):
        """The client's next number will exceed that of this node."""
        w = self.w
        number = s.heard(p, n)
        return [s.told(p, n), w.rule("a bad number is not taken", self.good(s, p, number, wall, k))], s.but(
            seen=lambda q: z3.If(z3.And(q == p, number > s.seen(p)), number, s.seen(q)))

    def do_grant(self, s, p: "Client", n: "Node", number: "Number"):
        """acquire.lua: one more than the counter, than what the client has seen, or a clock."""
        most = lambda a, b: z3.If(a > b, a, b)
        return [number > s.counter(n), number <= most(most(s.counter(n), s.seen(p)), s.latest) + 1], s.but(
            counter=lambda m: z3.If(m == n, number, s.counter(m)), grants=s.grants + 1)

    def do_raise(self, s, p: "Client", n: "Node"):
        """raise.lua: to the greatest number that was taken."""
        return [s.seen(p) > s.counter(n)], s.but(counter=lambda m: z3.If(m == n, s.seen(p), s.counter(m)))

    def do_repair(self, s, p: "Client", n: "Node", source: "Node", k: "Cover", wall: "Number"):
        """A node that forgot gets the counter, or the floor, of a source."""
        w = self.w
        number = s.heard(p, source)
        return [s.told(p, source), w.rule("a node with a bad number is no source", self.good(s, p, number, wall, k))], \
            s.but(counter=lambda m: z3.If(m == n, number, s.counter(m)))


# --- Histories in a small world -----------------------------------------------------------------------------

three = {"Node": 3, "Cover": 2, "Client": 1, "Number": 9}
five = {"Node": 5, "Cover": 2, "Client": 1, "Number": 9}

possible = [
    ("a number beyond all clocks is taken if enough nodes have one as great", three,
     "grant client1 node1; grant client1 node1; grant client1 node2; grant client1 node2; answer client1 node1; "
     "answer client1 node2; take client1 node1; raise client1 node3",
     lambda model, s: z3.And(model.memory == 0, s.latest == 0, *[model.honest(n) for n in model.w.elements("Node")],
                             s.counter(model.w.elements("Node")[2]) == 2)),
    ("a node that forgot is repaired beside a liar, later", three,
     "time_passes; answer client1 node1; answer client1 node2; repair client1 node3 node1",
     lambda model, s: z3.And(z3.Not(model.honest(model.w.elements("Node")[1])), s.counter(model.w.elements("Node")[2]) > 0)),
]

take = "answer client1 node1; take client1 node1; raise client1 node2"
broken = {
    "no more than N - q nodes lie": (three, "answer client1 node1; answer client1 node3; take client1 node1; raise client1 node2"),
    "TIMEs of N - q + 1 nodes count, and not the greatest": (three, take),
    "N - q + 1 nodes have one as great": (five, take),
    "a bad number is not taken": (three, take),
    "a node with a bad number is no source": (three, "answer client1 node1; repair client1 node2 node1"),
}
