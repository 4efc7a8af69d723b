"""Fencing tokens while the list of nodes changes: no two leases have the same; one whose attempt began after another
was decided has the greater; and of two holders in succession the later has the greater.

members.py (read that first) with counters: where those of a node come from that is let in, also while its list is only
announced, and what an operator's scan has to read before a settle. Nobody lies here. fencing.py has how an attempt
gets to its number; here a round is one number of one attempt, so that an attempt whose numbers differ has several
rounds, and only one of them is won.

Counters run out, and lists differ in fencing_memory. memory.py shows what is left of counters then: `kept`, a number that
a node exceeds for as long as its absent counters begin by the memory of that list, or by a shorter. A floor is kept for
any memory. A history may give a number as soon as it is above what is kept; on a real node the counter runs out before.
"""
import z3
import members
from members import Members, announced, blank, settled, unsettled


class Tokens(Members):
    theorems = ["unique", "ordered by start", "ordered by holding"]
    late = ["won at", "won late", "counter remembers epochs", "what was read of epochs", "what was scanned",
            "what was scanned of epochs", "who wins later meets who won, or is greater"]
    variants = []
    uses = {
        "win: won at": ["bases", "won at", "winners are majorities", "epochs"],
        "win: won late": ["won late", "younger votes", "what lives is younger", "epochs", "seen on a majority", "bases"],
        "win: counter remembers epochs": ["counter remembers epochs", "won at", "records", "epochs"],
        "win: what was read of epochs": ["what was read of epochs", "won at", "admitted", "epochs"],
        "win: what was scanned": ["what was scanned", "won at", "a scan is late", "younger votes", "epochs",
                                  "seen on a majority", "bases"],
        "win: what was scanned of epochs": ["what was scanned of epochs", "won at", "a scan is late", "epochs"],
        "win: who wins later meets who won, or is greater": [
            "who wins later meets who won, or is greater", "won at", "won late", "votes of later epochs", "by votes", "before"],
        "win: unique": ["unique", "one vote for a number", "who wins later meets who won, or is greater", "before"],
        "win: ordered by start": [
            "ordered by start", "votes after a decision", "who wins later meets who won, or is greater", "before"],
        "win: ordered by holding": [
            "ordered by holding", "votes after a holder", "who wins later meets who won, or is greater", "before"],
        "enrol: counter remembers votes": [
            "counter remembers votes", "counter remembers epochs", "what was read", "what was read of epochs",
            "late enrolments, won", "won at", "won", "by votes", "epochs", "seen on a majority", "admitted",
            "a node that waits", "gone by clocks", "less is kept for longer"],
    }
    state = {
        **Members.state,
        "kept": ("Node", "List", "Number"),    # exceeded while absent counters begin by this list's memory, or a shorter
        "gone": ("List", "Number"),            # so old that every node of which that is true exceeds it
        "base": ("Round", "Node", "Number"),   # the epoch of the last settled list in the record of the vote
        "at": ("Round", "Number"),             # the last settled epoch when the round was won (only for the proof)
        "reach": ("Round", "Number"),          # ... and the latest base of its votes (likewise)
        "after": ("Round", "Round", "Bool"),   # the first began when the second was won (likewise)
        "before": ("Round", "Round", "Bool"),  # the first was won before the second (likewise)
        # Readers of counters.
        "noted": ("Client", "Node", "Bool"),   # the record that it has noted is the one that the node has
        "read": ("Client", "Node", "Node", "Bool"),   # for the first node, the counter of the second
        "greatest": ("Client", "Node", "Number"),     # ... of those read
        "scanned": ("Client", "Number", "Node", "Bool"),  # for this epoch's settle, the counter of the node ...
        "checked": ("Client", "Number", "Node", "Bool"),  # ... whose record was then found to be the same still
        "top": ("Client", "Number", "Number"),            # the greatest of those
    }

    def __init__(self, world):
        super().__init__(world)
        self.number = world.fresh("number", "Round", "Number")
        self.conflict = world.fresh("conflict", "Round", "Round", "Bool")
        self.memory = world.fresh("memory", "List", "Number")  # fencing_memory

    def axioms(self):
        w = self.w
        return super().axioms() + [
            w.all("Node", lambda n: self.honest(n)),
            w.all("Round", "Round", lambda r, t: z3.And(
                self.conflict(r, t) == self.conflict(t, r), z3.Not(self.conflict(r, r)))),
        ]

    # --- Words ---------------------------------------------------------------------------------

    def base_of(self, phase, epoch):
        return z3.If(phase == unsettled, epoch - 1, epoch)

    def under_way(self, s, r):
        return z3.And(self.lives(s, r), z3.Not(s.won(r)))

    def counts(self, s, r, n):
        """This vote has decided a token, or may still do so."""
        return z3.And(s.voted(r, n), z3.Or(self.under_way(s, r), z3.And(s.won(r), self.one_of(n, s.by(r)))))

    def is_above(self, s, numbers, r, e):
        """One of these numbers of epoch e is not below r's, unless r's votes are a majority of that epoch's list."""
        return z3.Or(*[number >= self.number(r) for number in numbers], self.holds(s.by(r), s.governs(e)))

    def longer(self, l, k):
        return z3.If(self.memory(l) > self.memory(k), l, k)

    def shorter(self, l, k):
        return z3.If(self.memory(l) > self.memory(k), k, l)

    def due(self, phase, epoch, came, to):
        """For this list's memory a node with this record keeps what it has to. Its absent counters begin by the shorter
        of both lists' until the settle, which is no longer than this."""
        return z3.If(phase == settled, to, came)

    def due_of(self, s, n):
        return self.due(*self.record(s, n))

    def writes(self, s, n, number, life):
        """What the nodes keep once n has written this number into its counter, which lives for this list's memory."""
        most = lambda l: z3.If(number > s.kept(n, l), number, s.kept(n, l))
        return lambda m, l: z3.If(m == n, z3.If(self.memory(l) <= self.memory(life), most(l), s.gone(l)), s.kept(m, l))

    def life_of(self, s, n):
        phase, _, came, to = self.record(s, n)
        longer = self.w.rule("until the settle a counter lives for the longer memory", self.longer(came, to),
                             self.shorter(came, to))
        return z3.If(phase == settled, to, longer)

    def is_found(self, s, n, found):
        """This node's floor or its counter: what it exceeds and is not there is gone by clocks."""
        return z3.Or(s.phase(n) == blank, self.w.all("List", lambda l: z3.Or(
            found >= s.kept(n, l), s.gone(l) >= s.kept(n, l))))

    # --- The invariant ---------------------------------------------------------------------------

    def initial(self, s):
        w = self.w
        return super().initial(s) + [
            w.all("Node", "List", lambda n, l: s.kept(n, l) == 0), w.all("List", lambda l: s.gone(l) == 0),
            w.all("Round", "Round", lambda r, t: z3.Not(z3.Or(s.after(r, t), s.before(r, t)))),
            w.all("Client", "Node", lambda p, n: z3.Not(s.noted(p, n))),
            w.all("Client", "Node", "Node", lambda p, n, m: z3.Not(z3.Or(s.read(p, n, m), s.vouched(p, n, m)))),
            w.all("Client", "Number", "Node", lambda p, e, n: z3.Not(z3.Or(s.scanned(p, e, n), s.checked(p, e, n)))),
        ]

    def invariant(self, s):
        w = self.w
        above = lambda numbers, r, e: self.is_above(s, numbers, r, e)
        known = lambda p, e, n: z3.Or(s.checked(p, e, n), z3.And(s.scanned(p, e, n), s.noted(p, n), self.has_come(s, n, e)))
        as_due = lambda p, n: self.due(*self.admitted(s, p, n))
        as_base = lambda p, n: self.base_of(s.as_phase(p, n), s.as_epoch(p, n))
        equal = lambda p, n, m: z3.And(*[a == b for a, b in zip(self.record(s, m), self.admitted(s, p, n))])
        mine = {
            "unique": w.all("Round", "Round", lambda r, t: z3.Implies(
                z3.And(r != t, s.won(r), s.won(t)), self.number(r) != self.number(t))),
            "ordered by start": w.all("Round", "Round", lambda r, t: z3.Implies(
                z3.And(s.after(t, r), s.won(t)), self.number(r) < self.number(t))),
            "ordered by holding": w.all("Round", "Round", lambda r, t: z3.Implies(
                z3.And(s.before(r, t), self.conflict(r, t)), self.number(r) < self.number(t))),
            "who wins later meets who won, or is greater": w.all("Round", "Round", lambda r, t: z3.Implies(
                s.before(r, t), z3.Or(self.number(t) > self.number(r), w.some("Node", lambda n: z3.And(
                    self.one_of(n, s.by(r)), self.one_of(n, s.by(t)), s.voted(r, n), s.voted(t, n)))))),
            # At a node that votes.
            "counter remembers votes": w.all("Round", "Node", lambda r, n: z3.Implies(
                z3.And(self.counts(s, r, n), s.phase(n) != blank), s.kept(n, self.due_of(s, n)) >= self.number(r))),
            "counter remembers epochs": w.all("Round", "Node", lambda r, n: z3.Implies(
                z3.And(s.won(r), s.phase(n) != blank, self.base_of(s.phase(n), s.epoch(n)) >= s.at(r)),
                above([s.kept(n, self.due_of(s, n))], r, self.base_of(s.phase(n), s.epoch(n))))),
            "gone by clocks": z3.And(w.all("Node", "List", lambda n, l: z3.Implies(
                s.phase(n) != blank, s.kept(n, l) >= s.gone(l))), w.all("List", lambda l: s.gone(l) >= 0)),
            "less is kept for longer": z3.And(w.all("Node", "List", "List", lambda n, l, k: z3.Implies(
                self.memory(l) <= self.memory(k), s.kept(n, l) >= s.kept(n, k))), w.all("List", "List", lambda l, k: z3.Implies(
                self.memory(l) <= self.memory(k), s.gone(l) >= s.gone(k)))),
            # Of votes.
            "one vote for a number": w.all("Round", "Round", "Node", lambda r, t, n: z3.Implies(
                z3.And(r != t, self.counts(s, r, n), self.counts(s, t, n)), self.number(r) != self.number(t))),
            "votes of later epochs": w.all("Round", "Round", "Node", lambda r, t, n: z3.Implies(
                z3.And(s.won(r), s.voted(t, n), s.base(t, n) > s.at(r)), z3.Or(
                    self.number(t) > self.number(r), self.holds(s.by(r), s.governs(s.base(t, n)))))),
            "votes after a decision": w.all("Round", "Round", "Node", lambda r, t, n: z3.Implies(
                z3.And(s.after(t, r), self.one_of(n, s.by(r)), s.voted(t, n)), self.number(t) > self.number(r))),
            "no votes side by side": w.all("Round", "Round", "Node", lambda r, t, n: z3.Implies(
                z3.And(self.conflict(r, t), s.voted(r, n), s.voted(t, n)),
                z3.Not(z3.And(self.under_way(s, r), self.under_way(s, t))))),
            "votes after a holder": w.all("Round", "Round", "Node", lambda r, t, n: z3.Implies(
                z3.And(self.conflict(r, t), s.won(r), self.under_way(s, t), self.one_of(n, s.by(r)), s.voted(t, n)),
                self.number(t) > self.number(r))),
            "bases": w.all("Round", "Node", lambda r, n: z3.Implies(s.voted(r, n), z3.And(
                s.base(r, n) >= 0, s.base(r, n) <= s.now, s.asked(r, n) == s.governs(s.base(r, n)),
                s.tag(r, n) >= s.base(r, n), s.tag(r, n) <= s.base(r, n) + 1))),
            "won at": w.all("Round", lambda r: z3.Implies(s.won(r), z3.And(
                s.at(r) >= 0, s.at(r) <= s.now, self.holds(s.by(r), s.governs(s.at(r))),
                s.reach(r) <= s.at(r), self.holds(s.by(r), s.governs(s.reach(r)))))),
            "won late": w.all("Round", lambda r: z3.Implies(s.won(r), s.at(r) <= s.reach(r) + 1)),
            "won before": w.all("Round", "Number", lambda r, e: z3.Implies(
                z3.And(s.won(r), s.older(r, e), s.decided(e)), s.at(r) < e)),
            "after": w.all("Round", "Round", lambda r, t: z3.Implies(s.after(t, r), z3.And(s.won(r), s.began(t), t != r))),
            "before": w.all("Round", "Round", lambda r, t: z3.And(
                z3.Implies(s.before(r, t), z3.And(s.won(r), s.won(t), r != t)),
                z3.Implies(z3.And(s.won(r), s.won(t), r != t), z3.Or(s.before(r, t), s.before(t, r))),
                z3.Implies(z3.And(s.after(t, r), s.won(t)), s.before(r, t)))),
            # Of nodes that are let in.
            "noted": w.all("Client", "Node", lambda p, n: z3.Implies(s.noted(p, n), s.phase(n) != blank)),
            "a node that waits": w.all("Client", "Node", "Round", lambda p, n, r: z3.Implies(
                z3.And(s.admits(p, n), s.voted(r, n)), z3.Not(self.under_way(s, r)))),
            "what was read": w.all("Client", "Node", "Node", "Round", lambda p, n, m, r: z3.Implies(
                z3.And(s.admits(p, n), z3.Or(s.vouched(p, n, m), z3.And(s.read(p, n, m), s.noted(p, m), equal(p, n, m))),
                       s.won(r), self.one_of(n, s.by(r)), self.one_of(m, s.by(r))),
                z3.Or(s.greatest(p, n) >= self.number(r), s.gone(as_due(p, n)) >= self.number(r)))),
            "what was read of epochs": w.all("Client", "Node", "Node", "Round", lambda p, n, m, r: z3.Implies(
                z3.And(s.admits(p, n), z3.Or(s.vouched(p, n, m), z3.And(s.read(p, n, m), s.noted(p, m), equal(p, n, m))),
                       s.won(r), as_base(p, n) >= s.at(r)),
                above([s.greatest(p, n), s.gone(as_due(p, n))], r, as_base(p, n)))),
            # What a voucher does not know of a decision, it said before that, and the node's votes are older still.
            "late enrolments": w.all("Client", "Node", "Node", "Round", "Number", lambda p, n, m, r, k: z3.Implies(
                z3.And(s.admits(p, n), s.vouched(p, n, m), k >= 1, s.decided(k), self.one_of(m, s.seen(k)),
                       s.voted(r, n), z3.Not(self.knows(s, k, *self.admitted(s, p, n)))), s.older(r, k))),
            "late enrolments, won": w.all("Client", "Node", "Node", "Round", "Number", lambda p, n, m, r, k: z3.Implies(
                z3.And(s.admits(p, n), s.vouched(p, n, m), k >= 1, s.decided(k), self.one_of(m, s.seen(k)), s.won(r),
                       self.one_of(n, s.by(r)), z3.Not(self.knows(s, k, *self.admitted(s, p, n)))), s.at(r) < k)),
            # Of scans.
            "a scan is late": w.all("Client", "Number", "Node", "Round", lambda p, e, n, r: z3.Implies(
                z3.Or(s.scanned(p, e, n), s.checked(p, e, n)),
                z3.And(e >= 1, s.decided(e), z3.Implies(s.older(r, e), z3.Not(self.lives(s, r)))))),
            "what was scanned": w.all("Client", "Number", "Node", "Round", lambda p, e, n, r: z3.Implies(
                z3.And(known(p, e, n), s.won(r), self.one_of(n, s.by(r)), s.at(r) <= e),
                above([s.top(p, e), s.gone(s.governs(e))], r, e))),
            "what was scanned of epochs": w.all("Client", "Number", "Node", "Round", lambda p, e, n, r: z3.Implies(
                z3.And(z3.Or(s.checked(p, e, n), z3.And(s.scanned(p, e, n), s.noted(p, n), self.has_come(s, n, e))),
                       self.one_of(n, s.seen(e)), s.won(r), s.at(r) < e),
                z3.Or(above([s.top(p, e), s.gone(s.governs(e))], r, e), self.holds(s.by(r), s.governs(e - 1))))),
            "what was scanned of itself": w.all("Client", "Number", "Node", "Round", lambda p, e, n, r: z3.Implies(
                z3.And(self.was_scanned(s, p, e, n), self.counts(s, r, n)),
                z3.Or(s.top(p, e) >= self.number(r), s.kept(n, s.to(n)) >= self.number(r)))),
        }
        return mine

    def known(self, s):
        return super().invariant(s)

    # --- Clients ---------------------------------------------------------------------------------

    def do_begin(self, s, r: "Round"):
        guards, after = super().do_begin(s, r)
        return guards, after.but(after=lambda t, u: z3.If(t == r, s.won(u), s.after(t, u)))

    def do_vote(self, s, r: "Round", n: "Node", tag: "Number"):
        """acquire.lua or raise.lua: the number is greater than what the node exceeds."""
        guards, after = super().do_vote(s, r, n, tag)
        w = self.w
        alone = w.all("Round", lambda t: z3.Implies(
            z3.And(self.conflict(r, t), s.voted(t, n)), z3.Not(self.lives(s, t))))
        begins = w.rule("until the settle an absent counter begins by the shorter memory", self.due_of(s, n),
                        z3.If(s.phase(n) == unsettled, self.longer(s.came(n), s.to(n)), self.due_of(s, n)))
        return [*guards, w.rule("a vote raises the counter", self.number(r) > s.kept(n, begins),
                                self.number(r) >= s.kept(n, begins)),
                w.rule("T: of conflicting attempts a node votes for one at a time", alone)], after.but(
            kept=self.writes(s, n, self.number(r), self.life_of(s, n)),
            base=lambda t, m: z3.If(z3.And(t == r, m == n), self.base_of(s.phase(n), s.epoch(n)), s.base(t, m)))

    def do_win(self, s, r: "Round", q: "Voters", last: "Node", far: "Node"):
        """As in members.py. (`far` is a voter whose record has the latest base; there is one.)"""
        guards, after = super().do_win(s, r, q, last)
        w = self.w
        b = s.base(r, far)
        return [*guards, self.one_of(far, q),
                w.all("Node", lambda n: z3.Implies(self.one_of(n, q), s.base(r, n) <= b)),
                w.look_at(s.governs(b), s.governs(b + 1), s.seen(b + 1), s.seen(b + 2), s.decided(b + 1),
                           s.decided(b + 2), s.older(r, b + 1), s.older(r, b + 2)),
                w.look_at(s.seen(s.now + 1), s.decided(s.now + 1), s.older(r, s.now + 1), s.governs(s.now + 1))], after.but(
            at=lambda t: z3.If(t == r, s.now, s.at(t)), reach=lambda t: z3.If(t == r, b, s.reach(t)),
            before=lambda t, u: z3.Or(s.before(t, u), z3.And(u == r, s.won(t))))

    def do_replant(self, s, r: "Round", n: "Node"):
        """renew.lua, renew_all.lua: a lease's key is set anew, and a counter that is less becomes its token."""
        sunk = lambda m, l: z3.If(m == n, self.number(r), s.kept(m, l))
        return [s.won(r), self.lives(s, r), s.phase(n) != blank], s.but(kept=self.w.rule(
            "a counter that is there begins by clocks, too, if it is less", self.writes(s, n, 0, self.life_of(s, n)), sunk))

    def do_time_passes(self, s):
        """What is gone is exceeded by all. (Counters run out, of which nothing else is left.)"""
        w = self.w
        gone = w.fresh("gone", "List", "Number")
        return [w.all("List", lambda l: gone(l) >= s.gone(l)), w.all("List", "List", lambda l, k: z3.Implies(
            self.memory(l) <= self.memory(k), gone(l) >= gone(k)))], s.but(
            gone=gone, kept=lambda n, l: z3.If(gone(l) > s.kept(n, l), gone(l), s.kept(n, l)))

    # --- Operators -------------------------------------------------------------------------------

    def become(self, s, n, phase, epoch, came, to):
        """The record is another text then."""
        return super().become(s, n, phase, epoch, came, to).but(noted=lambda p, m: z3.And(s.noted(p, m), m != n))

    def has_come(self, s, n, e):
        """The node is committed to what governs in epoch e, or has settled it, and is not further on: otherwise there
        is nothing left to settle."""
        return z3.And(s.phase(n) != blank, s.epoch(n) == e, z3.Implies(s.phase(n) == unsettled, s.to(n) == s.governs(e)))

    def grows(self, s, e):
        return self.memory(s.governs(e)) > self.memory(s.governs(e - 1))

    def was_scanned(self, s, p, e, n):
        """The node's own counters were read since it is committed."""
        return z3.And(s.scanned(p, e, n), s.noted(p, n), s.phase(n) == unsettled, self.has_come(s, n, e))

    def do_note(self, s, p: "Client", n: "Node"):
        """A client reads the node's record. What it has read there before is not covered by this record."""
        w = self.w
        other = lambda q, m: z3.Not(z3.And(q == p, m == n))
        fresh = lambda q, m: w.rule("a record that was noted after the reading does not count", other(q, m))
        return [s.phase(n) != blank], s.but(
            noted=lambda q, m: z3.Or(s.noted(q, m), z3.And(q == p, m == n)),
            read=lambda q, o, m: z3.And(s.read(q, o, m), fresh(q, m)),
            scanned=lambda q, e, m: z3.And(s.scanned(q, e, m), fresh(q, m)))

    def do_scan(self, s, p: "Client", e: "Number", n: "Node", found: "Number"):
        """An operator reads the counters of a node, whatever it is by now."""
        w = self.w
        waited = w.all("Round", lambda r: z3.Implies(s.older(r, e), z3.Not(self.lives(s, r))))
        here = lambda q, f: z3.And(q == p, f == e)
        expired = s.gone(s.governs(e - 1))
        number = w.rule("the floor of a longer memory is above what has expired", z3.If(
            z3.And(self.grows(s, e), expired > found), expired, found), found)
        return [e >= 1, s.decided(e), self.is_found(s, n, found), waited], s.but(
            scanned=lambda q, f, m: z3.Or(s.scanned(q, f, m), z3.And(here(q, f), m == n)),
            top=lambda q, f: z3.If(z3.And(here(q, f), number > s.top(q, f)), number, s.top(q, f)))

    def do_check(self, s, p: "Client", e: "Number", n: "Node"):
        """The record is the one that was noted before."""
        w = self.w
        return [s.scanned(p, e, n), self.has_come(s, n, e),
                w.rule("the record of a node that was scanned is compared", s.noted(p, n))], s.but(
            checked=lambda q, f, m: z3.Or(s.checked(q, f, m), z3.And(q == p, f == e, m == n)))

    def own(self, s, n, e, o):
        """While fencing_memory grows: what the node wrote before it was committed does not live for the new one."""
        return self.w.rule("a node's own counters are read before a longer memory is settled on it",
                           z3.Implies(self.grows(s, e), self.was_scanned(s, o, e, n)))

    def takes(self, s, n, e, p, o):
        """The floor of what the two have read. It is kept for any memory."""
        most = lambda a, b: z3.If(a > b, a, b)
        return lambda m, l: z3.If(m == n, most(s.kept(m, l), most(s.top(p, e), s.top(o, e))), s.kept(m, l))

    def do_settle(self, s, n: "Node", e: "Number", p: "Client", x: "Voters", o: "Client"):
        """The node gets the greatest number of a majority of the list before, and its own."""
        guards, after = super().do_settle(s, n, e)
        w = self.w
        all_of = w.all("Node", lambda m: z3.Implies(self.one_of(m, x), s.checked(p, e, m)))
        some = w.some("Node", lambda m: self.one_of(m, x))
        kept = w.rule("a settled node has the scan's number", self.takes(s, n, e, p, o), s.kept)
        return [*guards, all_of, some, w.look_at(s.governs(e - 1), s.governs(e), s.seen(e)), self.own(s, n, e, o),
                w.rule("a majority of the old list is scanned", self.holds(x, s.governs(e - 1)))], after.but(kept=kept)

    def do_follow(self, s, n: "Node", m: "Node", e: "Number", p: "Client", x: "Voters", o: "Client"):
        """The floor of a node that has settled is at least the number of the scan with which it, or the nodes that
        vouched for it, settled. The node takes that floor."""
        guards, after = super().do_follow(s, n, m, e)
        w = self.w
        return [*guards, w.all("Node", lambda u: z3.Implies(self.one_of(u, x), s.checked(p, e, u))),
                w.some("Node", lambda u: self.one_of(u, x)), w.look_at(s.governs(e - 1), s.governs(e), s.seen(e)),
                self.own(s, n, e, o), self.holds(x, s.governs(e - 1))], after.but(
            kept=self.takes(s, n, e, p, o))

    # --- Nodes that forget -----------------------------------------------------------------------

    def do_forget(self, s, n: "Node"):
        guards, after = super().do_forget(s, n)
        return guards, after.but(kept=lambda m, l: z3.If(m == n, 0, s.kept(m, l)), noted=self.one_enrolment(s, after))

    def one_enrolment(self, s, after):
        """Without a nonce the record of the next enrolment is the same text."""
        return self.w.rule("a record stands for one enrolment", after.noted, s.noted)

    def do_admit(self, s, p: "Client", n: "Node", phase: "Number", epoch: "Number", came: "List", to: "List",
                 l: "List", tag: "Number"):
        """No attempt that had a vote of this node can be won any more."""
        guards, after = super().do_admit(s, p, n, phase, epoch, came, to, l, tag)
        w = self.w
        outlasts = w.all("Round", lambda r: z3.Implies(s.voted(r, n), z3.Not(self.under_way(s, r))))
        this = lambda q, m: z3.And(q == p, m == n)
        return [*guards, w.rule("T: a quarantine outlasts the votes that were forgotten", outlasts)], after.but(
            greatest=lambda q, m: z3.If(this(q, m), 0, s.greatest(q, m)),
            read=lambda q, m, o: z3.And(s.read(q, m, o), z3.Not(this(q, m))))

    def do_read(self, s, p: "Client", n: "Node", m: "Node", found: "Number"):
        """For the node n the client reads the counters of m, whatever that is by now."""
        this = lambda q, o: z3.And(q == p, o == n)
        return [s.admits(p, n), self.is_found(s, m, found)], s.but(
            read=lambda q, o, u: z3.Or(s.read(q, o, u), z3.And(this(q, o), u == m)),
            greatest=lambda q, o: z3.If(z3.And(this(q, o), found > s.greatest(q, o)), found, s.greatest(q, o)))

    def do_vouch(self, s, p: "Client", n: "Node", m: "Node"):
        """The record is the one that was noted, and is what is written."""
        guards, after = super().do_vouch(s, p, n, m)
        equal = z3.And(*[a == b for a, b in zip(self.record(s, m), self.admitted(s, p, n))])
        return [*guards, s.read(p, n, m), s.noted(p, m), self.w.rule("a voucher stands at what is written", equal)], after

    def do_enrol(self, s, p: "Client", n: "Node", v: "Voters", old: "List"):
        """The counters that are copied live for the longer memory. Where there are some as great that live for an older
        list's memory, left from before or written by another client, their lives are prolonged."""
        guards, after = super().do_enrol(s, p, n, v)
        w = self.w
        phase, _, came, to = self.admitted(s, p, n)
        life = z3.If(phase == settled, to, self.longer(came, to))
        life = w.rule("a repair prolongs the life of a counter that is as great", life, self.shorter(life, old))
        found = lambda l: z3.And(s.greatest(p, n) > s.gone(l), self.memory(l) <= self.memory(life))
        kept = w.rule("counters are repaired", lambda l: z3.If(found(l), s.greatest(p, n), s.gone(l)), s.gone)
        base = self.base_of(s.as_phase(p, n), s.as_epoch(p, n))
        return [*guards, w.look_at(s.governs(base), s.governs(base + 1), s.seen(base + 1), s.seen(base + 2))], after.but(
            kept=lambda m, l: z3.If(m == n, kept(l), s.kept(m, l)), noted=self.one_enrolment(s, after))


