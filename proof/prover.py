"""A small prover for protocols: an invariant, the actions that must keep it, and rules to break.

A model describes a protocol over sorts of things (nodes, claims, ...) with a state of functions on them.
It is used in two ways:

- proved for every number of things: the sorts are uninterpreted, and the solver must show that no action
  leads from a state with the invariant to one without it (`obligations`);
- searched in a small world, where each sort has a few elements and quantifiers are written out, for a history from
  the initial state (`story`).

Every guard of an action and every assumption has a name (`rule`), so that each can be broken in turn.
"""
import inspect
import itertools
import z3


class State:
    """The functions of a state. `but` makes a successor in which some of them are different."""

    def __init__(self, functions):
        self.__dict__.update(functions)

    def but(self, **changed):
        return State({**self.__dict__, **changed})


class World:
    """The sorts of a model: unbounded, or with the given number of elements each. `broken` is the name of
    the rule that does not hold in this world."""

    def __init__(self, sizes=None, broken=None):
        self.sizes, self.broken, self.rules, self._sorts, self._count = sizes, broken, [], {}, 0

    def sort(self, name):
        # Time is continuous; a small world has whole milliseconds, which are easier to read.
        time = z3.RealSort if self.sizes is None else z3.IntSort
        basic = {"Bool": z3.BoolSort, "Time": time, "Number": z3.IntSort}
        if name in basic:
            return basic[name]()
        if name not in self._sorts:
            if self.sizes is None:
                self._sorts[name] = z3.DeclareSort(name)
            else:
                names = [f"{name.lower()}{i + 1}" for i in range(self.sizes[name])]
                self._sorts[name] = z3.EnumSort(name, names)[0]
        return self._sorts[name]

    def elements(self, name):
        sort = self.sort(name)
        if name == "Number":
            return [z3.IntVal(i) for i in range(self.sizes[name])]
        return [sort.constructor(i)() for i in range(self.sizes[name])]

    def named(self, word):
        """The element or number of this name."""
        if word.isdigit():
            return z3.IntVal(int(word))
        return next(each for sort in self.sizes if sort != "Number" for each in self.elements(sort)
                    if str(each) == word)

    def fresh(self, name, *sorts):
        """A new unknown function (or constant, if it has one sort)."""
        self._count += 1
        of = [self.sort(each) for each in sorts]
        full = f"{name}!{self._count}"
        return z3.Const(full, *of) if len(of) == 1 else z3.Function(full, *of)

    def all(self, *sorts_and_body):
        """For all things of these sorts."""
        *sorts, body = sorts_and_body
        if self.sizes is not None:
            rows = itertools.product(*[self.elements(sort) for sort in sorts])
            return z3.And([body(*row) for row in rows])
        names = inspect.signature(body).parameters
        things = [z3.Const(name, self.sort(sort)) for name, sort in zip(names, sorts)]
        return z3.ForAll(things, body(*things))

    def some(self, *sorts_and_body):
        *sorts, body = sorts_and_body
        return z3.Not(self.all(*sorts, _not(body)))

    def look_at(self, *terms):
        """Says nothing, but names terms, so that the solver considers what follows for them."""
        if self.sizes is not None:
            return True
        self._count += 1
        return z3.And([z3.Const(f"look!{self._count}.{i}", term.sort()) == term for i, term in enumerate(terms)])

    def rule(self, name, holds, otherwise=True):
        """`holds`, or `otherwise` if this rule is broken in this world."""
        if name not in self.rules:
            self.rules.append(name)
        return otherwise if name == self.broken else holds


def _not(body):
    negated = lambda *things: z3.Not(body(*things))
    negated.__signature__ = inspect.signature(body)
    return negated


