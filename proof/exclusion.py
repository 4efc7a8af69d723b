"""Exclusion: of claims that conflict, at most one is believed in at any moment, and nobody else was believed in
between a lease's acquisition and its end, however often it was renewed. With the wait of a node that forgot,
and with a max_ttl that changes as the list does.

For every number of nodes, clients, locks and claims. A claim is one attempt to lock, with an owner token of
its own. Claims of one lock conflict; so do two sets of locks that share one, a writer and any other claim,
two holders of one permit. Only `conflict` knows the kind of lock.

CLOCKS. T says that no clock runs faster than (1 + d) x any client's clock. Let clients count in stretched
milliseconds, (1 + d) of their own. Then T says: in any span of time the clock of every node, operator and waiting
client advances by no more than every holder's (stretched) clock. So there is a common time between them, and drift
is gone from the model. `do_time_passes` lets each clock advance as it likes within that. `arithmetic` connects this
with the margin of the code.

MESSAGES. A request may be executed at any node at any time after it was sent, in any order, any number of
times, or never. An answer may arrive at any later time or never: deciding later is the same as hearing later.
A client that crashes does nothing any more.

THE WAIT. A node that is not enrolled carries a candidate: a nonce, its run, the node's TIME at which it was put
there, and the TIMEs of other nodes (its witnesses), which a client has read after it saw the candidate. The node may
be enrolled once max_ttl has passed by the node's own TIME and by the TIMEs of N - q + 1 witnesses, for any client that
looks; or by the clock of a client that has watched the candidate. While a node waits its clock may do anything, for
example step because it was wrong at boot, if one clock of the node and any N - q + 1 others is right.

TERMS. max_ttl is a term of the list: settled (`old` counts), announced (`new` stands beside it), seen committed
(`looked`), settled. Each node's record and the counting are in members.py; here the stage is one for all nodes.
What this file uses of them: from the look on, only claims of the new list begin that can still win.
"""
import z3

from prover import Model

settled, announced, looked = range(3)