# --- Histories in a small world: mostly n1, n2 and n3 become n1, n2 and n4 -----------------------------------

elsewhere = list(members.broken)  # these rules have their histories there
four = {"Node": 4, "List": 2, "Voters": 6, "Round": 2, "Client": 2, "Number": 4}
announced_0, settled_0, settled_1, unsettled_1 = (f"{phase} {epoch}" for phase, epoch in (
    (announced, 0), (settled, 0), (settled, 1), (unsettled, 1)))


def repaired(node, what, vouchers, client="client1", late=""):
    """The node is let in as this, with the counters of the vouchers."""
    each = lambda words: "".join(f"{words.format(m)}; " for m in vouchers)
    return (each(f"note {client} {{}}") + f"admit {client} {node} {what}; " + each(f"read {client} {node} {{}}")
            + each(f"vouch {client} {node} {{}}") + late + f"enrol {client} {node}; ")


def attempt(round, *nodes):
    return f"begin {round}; " + "".join(f"vote {round} {node}; " for node in nodes) + f"win {round}; "


def scan(*nodes, client="client2"):
    return ("".join(f"note {client} {n}; scan {client} 1 {n}; check {client} 1 {n}; " for n in nodes))


five = {**four, "Node": 5}
six = {**four, "Round": 3}
five_to_three = "announce node1; announce node2; announce node3; commit node1; commit node2; commit node3; look; "
commit = "announce node1; announce node2; commit node1; commit node2; look; "
settle = "settle node1 1 client2; settle node2 1 client2; "
new = repaired("node4", settled_1, ["node1", "node2"])


