"""Extending by token: it succeeds only if nobody else has had the lock since the token's holder got it. Whoever extends
knows the token alone: neither the end of the lease, nor its fencing token.

For every number of nodes, clients and claims of one exclusive lock (all of them conflict). No node forgets, as promised,
and there are no clocks. Keys may run out, be lost and be set anew at any time; requests and answers may be late, but for
the one rule that begins with "T:".
"""
import z3
from prover import Model


class ByToken(Model):
    theorems = ["nobody else has had it"]
    state = {
        "began": ("Claim", "Bool"),
        "decided": ("Claim", "Bool"),
        "token": ("Claim", "Number"),
        "by": ("Claim", "Majority"),           # (only for the proof)
        "after": ("Claim", "Claim", "Bool"),   # the first began when the second was decided
        "fenced": ("Claim", "Node", "Number", "Bool"),  # this node raised its counter to this number for the claim
        # Nodes.
        "counter": ("Node", "Number"),
        "has": ("Node", "Claim", "Bool"),      # the claim's key is there ...
        "marked": ("Node", "Claim", "Bool"),   # ... and was set anew after another may have had the lock
        # Extensions.
        "asked": ("Extension", "Bool"),
        "since": ("Extension", "Claim", "Bool"),   # this claim had been decided when it was asked for
        "voted": ("Extension", "Node", "Bool"),
        "succeeded": ("Extension", "Bool"),
    }

    def __init__(self, world):
        self.w = w = world
        self.of = w.fresh("of", "Extension", "Claim")
        self.member = w.fresh("member", "Node", "Majority", "Bool")

    def axioms(self):
        w, name = self.w, "two majorities share a node"
        if w.sizes is None:
            return [w.rule(name, self.meet("Majority", self.member, "Majority", self.member))]
        q = w.sizes["Node"] // 2 + 1
        return [self.sets("Majority", self.member, w.rule(name, q, q - 1))]

    def initial(self, s):
        w = self.w
        return [w.all("Claim", lambda c: z3.Not(z3.Or(s.began(c), s.decided(c)))),
                w.all("Claim", "Claim", lambda c, d: z3.Not(s.after(c, d))),
                w.all("Claim", "Node", lambda c, n: z3.And(z3.Not(z3.Or(s.has(n, c), s.marked(n, c))), w.all(
                    "Number", lambda t: z3.Not(s.fenced(c, n, t))))),
                w.all("Node", lambda n: s.counter(n) == 0),
                w.all("Extension", lambda x: z3.Not(z3.Or(s.asked(x), s.succeeded(x)))),
                w.all("Extension", "Node", lambda x, n: z3.Not(s.voted(x, n)))]

    def invariant(self, s):
        w = self.w
        return {
            "nobody else has had it": w.all("Extension", "Claim", lambda x, d: z3.Not(z3.And(
                s.succeeded(x), s.since(x, d), s.after(d, self.of(x))))),
            # A node that has voted for a later holder has the key of the one before with the mark, or not at all.
            "a later holder's nodes": w.all("Claim", "Claim", "Node", "Number", lambda c, d, n, t: z3.Implies(
                z3.And(s.after(d, c), s.fenced(d, n, t), t > s.token(c), s.has(n, c)), s.marked(n, c))),
            "nor do they vote": w.all("Extension", "Claim", "Node", lambda x, d, n: z3.Not(z3.And(
                s.asked(x), s.since(x, d), s.after(d, self.of(x)), self.member(n, s.by(d)), s.voted(x, n)))),
            "counters": w.all("Claim", "Node", "Number", lambda d, n, t: z3.Implies(s.fenced(d, n, t), s.counter(n) >= t)),
            "later numbers": w.all("Claim", "Claim", "Node", "Number", lambda c, d, n, t: z3.Implies(
                z3.And(s.after(d, c), s.fenced(d, n, t), self.member(n, s.by(c))), t > s.token(c))),
            "by votes": w.all("Claim", "Node", lambda c, n: z3.Implies(
                z3.And(s.decided(c), self.member(n, s.by(c))), s.fenced(c, n, s.token(c)))),
            "later tokens": w.all("Claim", "Claim", lambda c, d: z3.Implies(
                z3.And(s.after(d, c), s.decided(d)), s.token(d) > s.token(c))),
            "one key": w.all("Claim", "Claim", "Node", lambda c, d, n: z3.Not(z3.And(c != d, s.has(n, c), s.has(n, d)))),
            "began": w.all("Claim", "Node", "Number", lambda c, n, t: z3.And(
                z3.Implies(s.decided(c), s.began(c)), z3.Implies(s.fenced(c, n, t), s.began(c)))),
            "after": w.all("Claim", "Claim", lambda d, c: z3.Implies(s.after(d, c), z3.And(s.began(d), s.decided(c), c != d))),
            "since": w.all("Extension", "Claim", lambda x, d: z3.Implies(
                z3.And(s.asked(x), s.since(x, d)), s.decided(d))),
            "asked": w.all("Extension", "Node", lambda x, n: z3.And(
                z3.Implies(s.voted(x, n), s.asked(x)), z3.Implies(s.succeeded(x), s.asked(x)))),
        }

    # --- Holders ---------------------------------------------------------------------------------

    def do_begin(self, s, c: "Claim"):
        return [z3.Not(s.began(c))], s.but(began=lambda d: z3.Or(s.began(d), d == c),
                                           after=lambda d, e: z3.If(d == c, s.decided(e), s.after(d, e)))

    def do_decide(self, s, c: "Claim", q: "Majority", t: "Number"):
        return [s.began(c), z3.Not(s.decided(c)), self.w.all("Node", lambda n: z3.Implies(
            self.member(n, q), s.fenced(c, n, t)))], s.but(
            decided=lambda d: z3.Or(s.decided(d), d == c), token=lambda d: z3.If(d == c, t, s.token(d)),
            by=lambda d: z3.If(d == c, q, s.by(d)))

    # --- Nodes -----------------------------------------------------------------------------------

    def free(self, s, n):
        return self.w.all("Claim", lambda d: z3.Not(s.has(n, d)))

    def in_time(self, s, c, n):
        w = self.w
        return w.rule("T: no request to acquire comes after that of a later attempt", w.all(
            "Claim", "Number", lambda d, t: z3.Not(z3.And(s.after(d, c), s.fenced(d, n, t)))))

    def do_grant(self, s, c: "Claim", n: "Node", t: "Number"):
        """acquire.lua. It may come when the claim is decided."""
        w = self.w
        return [s.began(c), self.in_time(s, c, n), w.rule("only a free lock is granted", self.free(s, n)),
                w.rule("a grant raises the counter", t > s.counter(n), t >= s.counter(n))], \
            self.fence(s, c, n, t).but(has=lambda m, d: z3.Or(s.has(m, d), z3.And(m == n, d == c)))

    def do_raise(self, s, c: "Claim", n: "Node", t: "Number"):
        """raise.lua."""
        return [s.began(c), s.has(n, c), t > s.counter(n), z3.Not(s.decided(c))], self.fence(s, c, n, t)

    def fence(self, s, c, n, t):
        return s.but(fenced=lambda d, m, u: z3.Or(s.fenced(d, m, u), z3.And(d == c, m == n, u == t)),
                     counter=lambda m: z3.If(m == n, t, s.counter(m)))

    def do_replant(self, s, c: "Claim", n: "Node"):
        """renew.lua sets a key anew. If the counter exceeds the token, another may have had the lock meanwhile."""
        w = self.w
        mark = w.rule("a key that is set anew after another's hold is marked", s.counter(n) > s.token(c), z3.BoolVal(False))
        this = lambda m, d: z3.And(m == n, d == c)
        return [s.decided(c), self.free(s, n)], s.but(
            has=lambda m, d: z3.Or(s.has(m, d), this(m, d)),
            marked=lambda m, d: z3.Or(s.marked(m, d), z3.And(this(m, d), mark)),
            counter=lambda m: z3.If(z3.And(m == n, s.token(c) > s.counter(m)), s.token(c), s.counter(m)))

    def do_lose_key(self, s, c: "Claim", n: "Node"):
        return [], s.but(has=lambda m, d: z3.And(s.has(m, d), z3.Not(z3.And(m == n, d == c))))

    # --- Extensions ------------------------------------------------------------------------------

    def do_ask(self, s, x: "Extension"):
        return [s.decided(self.of(x)), z3.Not(s.asked(x))], s.but(
            asked=lambda y: z3.Or(s.asked(y), y == x), since=lambda y, d: z3.If(y == x, s.decided(d), s.since(y, d)))

    def do_extend(self, s, x: "Extension", n: "Node"):
        """renew_all.lua, by the token alone."""
        w, c = self.w, self.of(x)
        return [s.asked(x), w.rule("the key is compared", s.has(n, c)),
                w.rule("a marked key does not count", z3.Not(s.marked(n, c)))], s.but(
            voted=lambda y, m: z3.Or(s.voted(y, m), z3.And(y == x, m == n)))

    def do_succeed(self, s, x: "Extension", q: "Majority"):
        return [s.asked(x), self.w.all("Node", lambda n: z3.Implies(self.member(n, q), s.voted(x, n)))], s.but(
            succeeded=lambda y: z3.Or(s.succeeded(y), y == x))


