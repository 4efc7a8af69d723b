"""Changing the list of nodes: any two sets of votes that win while both leases live share a node. And whatever other
nodes say: clients of one list share a node.

For every number of nodes, lists, changes, operators, clients and rounds, with nodes that forget and stay behind, and
with nodes that lie. Together with "one vote" of exclusion.py (votes of one node that still count do not conflict, which
holds whatever the lists are) this is exclusion across changes. There are no clocks here: what the model needs of them
is said by the rules that begin with "T:".

Lists have epochs. `governs(e)` is the list that epoch e was decided to have. A node's record is one of
  settled    epoch e, list L                    it votes for (e, L)               and asks for a majority of L
  announced  epoch e, from S, to T              for (e, S) and for (e + 1, T)     S
  unsettled  epoch e, from S (of e - 1), to T   for (e, T)                        S
or blank: the node is new, or has forgotten.

Answers are counted by names: a set of votes must hold a majority of the client's own list, and of each list that a
record in the set asks for. The client may leave out any vote, also of a node that is further on.

`honest` nodes keep to these rules. The others say anything to anybody: vote for any list, any number of times, with
any record; show one list to an operator and another to a client; vouch for anything. A record that a tenant forged, or
an old disk brought back, is such a node.

`holds(p, l)`: the nodes p have a majority of list l among them; `covers(p, l)`: N - q + 1 nodes of it.
"""
import operator
import z3
from prover import Model

blank, settled, announced, unsettled = range(4)


