"""Work that is done once per period: what a call has counted as done, or has been told to be done, no later holder begins
again (lib/loop/once_query.hpp, once.lua).

For every number of nodes, holders, periods and questions. A holder has the lock's fencing token, and no two have the same
(fencing.py). It asks the nodes from which period on the work is not done yet, does the work, and has it noted: each is a
question to all nodes, decided by a majority of one round. A holder may be late by any time. Nodes forget, wait, and are
repaired from N - q + 1 others; that each of these still was what it was before it was read is shown in fencing.py.
"""
import z3
from prover import Model


class Once(Model):
    theorems = ["no later holder begins it again", "nor what is said to be done"]
    state = {
        # Questions: rounds of one holder.
        "began": ("Question", "Bool"),
        "past": ("Question", "Bool"),     # it was given up, or its lease has ended
        "answered": ("Question", "Node", "Bool"),  # the node has voted for it ...
        "told": ("Question", "Number"),   # ... and this is the greatest that was said: so far the work is done
        "won": ("Question", "Bool"),
        "by": ("Question", "Majority"),
        # Holders.
        "runs": ("Holder", "Bool"),       # it has begun the work of its period ...
        "since": ("Holder", "Question"),  # ... by the answer to this question (only for the proof)
        "said": ("Holder", "Bool"),       # it was told that its period is done ...
        "noted_by": ("Holder", "Question"),  # ... as this question has had noted (likewise)
        # Nodes.
        "enrolled": ("Node", "Bool"),
        "counter": ("Node", "Number"),    # the fencing counter of the name's lock
        "undone": ("Node", "Number"),     # the first period that is not done
        # Clients that repair a node which has forgotten.
        "repairs": ("Client", "Node", "Bool"),
        "read": ("Client", "Node", "Node", "Bool"),   # for the first node the second one was read
        "greatest": ("Client", "Node", "Number"),     # of the counters read
        "most": ("Client", "Node", "Number"),         # of what was read of periods
    }

    def __init__(self, world):
        self.w = w = world
        self.token = w.fresh("token", "Holder", "Number")
        self.period = w.fresh("period", "Holder", "Number")
        self.of = w.fresh("of", "Question", "Holder")
        self.notes = w.fresh("notes", "Question", "Bool")   # or else it only asks
        self.goal = w.fresh("goal", "Question", "Number")   # so far the work is noted to be done
        self.member = w.fresh("member", "Node", "Majority", "Bool")
        self.covers = w.fresh("covers", "Node", "Cover", "Bool")  # in a set of N - q + 1 nodes

    def axioms(self):
        w, names = self.w, ("two majorities share a node", "N - q + 1 nodes meet every majority")
        if w.sizes is None:
            return [w.rule(names[0], self.meet("Majority", self.member, "Majority", self.member)),
                    w.rule(names[1], self.meet("Cover", self.covers, "Majority", self.member))]
        n = w.sizes["Node"]
        q = n // 2 + 1
        return [self.sets("Majority", self.member, w.rule(names[0], q, q - 1)),
                self.sets("Cover", self.covers, w.rule(names[1], n - q + 1, n - q))]

    def initial(self, s):
        w = self.w
        return [w.all("Question", lambda a: z3.Not(z3.Or(s.began(a), s.past(a), s.won(a)))),
                w.all("Question", "Node", lambda a, n: z3.Not(s.answered(a, n))),
                w.all("Holder", lambda c: z3.Not(z3.Or(s.runs(c), s.said(c)))),
                w.all("Node", lambda n: z3.And(s.enrolled(n), s.counter(n) == 0, s.undone(n) == 0)),
                w.all("Client", "Node", "Node", lambda p, n, m: z3.Not(z3.Or(s.repairs(p, n), s.read(p, n, m))))]

    def pending(self, s, a):
        return z3.And(s.began(a), z3.Not(s.past(a)), z3.Not(s.won(a)))

    def counts(self, s, a, n):
        """This vote has won its question, or may still do so."""
        return z3.And(s.answered(a, n), z3.Or(self.pending(s, a), z3.And(s.won(a), self.member(n, s.by(a)))))

    def invariant(self, s):
        w = self.w
        token = lambda a: self.token(self.of(a))
        return {
            "no later holder begins it again": w.all("Question", "Holder", lambda a, d: z3.Implies(
                z3.And(s.won(a), self.notes(a), s.runs(d), token(a) < self.token(d)), self.period(d) >= self.goal(a))),
            "nor what is said to be done": w.all("Holder", "Holder", lambda c, d: z3.Implies(
                z3.And(s.said(c), s.runs(d), self.token(c) < self.token(d)), self.period(d) > self.period(c))),
            # A node that votes has what counts, and has not gone back to an earlier holder.
            "the node remembers": w.all("Question", "Node", lambda a, n: z3.Implies(
                z3.And(self.counts(s, a, n), s.enrolled(n)), z3.And(
                    s.counter(n) >= token(a), z3.Implies(self.notes(a), s.undone(n) >= self.goal(a))))),
            "the later one was told": w.all("Question", "Question", "Node", lambda a, b, n: z3.Implies(
                z3.And(self.counts(s, a, n), self.counts(s, b, n), self.notes(a), token(a) < token(b)),
                s.told(b) >= self.goal(a))),
            "won by votes": w.all("Question", "Node", lambda a, n: z3.Implies(
                z3.And(s.won(a), self.member(n, s.by(a))), s.answered(a, n))),
            "who runs has asked": w.all("Holder", lambda d: z3.Implies(s.runs(d), z3.And(
                s.won(s.since(d)), self.of(s.since(d)) == d, s.told(s.since(d)) <= self.period(d)))),
            "who says it has had it noted": w.all("Holder", lambda d: z3.Implies(s.said(d), z3.And(
                s.won(s.noted_by(d)), self.of(s.noted_by(d)) == d, self.notes(s.noted_by(d)),
                self.goal(s.noted_by(d)) > self.period(d)))),
            "began": w.all("Question", lambda a: z3.And(
                z3.Implies(s.won(a), s.began(a)), w.all("Node", lambda n: z3.Implies(s.answered(a, n), s.began(a))))),
            # Repair.
            "a node that waits": w.all("Client", "Node", "Question", lambda p, n, a: z3.Implies(
                s.repairs(p, n), z3.And(z3.Not(s.enrolled(n)), z3.Implies(s.answered(a, n), z3.Not(self.pending(s, a)))))),
            "what was read": w.all("Client", "Node", "Node", "Question", lambda p, n, m, a: z3.Implies(
                z3.And(s.repairs(p, n), s.read(p, n, m), s.won(a), self.member(n, s.by(a)), self.member(m, s.by(a))),
                z3.And(s.greatest(p, n) >= token(a), z3.Implies(self.notes(a), s.most(p, n) >= self.goal(a))))),
        }

    # --- Holders ---------------------------------------------------------------------------------

    def do_begin(self, s, a: "Question"):
        return [z3.Not(s.began(a))], s.but(began=lambda b: z3.Or(s.began(b), b == a),
                                           told=lambda b: z3.If(b == a, z3.IntVal(0), s.told(b)))

    def do_give_up(self, s, a: "Question"):
        return [s.began(a)], s.but(past=lambda b: z3.Or(s.past(b), b == a))

    def do_win(self, s, a: "Question", q: "Majority"):
        w = self.w
        return [self.pending(s, a), w.all("Node", lambda n: z3.Implies(self.member(n, q), s.answered(a, n)))], s.but(
            won=lambda b: z3.Or(s.won(b), b == a), by=lambda b: z3.If(b == a, q, s.by(b)))

    def do_run(self, s, a: "Question"):
        """A majority has answered that the period is not done."""
        w, c = self.w, self.of(a)
        return [s.won(a), w.rule("a period that is done is not begun", s.told(a) <= self.period(c))], s.but(
            runs=lambda d: z3.Or(s.runs(d), d == c), since=lambda d: z3.If(d == c, a, s.since(d)))

    def do_say(self, s, a: "Question", b: "Question"):
        """It was told that its period is done. If not all nodes of that majority say so, it has had that noted."""
        w, c = self.w, self.of(a)
        noted = z3.And(s.won(b), self.of(b) == c, self.notes(b), self.goal(b) > self.period(c))
        return [s.won(a), s.told(a) > self.period(c), w.rule("who says that it is done has had it noted", noted)], s.but(
            said=lambda d: z3.Or(s.said(d), d == c), noted_by=lambda d: z3.If(d == c, b, s.noted_by(d)))

    # --- Nodes -----------------------------------------------------------------------------------

    def do_raise(self, s, n: "Node", t: "Number"):
        """A grant, or a raise, of whomever."""
        return [t > s.counter(n)], s.but(counter=lambda m: z3.If(m == n, t, s.counter(m)))

    def do_answer(self, s, a: "Question", n: "Node"):
        """once.lua: notes, and tells. (An answer that comes when the question is decided or over changes no counting.)"""
        w = self.w
        mine = s.counter(n) == self.token(self.of(a))
        goal = self.goal(a)
        kept = w.rule("what is noted only grows", z3.If(goal > s.undone(n), goal, s.undone(n)), goal)
        new = z3.If(self.notes(a), kept, s.undone(n))
        this = lambda b: z3.And(b == a, self.pending(s, a), new > s.told(a))
        return [s.began(a), w.rule("only an enrolled node answers", s.enrolled(n)),
                w.rule("the counter is at the holder's token", mine)], s.but(
            answered=lambda b, m: z3.Or(s.answered(b, m), z3.And(b == a, m == n)),
            told=lambda b: z3.If(this(b), new, s.told(b)), undone=lambda m: z3.If(m == n, new, s.undone(m)))

    # --- Nodes that forget -----------------------------------------------------------------------

    def do_forget(self, s, n: "Node", counter: "Number", undone: "Number"):
        return [], s.but(enrolled=lambda m: z3.And(s.enrolled(m), m != n), repairs=lambda p, m: z3.And(s.repairs(p, m), m != n),
                         counter=lambda m: z3.If(m == n, counter, s.counter(m)),
                         undone=lambda m: z3.If(m == n, undone, s.undone(m)))

    def do_begin_repair(self, s, p: "Client", n: "Node"):
        """A question ends with the lease that its holder had when it began, and so within max_ttl."""
        w = self.w
        this = lambda q, m: z3.And(q == p, m == n)
        return [z3.Not(s.enrolled(n)), w.rule("T: a question ends before a node that has forgotten it votes", w.all(
            "Question", lambda a: z3.Implies(s.answered(a, n), z3.Not(self.pending(s, a)))))], s.but(
            repairs=lambda q, m: z3.Or(s.repairs(q, m), this(q, m)), read=lambda q, m, o: z3.And(s.read(q, m, o), z3.Not(this(q, m))),
            greatest=lambda q, m: z3.If(this(q, m), z3.IntVal(0), s.greatest(q, m)),
            most=lambda q, m: z3.If(this(q, m), z3.IntVal(0), s.most(q, m)))

    def do_read(self, s, p: "Client", n: "Node", source: "Node"):
        counter, undone = s.counter(source), s.undone(source)
        this = lambda q, m: z3.And(q == p, m == n)
        return [s.repairs(p, n), s.enrolled(source)], s.but(
            read=lambda q, m, o: z3.Or(s.read(q, m, o), z3.And(this(q, m), o == source)),
            greatest=lambda q, m: z3.If(z3.And(this(q, m), counter > s.greatest(q, m)), counter, s.greatest(q, m)),
            most=lambda q, m: z3.If(z3.And(this(q, m), undone > s.most(q, m)), undone, s.most(q, m)))

    def do_enrol(self, s, p: "Client", n: "Node", v: "Cover"):
        w = self.w
        greater = lambda a, b: z3.If(a > b, a, b)
        return [s.repairs(p, n), w.all("Node", lambda m: z3.Implies(self.covers(m, v), s.read(p, n, m)))], s.but(
            enrolled=lambda m: z3.Or(s.enrolled(m), m == n), repairs=lambda q, m: z3.And(s.repairs(q, m), m != n),
            counter=lambda m: z3.If(m == n, greater(s.counter(n), s.greatest(p, n)), s.counter(m)),
            undone=lambda m: z3.If(m == n, w.rule("what is done is repaired", greater(s.undone(n), s.most(p, n)),
                                                  s.undone(n)), s.undone(m)))


