use super::*;

const KERNEL: &str = "\
import triton
import triton.language as tl


@triton.autotune(configs=[], key=['n'])
@triton.jit
def add(x_ptr, y_ptr, n, scale=1.0, BLOCK: tl.constexpr = 128):
    pass


def run(x):
    return x
";

#[test]
fn kernels_are_told_from_plain_functions_and_parameters_are_read() {
    let source = Source::parse(KERNEL).unwrap();
    let kernels = source.kernels();
    assert_eq!(kernels.len(), 1);
    let add = kernels[0];
    assert_eq!(add.name(), "add");
    assert_eq!(add.decorators(), ["triton.autotune(configs=[], key=['n'])", "triton.jit"]);
    let names: Vec<_> = add.parameters().iter().map(|p| (p.name, p.is_constexpr())).collect();
    assert_eq!(
        names,
        [("x_ptr", false), ("y_ptr", false), ("n", false), ("scale", false), ("BLOCK", true)]
    );
    assert!(!source.function("run").unwrap().is_jit());
}

#[test]
fn what_is_not_python_is_refused_with_its_line() {
    let error = Source::parse("def f(x):\n    return x +\n\n\ndef g(:\n").unwrap_err();
    assert_eq!(error.line, 2);
    assert_eq!(error.excerpt, "return x +");
}

#[test]
fn edits_apply_in_any_order_and_leave_the_rest_alone() {
    let edits = [Edit::replace(4..5, "é"), Edit::insert(0, "a"), Edit::insert(0, "b")];
    assert_eq!(apply_edits("0123456", &edits).unwrap(), "ab0123é56");
    let overlapping = [Edit::replace(1..3, "x"), Edit::replace(2..4, "y")];
    assert_eq!(apply_edits("0123", &overlapping), Err(EditConflict { at: 2 }));
    assert_eq!(apply_edits("é", &[Edit::insert(1, "x")]), Err(EditConflict { at: 1 }));
}

const HOST: &str = "\
import triton

WIDTH = 32


@triton.jit
def scale(x_ptr, n, factor, BLOCK: tl.constexpr, WIDE: tl.constexpr = 4):
    pass


def run(x, n):
    BLOCK, OTHER = 64, 8
    AGAIN = 1
    AGAIN = 2
    scale[(n,)](x, n, 2.0, BLOCK=BLOCK, num_warps=4)
    other[(n,)](x)
    return scale(x)
";

#[test]
fn launches_know_their_kernel_host_grid_and_arguments() {
    let source = Source::parse(HOST).unwrap();
    let launches = source.launches();
    assert_eq!(launches.len(), 1);
    let launch = &launches[0];
    assert_eq!((launch.kernel.name(), launch.host.unwrap().name()), ("scale", "run"));
    assert_eq!(source.slice(launch.grid), "(n,)");
    let given: Vec<_> =
        launch.bindings().iter().map(|(p, value)| (p.name, source.slice(*value))).collect();
    assert_eq!(given, [("x_ptr", "x"), ("n", "n"), ("factor", "2.0"), ("BLOCK", "BLOCK")]);
    assert_eq!(source.slice(launch.keyword("num_warps").unwrap().value), "4");
}

#[test]
fn constants_are_names_that_are_assigned_one_number_in_their_scope() {
    let source = Source::parse(HOST).unwrap();
    let run = source.function("run");
    let value = |name| source.constant(name, run).map(|constant| constant.value);
    assert_eq!((value("BLOCK"), value("OTHER")), (Some(64), Some(8)));
    assert_eq!(value("WIDTH"), Some(32), "the module's");
    assert_eq!((value("AGAIN"), value("n"), value("missing")), (None, None, None));
}

