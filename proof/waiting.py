"""Waiters in line: if the entry of a waiter is on the nodes when somebody else asks for the lock, that one does not get it
while the waiter waits.

For every number of nodes, waiters and callers. There are no clocks here; one rule says what is needed of them. Two callers
conflict unless both want to read. A caller may ask without waiting ("in passing"): then it has no entry, and every entry
is before it. Safety does not rest on the line (exclusion.py), so here a lock is won whoever has it.
"""
import z3
from prover import Model


class Waiting(Model):
    theorems = ["no win passes over a waiter"]
    state = {
        "asked": ("Caller", "Bool"),
        "waits": ("Caller", "Bool"),       # it waits in the line, and has not got the lock yet
        "ticket": ("Caller", "Number"),
        "final": ("Caller", "Bool"),       # the ticket has grown if it has to, and does not change any more
        "heard": ("Caller", "Node", "Bool"),  # the node has told which tickets it has ...
        "greatest": ("Caller", "Number"),     # ... of which this is the greatest
        "in_line": ("Node", "Caller", "Bool"),   # its entry is there ...
        "at": ("Node", "Caller", "Number"),      # ... with this ticket
        "granted": ("Caller", "Node", "Bool"),
        "won": ("Caller", "Bool"),
        "placed": ("Caller", "Bool"),      # the final entry was on N - q + 1 nodes, as it is on all nodes mostly ...
        "on": ("Caller", "Cover"),         # ... which are these (only for the proof)
        "after": ("Caller", "Caller", "Bool"),  # the first asked when the second was placed (likewise)
    }

    def __init__(self, world):
        self.w = w = world
        self.conflict = w.fresh("conflict", "Caller", "Caller", "Bool")
        self.member = w.fresh("member", "Node", "Majority", "Bool")
        self.covers = w.fresh("covers", "Node", "Cover", "Bool")  # in a set of N - q + 1 nodes

    def axioms(self):
        w, name = self.w, "N - q + 1 nodes meet every majority"
        conflicts = w.all("Caller", "Caller", lambda c, d: self.conflict(c, d) == self.conflict(d, c))
        if w.sizes is None:
            return [conflicts, w.rule(name, self.meet("Cover", self.covers, "Majority", self.member))]
        n = w.sizes["Node"]
        q = n // 2 + 1
        return [conflicts, self.sets("Majority", self.member, q), self.sets("Cover", self.covers, w.rule(name, n - q + 1, n - q))]

    def initial(self, s):
        w = self.w
        return [w.all("Caller", lambda c: z3.Not(z3.Or(s.asked(c), s.waits(c), s.final(c), s.won(c), s.placed(c)))),
                w.all("Caller", "Node", lambda c, n: z3.Not(z3.Or(s.heard(c, n), s.granted(c, n), s.in_line(n, c)))),
                w.all("Caller", "Caller", lambda c, d: z3.Not(s.after(c, d)))]

    def before(self, s, w, v):
        """The second asked when the first was in line, and has to let it go first."""
        return z3.And(s.after(v, w), s.waits(w), self.conflict(v, w))

    def invariant(self, s):
        w = self.w
        return {
            "no win passes over a waiter": w.all("Caller", "Caller", lambda c, v: z3.Not(z3.And(
                self.before(s, c, v), s.won(v)))),
            "nor does a grant": w.all("Caller", "Caller", "Node", lambda c, v, n: z3.Not(z3.And(
                self.before(s, c, v), self.covers(n, s.on(c)), s.granted(v, n)))),
            "placed": w.all("Caller", "Node", lambda c, n: z3.Implies(
                z3.And(s.placed(c), s.waits(c), self.covers(n, s.on(c))),
                z3.And(s.final(c), s.in_line(n, c), s.at(n, c) == s.ticket(c)))),
            "tickets are seen": w.all("Caller", "Caller", "Node", lambda c, v, n: z3.Implies(
                z3.And(self.before(s, c, v), self.covers(n, s.on(c)), s.heard(v, n)), s.greatest(v) >= s.ticket(c))),
            "tickets exceed": w.all("Caller", "Caller", lambda c, v: z3.Implies(
                z3.And(self.before(s, c, v), s.final(v)), s.ticket(v) > s.ticket(c))),
            "entries": w.all("Caller", "Node", lambda c, n: z3.Implies(
                z3.And(s.in_line(n, c), s.waits(c)), s.at(n, c) <= s.ticket(c))),
            "after": w.all("Caller", "Caller", lambda v, c: z3.Implies(s.after(v, c), z3.And(s.placed(c), s.asked(v)))),
            "asked": w.all("Caller", lambda v: z3.And(
                z3.Implies(z3.Or(s.final(v), s.won(v), s.placed(v), s.waits(v)), s.asked(v)),
                w.all("Node", lambda n: z3.Implies(z3.Or(s.heard(v, n), s.granted(v, n), s.in_line(n, v)), s.asked(v))))),
            "placed are final": w.all("Caller", lambda c: z3.Implies(s.placed(c), s.final(c))),
        }

    # --- Callers ---------------------------------------------------------------------------------

    def do_ask(self, s, v: "Caller", t: "Number"):
        """A caller that waits draws a ticket: the time, as far as its process knows."""
        return [z3.Not(s.asked(v))], s.but(
            asked=lambda u: z3.Or(s.asked(u), u == v), waits=lambda u: z3.Or(s.waits(u), u == v),
            ticket=lambda u: z3.If(u == v, t, s.ticket(u)), greatest=lambda u: z3.If(u == v, z3.IntVal(0), s.greatest(u)),
            after=lambda u, c: z3.If(u == v, s.placed(c), s.after(u, c)))

    def do_ask_in_passing(self, s, v: "Caller"):
        """acquire.lua: a caller that does not wait, or has not begun to."""
        return [z3.Not(s.asked(v))], s.but(asked=lambda u: z3.Or(s.asked(u), u == v),
                                           after=lambda u, c: z3.If(u == v, s.placed(c), s.after(u, c)))

    def do_settle_ticket(self, s, v: "Caller", q: "Majority", t: "Number"):
        """A majority has told its tickets. If they are as great, this one grows."""
        w = self.w
        heard = w.rule("a majority has told its tickets", w.all("Node", lambda n: z3.Implies(self.member(n, q), s.heard(v, n))))
        return [s.waits(v), z3.Not(s.final(v)), heard, t >= s.ticket(v),
                w.rule("the final ticket exceeds those that were told", t > s.greatest(v))], s.but(
            final=lambda u: z3.Or(s.final(u), u == v), ticket=lambda u: z3.If(u == v, t, s.ticket(u)))

    def do_is_placed(self, s, c: "Caller", k: "Cover"):
        return [s.waits(c), s.final(c), z3.Not(s.placed(c)), self.w.all("Node", lambda n: z3.Implies(
            self.covers(n, k), z3.And(s.in_line(n, c), s.at(n, c) == s.ticket(c))))], s.but(
            placed=lambda d: z3.Or(s.placed(d), d == c), on=lambda d: z3.If(d == c, k, s.on(d)))

    def do_win(self, s, v: "Caller", q: "Majority"):
        return [s.asked(v), self.w.all("Node", lambda n: z3.Implies(self.member(n, q), s.granted(v, n)))], s.but(
            won=lambda u: z3.Or(s.won(u), u == v), waits=lambda u: z3.And(s.waits(u), u != v))

    def do_leave(self, s, v: "Caller"):
        """It gives up."""
        return [s.waits(v)], s.but(waits=lambda u: z3.And(s.waits(u), u != v))

    # --- Nodes -----------------------------------------------------------------------------------

    def do_enter(self, s, v: "Caller", n: "Node"):
        """queue.lua: ZADD GT, and the greatest ticket of the others. (A late command has a smaller ticket.)"""
        w = self.w
        this = lambda m, u: z3.And(m == n, u == v)
        t = z3.If(z3.And(s.in_line(n, v), s.at(n, v) > s.ticket(v)), s.at(n, v), s.ticket(v))
        greatest = w.fresh("greatest", "Number")
        told = w.all("Caller", lambda u: z3.Implies(z3.And(s.in_line(n, u), u != v), greatest >= s.at(n, u)))
        return [s.waits(v), told], s.but(
            in_line=lambda m, u: z3.Or(s.in_line(m, u), this(m, u)), at=lambda m, u: z3.If(this(m, u), t, s.at(m, u)),
            heard=lambda u, m: z3.Or(s.heard(u, m), this(m, u)),
            greatest=lambda u: z3.If(z3.And(u == v, greatest > s.greatest(u)), greatest, s.greatest(u)))

    def do_remove(self, s, n: "Node", c: "Caller"):
        """The entry's life is over, or it is spent, or its waiter has left."""
        return [self.w.rule("T: an entry stays while its waiter waits", z3.Not(s.waits(c)))], s.but(
            in_line=lambda m, u: z3.And(s.in_line(m, u), z3.Not(z3.And(m == n, u == c))))

    def granted_to(self, s, v, n):
        return s.but(granted=lambda u, m: z3.Or(s.granted(u, m), z3.And(u == v, m == n)))

    def do_grant(self, s, v: "Caller", n: "Node"):
        """acquire_all.lua: nobody that conflicts is before this one. (Of equal tickets either may be.)"""
        w = self.w
        first = w.all("Caller", lambda u: z3.Implies(
            z3.And(u != v, self.conflict(v, u), s.in_line(n, u)), s.at(n, u) >= s.ticket(v)))
        return [s.waits(v), w.rule("only the final ticket tries", s.final(v)),
                w.rule("a node looks at who is before the caller", first)], self.granted_to(s, v, n)

    def do_grant_in_passing(self, s, v: "Caller", n: "Node"):
        """acquire.lua: nobody that conflicts is in line."""
        w = self.w
        return [s.asked(v), z3.Not(s.waits(v)), w.rule("who does not wait looks at the line, too", w.all(
            "Caller", lambda u: z3.Not(z3.And(self.conflict(v, u), s.in_line(n, u)))))], self.granted_to(s, v, n)