# --- Histories in a small world -----------------------------------------------------------------------------

three = {"Node": 3, "Majority": 2, "Cover": 2, "Holder": 2, "Question": 4, "Client": 1, "Number": 4}


def question(number, *nodes):
    return f"begin question{number}; " + "".join(f"answer question{number} {n}; " for n in nodes) + f"win question{number}; "


def holds(*nodes):
    return "".join(f"raise {n}; " for n in nodes)


work = holds("node1", "node2") + question(1, "node1", "node2") + "run question1; " + question(2, "node1", "node2")
repair = "begin_repair client1 node2; read client1 node2 node1; read client1 node2 node3; enrol client1 node2; "
later = holds("node2", "node3") + question(3, "node2", "node3")

possible = [
    ("a period is done, a node forgets, and a later holder is told", three,
     work + "forget node2; " + repair + later + question(4, "node2", "node3") + "say question3 question4",
     lambda model, s: z3.And(*[f(c) for f, c in zip((s.runs, s.said), model.w.elements("Holder"))])),
    ("a question is given up, and the next period is done", three,
     work + "begin question4; give_up question4; " + later + "run question3",
     lambda model, s: z3.And(*[s.runs(c) for c in model.w.elements("Holder")], s.won(model.w.elements("Question")[1]),
                             model.notes(model.w.elements("Question")[1]))),
]