class Members(Model):
    theorems = ["winners share a node", "clients of one list share a node"]
    # Whatever is said by however many nodes: (title, broken rule, parts that it costs).
    variants = [("with any number of liars anywhere: clients of one list share a node",
                 "fewer nodes lie than a majority of any client's list", ["winners share a node", "winners are majorities"])]

    state = {
        # Nodes.
        "phase": ("Node", "Number"), "epoch": ("Node", "Number"), "came": ("Node", "List"), "to": ("Node", "List"),
        # Rounds: one for each acquisition or renewal.
        "began": ("Round", "Bool"),
        "past": ("Round", "Bool"),        # what it may promise has ended
        "voted": ("Round", "Node", "Bool"),
        "tag": ("Round", "Node", "Number"),   # the epoch that the node gave the client's list with its vote ...
        "asked": ("Round", "Node", "List"),   # ... and the list of which it asked for a majority
        "won": ("Round", "Bool"),
        "by": ("Round", "Voters"),
        # Epochs.
        "decided": ("Number", "Bool"),    # an operator has seen that this epoch's list is committed ...
        "governs": ("Number", "List"),    # ... which is this
        "seen": ("Number", "Voters"),     # ... on these nodes
        "older": ("Round", "Number", "Bool"),  # the round began before that
        "now": ("Number",),               # the last epoch that was settled
        # Clients that let in a blank node n as what `as...` says, once others vouch for it.
        "admits": ("Client", "Node", "Bool"),
        "vouched": ("Client", "Node", "Node", "Bool"),
        "as_phase": ("Client", "Node", "Number"), "as_epoch": ("Client", "Node", "Number"),
        "as_came": ("Client", "Node", "List"), "as_to": ("Client", "Node", "List"),
        "for_list": ("Client", "Node", "List"), "for_tag": ("Client", "Node", "Number"),  # the client's list
    }

    def __init__(self, world):
        self.w = w = world
        self.member = w.fresh("member", "Node", "List", "Bool")
        self.one_of = w.fresh("one_of", "Node", "Voters", "Bool")
        self.list_of = w.fresh("list_of", "Round", "List")
        self.honest = w.fresh("honest", "Node", "Bool")
        if w.sizes is None:
            self.holds, self.covers = (w.fresh(name, "Voters", "List", "Bool") for name in ("holds", "covers"))
            self.honest_of = w.fresh("honest_of", "Voters", "Voters")
            self.truly_holds = lambda p, l: self.holds(self.honest_of(p), l)
        else:
            count = lambda belongs: z3.Sum([z3.If(belongs(n), 1, 0) for n in w.elements("Node")])
            self.length = lambda l: count(lambda n: self.member(n, l))
            self.q = lambda l: self.length(l) / 2 + 1
            self.v = lambda l: self.length(l) - self.q(l) + 1
            votes = lambda p, l: count(lambda n: z3.And(self.one_of(n, p), self.member(n, l)))
            truly = lambda p, l: count(lambda n: z3.And(self.one_of(n, p), self.member(n, l), self.honest(n)))
            self.holds = lambda p, l: votes(p, l) >= self.q(l)
            self.covers = lambda p, l: votes(p, l) >= self.v(l)
            self.truly_holds = lambda p, l: truly(p, l) >= self.q(l)
            self.liars_of = lambda l: count(lambda n: z3.And(self.member(n, l), z3.Not(self.honest(n))))

    def axioms(self):
        w, few = self.w, "fewer nodes lie than a majority of any client's list"
        if w.sizes is not None:
            return [w.all("List", lambda l: w.some("Node", lambda n: self.member(n, l))),
                    w.all("Round", lambda r: w.rule(few, self.liars_of(self.list_of(r)) < self.q(self.list_of(r))))]
        both = lambda p, q, l: w.some("Node", lambda n: z3.And(self.one_of(n, p), self.one_of(n, q), self.member(n, l)))
        return [
            # Two majorities of a list share a node of it, and so do a majority and N - q + 1 nodes.
            w.all("List", "Voters", "Voters", lambda l, p, q: z3.Implies(
                z3.And(self.holds(p, l), z3.Or(self.holds(q, l), self.covers(q, l))), both(p, q, l))),
            w.all("Node", "Voters", lambda n, p: self.one_of(n, self.honest_of(p)) == z3.And(
                self.one_of(n, p), self.honest(n))),
            w.rule(few, w.all("Round", "Voters", lambda r, p: z3.Implies(self.holds(p, self.list_of(r)), w.some(
                "Node", lambda n: z3.And(self.one_of(n, p), self.honest(n)))))),
        ]

    # --- Words ---------------------------------------------------------------------------------

    def fits(self, l, m):
        """A client with list l is served as one of m. (terms.py has lists that differ in their terms only.)"""
        return l == m

    def accepts(self, phase, epoch, came, to, l, tag, fits=operator.eq):
        """A record of these values votes for this list with this tag."""
        return z3.Or(
            z3.And(phase == settled, tag == epoch, fits(l, to)),
            z3.And(phase == announced, tag == epoch, fits(l, came)),
            z3.And(phase == announced, tag == epoch + 1, fits(l, to)),
            z3.And(phase == unsettled, tag == epoch, fits(l, to)))

    def record(self, s, n):
        return s.phase(n), s.epoch(n), s.came(n), s.to(n)

    def admitted(self, s, p, n):
        return s.as_phase(p, n), s.as_epoch(p, n), s.as_came(p, n), s.as_to(p, n)

    def sound(self, s, phase, epoch, came, to):
        """A record of these values may exist."""
        return z3.And(phase >= blank, phase <= unsettled, epoch >= 0,
            z3.Implies(phase == settled, z3.And(epoch <= s.now, to == s.governs(epoch))),
            z3.Implies(phase == announced, z3.And(epoch <= s.now, came == s.governs(epoch))),
            z3.Implies(phase == unsettled, z3.And(epoch >= 1, epoch - 1 <= s.now, came == s.governs(epoch - 1))))

    def knows(self, s, e, phase, epoch, came, to):
        """A record of these values is as far as epoch e, with the list that was decided."""
        return z3.Or(epoch > e, z3.And(epoch == e, z3.Or(phase != unsettled, to == s.governs(e))))

    def lives(self, s, r):
        return z3.And(s.began(r), z3.Not(s.past(r)))

    # --- The invariant ---------------------------------------------------------------------------

    def initial(self, s):
        w = self.w
        return [
            s.now == 0, w.all("Number", lambda e: s.decided(e) == (e == 0)),
            w.all("Node", lambda n: z3.And(s.phase(n) == z3.If(self.member(n, s.governs(0)), settled, blank),
                                           s.epoch(n) == 0, s.to(n) == s.governs(0))),
            w.all("Round", lambda r: z3.Not(z3.Or(s.began(r), s.won(r), s.past(r)))),
            w.all("Round", "Node", lambda r, n: z3.Not(s.voted(r, n))),
            w.all("Round", "Number", lambda r, e: z3.Not(s.older(r, e))),
            w.all("Client", "Node", lambda p, n: z3.Not(s.admits(p, n))),
        ]

    def share(self, s, r, t):
        return self.w.some("Node", lambda n: z3.And(
            self.one_of(n, s.by(r)), self.one_of(n, s.by(t)), s.voted(r, n), s.voted(t, n)))

    def invariant(self, s):
        w = self.w
        return {
            "winners share a node": w.all("Round", "Round", lambda r, t: z3.Implies(
                z3.And(s.won(r), s.won(t), self.lives(s, r), self.lives(s, t)), self.share(s, r, t))),
            "clients of one list share a node": w.all("Round", "Round", lambda r, t: z3.Implies(
                z3.And(s.won(r), s.won(t), self.list_of(r) == self.list_of(t)), self.share(s, r, t))),
            "winners are majorities": w.all("Round", lambda r: z3.Implies(
                z3.And(s.won(r), self.lives(s, r)), self.holds(s.by(r), s.governs(s.now)))),
            "won": w.all("Round", lambda r: z3.Implies(s.won(r), z3.And(
                s.began(r), self.holds(s.by(r), self.list_of(r))))),
            "by votes": w.all("Round", "Node", lambda r, n: z3.Implies(
                z3.And(s.won(r), self.one_of(n, s.by(r))), s.voted(r, n))),
            "by tags": w.all("Round", "Node", lambda r, n: z3.Implies(
                z3.And(s.won(r), self.one_of(n, s.by(r)), self.honest(n)), s.tag(r, n) <= s.now + 1)),
            "votes": w.all("Round", "Node", lambda r, n: z3.Implies(z3.And(s.voted(r, n), self.honest(n)), z3.And(
                s.began(r), s.tag(r, n) >= 0, z3.Or(
                    z3.And(s.tag(r, n) >= 1, s.tag(r, n) - 1 <= s.now, s.asked(r, n) == s.governs(s.tag(r, n) - 1)),
                    z3.And(s.tag(r, n) <= s.now, self.fits(self.list_of(r), s.governs(s.tag(r, n)))))))),
            # Since an epoch was decided, the nodes on which that was seen vote for it or for later ones only.
            "younger votes": w.all("Round", "Node", "Number", lambda r, n, e: z3.Implies(
                z3.And(s.voted(r, n), self.honest(n), e >= 1, s.decided(e), z3.Not(s.older(r, e)),
                       self.one_of(n, s.seen(e))), z3.And(
                    s.tag(r, n) >= e, z3.Implies(s.tag(r, n) == e, self.fits(self.list_of(r), s.governs(e)))))),
            "what lives is younger": w.all("Round", "Number", lambda r, e: z3.Implies(
                z3.And(self.lives(s, r), e <= s.now), z3.Not(s.older(r, e)))),
            "what is decided stays": w.all("Number", "Node", lambda e, n: z3.Implies(
                z3.And(e >= 1, s.decided(e), self.one_of(n, s.seen(e)), self.honest(n), s.phase(n) != blank),
                self.knows(s, e, *self.record(s, n)))),
            "seen on a majority": w.all("Number", lambda e: z3.Implies(
                z3.And(e >= 1, s.decided(e)), self.truly_holds(s.seen(e), s.governs(e - 1)))),
            "epochs": z3.And(s.now >= 0, w.all("Number", lambda e: z3.And(
                z3.Implies(s.decided(e), e <= s.now + 1), z3.Implies(z3.And(0 <= e, e <= s.now), s.decided(e))))),
            "records": w.all("Node", lambda n: self.sound(s, *self.record(s, n))),
            # Who lets in a node on which a decision was seen has begun after it, and so meets it among the vouchers.
            "admitted": w.all("Client", "Node", lambda p, n: z3.Implies(s.admits(p, n), z3.And(
                s.phase(n) == blank, s.as_phase(p, n) != blank, self.sound(s, *self.admitted(s, p, n))))),
            "for a list": w.all("Client", "Node", lambda p, n: z3.Implies(s.admits(p, n), self.accepts(
                *self.admitted(s, p, n), s.for_list(p, n), s.for_tag(p, n)))),
            "vouchers know": w.all("Client", "Node", "Node", "Number", "Number", lambda p, n, m, e, k: z3.Implies(
                z3.And(s.admits(p, n), s.vouched(p, n, m), self.honest(n), self.honest(m), 1 <= k, k <= e,
                       s.decided(e), s.decided(k), self.one_of(n, s.seen(e)), self.one_of(m, s.seen(k))),
                self.knows(s, k, *self.admitted(s, p, n)))),
        }

    # --- Clients ---------------------------------------------------------------------------------

    def do_begin(self, s, r: "Round"):
        return [z3.Not(s.began(r))], s.but(
            began=lambda t: z3.Or(s.began(t), t == r), older=lambda t, e: z3.And(s.older(t, e), t != r))

    def do_pass(self, s, r: "Round"):
        """The round is lost, or what it promised is over."""
        return [s.began(r)], s.but(past=lambda t: z3.Or(s.past(t), t == r))

    def do_vote(self, s, r: "Round", n: "Node", tag: "Number"):
        """A script compares the record when it runs. What the record says goes with the vote."""
        w = self.w
        phase, epoch, came, to = self.record(s, n)
        votes = z3.And(phase != blank, self.accepts(phase, epoch, came, to, self.list_of(r), tag, self.fits))
        old = z3.And(phase == unsettled, tag == epoch - 1, self.fits(self.list_of(r), came))
        return [s.began(r), z3.Not(s.voted(r, n)),
                w.rule("a committed node refuses the old list", votes, z3.Or(votes, old))], \
            self.voted_for(s, r, n, tag, z3.If(phase == settled, to, came))

    def do_lie(self, s, r: "Round", n: "Node", tag: "Number", l: "List"):
        """A liar's vote, whatever its record or its word to others is, and however often it has voted."""
        return [s.began(r), z3.Not(self.honest(n))], self.voted_for(s, r, n, tag, l)

    def voted_for(self, s, r, n, tag, l):
        at = lambda new, old: lambda t, m: z3.If(z3.And(t == r, m == n), new, old(t, m))
        return s.but(voted=at(z3.BoolVal(True), s.voted), tag=at(tag, s.tag), asked=at(l, s.asked))

    def do_win(self, s, r: "Round", q: "Voters", last: "Node"):
        """Any votes that hold a majority of the client's list, and of what each of their records asks for. (`last` is
        an honest one with the greatest tag: there is one, or none is honest. Tags need not be equal.)"""
        w = self.w
        true = lambda n: z3.And(self.one_of(n, q), self.honest(n))
        tag = s.tag(r, last)
        counts = lambda n: z3.And(s.voted(r, n), w.rule("the votes hold a majority of what each record asks for",
                                                        self.holds(q, s.asked(r, n))))
        return [self.lives(s, r), z3.Not(s.won(r)), w.some("Node", lambda n: self.one_of(n, q)),
                z3.Or(w.all("Node", lambda n: z3.Not(true(n))),
                      z3.And(true(last), w.all("Node", lambda n: z3.Implies(true(n), s.tag(r, n) <= tag)))),
                w.rule("the votes hold a majority of the client's own list", self.holds(q, self.list_of(r))),
                w.look_at(s.seen(tag), s.seen(tag + 1), s.governs(tag), s.governs(tag - 1), s.governs(s.now)),
                w.all("Node", lambda n: z3.Implies(self.one_of(n, q), counts(n)))], s.but(
            won=lambda t: z3.Or(s.won(t), t == r), by=lambda t: z3.If(t == r, q, s.by(t)))

    # --- Operators: each step is a compare-and-set of one node's record, at any time, by anybody ----

    def become(self, s, n, phase, epoch, came, to):
        at = lambda new, old: lambda m: z3.If(m == n, new, old(m))
        return s.but(phase=at(phase, s.phase), epoch=at(epoch, s.epoch), came=at(came, s.came), to=at(to, s.to))

    def do_announce(self, s, n: "Node", t: "List"):
        return [s.phase(n) == settled], self.become(s, n, announced, s.epoch(n), s.to(n), t)

    def do_withdraw(self, s, n: "Node"):
        return [s.phase(n) == announced], self.become(s, n, settled, s.epoch(n), s.came(n), s.came(n))

    def do_commit(self, s, n: "Node"):
        return [s.phase(n) == announced], self.become(s, n, unsettled, s.epoch(n) + 1, s.came(n), s.to(n))

    def do_look(self, s, q: "Voters", e: "Number", l: "List", t: "List"):
        """A majority of the old list is seen at the new list in one look, and it tells the truth. A node that forgot
        after it was seen will not begin to vote again before the look has ended."""
        w = self.w
        at = lambda n: z3.And(s.phase(n) == unsettled, s.epoch(n) == e, s.came(n) == l, s.to(n) == t)
        quiet = lambda n: w.all("Client", lambda p: z3.Not(s.admits(p, n)))
        forgot = lambda n: z3.And(s.phase(n) == blank, w.rule("T: a look is shorter than a quarantine", quiet(n)))
        truth = w.rule("of those who are seen committed, a majority tells the truth", self.truly_holds(q, l))
        return [e == s.now + 1, z3.Not(s.decided(e)), l == s.governs(s.now),
                w.rule("a commit is seen on a majority of the old list", z3.And(self.holds(q, l), truth)),
                w.some("Node", lambda n: self.one_of(n, q)),
                w.all("Node", lambda n: z3.Implies(self.one_of(n, q), z3.Or(at(n), forgot(n), z3.Not(self.honest(n)))))], s.but(
            decided=lambda f: z3.Or(s.decided(f), f == e),
            governs=lambda f: z3.If(f == e, t, s.governs(f)),
            seen=lambda f: z3.If(f == e, q, s.seen(f)),
            older=lambda r, f: z3.If(f == e, s.began(r), s.older(r, f)))

    def do_settle(self, s, n: "Node", e: "Number"):
        """Every lease from before the look has ended. A node one change behind makes all steps at once."""
        w = self.w
        ended = w.all("Round", lambda r: z3.Implies(s.older(r, e), z3.Not(self.lives(s, r))))
        t = s.governs(e)
        from_here = z3.And(s.phase(n) == unsettled, s.epoch(n) == e, s.to(n) == t)
        behind = z3.And(z3.Or(s.phase(n) == settled, s.phase(n) == announced), s.epoch(n) == e - 1)
        waited = z3.And(s.decided(e), w.rule("T: leases from before the look end before the settle", ended))
        told = z3.And(e <= s.now + 1, w.some("Node", lambda m: z3.Not(self.honest(m))))
        return [e >= 1, w.rule("nobody settles on a liar's word", waited, z3.Or(waited, told)),
                z3.Or(from_here, behind)], \
            self.become(s, n, settled, e, s.came(n), t).but(now=z3.If(e > s.now, e, s.now))

    def do_follow(self, s, n: "Node", m: "Node", e: "Number"):
        """A node one change behind settles as this one has, which tells the truth, and has waited: nobody looks and
        waits again. Of N - q + 1 nodes of the new list that say so one is such a node, if fewer of them lie."""
        t = s.governs(e)
        return [self.honest(m), s.phase(m) == settled, s.epoch(m) == e, s.to(m) == t, e >= 1,
                z3.Or(z3.And(s.phase(n) == unsettled, s.epoch(n) == e, s.to(n) == t),
                      z3.And(z3.Or(s.phase(n) == settled, s.phase(n) == announced), s.epoch(n) == e - 1))], \
            self.become(s, n, settled, e, s.came(n), t)

    # --- Nodes that forget -----------------------------------------------------------------------

    def do_forget(self, s, n: "Node"):
        return [], self.become(s, n, blank, s.epoch(n), s.came(n), s.to(n)).but(
            admits=lambda p, m: z3.And(s.admits(p, m), m != n))

    def do_admit(self, s, p: "Client", n: "Node", phase: "Number", epoch: "Number", came: "List", to: "List",
                 l: "List", tag: "Number"):
        """After its quarantine, a client with list l means to let in this node as this, which some honest node is or
        was ("records"). Of N - q + 1 nodes that stand at it one is honest, if fewer of them lie."""
        w = self.w
        at = lambda new, old: lambda q, m: z3.If(z3.And(q == p, m == n), new, old(q, m))
        told = w.some("Node", lambda m: z3.Not(self.honest(m)))
        sound = w.rule("nobody is let in on a liar's word", self.sound(s, phase, epoch, came, to),
                       z3.Or(self.sound(s, phase, epoch, came, to), told))
        return [s.phase(n) == blank, phase != blank, sound,
                self.accepts(phase, epoch, came, to, l, tag)], s.but(
            for_list=at(l, s.for_list), for_tag=at(tag, s.for_tag),
            admits=lambda q, m: z3.Or(s.admits(q, m), z3.And(q == p, m == n)),
            vouched=lambda q, m, o: z3.And(s.vouched(q, m, o), z3.Not(z3.And(q == p, m == n))),
            as_phase=at(phase, s.as_phase), as_epoch=at(epoch, s.as_epoch),
            as_came=at(came, s.as_came), as_to=at(to, s.as_to))

    def do_vouch(self, s, p: "Client", n: "Node", m: "Node"):
        """This node votes for the same list, with the same tag, and is no further on. A liar says so."""
        w = self.w
        phase, epoch, came, to = self.record(s, m)
        as_phase, as_epoch, as_came, as_to = self.admitted(s, p, n)
        rank = lambda epoch, phase: 4 * epoch + z3.If(phase == unsettled, 0, z3.If(phase == settled, 1, 2))
        votes = w.rule("vouchers vote for the list", z3.And(phase != blank, self.accepts(
            phase, epoch, came, to, s.for_list(p, n), s.for_tag(p, n))), phase != blank)
        true = z3.And(w.rule("blank nodes do not vouch", votes, z3.Or(phase == blank, votes)),
                      w.rule("a voucher is no further on than what is written",
                             z3.Or(phase == blank, rank(epoch, phase) <= rank(as_epoch, as_phase))))
        return [s.admits(p, n), z3.Or(true, z3.Not(self.honest(m)))], s.but(
            vouched=lambda q, o, u: z3.Or(s.vouched(q, o, u), z3.And(q == p, o == n, u == m)))

    def do_enrol(self, s, p: "Client", n: "Node", v: "Voters"):
        """N - q + 1 nodes of each list that its record will ask for vouch for it."""
        w = self.w
        phase, epoch, came, to = self.admitted(s, p, n)
        of_each = lambda covers: z3.And(z3.Implies(phase != announced, covers(v, to)),
                                        z3.Implies(phase != settled, covers(v, came)))
        waits = lambda m: z3.And(s.phase(m) == blank, s.admits(p, m), s.for_list(p, m) == s.for_list(p, n),
                                 s.for_tag(p, m) == s.for_tag(p, n))
        all_there = w.all("Node", lambda m: z3.Implies(
            self.member(m, s.for_list(p, n)), z3.Or(s.vouched(p, n, m), waits(m))))
        enough = w.rule("N - q + 1 nodes vouch", of_each(self.covers))
        return [s.admits(p, n), w.look_at(s.seen(epoch), s.seen(epoch + 1), s.governs(epoch - 1), s.governs(epoch)),
                w.all("Node", lambda m: z3.Implies(self.one_of(m, v), s.vouched(p, n, m))),
                w.some("Node", lambda m: self.one_of(m, v)),
                w.rule("nodes that forgot need vouchers, even if all nodes of the list are there", enough,
                       z3.Or(enough, all_there))], \
            self.become(s, n, phase, epoch, came, to).but(admits=lambda q, m: z3.And(s.admits(q, m), m != n))