def later_is_greater(model, s):
    r, t = model.w.elements("Round")
    return z3.And(s.after(t, r), s.won(t), model.number(t) > model.number(r))


def expires(model, s):
    """fencing_memory grows, and the first token has expired by the old one only."""
    r, t = model.w.elements("Round")
    old, new = (s.governs(e) for e in model.w.elements("Number")[:2])
    return z3.And(later_is_greater(model, s), model.memory(old) < model.memory(new), s.gone(new) < model.number(r),
                  s.gone(old) >= model.number(r))


possible = [
    ("tokens grow while the list changes, and the first one expires", four,
     attempt("round1", "node2", "node3") + "replant round1 node1; pass round1; time_passes; " + commit
     + scan("node1", "node2") + settle + new + attempt("round2", "node1", "node4"), expires),
    ("tokens grow while the list changes", four,
     attempt("round1", "node2", "node3") + "pass round1; " + commit + scan("node1", "node2") + settle + new
     + attempt("round2", "node1", "node4"), later_is_greater),
    ("tokens grow if a node settles as another has", four,
     attempt("round1", "node2", "node3") + "pass round1; " + commit + scan("node1", "node2")
     + settle.replace("settle node2", "follow node2 node1") + new + attempt("round2", "node1", "node4"), later_is_greater),
    ("tokens grow with the vote of a node that was let in while its list was announced", four,
     "announce node1; announce node2; " + attempt("round1", "node1", "node2") + "pass round1; "
     + repaired("node4", announced_0, ["node1", "node2"]) + attempt("round2", "node1", "node2", "node4"), later_is_greater),
    ("tokens grow across a node that forgot, and a change that was withdrawn", four,
     "announce node1; withdraw node1; " + attempt("round1", "node1", "node2") + "pass round1; forget node2; "
     + repaired("node2", settled_0, ["node1", "node3"]) + attempt("round2", "node2", "node3"), later_is_greater),
]