# With a broken rule these lead to a period that is begun again.
broken = {
    "two majorities share a node": (three, holds("node1") + question(1, "node1") + holds("node2") + question(2, "node2")
                                    + "run question2"),
    "N - q + 1 nodes meet every majority":
        (three, work + "forget node2; begin_repair client1 node2; read client1 node2 node3; enrol client1 node2; " + later
         + "run question3"),
    "a period that is done is not begun": (three, work + later + "run question3"),
    "who says that it is done has had it noted":
        ({**three, "Holder": 3}, holds("node1", "node2") + "begin question1; answer question1 node1; " + holds("node1", "node2")
         + question(2, "node1", "node2") + "say question2; " + holds("node2", "node3") + question(3, "node2", "node3")
         + "run question3"),
    "what is noted only grows": (three, work + "begin question4; answer question4 node2; " + later + "run question3"),
    "only an enrolled node answers": (three, work + "forget node2; " + later + "run question3"),
    "the counter is at the holder's token":
        (three, holds("node1", "node2") + "begin question1; answer question1 node1; " + later + "run question3; "
         "answer question1 node2; win question1"),
    "T: a question ends before a node that has forgotten it votes":
        (three, holds("node1", "node2") + "begin question1; answer question1 node2; forget node2; " + repair
         + "answer question1 node1; win question1; " + later + "run question3"),
    "what is done is repaired": (three, work + "forget node2; " + repair + later + "run question3"),
}