#[test]
fn a_name_stands_for_the_numbers_that_may_have_reached_a_place() {
    let text = "\
def run(x, n, given):
    A = 1
    A = 2
    if n > 1:
        A = 3
        if n > 2:
            A = 4
            return here(A)
        else:
            A = 5
    A, B = (6, 7) if n else (8, 9)
    if n < 0:
        B = 10
        return 0
    elif n < 1:
        B = 11
    else:
        return there(A, B)
    B += 1
    for i in range(n):
        C = 12
        again(C, B, given)
        C = 13
    return last(A, x)
";
    let source = Source::parse(text).unwrap();
    let numbers = |call: &str, name: &str| -> Vec<i64> {
        let calls = descendants(source.root()).filter(|node| node.kind() == "call");
        let at = calls.into_iter().find(|node| source.slice(*node).starts_with(call)).unwrap();
        source.numbers(name, source.function("run"), at).iter().map(|it| it.value).collect()
    };
    assert_eq!(numbers("here", "A"), [4], "what is certain hides what was before");
    assert_eq!(numbers("there", "A"), [6, 8], "both arms");
    assert_eq!(numbers("there", "B"), [7, 9], "no other branch, none that has returned");
    assert_eq!(numbers("last", "A"), [6, 8]);
    let none: [i64; 0] = [];
    assert_eq!(numbers("again", "B"), none, "it is counted up");
    assert_eq!(numbers("again", "C"), none, "it goes round");
    assert_eq!(numbers("again", "given"), none);
}

#[test]
fn numbers_within_numbers_without_end_are_not_followed_to_their_end() {
    let arms = "1 if n else ".repeat(20_000);
    let text = format!("def run(n):\n    A = 0\n    A = {arms}2\n    return here(A)\n");
    let source = Source::parse(text).unwrap();
    let run = source.function("run");
    let at = descendants(source.root()).filter(|node| node.kind() == "call").last().unwrap();
    let some = source.numbers("A", run, at).len();
    assert!((8..32).contains(&some), "{some}");
}

#[test]
fn functions_are_found_wherever_a_statement_may_stand() {
    let text = r"
def f0(a=lambda: 0):
    def f1(): pass
    class A:
        @staticmethod
        def f2(): pass
        async def f3(): pass
if f0:
    def f4(): pass
elif f0:
    def f5(): pass
else:
    def f6(): pass
for i in x:
    def f7(): pass
else:
    def f8(): pass
while f0:
    def f9(): pass
else:
    def f10(): pass
try:
    def f11(): pass
except E:
    def f12(): pass
else:
    def f13(): pass
finally:
    def f14(): pass
try:
    def f15(): pass
except* E:
    def f16(): pass
with f0 as g:
    def f17(): pass
async def f18():
    async with f0:
        def f19(): pass
    async for i in x:
        def f20(): pass
match f0:
    case 1:
        def f21(): pass
    case _:
        @decorated
        def f22(): pass
@decorated
class B:
    def f23(): pass
";
    let source = Source::parse(text).unwrap();
    let names: Vec<_> = source.functions().iter().map(Function::name).collect();
    let all: Vec<_> = (0..24).map(|at| format!("f{at}")).collect();
    assert_eq!(names, all);
}

#[test]
fn an_argument_is_appended_in_the_style_of_its_list() {
    let append = |text: &str| {
        let source = Source::parse(text).unwrap();
        let list = descendants(source.root()).find(|node| node.kind() == "argument_list").unwrap();
        let (at, argument) = appended_argument(&source, list, "z=1");
        source.edited(&[Edit::insert(at, argument)]).unwrap()
    };
    assert_eq!(append("f()\n"), "f(z=1)\n");
    assert_eq!(append("f(a)\n"), "f(a, z=1)\n");
    assert_eq!(append("f(a,)\n"), "f(a, z=1)\n");
    assert_eq!(append("f(\n    a\n)\n"), "f(\n    a, z=1\n)\n");
    assert_eq!(append("f(\n    a,\n)\n"), "f(\n    a,\n    z=1,\n)\n");
    assert_eq!(append("f(\r\n    a,  # why\r\n)\r\n"), "f(\r\n    a,\r\n    z=1,  # why\r\n)\r\n");
}