class Exclusion(Model):
    """See prover.Model."""
    theorems = ["exclusion", "nobody in between"]
    state = {
        # Rounds. A claim has one round to acquire, and any number to renew.
        "started": ("Round", "Bool"),  # its requests are on their way
        "left": ("Round", "Time"),     # holder's ms until the end that the round may promise
        "voted": ("Round", "Node", "Bool"),  # the node has executed its request and said yes
        # Claims, as their clients see them.
        "won": ("Claim", "Bool"),
        "over": ("Claim", "Bool"),     # released, given up or lost: it is no longer believed in
        "deleting": ("Claim", "Bool"),  # its deletes are on their way
        "valid": ("Claim", "Time"),    # holder's ms until the end of its validity
        "reads": ("Claim", "Bool"),    # its holder only reads, from the beginning or since a downgrade ...
        "shares": ("Claim", "Bool"),   # ... and the nodes may be told so: they let other readers in
        # Nodes.
        "has": ("Node", "Claim", "Bool"),    # the claim's key is there ...
        "life": ("Node", "Claim", "Time"),   # ... until this many ms of the node's have passed
        "enrolled": ("Node", "Bool"),        # it has a record of its present run, which votes compare
        "candidate": ("Node", "Nonce"),      # that stands on it, or none ...
        "of_this_run": ("Node", "Bool"),     # ... and was put there in its present run ...
        "age": ("Node", "Time"),             # ... this many of the node's ms ago
        "witnessed": ("Node", "Node", "Bool"),  # it names a TIME of the second node ...
        "passed": ("Node", "Node", "Time"),     # ... and so many of that node's ms have passed since then
        "drawn": ("Nonce", "Bool"),
        # Clients that bring nodes back.
        "sees": ("Waiter", "Node", "Nonce"),   # the candidate that it has seen on the node ...
        "watched": ("Waiter", "Node", "Time"),  # ... this many of its own ms ago
        "noted": ("Waiter", "Node", "Node", "Bool"),   # it has read the second node's TIME for the first one ...
        "noted_ago": ("Waiter", "Node", "Node", "Time"),  # ... this many of the second node's ms ago
        "due": ("Waiter", "Node", "Nonce"),  # the candidate that it has found to be old enough
        # Terms of the list.
        "stage": ("Number",),
        "old": ("Time",), "new": ("Time",),  # max_ttl of the list that was settled last, and of the next one
        "since": ("Time",),                  # operator's ms since the look
        "older": ("Round", "Bool"),          # the round began before the look
        # Only for the proof.
        "relies": ("Claim", "Round"),        # the round that gave the claim its present end
        "by": ("Claim", "Majority"),         # ... and the nodes whose votes won it
        "disturbed": ("Claim", "Bool"),      # a conflicting claim was won since this one was
    }

    def __init__(self, world):
        self.w = w = world
        self.claim_of = w.fresh("claim_of", "Round", "Claim")
        self.acquires = w.fresh("acquires", "Round", "Bool")  # or else it renews
        self.ttl = w.fresh("ttl", "Round", "Time")           # node's ms
        self.meet_in = w.fresh("meet_in", "Claim", "Claim", "Bool")  # they want the same lock, or sets that share one
        self.member = w.fresh("member", "Node", "Majority", "Bool")
        self.witness = w.fresh("witness", "Node", "Witnesses", "Bool")  # in a set of N - q + 1 nodes
        self.right = w.fresh("right", "Node", "Bool")  # its clock is no faster than T also while the node waits
        self.none = w.fresh("none", "Nonce")

    # --- Words ---------------------------------------------------------------------------------

    def believed(self, s, c):
        return z3.And(s.won(c), z3.Not(s.over(c)), s.valid(c) > 0)

    def conflict(self, s, c, d):
        """For the nodes. Readers do not conflict."""
        return z3.And(self.meet_in(c, d), z3.Not(z3.And(s.shares(c), s.shares(d))))

    def conflict_for_holders(self, s, c, d):
        return z3.And(self.meet_in(c, d), z3.Not(z3.And(s.reads(c), s.reads(d))))

    def live(self, s, n, c):
        return z3.And(s.has(n, c), s.life(n, c) > 0)

    def counts(self, s, r, n):
        """This vote may still win something."""
        return z3.And(s.voted(r, n), s.left(r) > 0, z3.Not(s.over(self.claim_of(r))))

    def stands(self, s, n):
        """It has a candidate that may be enrolled."""
        return z3.And(z3.Not(s.enrolled(n)), s.candidate(n) != self.none, s.of_this_run(n))

    def allowed(self, s, r):
        """The ttl of a round is within max_ttl of its client's list, and until the settle within the old one."""
        w = self.w
        greater = z3.If(s.new > s.old, s.new, s.old)
        limit = w.rule("a greater max_ttl counts from the settle", s.old, z3.If(s.stage == settled, s.old, greater))
        return z3.And(self.ttl(r) <= limit, z3.Implies(s.stage == looked, self.ttl(r) <= s.new))

    def free_for(self, s, n, c):
        return self.w.all("Claim", lambda other: z3.Not(z3.And(self.conflict(s, other, c), self.live(s, n, other))))

    # --- Assumptions -----------------------------------------------------------------------------

    def axioms(self):
        w = self.w
        return [
            w.all("Claim", lambda c: z3.Not(self.meet_in(c, c))),
            w.all("Claim", "Claim", lambda c, d: self.meet_in(c, d) == self.meet_in(d, c)),
            w.all("Round", lambda r: self.ttl(r) > 2),
            w.rule("of a node and its witnesses one clock is right", w.all("Node", "Witnesses", lambda n, k: z3.Or(
                self.witness(n, k), self.right(n),
                w.some("Node", lambda m: z3.And(self.witness(m, k), self.right(m)))))),
            *self.quorums(),
        ]

    def quorums(self):
        w, name = self.w, "two majorities share a node"
        if w.sizes is None:
            return [w.rule(name, self.meet("Majority", self.member, "Majority", self.member))]
        n = w.sizes["Node"]
        q = n // 2 + 1
        return [self.sets("Majority", self.member, w.rule(name, q, q - 1)),
                self.sets("Witnesses", self.witness, n - q + 1)]

    def initial(self, s):
        w = self.w
        return [
            w.all("Round", lambda r: z3.Not(s.started(r))),
            w.all("Round", "Node", lambda r, n: z3.Not(s.voted(r, n))),
            w.all("Claim", lambda c: z3.Not(z3.Or(s.won(c), s.over(c), s.deleting(c), s.disturbed(c)))),
            w.all("Node", lambda n: z3.And(s.enrolled(n), s.candidate(n) == self.none)),
            w.all("Node", "Claim", lambda n, c: z3.Not(s.has(n, c))),
            w.all("Claim", lambda c: s.shares(c) == s.reads(c)),
            w.all("Nonce", lambda x: s.drawn(x) == (x == self.none)),
            w.all("Waiter", "Node", lambda v, n: z3.And(s.due(v, n) == self.none, s.sees(v, n) == self.none)),
            w.all("Waiter", "Node", "Node", lambda v, n, m: z3.Not(s.noted(v, n, m))),
            s.stage == settled, w.all("Round", lambda r: z3.Not(s.older(r))),
        ]

    # --- The invariant ---------------------------------------------------------------------------

    def invariant(self, s):
        w = self.w
        return {
            "exclusion": w.all("Claim", "Claim", lambda c, d: z3.Not(z3.And(
                self.conflict_for_holders(s, c, d), self.believed(s, c), self.believed(s, d)))),
            "nobody in between": w.all("Claim", lambda c: z3.Not(z3.And(
                s.disturbed(c), self.believed(s, c)))),
            # Votes of a node that still count do not conflict, even if it has forgotten them.
            "one vote": w.all("Round", "Round", "Node", lambda r, t, n: z3.Implies(
                z3.And(self.counts(s, r, n), self.counts(s, t, n)),
                z3.Not(self.conflict(s, self.claim_of(r), self.claim_of(t))))),
            # A node that votes has the keys that it has voted for, for at least as long as that counts.
            "key outlives vote": w.all("Round", "Node", lambda r, n: z3.Implies(
                z3.And(self.counts(s, r, n), s.enrolled(n)),
                z3.And(s.has(n, self.claim_of(r)), s.life(n, self.claim_of(r)) >= s.left(r)))),
            # What a node has forgotten is over when its candidate is old enough by a clock that is right.
            "a candidate is younger than votes": w.all("Round", "Node", lambda r, n: z3.Implies(
                z3.And(self.counts(s, r, n), self.stands(s, n), self.right(n)),
                s.left(r) + s.age(n) <= self.ttl(r) - 2)),
            "its witnesses are younger than votes": w.all("Round", "Node", "Node", lambda r, n, m: z3.Implies(
                z3.And(self.counts(s, r, n), self.stands(s, n), s.witnessed(n, m), self.right(m)),
                s.left(r) + s.passed(n, m) <= self.ttl(r) - 2)),
            "what was noted is younger than votes": w.all(
                "Round", "Node", "Node", "Waiter", lambda r, n, m, v: z3.Implies(
                    z3.And(self.counts(s, r, n), self.stands(s, n), s.sees(v, n) == s.candidate(n), s.noted(v, n, m),
                           self.right(m)), s.left(r) + s.noted_ago(v, n, m) <= self.ttl(r) - 2)),
            "who watches is younger than votes": w.all("Round", "Node", "Waiter", lambda r, n, v: z3.Implies(
                z3.And(self.counts(s, r, n), self.stands(s, n), s.sees(v, n) == s.candidate(n)),
                s.left(r) + s.watched(v, n) <= self.ttl(r) - 2)),
            "due": w.all("Round", "Node", "Waiter", lambda r, n, v: z3.Implies(
                z3.And(self.stands(s, n), s.due(v, n) == s.candidate(n)), z3.Not(self.counts(s, r, n)))),
            # Terms.
            "stages": z3.And(s.stage >= settled, s.stage <= looked),
            "what counts is within max_ttl": w.all("Round", lambda r: z3.Implies(
                z3.And(s.started(r), s.left(r) > 0), self.ttl(r) <= s.old)),
            "older": w.all("Round", lambda r: z3.Implies(
                z3.And(s.stage == looked, s.started(r), s.older(r)), s.left(r) + s.since <= self.ttl(r) - 2)),
            "younger": w.all("Round", lambda r: z3.Implies(
                z3.And(s.stage == looked, s.started(r), z3.Not(s.older(r))), self.ttl(r) <= s.new)),
            "what is believed has votes": w.all("Claim", lambda c: z3.Implies(self.believed(s, c), z3.And(
                self.claim_of(s.relies(c)) == c, s.left(s.relies(c)) >= s.valid(c)))),
            "of a majority": w.all("Claim", "Node", lambda c, n: z3.Implies(
                z3.And(self.believed(s, c), self.member(n, s.by(c))), s.voted(s.relies(c), n))),
            "who shares reads": w.all("Claim", lambda c: z3.Implies(s.shares(c), s.reads(c))),
            "started": w.all("Round", lambda r: z3.Implies(s.started(r), s.left(r) <= self.ttl(r) - 2)),
            "voted": w.all("Round", "Node", lambda r, n: z3.Implies(s.voted(r, n), s.started(r))),
            "won": w.all("Claim", lambda c: z3.Implies(s.won(c), z3.And(
                s.started(s.relies(c)), self.claim_of(s.relies(c)) == c))),
            "deleting": w.all("Claim", lambda c: z3.Implies(s.deleting(c), s.over(c))),
            "candidates": w.all("Node", lambda n: z3.And(
                s.drawn(s.candidate(n)), z3.Implies(s.enrolled(n), s.candidate(n) == self.none))),
            "nonces": z3.And(s.drawn(self.none), w.all("Waiter", "Node", lambda v, n: z3.And(
                s.drawn(s.due(v, n)), s.drawn(s.sees(v, n))))),
        }

    # --- What clients do -------------------------------------------------------------------------

    def do_begin_to_acquire(self, s, r: "Round", validity: "Time"):
        """Reads the clock, then sends SET or acquire.lua to all nodes."""
        c, w = self.claim_of(r), self.w
        own_token = "every attempt has an owner token of its own"
        first = w.all("Round", lambda t: z3.Implies(self.claim_of(t) == c, z3.Not(s.started(t))))
        return [self.acquires(r), z3.Not(s.started(r)), w.rule(own_token, first, z3.Not(s.won(c))),
                self.allowed(s, r), self.within_margin(r, validity)], \
            self.begun(s, r, validity).but(over=w.rule(
                own_token, s.over, lambda d: z3.And(s.over(d), d != c)))

    def do_begin_to_renew(self, s, r: "Round", validity: "Time"):
        """Reads the clock, then sends renew.lua to all nodes."""
        return [z3.Not(self.acquires(r)), z3.Not(s.started(r)), self.believed(s, self.claim_of(r)),
                self.allowed(s, r), self.within_margin(r, validity)], self.begun(s, r, validity)

    def begun(self, s, r, validity):
        return s.but(started=lambda t: z3.Or(s.started(t), t == r),
                     left=lambda t: z3.If(t == r, validity, s.left(t)),
                     older=lambda t: z3.And(s.older(t), t != r))

    def within_margin(self, r, validity):
        w = self.w
        return w.rule("validity is less than the ttl by the drift",
                      w.rule("and by 2 ms for rounding", validity <= self.ttl(r) - 2, validity <= self.ttl(r)),
                      100 * validity <= 101 * self.ttl(r) - 200)

    def do_win(self, s, r: "Round", q: "Majority"):
        """A majority has granted, and the deadline has not passed."""
        c, w = self.claim_of(r), self.w
        return [self.acquires(r), z3.Not(s.won(c)), z3.Not(s.over(c)), s.started(r), self.votes_of(s, r, q)], s.but(
            won=lambda d: z3.Or(s.won(d), d == c),
            valid=lambda d: z3.If(d == c, w.rule("validity counts from before the round", s.left(r),
                                                 self.ttl(r) - 2), s.valid(d)),
            relies=lambda d: z3.If(d == c, r, s.relies(d)),
            by=lambda d: z3.If(d == c, q, s.by(d)),
            disturbed=lambda d: z3.If(d == c, False, z3.Or(s.disturbed(d), z3.And(
                s.won(d), self.conflict_for_holders(s, c, d), s.left(r) > 0))))

    def do_win_again(self, s, r: "Round", q: "Majority"):
        """A majority has renewed before the old end. The greater of both ends counts."""
        c, w = self.claim_of(r), self.w
        new = w.rule("renewal counts from before its round", s.left(r), self.ttl(r) - 2)
        longer = new > s.valid(c)
        return [z3.Not(self.acquires(r)), s.won(c), z3.Not(s.over(c)), s.started(r), self.votes_of(s, r, q),
                w.rule("a renewal counts only before the old end", s.valid(c) > 0)], s.but(
            valid=lambda d: z3.If(z3.And(d == c, longer), new, s.valid(d)),
            relies=lambda d: z3.If(z3.And(d == c, longer), r, s.relies(d)),
            by=lambda d: z3.If(z3.And(d == c, longer), q, s.by(d)))

    def votes_of(self, s, r, q):
        w = self.w
        any_round = lambda n: w.some("Round", lambda t: z3.And(
            self.claim_of(t) == self.claim_of(r), s.voted(t, n)))
        return w.all("Node", lambda n: z3.Implies(self.member(n, q), w.rule(
            "only answers to this round count", s.voted(r, n), any_round(n))))

    def do_downgrade(self, s, c: "Claim"):
        """A writer becomes a reader."""
        return [], s.but(reads=lambda d: z3.Or(s.reads(d), d == c))

    def do_share(self, s, c: "Claim"):
        """Its next renewal tells the nodes. (Some hear of it later than others, or never, and let in fewer.)"""
        return [self.w.rule("a writer stops writing before its nodes let readers in", s.reads(c))], s.but(
            shares=lambda d: z3.Or(s.shares(d), d == c))

    def do_end(self, s, r: "Round"):
        """Released, given up, lost or cancelled. From now on its keys are deleted, wherever they are."""
        c = self.claim_of(r)
        return [s.started(r)], s.but(over=lambda d: z3.Or(s.over(d), d == c),
                                     deleting=lambda d: z3.Or(s.deleting(d), d == c))

    # --- What nodes do ---------------------------------------------------------------------------

    def do_grant(self, s, r: "Round", n: "Node", rounding: "Time"):
        """SET NX in acquire.lua, if the record is the client's and the lock is free."""
        c, w = self.claim_of(r), self.w
        return [s.started(r), self.acquires(r), rounding >= 0, rounding <= 1,
                w.rule("a node that is not enrolled does not grant", s.enrolled(n)),
                w.rule("SET has NX", z3.And(self.free_for(s, n, c), z3.Not(self.live(s, n, c))))], \
            self.voted_for(s, r, n, self.ttl(r) - rounding)

    def do_extend(self, s, r: "Round", n: "Node", rounding: "Time"):
        """PEXPIRE GT in renew.lua, if the key is there."""
        c, w = self.claim_of(r), self.w
        new = self.ttl(r) - rounding
        kept = z3.If(s.life(n, c) > new, s.life(n, c), new)
        return [s.started(r), z3.Not(self.acquires(r)), rounding >= 0, rounding <= 1,
                w.rule("a node that is not enrolled does not extend", s.enrolled(n)),
                w.rule("PEXPIRE compares the token", z3.And(self.free_for(s, n, c), self.live(s, n, c)))], \
            self.voted_for(s, r, n, w.rule("an expiry is never shortened", w.rule(
                "a vote to renew refreshes the expiry", kept, s.life(n, c)), new))

    def do_replant(self, s, r: "Round", n: "Node", rounding: "Time"):
        """SET NX in renew.lua, if the key is gone."""
        c, w = self.claim_of(r), self.w
        return [s.started(r), z3.Not(self.acquires(r)), rounding >= 0, rounding <= 1,
                w.rule("a node that is not enrolled does not re-plant", s.enrolled(n)),
                z3.Not(self.live(s, n, c)),
                w.rule("only a free lock is re-planted", self.free_for(s, n, c))], \
            self.voted_for(s, r, n, self.ttl(r) - rounding)

    def voted_for(self, s, r, n, life):
        c = self.claim_of(r)
        return s.but(voted=lambda t, m: z3.Or(s.voted(t, m), z3.And(t == r, m == n)),
                     has=lambda m, d: z3.Or(s.has(m, d), z3.And(m == n, d == c)),
                     life=lambda m, d: z3.If(z3.And(m == n, d == c), life, s.life(m, d)))

    def do_delete(self, s, c: "Claim", n: "Node", key: "Claim"):
        """release.lua deletes only the key of its own token, and is sent only when the claim is over."""
        w = self.w
        return [w.rule("a claim ends before its keys are deleted", s.deleting(c)),
                w.rule("DEL compares the token", key == c)], \
            s.but(has=lambda m, d: z3.And(s.has(m, d), z3.Not(z3.And(m == n, d == key))))

    # --- What nodes forget -----------------------------------------------------------------------

    def do_forget(self, s, n: "Node", left: "Nonce", age: "Time"):
        """A restart, FLUSHALL, a promoted copy, an old disk: any keys may be gone or there again. The record is gone
        or names another run; the candidate is gone, or an old one that names another run."""
        w = self.w
        has, life, witnessed = (w.fresh("has", "Claim", "Bool"), w.fresh("life", "Claim", "Time"),
                                w.fresh("witnessed", "Node", "Bool"))
        at = lambda new, old: lambda m: z3.If(m == n, new, old(m))
        return [s.drawn(left)], s.but(
            has=lambda m, d: z3.If(m == n, has(d), s.has(m, d)), life=lambda m, d: z3.If(m == n, life(d), s.life(m, d)),
            enrolled=lambda m: z3.And(s.enrolled(m), m != n), candidate=at(left, s.candidate), age=at(age, s.age),
            witnessed=lambda m, o: z3.If(m == n, witnessed(o), s.witnessed(m, o)),
            of_this_run=at(w.rule("a candidate stands for one run", z3.BoolVal(False), z3.BoolVal(True)), s.of_this_run))

    def do_see_candidate(self, s, n: "Node", nonce: "Nonce"):
        """candidate.lua puts one there if none of this run stands, or if TIME has stepped. It has no witnesses yet."""
        w = self.w
        at = lambda new, old: lambda m: z3.If(m == n, new, old(m))
        return [z3.Not(s.enrolled(n)), nonce != self.none,
                w.rule("a candidate has a new nonce", z3.Not(s.drawn(nonce)))], s.but(
            drawn=lambda x: z3.Or(s.drawn(x), x == nonce), candidate=at(nonce, s.candidate),
            of_this_run=at(z3.BoolVal(True), s.of_this_run), age=at(self.zero(), s.age),
            witnessed=lambda m, o: z3.And(s.witnessed(m, o), m != n))

    def do_watch(self, s, v: "Waiter", n: "Node"):
        """A client sees the candidate. TIMEs that it has noted before are not of this wait."""
        w = self.w
        at = lambda new, old: lambda u, m: z3.If(z3.And(u == v, m == n), new, old(u, m))
        before = z3.And(s.candidate(n) != self.none, s.of_this_run(n))
        return [before], s.but(
            sees=at(s.candidate(n), s.sees), watched=at(self.zero(), s.watched),
            noted=lambda u, m, o: z3.And(s.noted(u, m, o), w.rule(
                "witnesses are read after the candidate was seen", z3.Not(z3.And(u == v, m == n)))))

    def do_note(self, s, v: "Waiter", n: "Node", m: "Node"):
        """A client reads the TIME of another node."""
        this = lambda u, o, k: z3.And(u == v, o == n, k == m)
        return [n != m], s.but(
            noted=lambda u, o, k: z3.Or(s.noted(u, o, k), this(u, o, k)),
            noted_ago=lambda u, o, k: z3.If(this(u, o, k), self.zero(), s.noted_ago(u, o, k)))

    def do_add_witness(self, s, v: "Waiter", n: "Node", m: "Node"):
        """witness.lua adds what was noted to the candidate that was seen, if that still stands."""
        w = self.w
        this = lambda o, k: z3.And(o == n, k == m)
        return [s.candidate(n) != self.none, s.of_this_run(n), s.noted(v, n, m), w.rule(
            "a witness is added to the candidate that was seen", s.sees(v, n) == s.candidate(n))], s.but(
            witnessed=lambda o, k: z3.Or(s.witnessed(o, k), this(o, k)),
            passed=lambda o, k: z3.If(this(o, k), s.noted_ago(v, n, m), s.passed(o, k)))

    def do_find_due(self, s, v: "Waiter", n: "Node", k: "Witnesses", rounding: "Time"):
        """The candidate is as old as the longest vote, by clocks of nodes (each read twice, in whole ms) or by the
        client's own. The repair begins."""
        w = self.w
        wait = w.rule("a quarantine lasts for max_ttl", w.rule(
            "until the settle a quarantine lasts for the old max_ttl", s.old, z3.If(s.stage == settled, s.old, s.new)), s.old / 2)
        own = w.rule("it has passed by the node's own TIME", s.age(n) + rounding >= wait)
        theirs = w.rule("it has passed by the TIMEs of N - q + 1 others", w.all("Node", lambda m: z3.Implies(
            self.witness(m, k), z3.And(s.witnessed(n, m), s.passed(n, m) + rounding >= wait))))
        watched = z3.And(s.watched(v, n) >= wait, w.rule(
            "who watches has seen the candidate that stands", s.sees(v, n) == s.candidate(n), s.sees(v, n) != self.none))
        return [s.candidate(n) != self.none, s.of_this_run(n), z3.Not(s.enrolled(n)), z3.Not(self.witness(n, k)),
                rounding >= 0, rounding <= 1,
                w.rule("a node that forgot is quarantined", z3.Or(z3.And(own, theirs), watched))], s.but(
            due=lambda u, m: z3.If(z3.And(u == v, m == n), s.candidate(n), s.due(u, m)))

    def do_enrol(self, s, v: "Waiter", n: "Node"):
        """enrol.lua: the candidate that was found due still stands."""
        w = self.w
        return [s.candidate(n) != self.none, s.of_this_run(n), s.due(v, n) != self.none,
                w.rule("enrolment compares the candidate", s.due(v, n) == s.candidate(n))], s.but(
            enrolled=lambda m: z3.Or(s.enrolled(m), m == n),
            candidate=lambda m: z3.If(m == n, self.none, s.candidate(m)))

    def zero(self):
        return z3.RealVal(0) if self.w.sizes is None else z3.IntVal(0)

    # --- Terms of the list -----------------------------------------------------------------------

    def do_announce(self, s, max_ttl: "Time"):
        return [s.stage == settled, max_ttl > 0], s.but(stage=z3.IntVal(announced), new=max_ttl)

    def do_withdraw(self, s):
        return [s.stage == announced], s.but(stage=z3.IntVal(settled))

    def do_look(self, s):
        """Enough nodes are seen committed that no claim of the old list can win, if it begins from now on."""
        return [s.stage == announced], s.but(stage=z3.IntVal(looked), since=self.zero(), older=lambda r: s.started(r))

    def do_settle(self, s):
        w = self.w
        return [s.stage == looked, w.rule("the settle waits for the old max_ttl", s.since >= s.old, s.since >= s.new)], \
            s.but(stage=z3.IntVal(settled), old=s.new)

    # --- Time ------------------------------------------------------------------------------------

    def do_time_passes(self, s, time: "Time", operator: "Time"):
        """Each clock advances as it likes within T. `time` is the common time. A node's clock that stands still, or
        goes backwards while its node waits, only lets it wait longer."""
        w = self.w
        node, holder, waiter = (w.fresh("node", "Node", "Time"), w.fresh("holder", "Claim", "Time"),
                                w.fresh("waiter", "Waiter", "Time"))
        fast = lambda n: z3.If(s.enrolled(n), w.rule("no voting node's clock is too fast", node(n) <= time),
                               z3.Implies(self.right(n), node(n) <= time))
        return [time > 0, w.all("Node", lambda n: z3.And(z3.Implies(s.enrolled(n), node(n) >= 0), fast(n))),
                operator >= 0, w.rule("no operator's clock is too fast", operator <= time),
                w.all("Waiter", lambda v: z3.And(waiter(v) >= 0, w.rule(
                    "no watching client's clock is too fast", waiter(v) <= time))),
                w.all("Claim", lambda c: w.rule("no holder's clock is too slow", holder(c) >= time,
                                                holder(c) >= 0))], s.but(
            left=lambda r: s.left(r) - holder(self.claim_of(r)),
            valid=lambda c: s.valid(c) - holder(c),
            life=lambda n, c: s.life(n, c) - node(n),
            age=lambda n: s.age(n) + node(n), since=s.since + operator,
            passed=lambda n, m: s.passed(n, m) + node(m),
            watched=lambda v, n: s.watched(v, n) + waiter(v),
            noted_ago=lambda v, n, m: s.noted_ago(v, n, m) + node(m))


