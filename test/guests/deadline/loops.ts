import { casesOf, type DeadlineCase, forever, type GuestCode, times, warmedUp } from "./deadline-case.ts";

/** State that V8 cannot foresee. */
const STATE = "(global $x (mut i64) (i64.const 1)) (global $d (mut i64) (i64.const 3))";
const STEP =
  "(global.set $x (i64.div_s (i64.xor (global.get $x) (i64.const 0x7777777777777777)) (global.get $d)))";

/** Loops within each other, each with a constant count. V8 drops its checks from such loops below 5,000. */
function nested(depth: number, kind: "while" | "do" | "down"): string {
  let code = STEP;
  for (let level = 0; level < depth; level++) {
    const variable = `$i${level}`;
    const add = (n: number): string =>
      `(local.set ${variable} (i32.add (local.get ${variable}) (i32.const ${n})))`;
    const begin = (n: number): string => `(local.set ${variable} (i32.const ${n}))`;
    const loop = `$l${level}`;
    if (kind === "while") {
      code = `${begin(0)} (block $b${level} (loop ${loop}
        (br_if $b${level} (i32.ge_u (local.get ${variable}) (i32.const 4900))) ${code} ${add(1)} (br ${loop})))`;
    } else if (kind === "do") {
      code = `${begin(0)} (loop ${loop} ${code} ${add(1)}
        (br_if ${loop} (i32.lt_s (local.get ${variable}) (i32.const 4900))))`;
    } else code = `${begin(4_900)} (loop ${loop} ${code} ${add(-1)} (br_if ${loop} (local.get ${variable})))`;
  }
  return code;
}

function variables(depth: number): string {
  return Array.from({ length: depth }, (_, level) => `(local $i${level} i32)`).join(" ");
}

function nestedCases(): Record<string, GuestCode> {
  const cases: Record<string, GuestCode> = {};
  for (const kind of ["while", "do", "down"] as const) {
    cases[`four levels of constant counts (${kind})`] = {
      fields: STATE,
      code: `${variables(4)} ${nested(4, kind)} unreachable`,
    };
    const body = `(param $on i32) ${variables(4)} (if (local.get $on) (then ${nested(4, kind)}))`;
    cases[`four levels of constant counts (${kind}), optimised`] = {
      fields: `${STATE} (func $nested ${body})`,
      code: warmedUp("$nested"),
    };
  }
  return cases;
}

/** Many loops with constant counts in a row. */
const ROW = times(
  2_000,
  `(local.set $i (i32.const 0)) (loop $l ${STEP}
    (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 4900))))`,
);

/** Each element of a 64 MiB memory leads to another one, far away. */
const CHASE = `(func $fill (local $i i32) (loop $l
  (i32.store (i32.shl (local.get $i) (i32.const 2)) (i32.shl (i32.and (i32.add (i32.mul (local.get $i)
    (i32.const 1103515245)) (i32.const 12345)) (i32.const 0xffffff)) (i32.const 2)))
  (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 0x1000000)))))`;

/** Components that loop. */
export const LOOPS: readonly DeadlineCase[] = [
  ...casesOf("loops", {
    "an empty one": { code: forever("") },
    "that divides": { fields: STATE, code: forever(STEP) },
    "of 100 KB of instructions": { fields: STATE, code: forever(times(5_000, STEP)) },
    "of branches by table": {
      fields: STATE,
      code: forever(`(block (block (block (br_table 0 1 2 1 0 (i32.wrap_i64 (global.get $x))))) ${STEP})`),
    },
    "that calls": { fields: "(func $f)", code: forever("(call $f)") },
    "that calls by table": {
      fields: `(type $t (func)) (table 4 funcref) (elem (i32.const 0) $f $f $f $f) ${STATE} (func $f ${STEP})`,
      code: forever("(call_indirect (type $t) (i32.and (i32.wrap_i64 (global.get $x)) (i32.const 3)))"),
    },
    "that calls by reference": {
      fields: "(type $t (func)) (func $f) (elem declare func $f)",
      code: forever("(call_ref $t (ref.func $f))"),
    },
    "that grows the memory by nothing": { code: forever("(drop (memory.grow (i32.const 0)))") },
    "that grows the memory": { code: forever("(drop (memory.grow (i32.const 1)))") },
    "of vectors": {
      fields: "(global $v (mut v128) (v128.const i64x2 3 5))",
      code: forever(times(200, "(global.set $v (f64x2.sqrt (f64x2.div (global.get $v) (global.get $v))))")),
    },
    "of atomic operations": {
      code: forever(times(200, "(drop (i32.atomic.rmw.add (i32.const 2048) (i32.const 1)))")),
    },
    "of 2,000 loops in a row": { fields: STATE, code: `(local $i i32) ${forever(ROW)}` },
    "of 2,000 loops in a row, called": {
      fields: `${STATE} (func $row (local $i i32) ${ROW})`,
      code: forever("(call $row)"),
    },
    ...nestedCases(),
  }),
  ...casesOf(
    "loops",
    {
      "that follow a chain through 64 MiB": {
        fields: CHASE,
        code: `(local $p i32) (call $fill) ${forever(`(local.set $p ${times(200, "(i32.load ")} (local.get $p)${times(200, ")")})`)}`,
      },
    },
    { memoryBytes: 65 * 2 ** 20, variation: { memory: '(memory (export "memory") 1024)' } },
  ),
];