class Model:
    """Subclasses define: `state` (function -> its sorts), `__init__` (constants; calls super), `axioms()`,
    `initial(s)`, `invariant(s)` (name -> formula), `theorems` (the names in it that matter), and actions:
    methods `do_...(s, ...)` whose parameters are annotated with sorts, and which return (guards, next state)."""

    uses, late = {}, []

    def __init__(self, world):
        self.w = world

    def known(self, s):
        """The invariant of the model that this one extends, where it is proved. Each action here does with that
        model's state what an action there does, or nothing."""
        return {}

    def any_state(self, label):
        return State({name: self.w.fresh(f"{name}_{label}", *sorts) for name, sorts in self.state.items()})

    def sets(self, sort, belongs, least):
        """In a small world: all sets of this sort have at least this many nodes."""
        w = self.w
        return w.all(sort, lambda p: z3.AtLeast(*[belongs(n, p) for n in w.elements("Node")], least))

    def meet(self, sort, belongs, other_sort, other_belongs):
        """Every set of the one sort shares a node with every set of the other."""
        w = self.w
        return w.all(sort, other_sort, lambda p, q: w.some("Node", lambda n: z3.And(
            belongs(n, p), other_belongs(n, q))))

    def actions(self):
        return [(name[3:], getattr(self, name)) for name in dir(self) if name.startswith("do_")]

    def perform(self, action, s):
        parameters = list(inspect.signature(action).parameters.values())[1:]
        things = [self.w.fresh(p.name, p.annotation) for p in parameters]
        guards, after = action(s, *things)
        if self.w.sizes is not None:
            guards = guards + [z3.Or([thing == each for each in self.w.elements("Number")])
                               for p, thing in zip(parameters, things) if p.annotation == "Number"]
        return [guard for guard in guards if guard is not True], after, things

    def same(self, s, t):
        """Both states have the same functions."""
        def equal(name, sorts):
            f, g = getattr(s, name), getattr(t, name)
            if len(sorts) == 1:
                return f == g
            rows = itertools.product(*[self.w.elements(sort) for sort in sorts[:-1]])
            return z3.And([f(*row) == g(*row) for row in rows])
        return z3.And([equal(name, sorts) for name, sorts in self.state.items()
                       if getattr(s, name) is not getattr(t, name)])


def _goal(solver, formulas):
    for formula in formulas:
        if formula is not True:
            solver.add(formula)


def obligations(make, broken=None, without=()):
    """(name, function that gives formulas that must contradict each other) for the initial state and for each action.

    A theorem may follow from the rest of the invariant after the action, which is shown without it; so the rest is
    assumed for it. The same is done for the parts in `late`, in this order. `uses` names the parts of the invariant
    that an obligation needs, if the solver finds it too slowly among all of them."""
    model = make(World(broken=broken))
    kept = lambda s: {name: holds for name, holds in model.invariant(s).items() if name not in without}
    s, late = model.any_state("0"), model.late + model.theorems
    axioms, initial, here = model.axioms(), model.initial(s), kept(s)
    before = {**model.known(s), **here}

    def formulas(what, name, guards, there, known):
        used = lambda parts: [holds for part, holds in parts.items() if
                              what not in model.uses or part in model.uses[what]]
        sooner = {part: holds for part, holds in {**known, **there}.items() if name in late and (
            part not in late or late.index(part) < late.index(name))}
        return [*axioms, *used(before), *guards, *used(sooner), z3.Not(there[name])]

    for name, holds in here.items():
        yield f"at the start: {name}", lambda holds=holds: [*axioms, *initial, z3.Not(holds)]
    for action, do in model.actions():
        guards, after, _ = model.perform(do, s)
        there, known = kept(after), model.known(after)
        for name in there:
            what = f"{action}: {name}"
            yield what, lambda it=(what, name, guards, there, known): formulas(*it)


def rules_of(make):
    """The names of all rules of a model."""
    model = make(World())
    s = model.any_state("0")
    model.axioms(), model.invariant(s)
    for _, do in model.actions():
        model.invariant(model.perform(do, s)[1])
    return model.w.rules


def solver_for(formulas, steps=0):
    """A solver that gives up after so many of its steps (no limit: 0). Ten million take about half a second."""
    solver = z3.Solver()
    solver.set("rlimit", steps)
    _goal(solver, formulas)
    return solver


def contradict(formulas):
    """Whether the solver shows that these formulas contradict each other. Nearly always it does so at once, but now and
    then chance leads it astray: then it is stopped soon, and begins anew in another order. It is given steps and not
    seconds, so that a busy machine proves what an idle one does."""
    for steps in (10_000_000, 40_000_000, 160_000_000):
        for seed in range(8):
            solver = solver_for(formulas, steps)
            solver.set("random_seed", seed)
            solver.set("mbqi", seed % 2 == 1)
            answer = solver.check()
            if answer != z3.unknown:
                return answer == z3.unsat
    return False


def story(make, sizes, steps, bad, broken=None):
    """A history from the initial state to one in which `bad(model, s)` holds, or None if there is none. Each of
    `steps` is an action, perhaps with its first arguments ("read client1 node4"); the solver finds the rest."""
    model = make(World(sizes, broken))
    s = model.any_state("0")
    formulas, told = [*model.axioms(), *model.initial(s)], []
    known = dict(model.actions())
    for number, step in enumerate(steps, 1):
        action, *given = step.split()
        t = model.any_state(str(number))
        guards, after, things = model.perform(known[action], s)
        formulas += [*guards, model.same(t, after)]
        formulas += [thing == model.w.named(word) for thing, word in zip(things, given)]
        told.append((action, things))
        s = t
    solver = solver_for([*formulas, bad(model, s)])
    if solver.check() != z3.sat:
        return None
    found = solver.model()
    return [f"{action}({', '.join(str(found.eval(thing, model_completion=True)) for thing in things)})"
            for action, things in told]