# --- Histories in a small world -----------------------------------------------------------------------------

def renewed_and_taken_over(model, s):
    return model.w.some("Claim", "Claim", lambda c, d: z3.And(
        s.won(c), s.over(c), model.believed(s, d), model.conflict(s, c, d), z3.Not(model.acquires(s.relies(c))),
        z3.Not(model.acquires(s.relies(d)))))


def taken_over_by_a_node_that_forgot(model, s):
    return model.w.some("Claim", "Claim", "Node", lambda c, d, n: z3.And(
        s.won(c), z3.Not(s.over(c)), model.believed(s, d), model.conflict(s, c, d), model.member(n, s.by(c)),
        model.member(n, s.by(d)), s.enrolled(n), s.due(model.w.elements("Waiter")[0], n) != model.none))


def relies_on_a_key_set_anew(model, s):
    return model.w.some("Claim", "Node", lambda c, n: z3.And(
        model.believed(s, c), model.member(n, s.by(c)), z3.Not(model.acquires(s.relies(c))),
        model.w.all("Round", lambda r: z3.Implies(model.acquires(r), z3.Not(s.voted(r, n))))))


def longer_than_before(model, s):
    return model.w.some("Claim", "Claim", lambda c, d: z3.And(
        s.won(c), model.believed(s, d), model.conflict(s, c, d), model.ttl(s.relies(c)) < s.old,
        model.ttl(s.relies(d)) == s.old))