# --- Histories in a small world: mostly n1, n2 and n3 become n1, n2 and n4 -----------------------------------

# What a node is let in as: phase and epoch.
announced_0, settled_0, settled_1, unsettled_1, settled_2 = (f"{phase} {epoch}" for phase, epoch in (
    (announced, 0), (settled, 0), (settled, 1), (unsettled, 1), (settled, 2)))
four = {"Node": 4, "List": 2, "Voters": 5, "Round": 2, "Client": 2, "Number": 4}
change = "announce node1; announce node2; commit node1; commit node2; look; "


def let_in(node, what, vouchers, client="client1"):
    return (f"admit {client} {node} {what}; " + "".join(f"vouch {client} {node} {each}; " for each in vouchers)
            + f"enrol {client} {node}; ")


def lease(round, *nodes, lies=()):
    return (f"begin {round}; " + "".join(f"{'lie' if node in lies else 'vote'} {round} {node}; " for node in nodes)
            + f"win {round}; ")


changed = change + "settle node1; settle node2; " + let_in("node4", settled_1, ["node1", "node2"])
# n1 and n2 forgot, and are let in together as nodes of the first list, of which n3 alone has a record.
together = (f"admit client1 node1 {settled_0}; admit client1 node2 {settled_0}; vouch client1 node1 node3; "
            "vouch client1 node2 node3; enrol client1 node1; vouch client1 node2 node1; enrol client1 node2; ")
