import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { LiftBudget, LiftBudgetError, MAX_ITEMS } from "../../../../src/sandboxes/wasm/abi/lift-budget.ts";
// Inside: sees what is charged after each step; a component shows only that it was ended.
import { BodyBudget } from "../../../../src/sandboxes/wasm/host/wasi-http/body-budget.ts";
import { Fields } from "../../../../src/sandboxes/wasm/host/wasi-http/fields.ts";
import { OutgoingRequest } from "../../../../src/sandboxes/wasm/host/wasi-http/outgoing-request.ts";
import { instantiate } from "../../../fixtures/wasm/run-component.ts";

const KIB = 1_024;
const TOO_LARGE = expect.objectContaining({ name: "LiftBudgetError", limit: "memoryBytes" });

const budgetOf = (memoryBytes: number): LiftBudget => new LiftBudget({ memoryBytes, textBytes: 2 ** 20 });

/** What a function throws. */
function thrownBy(act: () => unknown): unknown {
  try {
    act();
  } catch (thrown) {
    return thrown;
  }
  return undefined;
}

/** A component that passes a list of `length` items to the host `times` times, or returns it. */
const PASSING = `(component
  (import "a:b/host@1.0.0" (instance $host
    (export "take" (func (param "list" (list (tuple u8 u8)))))))
  (core module $shim (memory (export "memory") 16))
  (core instance $shim (instantiate $shim))
  (alias core export $shim "memory" (core memory $memory))
  (core func $take (canon lower (func $host "take") (memory $memory)))
  (core module $m
    (import "h" "memory" (memory 1))
    (import "h" "take" (func $take (param i32 i32)))
    (func (export "pass") (param $length i32) (param $times i32)
      (loop $next
        (call $take (i32.const 0) (local.get $length))
        (br_if $next (local.tee $times (i32.sub (local.get $times) (i32.const 1))))))
    (func (export "give") (param i32) (result i32)
      (i32.store (i32.const 4) (local.get 0)) (i32.const 0)))
  (core instance $i (instantiate $m (with "h" (instance
    (export "memory" (memory $memory)) (export "take" (func $take))))))
  (func (export "pass") (param "length" u32) (param "times" u32) (canon lift (core func $i "pass")))
  (func (export "give") (param "length" u32) (result (list (tuple u8 u8)))
    (canon lift (core func $i "give") (memory $memory))))`;

describe("values that a component passes to the host", () => {
  test("are charged while the host uses them, and then no more", async () => {
    const host = { take: () => {} };
    const call = await instantiate(PASSING, host, budgetOf(64 * KIB));
    expect(call("pass", 300, 1_000)).toBeUndefined();
    expect(call("give", 300)).toHaveLength(300);
    expect(thrownBy(() => call("pass", 3_000, 1))).toEqual(TOO_LARGE);
  });

  test("are refused in a list that could end the process, whatever the memory limit", async () => {
    const source = `(component
      (core module $m
        (memory (export "memory") 32)
        (func (export "give") (param i32) (result i32)
          (i32.store (i32.const 4) (local.get 0)) (i32.const 0)))
      (core instance $i (instantiate $m))
      (func (export "give") (param "length" u32) (result (list bool))
        (canon lift (core func $i "give") (memory $i "memory"))))`;
    const call = await instantiate(source, {}, new LiftBudget({ memoryBytes: 2 ** 40, textBytes: 2 ** 40 }));
    expect(call("give", MAX_ITEMS)).toHaveLength(MAX_ITEMS);
    expect(thrownBy(() => call("give", MAX_ITEMS + 1))).toEqual(TOO_LARGE);
  });

  test("are charged when the component returns them", async () => {
    const call = await instantiate(PASSING, {}, budgetOf(64 * KIB));
    expect(thrownBy(() => call("give", 3_000))).toEqual(TOO_LARGE);
  });

  test("are charged before the host allocates anything for them", async () => {
    const call = await instantiate(PASSING, {}, budgetOf(2 ** 20));
    const before = process.memoryUsage();
    expect(thrownBy(() => call("give", 500_000))).toEqual(TOO_LARGE);
    expect(process.memoryUsage().heapUsed - before.heapUsed).toBeLessThan(2 ** 20);
  });
});