big = {"Node": 3, "Majority": 3, "Claim": 3, "Round": 4, "Waiter": 2, "Nonce": 4, "Number": 3, "Witnesses": 2}
hold = "begin_to_acquire; grant; grant; win; "
renew = "begin_to_renew; extend; extend; win_again; "
lapse = "time_passes; "
forget = "forget; see_candidate; watch; time_passes; find_due; enrol; "
change = "announce; look; time_passes; settle; "


def witnesses(node, *others):
    """A client sees the candidate of this node, and adds TIMEs of these."""
    return (f"watch waiter1 {node}; " + "".join(f"note waiter1 {node} {each}; " for each in others)
            + "".join(f"add_witness waiter1 {node} {each}; " for each in others))



# These must be possible: (what, sizes, steps, goal).
possible = [
    ("a lock is acquired, renewed, released and taken over", big, hold + renew + "end; delete; delete; " + hold + renew,
     renewed_and_taken_over),
    ("a lock is taken over with the vote of a node that forgot", big, hold + forget + hold,
     taken_over_by_a_node_that_forgot),
    ("a node is let in by a client that has only just come", big, "forget node1; see_candidate; "
     + witnesses("node1", "node2", "node3") + "time_passes; find_due waiter2 node1; enrol; " + hold,
     lambda model, s: model.w.some("Claim", lambda c: z3.And(
         model.believed(s, c), model.member(model.w.elements("Node")[0], s.by(c)),
         s.sees(model.w.elements("Waiter")[1], model.w.elements("Node")[0]) == model.none))),
    ("a writer becomes a reader beside another, and a later writer waits for both", big,
     hold + "downgrade; share; " + hold + "end round1; end round2; delete; delete; delete; delete; " + hold,
     lambda model, s: z3.And(*[s.won(c) for c in model.w.elements("Claim")],
                             *[model.meet_in(*model.w.elements("Claim")[i:i + 2]) for i in (0, 1)])),
    ("a lease relies on a key that was set anew", big, hold + "begin_to_renew; extend; replant; win_again",
     relies_on_a_key_set_anew),
    ("max_ttl grows after a change that was withdrawn, and the next lease is longer", big,
     "announce; withdraw; " + hold + change + hold, longer_than_before),
]