both = lease("round1", "node1", "node3") + lease("round2", "node2", "node4")


def of_both_lists(model, s):
    r, t = model.w.elements("Round")
    return z3.And(s.won(r), s.won(t), model.list_of(r) != model.list_of(t), model.lives(s, r), model.lives(s, t))


def won(model, s):
    return model.w.all("Round", lambda r: s.won(r))


possible = [
    ("a lease of the old list ends, the list changes, a lease has the new node's vote", four,
     lease("round1", "node1", "node3") + change + "pass round1; settle node1; settle node2; "
     + let_in("node4", settled_1, ["node1", "node2"]) + lease("round2", "node2", "node4"),
     lambda model, s: model.w.some("Round", lambda r: z3.And(s.won(r), model.lives(s, r)))),
    ("a node that was away settles as another has", four, changed.replace("settle node2", "follow node2 node1")
     + lease("round1", "node2", "node4"), lambda model, s: s.won(model.w.elements("Round")[0])),
    ("leases of both lists while the change is announced", four,
     "announce node1; announce node2; " + lease("round1", "node2", "node3") + lease("round2", "node1", "node2"),
     of_both_lists),
    # Three become four. Let in before the commit, n4 gives the new list's clients its vote: one of n1, n2, n3 may be away.
    ("a new node votes while its list is announced", four,
     "announce node1; announce node2; " + let_in("node4", announced_0, ["node1", "node2"])
     + lease("round1", "node1", "node2", "node4"),
     lambda model, s: z3.And(s.won(model.w.elements("Round")[0]), model.length(s.governs(0)) == 3,
                             model.length(model.list_of(model.w.elements("Round")[0])) == 4)),
    # n3 is committed, n1 and n2 are not: its word changes nothing for the old list's clients.
    ("the vote of a node that is further on is left out", {**four, "List": 3},
     "announce node3; commit node3; announce node1; " + lease("round1", "node1", "node2"),
     lambda model, s: s.won(model.w.elements("Round")[0])),
    ("a change is withdrawn, a node forgets and is let in, and a lease has a liar's vote", four,
     "announce node1; withdraw node1; forget node2; " + let_in("node2", settled_0, ["node1", "node3"])
     + lease("round1", "node1", "node2", "node3", lies=["node3"]), lambda model, s: s.won(model.w.elements("Round")[0])),
    ("votes of two epochs count together", {**four, "Node": 3, "Voters": 3, "Number": 5},
     "announce node1; announce node2; commit node1; commit node2; look; settle node1; settle node2; announce node2; "
     "commit node2; " + lease("round1", "node1", "node2"),
     lambda model, s: z3.And(*[z3.And(s.won(r), s.tag(r, n) != s.tag(r, m)) for r in model.w.elements("Round")[:1]
                               for n, m in [model.w.elements("Node")[:2]]])),
]