# --- Histories in a small world -----------------------------------------------------------------------------

three = {"Node": 3, "Majority": 2, "Cover": 2, "Caller": 2, "Number": 4}
first = "ask caller1; enter caller1 node1; enter caller1 node2; enter caller1 node3; settle_ticket caller1; "
enters = "enter caller1 node1; enter caller1 node2; "
placed = first + enters + "is_placed caller1; "
second = "ask caller2; enter caller2; enter caller2; settle_ticket caller2; "
wins = "grant caller2; grant caller2; win caller2"

possible = [
    ("a waiter is served before a later one, and that after it", three,
     placed + second + "grant caller1; grant caller1; win caller1; remove; remove; grant caller2; grant caller2; win caller2",
     lambda model, s: z3.And(model.conflict(*model.w.elements("Caller")), *[s.won(c) for c in model.w.elements("Caller")])),
    ("a reader passes by another, and who waits gives up", three,
     placed + "ask_in_passing caller2; grant_in_passing; grant_in_passing; win caller2; leave caller1",
     lambda model, s: z3.And(s.won(model.w.elements("Caller")[1]), s.after(*reversed(model.w.elements("Caller"))))),
]

# With a broken rule these lead to a lock that is won by one who came later.
broken = {
    # The others have the first caller's smaller ticket, which grows there when the second one has been told of it.
    "N - q + 1 nodes meet every majority":
        (three, first + "enter caller1 node1; is_placed caller1; ask caller2; enter caller2 node2; enter caller2 node3; "
         "settle_ticket caller2; enter caller1 node2; enter caller1 node3; " + wins),
    "a majority has told its tickets": (three, placed + "ask caller2; settle_ticket caller2; " + wins),
    "the final ticket exceeds those that were told": (three, placed + second + wins),
    "only the final ticket tries": (three, placed + "ask caller2; " + wins),
    "T: an entry stays while its waiter waits": (three, placed + "remove; remove; " + second + wins),
    "a node looks at who is before the caller": (three, placed + second + wins),
    "who does not wait looks at the line, too":
        (three, placed + "ask_in_passing caller2; grant_in_passing; grant_in_passing; win caller2"),
}