# With a broken rule these histories lead to two holders: rule -> (sizes, steps). With all rules none of them does.
broken = {rule: (big, steps) for rule, steps in {
    "every attempt has an owner token of its own":
        "begin_to_acquire; end; begin_to_acquire; grant; grant; win; delete; " + hold,
    "two majorities share a node": "begin_to_acquire; grant; win; begin_to_acquire; grant; win",
    "validity is less than the ttl by the drift": hold + lapse + hold,
    "and by 2 ms for rounding": hold + lapse + hold,
    "validity counts from before the round": "begin_to_acquire; grant; grant; time_passes; win; " + lapse + hold,
    "renewal counts from before its round":
        hold + "begin_to_renew; extend; extend; time_passes; win_again; " + lapse + hold,
    "a renewal counts only before the old end":
        hold + "begin_to_renew; " + lapse + hold + "end; delete; delete; replant; replant; win_again",
    "only answers to this round count": hold + "time_passes; begin_to_renew; win_again; " + lapse + hold,
    "SET has NX": hold + hold,
    "PEXPIRE compares the token": hold + "begin_to_acquire; grant; " + renew + lapse + "grant; win",
    "only a free lock is re-planted":
        hold + "begin_to_acquire; grant; begin_to_renew; extend; replant; win_again; " + lapse + "grant; win",
    "a vote to renew refreshes the expiry": hold + "time_passes; " + renew + lapse + hold,
    "an expiry is never shortened": hold + "begin_to_renew; extend; extend; " + lapse + hold,
    "a claim ends before its keys are deleted": hold + "delete; " + hold,
    "a writer stops writing before its nodes let readers in": hold + "share; " + hold,
    "DEL compares the token":
        "begin_to_acquire; end; begin_to_acquire; " + hold + "delete; grant; grant; win",
    "a node that is not enrolled does not grant": hold + "forget; " + hold,
    "a node that is not enrolled does not extend":
        hold + "begin_to_acquire; grant; forget; " + renew + lapse + "grant; win",
    "a node that is not enrolled does not re-plant":
        hold + "begin_to_acquire; grant; forget; begin_to_renew; extend; replant; win_again; " + lapse + "grant; win",
    "a node that forgot is quarantined": hold + "forget; see_candidate; find_due; enrol; " + hold,
    "a quarantine lasts for max_ttl": hold + forget + hold,
    "a candidate has a new nonce": forget + hold + "forget; see_candidate; enrol; " + hold,
    "enrolment compares the candidate": forget + hold + "forget; see_candidate; enrol; " + hold,
    # The disk brings back the candidate that was enrolled before.
    "a candidate stands for one run": forget + hold + "forget; enrol; " + hold,
    # A long lease of the next list is there when that is withdrawn.
    "a greater max_ttl counts from the settle": "announce; " + hold + "withdraw; " + forget + hold,
    "until the settle a quarantine lasts for the old max_ttl": hold + "announce; " + forget + hold,
    "the settle waits for the old max_ttl": hold + change + forget + hold,
    "no operator's clock is too fast": hold + change + forget + hold,
    "no voting node's clock is too fast": hold + lapse + hold,
    "no watching client's clock is too fast": hold + forget + hold,
    "who watches has seen the candidate that stands": forget + hold + "forget; see_candidate; find_due; enrol; " + hold,
    # It need not be wrong for long: the clock of a machine is set right a moment after it has started. Here the power
    # of all machines failed.
    "of a node and its witnesses one clock is right":
        hold + "forget node1; forget node2; forget node3; see_candidate node1; see_candidate node2; "
        + witnesses("node1", "node2", "node3") + witnesses("node2", "node1", "node3")
        + "time_passes; find_due waiter1 node1; find_due waiter1 node2; enrol; enrol; " + hold,
    "it has passed by the TIMEs of N - q + 1 others": hold + "forget; see_candidate; time_passes; find_due; enrol; " + hold,
    # The clocks of n2 and n3 are wrong, and that of n1 is right, which is let in too early. n2 has waited long enough.
    "it has passed by the node's own TIME":
        "forget node2; see_candidate node2; " + witnesses("node2", "node1", "node3")
        + "time_passes; begin_to_acquire; grant round1 node1; grant round1 node3; win; forget node1; forget node3; "
        "see_candidate node1; " + witnesses("node1", "node2", "node3") + "time_passes; find_due waiter1 node1; "
        "find_due waiter1 node2; enrol; enrol; begin_to_acquire; grant; grant; win",
    # TIMEs that were read in one look with the node's, and then sent with the candidate, can be as old as a message.
    "witnesses are read after the candidate was seen":
        "note waiter1 node1 node2; note waiter1 node1 node3; time_passes; " + hold + "forget node1; see_candidate; "
        "watch waiter1 node1; add_witness waiter1 node1 node2; add_witness waiter1 node1 node3; time_passes; "
        "find_due waiter1 node1; enrol; " + hold,
    "a witness is added to the candidate that was seen":
        "forget node1; see_candidate; watch waiter1 node1; note waiter1 node1 node2; note waiter1 node1 node3; "
        "time_passes; find_due; enrol; " + hold + "forget node1; see_candidate; add_witness waiter1 node1 node2; "
        "add_witness waiter1 node1 node3; time_passes; find_due waiter2 node1; enrol; " + hold,
    "no holder's clock is too slow": hold + lapse + hold,
}.items()}


