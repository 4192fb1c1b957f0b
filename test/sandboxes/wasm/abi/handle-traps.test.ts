import { describe, expect, test } from "vitest";
import { instantiate } from "../../../fixtures/wasm/run-component.ts";

/** A resource of the host. */
class Thing {
  isDropped = false;
  [Symbol.dispose](): void {
    this.isDropped = true;
  }
}

function host(): { made: Thing[]; make: () => Thing; use: () => void; swap: () => void; take: () => void } {
  const made: Thing[] = [];
  const make = (): Thing => {
    const thing = new Thing();
    made.push(thing);
    return thing;
  };
  return { made, make, use: () => {}, swap: () => {}, take: () => {} };
}

/** A component whose `run` has handles of the host's resource. The first has the index 1. */
function ownerOf(body: string): string {
  return `(component
    (import "a:b/host@1.0.0" (instance $host
      (export "thing" (type $thing (sub resource)))
      (export "make" (func (result (own $thing))))
      (export "use" (func (param "a" (borrow $thing)) (param "b" (borrow $thing))))
      (export "swap" (func (param "a" (borrow $thing)) (param "b" (own $thing))))
      (export "take" (func (param "a" (own $thing)) (param "b" (borrow $thing))))))
    (alias export $host "thing" (type $thing))
    (core func $make (canon lower (func $host "make")))
    (core func $use (canon lower (func $host "use")))
    (core func $swap (canon lower (func $host "swap")))
    (core func $take (canon lower (func $host "take")))
    (core func $drop (canon resource.drop $thing))
    (core module $m
      (import "h" "make" (func $make (result i32)))
      (import "h" "use" (func $use (param i32 i32)))
      (import "h" "swap" (func $swap (param i32 i32)))
      (import "h" "take" (func $take (param i32 i32)))
      (import "h" "drop" (func $drop (param i32)))
      (func (export "run") ${body}))
    (core instance $i (instantiate $m (with "h" (instance
      (export "make" (func $make)) (export "use" (func $use)) (export "swap" (func $swap))
      (export "take" (func $take)) (export "drop" (func $drop))))))
    (func (export "run") (canon lift (core func $i "run"))))`;
}

const ONE = "(drop (call $make))";
const TWO = `${ONE} ${ONE}`;

describe("a handle of the host's resource", () => {
  test("can be lent several times, given away and dropped once its loans have ended", async () => {
    const things = host();
    const run = await instantiate(
      ownerOf(`${TWO}
        (call $use (i32.const 1) (i32.const 1)) (call $use (i32.const 1) (i32.const 2))
        (call $swap (i32.const 2) (i32.const 1)) (call $drop (i32.const 2))`),
      things,
    );
    expect(run("run")).toBeUndefined();
    expect(things.made.map(({ isDropped }) => isDropped)).toEqual([false, true]);
  });

  test.each([
    [
      "it is given away while it is lent to the same call",
      `${ONE} (call $swap (i32.const 1) (i32.const 1))`,
      "it gave away a handle while it was lent to a call",
    ],
    [
      "it was given away",
      `${ONE} (call $take (i32.const 1) (i32.const 1))`,
      "it used a handle that does not exist",
    ],
    [
      "it was dropped",
      `${ONE} (call $drop (i32.const 1)) (call $drop (i32.const 1))`,
      "it used a handle that does not exist",
    ],
    ["it never existed", "(call $drop (i32.const 0))", "it used a handle that does not exist"],
    [
      "it never existed, with an index that is large",
      "(call $use (i32.const -1) (i32.const -1))",
      "it used a handle that does not exist",
    ],
  ])("traps if %s", async (_when, body, message) => {
    const run = await instantiate(ownerOf(body), host());
    expect(() => run("run")).toThrow(message);
  });
});

/**
 * A component that contains another one. `run` of the outer one makes a handle with the index 1, and lends it to `use`
 * of the inner one, which may call `back`, a function of the outer one.
 */
function nested(use: string, back = ""): string {
  return `(component
    (import "a:b/host@1.0.0" (instance $host
      (export "thing" (type $thing (sub resource)))
      (export "make" (func (result (own $thing))))
      (export "take" (func (param "a" (own $thing))))))
    (alias export $host "thing" (type $thing))
    (core func $make (canon lower (func $host "make")))
    (core func $drop (canon resource.drop $thing))
    (core module $backs
      (import "h" "drop" (func $drop (param i32)))
      (func (export "back") ${back}))
    (core instance $backs (instantiate $backs (with "h" (instance (export "drop" (func $drop))))))
    (func $back (canon lift (core func $backs "back")))
    (component $inner
      (import "thing" (type $thing (sub resource)))
      (import "take" (func $take (param "a" (own $thing))))
      (import "back" (func $back))
      (core func $take (canon lower (func $take)))
      (core func $back (canon lower (func $back)))
      (core func $drop (canon resource.drop $thing))
      (core module $m
        (import "h" "take" (func $take (param i32)))
        (import "h" "back" (func $back))
        (import "h" "drop" (func $drop (param i32)))
        (func (export "use") (param $thing i32) ${use}))
      (core instance $i (instantiate $m (with "h" (instance
        (export "take" (func $take)) (export "back" (func $back)) (export "drop" (func $drop))))))
      (func (export "use") (param "thing" (borrow $thing)) (canon lift (core func $i "use"))))
    (instance $inner (instantiate $inner
      (with "thing" (type $thing)) (with "take" (func $host "take")) (with "back" (func $back))))
    (alias export $inner "use" (func $use))
    (core func $use (canon lower (func $use)))
    (core module $m
      (import "h" "make" (func $make (result i32)))
      (import "h" "use" (func $use (param i32)))
      (import "h" "drop" (func $drop (param i32)))
      (func (export "run") (call $use (call $make)) (call $drop (i32.const 1))))
    (core instance $i (instantiate $m (with "h" (instance
      (export "make" (func $make)) (export "use" (func $use)) (export "drop" (func $drop))))))
    (func (export "run") (canon lift (core func $i "run"))))`;
}

const DROP = "(call $drop (local.get $thing))";

describe("a handle that a component lends to another component", () => {
  test("is usable again, and can be dropped, when the other one has returned", async () => {
    const things = host();
    const run = await instantiate(nested(`(call $back) ${DROP}`), things);
    expect(run("run")).toBeUndefined();
    expect(things.made).toMatchObject([{ isDropped: true }]);
  });

  test.each([
    [
      "the owner drops it while it is lent",
      nested(`(call $back) ${DROP}`, "(call $drop (i32.const 1))"),
      "it dropped a handle while it was lent to a call",
    ],
    ["the borrower keeps it", nested(""), "it returned without dropping the handles that it borrowed"],
    [
      "the borrower gives it away",
      nested(`(call $take (local.get $thing))`),
      "it gave away a handle that it borrowed",
    ],
    [
      "the borrower uses it after it dropped it",
      nested(`${DROP} ${DROP}`),
      "it used a handle that does not exist",
    ],
  ])("traps if %s", async (_when, wat, message) => {
    const run = await instantiate(wat, host());
    expect(() => run("run")).toThrow(message);
  });
});