describe("a lift budget", () => {
  test("any sequence of nested crossings leaves no charge behind, and no more is charged than allowed", () => {
    const steps = fc.array(
      fc.record({ kind: fc.constantFrom("begin", "end", "charge", "hold", "release"), bytes: fc.nat(50) }),
    );
    fc.assert(
      fc.property(steps, (all) => {
        const budget = budgetOf(100);
        const open: { begun: number; used: number }[] = [];
        let used = 0;
        let held = 0;
        for (const { kind, bytes } of all) {
          if (kind === "begin") open.push({ begun: budget.begin(), used });
          else if (kind === "end") {
            const last = open.pop();
            if (last === undefined) continue;
            budget.end(last.begun);
            ({ used } = last);
          } else if (kind === "release") {
            budget.release(Math.min(bytes, held));
            held -= Math.min(bytes, held);
          } else {
            const act = (): void => (kind === "hold" ? budget.reserve(bytes) : budget.charge(bytes));
            if (used + held + bytes > 100) {
              expect(act).toThrow(LiftBudgetError);
              return;
            }
            act();
            if (kind === "hold") held += bytes;
            else used += bytes;
          }
        }
      }),
    );
  });

  test("limits the text of one crossing, not of all together", () => {
    const budget = new LiftBudget({ memoryBytes: 1_000, textBytes: 10 });
    for (let crossings = 0; crossings < 5; crossings++) {
      const begun = budget.begin();
      budget.charge(1, 10);
      budget.end(begun);
    }
    budget.begin();
    expect(thrownBy(() => budget.charge(1, 11))).toMatchObject({ limit: "outputBytes" });
  });
});

describe("what a component's HTTP resources hold", () => {
  const value = new Uint8Array(KIB).fill(97);

  test("headers are charged until they are dropped or replaced", () => {
    const memory = budgetOf(8 * KIB);
    for (let made = 0; made < 100; made++) {
      const fields = new Fields(memory);
      for (let times = 0; times < 5; times++) fields.set("name", [value]);
      fields.append("name", value);
      fields.clone()[Symbol.dispose]();
      fields[Symbol.dispose]();
    }
    const fields = Fields.fromList(memory, [["a", value]]);
    expect(
      thrownBy(() => {
        for (;;) fields.append("a", value);
      }),
    ).toEqual(TOO_LARGE);
  });

  test("a request is charged for its headers and its path until it is dropped", () => {
    const memory = budgetOf(8 * KIB);
    const bodies = new BodyBudget(100 * KIB);
    const make = (): OutgoingRequest => {
      const request = new OutgoingRequest(bodies, memory, Fields.fromList(memory, [["a", value]]));
      request.setPathWithQuery(`/${"x".repeat(KIB)}`);
      request.setPathWithQuery(`/${"y".repeat(KIB)}`);
      // Dropping its view of the headers does not return what the request still holds.
      request.headers()[Symbol.dispose]();
      return request;
    };
    for (let made = 0; made < 100; made++) make()[Symbol.dispose]();
    expect(
      thrownBy(() => {
        for (;;) make();
      }),
    ).toEqual(TOO_LARGE);
  });

  test("a body is charged until its call has ended", () => {
    const memory = budgetOf(8 * KIB);
    const bodies = new BodyBudget(100 * KIB);
    const write = (): void => {
      const request = new OutgoingRequest(bodies, memory, new Fields(memory));
      const stream = request.body().write();
      for (let written = 0; written < 4; written++) stream.write(value);
    };
    for (let calls = 0; calls < 10; calls++) {
      write();
      bodies.refill();
    }
    write();
    expect(thrownBy(write)).toEqual(TOO_LARGE);
  });
});