# With a broken rule these lead to a token that is given twice, or to a later token that is smaller.
broken = {
    "a vote raises the counter":
        (four, attempt("round1", "node1", "node2") + "pass round1; " + attempt("round2", "node1", "node2")),
    "T: of conflicting attempts a node votes for one at a time":
        (four, "begin round1; begin round2; vote round1 node1; vote round2 node1; vote round2 node2; win round2; "
         "vote round1 node3; win round1"),
    "T: a quarantine outlasts the votes that were forgotten":
        (four, "begin round1; vote round1 node1; forget node1; " + repaired("node1", settled_0, ["node2", "node3"])
         + "vote round1 node2; win round1; " + attempt("round2", "node1", "node3")),
    "counters are repaired":
        (four, attempt("round1", "node1", "node2") + "pass round1; forget node2; "
         + repaired("node2", settled_0, ["node1", "node3"]) + attempt("round2", "node2", "node3")),
    # n2 forgets between the reading and the comparison, and is let in again meanwhile.
    "a record stands for one enrolment":
        ({**four, "Node": 5}, attempt("round1", "node1", "node2", "node3") + "pass round1; forget node1; note client1 node2; "
         "note client1 node4; note client1 node5; " + f"admit client1 node1 {settled_0}; forget node2; "
         "read client1 node1 node2; " + repaired("node2", settled_0, ["node3", "node4", "node5"], "client2")
         + "read client1 node1 node4; read client1 node1 node5; vouch client1 node1 node2; vouch client1 node1 node4; "
         "vouch client1 node1 node5; enrol client1 node1; " + attempt("round2", "node1", "node4", "node5")),
    "a record that was noted after the reading does not count":
        ({**four, "Node": 5}, attempt("round1", "node1", "node2", "node3") + "pass round1; forget node1; note client1 node4; "
         "note client1 node5; " + f"admit client1 node1 {settled_0}; forget node2; read client1 node1 node2; "
         + repaired("node2", settled_0, ["node3", "node4", "node5"], "client2")
         + "note client1 node2; read client1 node1 node4; read client1 node1 node5; vouch client1 node1 node2; "
         "vouch client1 node1 node4; vouch client1 node1 node5; enrol client1 node1; "
         + attempt("round2", "node1", "node4", "node5")),
    # n3 alone is settled. n1 and n2 have not seen the scan's number, and let n4 in as settled; n4 then does so with n1.
    "a voucher stands at what is written":
        ({**five, "Node": 6}, attempt("round1", "node3", "node5", "node6") + "pass round1; " + five_to_three
         + scan("node1", "node2", "node3") + "settle node3 1 client2; " + repaired("node4", settled_1, ["node1", "node2"])
         + "forget node1; " + repaired("node1", settled_1, ["node2", "node4"]) + attempt("round2", "node1", "node4")),
    # Five become three, in which n1 and n2 are a majority. The token stands on n3, n4 and n5.
    "the record of a node that was scanned is compared":
        (five, attempt("round1", "node3", "node4", "node5") + "pass round1; announce node4; commit node4; " + five_to_three
         + "forget node3; scan client2 1 node3; " + repaired("node3", unsettled_1, ["node1", "node2", "node4"])
         + scan("node1", "node2") + "check client2 1 node3; " + settle + attempt("round2", "node1", "node2")),
    "a majority of the old list is scanned":
        (five, attempt("round1", "node3", "node4", "node5") + "pass round1; " + five_to_three + scan("node1") + settle
         + attempt("round2", "node1", "node2")),
    "a settled node has the scan's number":
        (five, attempt("round1", "node3", "node4", "node5") + "pass round1; " + five_to_three
         + scan("node1", "node2", "node3") + settle + attempt("round2", "node1", "node2")),
    # From here on list 2 has a longer fencing_memory.
    "the floor of a longer memory is above what has expired":
        (four, attempt("round1", "node2", "node3") + "pass round1; time_passes; " + commit + scan("node1", "node2") + settle
         + attempt("round2", "node1", "node2")),
    "until the settle an absent counter begins by the shorter memory":
        (four, attempt("round1", "node1", "node2") + "pass round1; time_passes; " + commit + attempt("round2", "node1", "node2")),
    "until the settle a counter lives for the longer memory":
        (four, commit + scan("node1", "node2") + attempt("round1", "node1", "node2") + "pass round1; " + settle
         + attempt("round2", "node1", "node2")),
    # n3 votes while it is announced. A withdrawal comes late, and what n3 writes then lives for the old memory only.
    "a node's own counters are read before a longer memory is settled on it":
        (six, "announce node3; " + commit + scan("node1", "node2") + attempt("round1", "node2", "node3")
         + "withdraw node3; begin round2; vote round2 node3; settle node1 1 client2; settle node3 1 client2; "
         + attempt("round3", "node1", "node3")),
    # List 2 was there before list 1.
    "a repair prolongs the life of a counter that is as great":
        (four, attempt("round1", "node1", "node2") + "pass round1; forget node1; "
         + repaired("node1", settled_0, ["node2", "node3"]) + attempt("round2", "node1", "node3")),
    # Two permits of a semaphore. Nobody took one for long, and the counters are gone. The first holder's keys are set anew.
    "a counter that is there begins by clocks, too, if it is less":
        (six, attempt("round1", "node1", "node2") + attempt("round2", "node1", "node2") + "time_passes; "
         "replant round1 node1; replant round1 node2; " + attempt("round3", "node1", "node2")),
}