# With a broken rule these lead to two leases that share no node.
broken = {
    # A client whose only node is a liar.
    "fewer nodes lie than a majority of any client's list":
        (four, lease("round1", "node1", "node2") + lease("round2", "node3", lies=["node3"])),
    # Two nodes become five. (With a liar: `also_broken`.)
    "the votes hold a majority of the client's own list":
        ({**four, "Node": 5}, change + lease("round1", "node1", "node2") + "settle node1; settle node2; settle node3; "
         + let_in("node4", settled_1, ["node1", "node2", "node3"]) + let_in("node5", settled_1, ["node1", "node2", "node3"])
         + lease("round2", "node3", "node4", "node5")),
    "the votes hold a majority of what each record asks for":
        ({**four, "List": 3}, "announce node1; announce node2; announce node3; announce node4; "
         + lease("round1", "node1", "node2") + lease("round2", "node3", "node4")),
    "a committed node refuses the old list":
        (four, change + "settle node2; " + let_in("node4", settled_1, ["node1", "node2"]) + both),
    "T: leases from before the look end before the settle":
        (four, lease("round1", "node1", "node3") + changed + lease("round2", "node2", "node4")),
    "a commit is seen on a majority of the old list":
        (four, "announce node1; announce node2; commit node1; look; settle node1; "
         + let_in("node4", settled_1, ["node1", "node2"]) + lease("round1", "node2", "node3")
         + lease("round2", "node1", "node4")),
    # n2 shows the operator the new list, and the old list's client the old one.
    "of those who are seen committed, a majority tells the truth":
        (four, "announce node1; commit node1; look; " + lease("round1", "node2", "node3", lies=["node2"]) + "settle node1; "
         + let_in("node4", settled_1, ["node1", "node2"]) + lease("round2", "node1", "node4")),
    # "Any client of T settles where it sees a settled node": n5 is not one.
    "nobody settles on a liar's word":
        ({**four, "Node": 5}, lease("round1", "node2", "node3") + "announce node1; commit node1; settle node1; settle node2; "
         + let_in("node4", settled_1, ["node1", "node2"]) + lease("round2", "node1", "node4")),
    # Five become n1, n2 and n3. A liar says that this is settled, and is thought to be the furthest on.
    "nobody is let in on a liar's word":
        ({**four, "Node": 5}, "announce node1; announce node2; announce node3; forget node1; "
         + let_in("node1", settled_1, ["node2", "node3"]) + "forget node2; " + let_in("node2", settled_1, ["node1", "node3"])
         + lease("round1", "node1", "node2") + lease("round2", "node3", "node4", "node5")),
    "T: a look is shorter than a quarantine":
        (four, f"forget node1; admit client1 node1 {settled_0}; vouch client1 node1 node2; vouch client1 node1 node3; "
         "announce node2; commit node2; look; enrol client1 node1; announce node1; settle node2; "
         + let_in("node4", settled_1, ["node1", "node2"], "client2") + both),
    # n3 was committed to another list of the same epoch. n1 forgets, and is let in as n3, with n2's word, too.
    "vouchers vote for the list":
        ({**four, "List": 3}, "announce node1; announce node2; announce node3; commit node1; commit node2; commit node3; look; "
         + let_in("node4", unsettled_1, ["node1", "node2"]) + "forget node1; " + let_in("node1", unsettled_1, ["node2", "node3"])
         + "settle node2; settle node4; " + both),
    "blank nodes do not vouch":
        (four, changed + f"forget node1; forget node2; admit client1 node1 {settled_0}; vouch client1 node1 node3; "
         f"vouch client1 node1 node2; admit client2 node2 {settled_1}; vouch client2 node2 node4; vouch client2 node2 node1; "
         "enrol client1 node1; enrol client2 node2; " + both),
    "a voucher is no further on than what is written":
        ({**four, "Node": 6}, "announce node1; announce node2; announce node3; announce node4; commit node1; "
         "commit node2; commit node3; look; forget node1; " + let_in("node1", announced_0, ["node2", "node3", "node4"])
         + "settle node2; " + let_in("node6", settled_1, ["node2", "node3", "node4"])
         + lease("round1", "node1", "node4", "node5") + "settle node3; " + lease("round2", "node2", "node3", "node6")),
    # n2 leaves the list, then n3 is gone for long, which was not told of either change. n1 and n2 forget, and a client of
    # the first list finds all of its nodes there: one that has its record, and two that have waited. n4 and n5 go on.
    "nodes that forgot need vouchers, even if all nodes of the list are there":
        ({**four, "Node": 5, "List": 3, "Voters": 7}, change.replace("1;", "1 list2;", 1) + "settle node1; settle node2; "
         + let_in("node4", settled_1, ["node1", "node2"]) + "announce node1 list3; announce node4 list3; commit node1; "
         "commit node4; look; settle node1; settle node4; " + let_in("node5", settled_2, ["node1", "node4"])
         + "forget node1; forget node2; " + together + lease("round1", "node1", "node2")
         + lease("round2", "node4", "node5")),
    "N - q + 1 nodes vouch": (four, changed + "forget node1; " + let_in("node1", settled_0, ["node3"]) + both),
}

