"""How long a node remembers: while its clock is about right, it exceeds each number that it keeps, though its counters
run out. This is what tokens.py makes of counters (`kept` and `gone`).

For every number of nodes and of values of fencing_memory: those of the lists. A node exceeds its floor, its counter, and
its TIME less half of the memory by which its absent counters begin. It keeps for a memory what it exceeds for as long as
absent counters begin by that one, or a shorter: its floor; its counter, if that ends late enough; and what is gone by
clocks. Counters are those of one lock.

Clocks of nodes are right to within `error`. No number is more than `ahead` beyond the true time. An attempt raises a
number no later than `attempt` after its grant, and no shorter memory is settled in between.
"""
import z3
from prover import Model


class Memory(Model):
    theorems = ["a node exceeds what it keeps", "a raise exceeds it, too", "what is kept is found, or gone"]
    state = {
        "now": ("Time",),
        "time": ("Node", "Time"),
        "there": ("Node", "Bool"),      # its counter ...
        "counter": ("Node", "Time"),    # ... which is this ...
        "ends": ("Node", "Time"),       # ... and runs out then, by the node's clock
        "floor": ("Node", "Time"),
        "begins": ("Node", "List"),     # by the memory of this list
        "lives": ("Node", "List"),      # what is written, for the memory of this list
        "low": ("Bool",),               # a node was raised to a number that it keeps (only for the proof)
        "kept": ("Node", "List", "Time"),  # for the memory of the list (only for the proof)
    }

    def __init__(self, world):
        self.w = w = world
        self.memory = w.fresh("memory", "List", "Time")
        self.error, self.ahead, self.attempt = (w.fresh(name, "Time") for name in ("error", "ahead", "attempt"))

    def axioms(self):
        w = self.w
        long = w.all("List", lambda l: self.memory(l) >= 2 * (3 * self.error + self.ahead + self.attempt))
        return [self.error >= 0, self.ahead >= 0, self.attempt >= 0, w.all("List", lambda l: self.memory(l) >= 0),
                w.rule("T: fencing_memory is long enough", long)]

    def gone(self, s, l):
        """Whatever is as small, every node exceeds, if its absent counters begin by this memory or a shorter."""
        return s.now - self.memory(l) + 2 * self.error + self.ahead

    def most(self, *numbers):
        greatest = numbers[0]
        for number in numbers[1:]:
            greatest = z3.If(number > greatest, number, greatest)
        return greatest

    def exceeds(self, s, n):
        """acquire.lua, acquire_all.lua"""
        begins = s.time(n) - self.memory(s.begins(n)) / 2
        return self.w.rule("a counter that is there begins by clocks, too, if it is less",
                           self.most(s.floor(n), begins, z3.If(s.there(n), s.counter(n), begins)),
                           self.most(s.floor(n), z3.If(s.there(n), s.counter(n), begins)))

    def initial(self, s):
        w = self.w
        return [s.now >= 0, z3.Not(s.low), w.all("Node", lambda n: z3.And(z3.Not(s.there(n)), s.floor(n) == 0, s.time(n) == s.now)),
                w.all("Node", "List", lambda n, l: s.kept(n, l) == self.gone(s, l))]

    def invariant(self, s):
        w = self.w
        return {
            "a node exceeds what it keeps": w.all("Node", "List", lambda n, l: z3.Implies(
                self.memory(s.begins(n)) <= self.memory(l), self.exceeds(s, n) >= s.kept(n, l))),
            "a raise exceeds it, too": z3.Not(s.low),
            "what is kept is found, or gone": w.all("Node", "List", lambda n, l: z3.Or(
                s.floor(n) >= s.kept(n, l), z3.And(s.there(n), s.counter(n) >= s.kept(n, l)),
                self.gone(s, l) >= s.kept(n, l))),
            "remembered": w.all("Node", "List", lambda n, l: z3.Or(
                s.floor(n) >= s.kept(n, l),
                z3.And(s.there(n), s.counter(n) >= s.kept(n, l),
                       s.ends(n) >= s.kept(n, l) + self.memory(l) - self.error - self.ahead),
                self.gone(s, l) >= s.kept(n, l))),
            "gone by clocks": w.all("Node", "List", lambda n, l: s.kept(n, l) >= self.gone(s, l)),
            "less is kept for longer": w.all("Node", "List", "List", lambda n, l, k: z3.Implies(
                self.memory(l) <= self.memory(k), s.kept(n, l) >= s.kept(n, k))),
            "clocks": w.all("Node", lambda n: self.is_right(s.now, s.time(n))),
        }

    def is_right(self, now, time):
        return z3.And(time >= now - self.error, time <= now + self.error)

    def do_time_passes(self, s, now: "Time"):
        """Clocks go as they like. What is gone is exceeded by all."""
        w = self.w
        time = w.fresh("time", "Node", "Time")
        after = s.but(now=now, time=time)
        right = w.all("Node", lambda n: self.is_right(now, time(n)))
        return [now >= s.now, w.rule("T: the clocks of nodes are about right", right)], after.but(
            kept=lambda n, l: self.most(s.kept(n, l), self.gone(after, l)))

    def do_run_out(self, s, n: "Node"):
        return [s.there(n), s.time(n) >= s.ends(n)], s.but(there=lambda m: z3.And(s.there(m), m != n))

    def keeps(self, s, n, number, lost):
        """What is written for this memory is kept for it, and for a shorter."""
        short = lambda l: self.memory(l) <= self.memory(s.lives(n))
        return lambda m, l: z3.If(m == n, z3.If(short(l), self.most(s.kept(n, l), number), lost(l)), s.kept(m, l))

    def written(self, s, n, number, ends):
        at = lambda new, old: lambda m: z3.If(m == n, new, old(m))
        return s.but(there=at(z3.BoolVal(True), s.there), counter=at(number, s.counter), ends=at(ends, s.ends))

    def end(self, s, n, sooner):
        return s.time(n) + self.w.rule("a counter lives for fencing_memory", self.memory(s.lives(n)), sooner)

    def do_write(self, s, n: "Node", number: "Time", sooner: "Time"):
        """A grant."""
        near = self.w.rule("T: no number is far beyond the true time", number <= s.now + self.ahead)
        return [number > self.exceeds(s, n), near, sooner >= 0], self.written(s, n, number, self.end(s, n, sooner)).but(
            kept=self.keeps(s, n, number, lambda l: self.gone(s, l)))

    def do_raise(self, s, n: "Node", number: "Time", granted: "Time"):
        """raise.lua: to a number beyond the counter and the floor. The counter is that of the grant, which was beyond what
        an absent counter began with then."""
        w = self.w
        above = z3.And(s.there(n), number > s.counter(n), granted >= s.now - self.attempt,
                       number > granted - self.error - self.memory(s.begins(n)) / 2)
        low = w.some("List", lambda l: z3.And(self.memory(s.begins(n)) <= self.memory(l), number <= s.kept(n, l)))
        return [above, w.rule("a raise compares the floor", number > s.floor(n)), number <= s.now + self.ahead], self.written(
            s, n, number, s.time(n) + self.memory(s.lives(n))).but(
            low=z3.Or(s.low, low), kept=self.keeps(s, n, number, lambda l: self.gone(s, l)))

    def do_replant(self, s, n: "Node", number: "Time"):
        """renew.lua, renew_all.lua: a counter that is less, or is gone, becomes the token of the lease."""
        less = z3.Or(z3.Not(s.there(n)), s.counter(n) < number)
        return [less, number <= s.now + self.ahead], self.written(s, n, number, s.time(n) + self.memory(s.lives(n))).but(
            kept=self.keeps(s, n, self.gone(s, s.lives(n)), lambda l: self.gone(s, l)))

    def do_copy(self, s, n: "Node", number: "Time"):
        """repair.lua"""
        less = z3.Or(z3.Not(s.there(n)), s.counter(n) < number)
        end = s.time(n) + self.memory(s.lives(n))
        prolonged = self.w.rule("a repair prolongs the life of a counter that is as great",
                                self.most(s.ends(n), end), s.ends(n))
        kept = self.keeps(s, n, number, lambda l: z3.If(less, self.gone(s, l), s.kept(n, l)))
        return [number <= s.now + self.ahead], self.written(
            s, n, z3.If(less, number, s.counter(n)), z3.If(less, end, prolonged)).but(kept=kept)

    def do_floor(self, s, n: "Node", number: "Time"):
        """An operator settles the node, or a client lets it in, with this floor."""
        return [], s.but(floor=lambda m: z3.If(m == n, self.most(s.floor(n), number), s.floor(m)),
                         kept=lambda m, l: z3.If(m == n, self.most(s.kept(n, l), number), s.kept(m, l)))

    def do_change(self, s, n: "Node", begins: "List", lives: "List"):
        """The node's record is another. What it keeps is for the memory of whichever list."""
        at = lambda new, old: lambda m: z3.If(m == n, new, old(m))
        return [], s.but(begins=at(begins, s.begins), lives=at(lives, s.lives))

    def do_forget(self, s, n: "Node", counter: "Time", ends: "Time"):
        """Its counter is gone, or an old one there again."""
        there = self.w.fresh("there", "Bool")
        return [], self.written(s, n, counter, ends).but(
            there=lambda m: z3.If(m == n, there, s.there(m)), floor=lambda m: z3.If(m == n, 0, s.floor(m)),
            kept=lambda m, l: z3.If(m == n, self.gone(s, l), s.kept(m, l)))


