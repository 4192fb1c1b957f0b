import { describe, expect, test } from "vitest";
import { instantiate } from "../../../fixtures/wasm/run-component.ts";

const CANNOT_ENTER = "it called a component instance that waits for this call";
const CANNOT_LEAVE = "it called an import from realloc or post-return";

/**
 * A component that contains another one. `run` of the outer one calls `step` of the inner one, which calls `back`, a
 * function of the outer one. If `again` is set, `back` calls `step` through a table.
 */
const NESTED = `(component
  (core module $backs
    (table (export "steps") 1 funcref)
    (type $step (func (param i32) (result i32)))
    (func (export "back") (param $again i32) (result i32)
      (if (result i32) (local.get $again)
        (then (call_indirect (type $step) (i32.const 0) (i32.const 0)))
        (else (i32.const 40)))))
  (core instance $backs (instantiate $backs))
  (func $back (param "again" u32) (result u32) (canon lift (core func $backs "back")))
  (component $inner
    (import "back" (func $back (param "again" u32) (result u32)))
    (core func $back (canon lower (func $back)))
    (core module $m
      (import "h" "back" (func $back (param i32) (result i32)))
      (func (export "step") (param i32) (result i32) (i32.add (i32.const 2) (call $back (local.get 0)))))
    (core instance $i (instantiate $m (with "h" (instance (export "back" (func $back))))))
    (func (export "step") (param "again" u32) (result u32) (canon lift (core func $i "step"))))
  (instance $inner (instantiate $inner (with "back" (func $back))))
  (alias export $inner "step" (func $step))
  (core func $step (canon lower (func $step)))
  (core module $m
    (import "h" "step" (func $step (param i32) (result i32)))
    (import "b" "steps" (table 1 funcref))
    (elem (table 0) (i32.const 0) func $step)
    (func (export "run") (param i32) (result i32) (call $step (local.get 0)))
    (func (export "twice") (result i32) (i32.add (call $step (i32.const 0)) (call $step (i32.const 0)))))
  (core instance $i (instantiate $m
    (with "h" (instance (export "step" (func $step)))) (with "b" (instance $backs))))
  (func (export "run") (param "again" u32) (result u32) (canon lift (core func $i "run")))
  (func (export "twice") (result u32) (canon lift (core func $i "twice")))
  (export "step" (func $step)))`;

describe("a component that contains another one", () => {
  test("can be called back by it, as often as it calls it", async () => {
    const call = await instantiate(NESTED);
    expect(call("run", 0)).toBe(42);
    expect(call("twice")).toBe(84);
    expect(call("step", 0)).toBe(42);
  });

  test("traps if it calls it while it waits for that call", async () => {
    const call = await instantiate(NESTED);
    expect(() => call("run", 1)).toThrow(CANNOT_ENTER);
    expect(() => call("run", 0)).toThrow(CANNOT_ENTER);
  });
});

/** A destructor of the inner component runs while the inner component waits for the outer one. */
const DESTRUCTOR = `(component
  (core module $backs
    (table (export "drops") 1 funcref)
    (type $drop (func (param i32)))
    (func (export "back") (param $index i32)
      (call_indirect (type $drop) (local.get $index) (i32.const 0))))
  (core instance $backs (instantiate $backs))
  (func $back (param "index" u32) (canon lift (core func $backs "back")))
  (component $inner
    (import "back" (func $back (param "index" u32)))
    (core func $back (canon lower (func $back)))
    (core module $dtor (func (export "destroy") (param i32)))
    (core instance $dtor (instantiate $dtor))
    (type $r' (resource (rep i32) (dtor (func $dtor "destroy"))))
    (core func $new (canon resource.new $r'))
    (core module $m
      (import "h" "back" (func $back (param i32)))
      (import "h" "new" (func $new (param i32) (result i32)))
      (func (export "make") (result i32) (call $new (i32.const 7)))
      (func (export "step") (param i32) (call $back (local.get 0))))
    (core instance $i (instantiate $m (with "h" (instance
      (export "back" (func $back)) (export "new" (func $new))))))
    (export $r "r" (type $r'))
    (func (export "make") (result (own $r)) (canon lift (core func $i "make")))
    (func (export "step") (param "index" u32) (canon lift (core func $i "step"))))
  (instance $inner (instantiate $inner (with "back" (func $back))))
  (alias export $inner "r" (type $r))
  (alias export $inner "make" (func $make))
  (alias export $inner "step" (func $step))
  (core func $make (canon lower (func $make)))
  (core func $step (canon lower (func $step)))
  (core func $drop (canon resource.drop $r))
  (core module $m
    (import "h" "make" (func $make (result i32)))
    (import "h" "step" (func $step (param i32)))
    (import "h" "drop" (func $drop (param i32)))
    (import "b" "drops" (table 1 funcref))
    (elem (table 0) (i32.const 0) func $drop)
    (func (export "drop") (call $drop (call $make)))
    (func (export "run") (call $step (call $make))))
  (core instance $i (instantiate $m
    (with "h" (instance (export "make" (func $make)) (export "step" (func $step)) (export "drop" (func $drop))))
    (with "b" (instance $backs))))
  (func (export "drop") (canon lift (core func $i "drop")))
  (func (export "run") (canon lift (core func $i "run"))))`;