# --- Histories in a small world -----------------------------------------------------------------------------

three = {"Node": 3, "Majority": 2, "Claim": 2, "Extension": 1, "Number": 4}
hold = "begin claim1; grant claim1 node1; grant claim1 node2; decide claim1; "
lose = "lose_key claim1 node2; "
other = "begin claim2; grant claim2 node2; grant claim2 node3; decide claim2; "
extend = "ask; extend extension1 node1; extend extension1 node2; succeed"

possible = [
    ("a lease is extended by its token, with a key that was set anew", three,
     "begin claim1; grant claim1 node1; grant claim1 node2; raise claim1 node1; decide claim1; " + lose
     + "replant claim1 node2; " + extend, lambda model, s: s.succeeded(model.w.elements("Extension")[0])),
]

broken = {
    "two majorities share a node":
        (three, "begin claim1; grant claim1 node1; decide claim1; begin claim2; grant claim2 node2; decide claim2; ask; "
         "extend extension1 node1; succeed"),
    # The connection of the request had broken, and its process was gone.
    "T: no request to acquire comes after that of a later attempt":
        (three, hold + lose + other + "lose_key claim2 node2; grant claim1 node2; " + extend),
    "only a free lock is granted": (three, hold + other + extend),
    "a grant raises the counter":
        (three, hold + lose + other + "lose_key claim2 node2; replant claim1 node2; " + extend),
    "a key that is set anew after another's hold is marked":
        (three, hold + lose + other + "lose_key claim2 node2; replant claim1 node2; " + extend),
    "the key is compared": (three, hold + lose + other + extend),
    "a marked key does not count":
        (three, hold + lose + other + "lose_key claim2 node2; replant claim1 node2; " + extend),
}
