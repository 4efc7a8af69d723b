"""Extending by token: it succeeds only if nobody with a greater fencing token has had the lock. (The later of two holders has
the greater one: fencing.py.) Whoever extends knows the token alone: neither the end of the lease, nor its fencing token.

For every number of nodes, clients and claims of one exclusive lock (all of them conflict). Of several locks a node says the
greatest counter, of which the same is true. There are no clocks. Keys may run out, be lost and be set anew at any time.
Requests and answers may be late, even by more than a lease: a request may still come when its connection is broken.

The proof: a node of the majority that decided the claim votes only while its counter is at most at the claim's token. A node
of the majority that decided a greater token has a greater counter. Each majority has one of both kinds, so it does not agree.
"""
import z3
from prover import Model


class ByToken(Model):
    theorems = ["nobody else has had it"]
    state = {
        "decided": ("Claim", "Bool"),
        "token": ("Claim", "Number"),
        "by": ("Claim", "Majority"),           # (only for the proof)
        "fenced": ("Claim", "Node", "Number", "Bool"),  # this node raised its counter to this number for the claim
        # Nodes.
        "counter": ("Node", "Number"),
        "granted": ("Node", "Claim", "Bool"),  # the claim's request has come
        "has": ("Node", "Claim", "Bool"),      # the claim's key is there ...
        "marked": ("Node", "Claim", "Bool"),   # ... and was set anew after another may have had the lock
        # Extensions.
        "asked": ("Extension", "Bool"),
        "since": ("Extension", "Claim", "Bool"),   # this claim had been decided when it was asked for
        "voted": ("Extension", "Node", "Number", "Bool"),  # with this counter
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
        return [w.all("Claim", lambda c: z3.Not(s.decided(c))),
                w.all("Claim", "Node", lambda c, n: z3.And(z3.Not(z3.Or(s.granted(n, c), s.has(n, c), s.marked(n, c))), w.all(
                    "Number", lambda t: z3.Not(s.fenced(c, n, t))))),
                w.all("Node", lambda n: s.counter(n) == 0),
                w.all("Extension", lambda x: z3.Not(z3.Or(s.asked(x), s.succeeded(x)))),
                w.all("Extension", "Node", "Number", lambda x, n, t: z3.Not(s.voted(x, n, t)))]

    def invariant(self, s):
        w = self.w
        return {
            "nobody else has had it": w.all("Extension", "Claim", lambda x, d: z3.Implies(
                z3.And(s.succeeded(x), s.since(x, d), d != self.of(x)), s.token(d) < s.token(self.of(x)))),
            "an earlier holder's nodes": w.all("Extension", "Node", "Number", lambda x, n, t: z3.Implies(
                z3.And(s.voted(x, n, t), self.member(n, s.by(self.of(x)))), t <= s.token(self.of(x)))),
            "a later holder's nodes": w.all("Extension", "Claim", "Node", "Number", lambda x, d, n, t: z3.Implies(
                z3.And(s.voted(x, n, t), s.since(x, d), self.member(n, s.by(d))), t >= s.token(d))),
            "since others": w.all("Claim", "Node", lambda c, n: z3.Implies(
                z3.And(s.decided(c), self.member(n, s.by(c)), s.has(n, c), z3.Not(s.marked(n, c))),
                s.counter(n) <= s.token(c))),
            "until the decision": w.all("Claim", "Node", lambda c, n: z3.Implies(
                z3.And(s.has(n, c), z3.Not(s.decided(c))), s.fenced(c, n, s.counter(n)))),
            "counters": w.all("Claim", "Node", "Number", lambda d, n, t: z3.Implies(s.fenced(d, n, t), s.counter(n) >= t)),
            "one vote a number": w.all("Claim", "Claim", "Node", "Number", lambda c, d, n, t: z3.Not(
                z3.And(c != d, s.fenced(c, n, t), s.fenced(d, n, t)))),
            "by votes": w.all("Claim", "Node", lambda c, n: z3.Implies(
                z3.And(s.decided(c), self.member(n, s.by(c))), s.fenced(c, n, s.token(c)))),
            "granted": w.all("Claim", "Node", "Number", lambda c, n, t: z3.Implies(s.fenced(c, n, t), s.granted(n, c))),
            "one key": w.all("Claim", "Claim", "Node", lambda c, d, n: z3.Not(z3.And(c != d, s.has(n, c), s.has(n, d)))),
            "since": w.all("Extension", "Claim", lambda x, d: z3.Implies(
                z3.And(s.asked(x), s.since(x, d)), s.decided(d))),
            "asked": w.all("Extension", lambda x: z3.And(
                z3.Implies(s.asked(x), s.decided(self.of(x))), z3.Implies(s.succeeded(x), s.asked(x)), w.all(
                    "Node", "Number", lambda n, t: z3.Implies(s.voted(x, n, t), s.asked(x))))),
        }

    # --- Holders ---------------------------------------------------------------------------------

    def do_decide(self, s, c: "Claim", q: "Majority", t: "Number"):
        """Round::judge_fence. Once it has asked for a number, it decides no smaller one."""
        w = self.w
        return [z3.Not(s.decided(c)), w.all("Node", lambda n: z3.Implies(self.member(n, q), z3.And(
            s.fenced(c, n, t), w.rule("nothing greater is asked for than what is decided", w.all(
                "Number", lambda u: z3.Implies(s.fenced(c, n, u), u <= t))))))], s.but(
            decided=lambda d: z3.Or(s.decided(d), d == c), token=lambda d: z3.If(d == c, t, s.token(d)),
            by=lambda d: z3.If(d == c, q, s.by(d)))

    # --- Nodes -----------------------------------------------------------------------------------

    def free(self, s, n):
        return self.w.all("Claim", lambda d: z3.Not(s.has(n, d)))

    def do_grant(self, s, c: "Claim", n: "Node", t: "Number"):
        """acquire.lua. It may come long after the claim was decided."""
        w = self.w
        return [w.rule("a node is asked to grant a claim once", z3.Not(s.granted(n, c))),
                w.rule("only a free lock is granted", self.free(s, n)),
                w.rule("a grant raises the counter", t > s.counter(n), t >= s.counter(n))], \
            self.fence(s, c, n, t).but(has=lambda m, d: z3.Or(s.has(m, d), z3.And(m == n, d == c)),
                                       granted=lambda m, d: z3.Or(s.granted(m, d), z3.And(m == n, d == c)))

    def do_raise(self, s, c: "Claim", n: "Node", t: "Number"):
        """raise.lua. It may come after the claim was decided, too."""
        w = self.w
        return [s.granted(n, c), w.rule("only the owner raises", s.has(n, c)), t > s.counter(n), w.rule(
            "nothing greater is asked for than what is decided", z3.Implies(s.decided(c), t <= s.token(c)))], \
            self.fence(s, c, n, t)

    def fence(self, s, c, n, t):
        return s.but(fenced=lambda d, m, u: z3.Or(s.fenced(d, m, u), z3.And(d == c, m == n, u == t)),
                     counter=lambda m: z3.If(m == n, t, s.counter(m)))

    def do_replant(self, s, c: "Claim", n: "Node"):
        """renew.lua sets a key anew. If the counter exceeds the token, another may have had the lock meanwhile. A node has
        one mark."""
        w = self.w
        mark = w.rule("a key that is set anew after another's hold is marked", s.counter(n) > s.token(c), z3.BoolVal(False))
        return [s.decided(c), self.free(s, n)], s.but(
            has=lambda m, d: z3.Or(s.has(m, d), z3.And(m == n, d == c)),
            marked=lambda m, d: z3.If(z3.And(m == n, mark), d == c, s.marked(m, d)),
            counter=lambda m: z3.If(z3.And(m == n, s.token(c) > s.counter(m)), s.token(c), s.counter(m)))

    def do_lose_key(self, s, c: "Claim", n: "Node"):
        return [], s.but(has=lambda m, d: z3.And(s.has(m, d), z3.Not(z3.And(m == n, d == c))))

    def do_forget(self, s, n: "Node", left: "Number"):
        """It forgets, waits and is repaired, as in fencing.py: keys and votes of before the wait count no more, but for those
        that a number was decided by. Requests of before may still come."""
        w, marks = self.w, self.w.fresh("marks", "Claim", "Bool")
        over = lambda m: z3.And(m == n, w.rule(
            "T: the quarantine outlasts what was forgotten", z3.BoolVal(True), z3.BoolVal(False)))
        decided_by = lambda c: z3.And(s.decided(c), self.member(n, s.by(c)))
        return [w.rule("counters are repaired", w.all("Claim", lambda c: z3.Implies(
            decided_by(c), left >= s.token(c))))], s.but(
            has=lambda m, c: z3.And(s.has(m, c), z3.Not(over(m))),
            fenced=lambda c, m, t: z3.And(s.fenced(c, m, t), z3.Or(
                z3.Not(over(m)), z3.And(decided_by(c), t == s.token(c)))),
            marked=lambda m, c: z3.If(m == n, marks(c), s.marked(m, c)),
            counter=lambda m: z3.If(m == n, left, s.counter(m)))

    # --- Extensions ------------------------------------------------------------------------------

    def do_ask(self, s, x: "Extension"):
        return [s.decided(self.of(x)), z3.Not(s.asked(x))], s.but(
            asked=lambda y: z3.Or(s.asked(y), y == x), since=lambda y, d: z3.If(y == x, s.decided(d), s.since(y, d)))

    def do_extend(self, s, x: "Extension", n: "Node"):
        """renew_all.lua, by the token alone."""
        w, c = self.w, self.of(x)
        return [s.asked(x), w.rule("the key is compared", s.has(n, c)),
                w.rule("a marked key does not count", z3.Not(s.marked(n, c)))], s.but(
            voted=lambda y, m, t: z3.Or(s.voted(y, m, t), z3.And(y == x, m == n, t == s.counter(n))))

    def do_succeed(self, s, x: "Extension", q: "Majority", t: "Number"):
        """Leases::judge_token_extend."""
        w = self.w
        return [s.asked(x), w.all("Node", lambda n: z3.Implies(self.member(n, q), w.rule(
            "all votes have one counter", s.voted(x, n, t), w.some("Number", lambda u: s.voted(x, n, u)))))], s.but(
            succeeded=lambda y: z3.Or(s.succeeded(y), y == x))


# --- Histories in a small world -----------------------------------------------------------------------------

three = {"Node": 3, "Majority": 3, "Claim": 2, "Extension": 1, "Number": 4}
hold = "grant claim1 node1; grant claim1 node2; decide claim1; "
lose = "lose_key claim1 node1; lose_key claim1 node2; "
other = "grant claim2 node1; grant claim2 node2; decide claim2; "
end = "lose_key claim2 node1; lose_key claim2 node2; "
replant = "replant claim1 node1; replant claim1 node2; "
forget = "forget node1; forget node2; "
extend = "ask; extend extension1 node1; extend extension1 node2; succeed"
# One node keeps the key. The request to another is under way until a second holder has given the lock back.
late = ("lose_key claim1 node2; grant claim2 node2; grant claim2 node3; decide claim2; lose_key claim2 node3; "
        "grant claim1 node3; ask; extend extension1 node1; extend extension1 node3; succeed")

possible = [
    ("a lease is extended by its token, with a key that was set anew", three,
     "grant claim1 node1; grant claim1 node2; raise claim1 node1; decide claim1; lose_key claim1 node2; "
     "forget node2; replant claim1 node2; " + extend, lambda model, s: s.succeeded(model.w.elements("Extension")[0])),
]

broken = {
    "two majorities share a node":
        (three, "grant claim1 node1; decide claim1; grant claim2 node2; decide claim2; ask; extend extension1 node1; succeed"),
    "nothing greater is asked for than what is decided": (three, hold + "raise claim1 node1; " + late),
    "a node is asked to grant a claim once":
        (three, hold + lose + other + end + "grant claim1 node1; grant claim1 node2; " + extend),
    "only a free lock is granted": (three, hold + other + extend),
    "a grant raises the counter": (three, hold + lose + other + end + replant + extend),
    "only the owner raises": ({**three, "Number": 5}, "grant claim2 node1; lose_key claim2 node1; " + hold
                              + "raise claim2 node1; " + late),
    "a key that is set anew after another's hold is marked": (three, hold + lose + other + end + replant + extend),
    "the key is compared": (three, hold + lose + other + extend),
    "a marked key does not count": (three, hold + lose + other + end + replant + extend),
    "T: the quarantine outlasts what was forgotten": (three, hold + lose + other + end + replant + forget + extend),
    "counters are repaired": (three, hold + lose + other + end + forget + replant + extend),
    # Its connection had broken, and its process was gone.
    "all votes have one counter": (three, hold + late),
}