# Other histories for a broken rule.
also_broken = [
    # After one change: an operator who saw the change decided before they forgot takes n1 along, which is behind now.
    ("all nodes of the list are there, and a late settle",
     "nodes that forgot need vouchers, even if all nodes of the list are there", four,
     changed + "forget node1; forget node2; " + together + "settle node1; " + lease("round1", "node1", "node4")
     + lease("round2", "node2", "node3")),
    # N - q + 1 is one for a list of two: nobody else could contradict the one that remembers it, so neither may lie.
    ("in a list of two, one liar says what the other forgot", "nobody is let in on a liar's word", {**four, "Node": 5},
     "forget node1; " + let_in("node1", settled_1, ["node2"]) + lease("round1", "node1", "node2", lies=["node2"])
     + lease("round2", "node3", "node4", "node5")),
    ("one forged record makes its own vote enough", "the votes hold a majority of the client's own list",
     {**four, "Node": 3}, lease("round1", "node1", "node2") + lease("round2", "node3", lies=["node3"])),
]


def arithmetic():
    """How many nodes two sets share, n of a list, k liars: each of these must be impossible."""
    n, k, a, b, q, shared = z3.Ints("n k a b q shared")
    sets = z3.And(n >= 1, k >= 0, a <= n, b <= n, shared >= a + b - n, q == n / 2 + 1)
    return {
        "two majorities share a node": z3.And(sets, a >= q, b >= q, shared < 1),
        "of an even list, they share one that tells the truth beside one liar": z3.And(
            sets, n % 2 == 0, k == 1, a >= q, b >= q, shared <= k),
        "two sets of (n + k) / 2 + 1 share one that tells the truth": z3.And(
            sets, a >= (n + k) / 2 + 1, b >= (n + k) / 2 + 1, shared <= k),
        "of q + k nodes seen committed, a majority tells the truth": z3.And(sets, a >= q + k, a - k < q),
    }
