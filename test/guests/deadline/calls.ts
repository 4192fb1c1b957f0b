import {
  asStartFunctions,
  casesOf,
  type DeadlineCase,
  forever,
  type GuestCode,
  times,
  warmedUp,
} from "./deadline-case.ts";

const STATE =
  "(global $x (mut f64) (f64.const 1.5)) (global $i (mut i64) (i64.const 1)) (global $d (mut i64) (i64.const 3))";

/** Slow instructions that V8 cannot leave out. */
const SLOW: Readonly<Record<string, string>> = {
  divisions:
    "(global.set $i (i64.div_s (i64.xor (global.get $i) (i64.const 0x7777777777777777)) (global.get $d)))",
  roots: "(global.set $x (f64.sqrt (f64.div (global.get $x) (f64.const 3.3))))",
  loads: "(global.set $i (i64.load (i32.wrap_i64 (i64.and (global.get $i) (i64.const 0xfff)))))",
};

/** A loop that calls a long function without calls: before and after V8 has optimised it. */
function straightLines(): Record<string, GuestCode> {
  const guests: Record<string, GuestCode> = {};
  for (const [name, instruction] of Object.entries(SLOW)) {
    for (const count of [200, 2_000, 14_000]) {
      guests[`${count} ${name} in a row, called in a loop`] = {
        fields: `${STATE} (func $long ${times(count, instruction)})`,
        code: forever("(call $long)"),
      };
    }
  }
  return guests;
}

/** Functions of which each calls the next one many times. */
function fanOut(depth: number, width: number, leaf: string): GuestCode {
  const functions = Array.from(
    { length: depth },
    (_, n) => `(func $f${n} ${times(width, `(call $f${n + 1})`)})`,
  );
  return { fields: `${STATE} ${functions.join(" ")} (func $f${depth} ${leaf})`, code: forever("(call $f0)") };
}

const TAIL_CALLS: Readonly<Record<string, GuestCode>> = {
  "to itself": { fields: "(func $r (return_call $r))", code: "(call $r) unreachable" },
  "to each other": {
    fields: "(func $r (return_call $s)) (func $s (return_call $r))",
    code: "(call $r) unreachable",
  },
  "by table": {
    fields: `(type $t (func)) (table 2 funcref) (elem (i32.const 0) $r $s)
      (func $r (return_call_indirect (type $t) (i32.const 1))) (func $s (return_call_indirect (type $t) (i32.const 0)))`,
    code: "(call $r) unreachable",
  },
  "by reference": {
    fields: "(type $t (func)) (elem declare func $r) (func $r (return_call_ref $t (ref.func $r)))",
    code: "(call $r) unreachable",
  },
  "around long functions": {
    fields: `${STATE} (func $r ${times(2_000, SLOW["roots"] ?? "")} (return_call $r))`,
    code: "(call $r) unreachable",
  },
};

const RECURSION: Readonly<Record<string, GuestCode>> = {
  "to a depth of 60, twice each": {
    fields: `(func $r (param i32) (if (local.get 0) (then
      (call $r (i32.sub (local.get 0) (i32.const 1))) (call $r (i32.sub (local.get 0) (i32.const 1))))))`,
    code: "(call $r (i32.const 60)) unreachable",
  },
  "through 40 functions, twice each": fanOut(40, 2, SLOW["divisions"] ?? ""),
  "through 10 functions, 200 times each": fanOut(10, 200, ""),
  "through 3 functions, 20,000 times each": fanOut(3, 20_000, SLOW["roots"] ?? ""),
};

const OPTIMISED: Readonly<Record<string, GuestCode>> = {
  "a loop around a small function, optimised": {
    fields: `${STATE} (func $leaf (param $on i32) (local $n i32) (if (local.get $on) (then
      (loop $l ${SLOW["roots"]} (br_if $l (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 4900)))))))`,
    code: warmedUp("$leaf"),
  },
  "10,000 small functions without calls in a row": {
    fields: `${STATE} (func $leaf (param f64) (result f64) (local.get 0) ${times(126, "f64.sqrt ")})`,
    code: `(local $y f64) ${forever(`(global.get $x) ${times(10_000, "call $leaf ")} (local.set $y)`)}`,
  },
  "10,000 very small functions without calls in a row": {
    fields: `${STATE} (func $leaf (param f64) (result f64) (local.get 0) ${times(13, "f64.sqrt ")})`,
    code: `(local $y f64) ${forever(`(global.get $x) ${times(10_000, "call $leaf ")} (local.set $y)`)}`,
  },
};

/** What takes V8 as long to compile as is allowed. */
const COMPILATION: Readonly<Record<string, GuestCode>> = {
  "100 variables at 50,000 branches": {
    fields: `(func $wide (local ${times(100, "i64 ")}) ${times(25_000, "(if (i32.const 0) (then))")})`,
    code: `(call $wide) ${forever("")}`,
  },
  "many functions of that kind": {
    fields: Array.from(
      { length: 20 },
      (_, n) =>
        `(func $wide${n} (local ${times(100, "i64 ")}) ${times(25_000, "(if (i32.const 0) (then))")})`,
    ).join(" "),
    code: forever(Array.from({ length: 20 }, (_, n) => `(call $wide${n})`).join(" ")),
  },
  "functions of 500 KB": {
    fields: Array.from(
      { length: 10 },
      (_, n) => `(func $f${n} ${times(125_000, "(drop (i32.const 70))")})`,
    ).join(" "),
    code: forever(Array.from({ length: 10 }, (_, n) => `(call $f${n})`).join(" ")),
  },
};

const STRAIGHT = casesOf("straight lines and calls", { ...straightLines(), ...OPTIMISED });
const TAIL = casesOf("tail calls", TAIL_CALLS);

/** Components that call. */
export const CALLS: readonly DeadlineCase[] = [
  ...STRAIGHT,
  ...TAIL,
  ...casesOf("recursion", RECURSION),
  ...casesOf("compilation", COMPILATION),
  ...asStartFunctions([...STRAIGHT.slice(0, 2), ...TAIL]),
];