def arithmetic():
    """Facts on real numbers that connect the model with the code: each of these must be impossible. d is the drift
    factor; ttl, max_ttl and age are in ms of a node's clock, validity and look in ms of the client that measures them."""
    d, ttl, validity, max_ttl, age, look = z3.Reals("d ttl validity max_ttl age look")
    n, wrong = z3.Ints("n wrong")
    return {
        "of a node and N - q + 1 others one clock is right if no more than N - q + 1 clocks are wrong": z3.And(
            n >= 2, wrong <= n - n / 2, wrong >= 1 + n - n / 2),
        "a validity of ttl - (ttl d + 2) is at most ttl - 2 stretched ms": z3.And(
            d >= 0, ttl > 0, validity == ttl - ttl * d - 2, (1 + d) * validity > ttl - 2),
        "an age of max_ttl + (max_ttl d + 2), read within 1 ms, is at least max_ttl": z3.And(
            d >= 0, max_ttl > 0, age >= max_ttl + max_ttl * d + 2 - 1, age < max_ttl),
        # Here the quarantine's margin is needed (members.py, "a look is shorter than a quarantine"): a node's clock
        # may run (1 + d) times as fast as the operator's.
        "a look of less than max_ttl is shorter than a quarantine of max_ttl + (max_ttl d + 2)": z3.And(
            d >= 0, max_ttl > 0, look < max_ttl, age >= max_ttl + max_ttl * d + 2 - 1, age <= (1 + d) * look),
    }