test("dropping a resource traps if its destructor is in a component that waits for this call", async () => {
  expect((await instantiate(DESTRUCTOR))("drop")).toBeUndefined();
  const call = await instantiate(DESTRUCTOR);
  expect(() => call("run")).toThrow(CANNOT_ENTER);
});

/** A component that does something in its allocator or after its result was read. */
function leaving(where: "realloc" | "post-return" | "run", act: string): string {
  const acts = (name: string): string => (name === where ? act : "");
  return `(component
    (import "a:b/host@1.0.0" (instance $host (export "act" (func))))
    (core func $act (canon lower (func $host "act")))
    (type $r (resource (rep i32)))
    (core func $new (canon resource.new $r))
    (core func $rep (canon resource.rep $r))
    (core func $drop (canon resource.drop $r))
    (core module $m
      (import "h" "act" (func $act))
      (import "h" "new" (func $new (param i32) (result i32)))
      (import "h" "rep" (func $rep (param i32) (result i32)))
      (import "h" "drop" (func $drop (param i32)))
      (memory (export "memory") 1)
      (global $handle (mut i32) (i32.const 0))
      (func $start (global.set $handle (call $new (i32.const 7))))
      (start $start)
      (func (export "realloc") (param i32 i32 i32 i32) (result i32) ${acts("realloc")} i32.const 8)
      (func (export "post-return") (param i32) ${acts("post-return")})
      (func (export "run") (param i32 i32) (result i32) ${acts("run")} i32.const 5))
    (core instance $i (instantiate $m (with "h" (instance
      (export "act" (func $act)) (export "new" (func $new)) (export "rep" (func $rep))
      (export "drop" (func $drop))))))
    (alias core export $i "memory" (core memory $memory))
    (func (export "run") (param "text" string) (result u32)
      (canon lift (core func $i "run") (memory $memory) (realloc (func $i "realloc"))
        (post-return (func $i "post-return")))))`;
}

describe("what a component may do in realloc and post-return", () => {
  const host = { act: () => {} };
  const acts: [string, string][] = [
    ["calling an import", "(call $act)"],
    ["creating a handle", "(drop (call $new (i32.const 1)))"],
    ["dropping a handle", "(call $drop (global.get $handle))"],
  ];

  test.each(acts)("%s traps there, and nowhere else", async (_what, act) => {
    expect((await instantiate(leaving("run", act), host))("run", "a")).toBe(5);
    for (const where of ["realloc", "post-return"] as const) {
      const call = await instantiate(leaving(where, act), host);
      expect(() => call("run", "a")).toThrow(CANNOT_LEAVE);
    }
  });

  test("reading what a handle represents is allowed", async () => {
    for (const where of ["run", "realloc", "post-return"] as const) {
      const call = await instantiate(leaving(where, "(drop (call $rep (global.get $handle)))"), host);
      expect(call("run", "a")).toBe(5);
      expect(call("run", "a")).toBe(5);
    }
  });
});