# --- Histories in a small world -----------------------------------------------------------------------------

# These rules have histories in tokens.py, too, which end in a smaller token.
elsewhere = ["a counter that is there begins by clocks, too, if it is less",
             "a repair prolongs the life of a counter that is as great"]
one = {"Node": 1, "List": 2}


def is_above(model, s):
    """It has forgotten, and was repaired; it keeps more than is gone, and its counter has run out."""
    n, l = model.w.elements("Node")[0], model.w.elements("List")[0]
    return z3.And(model.error > 0, model.ahead > 0, z3.Not(s.there(n)), s.kept(n, l) > 0, s.kept(n, l) <= model.gone(s, l))


possible = [
    ("a node forgets and is repaired, its memory changes, its counter runs out, and it keeps what was written", one,
     "time_passes; write; raise; forget; copy; change; floor; time_passes; run_out; replant; time_passes; run_out", is_above),
]

# With a broken rule the node does not exceed what it keeps.
broken = {
    "T: fencing_memory is long enough": (one, "write; time_passes; run_out"),
    "T: the clocks of nodes are about right": (one, "write; time_passes; run_out"),
    "T: no number is far beyond the true time": (one, "write; time_passes; run_out"),
    "a counter lives for fencing_memory": (one, "write; time_passes; run_out"),
    "a raise compares the floor": (one, "write; floor; raise"),
}
also_broken = [
    (elsewhere[0], elsewhere[0], one, "write; time_passes; run_out; replant"),
    (elsewhere[1], elsewhere[1], one, "write; time_passes; change; copy; time_passes; run_out"),
]
