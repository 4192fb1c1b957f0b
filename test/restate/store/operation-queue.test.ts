import { describe, expect, test } from "vitest";
// Inside: decides which operations are refused or too long, and counts what ran together.
import type { Operation } from "../../../src/restate/objects/handlers.ts";
import { OperationQueue } from "../../../src/restate/store/store-client.ts";

/** A queue whose operations return their inputs, and the handlers that ran together. */
function openQueue(most = Number.POSITIVE_INFINITY) {
  const runs: (readonly string[])[] = [];
  let idle = 0;
  const queue = new OperationQueue({
    run: async ({ handler, input }) => {
      runs.push([handler]);
      if (handler === "fail") throw new Error("failed");
      JSON.stringify(input);
      return input;
    },
    runSome: async (operations) => {
      const done = operations.slice(0, most);
      runs.push(done.map(({ handler }) => handler));
      if (done.some(({ handler }) => handler === "fail")) throw new Error("failed");
      if (done.some(({ handler }) => handler === "long")) throw new RangeError("too long");
      return done.map(({ handler, input }) =>
        handler === "refuse" ? { refused: "no", status: 409 } : { result: input },
      );
    },
    canJoin: ({ handler }) => handler !== "alone",
    refuse: (message, status) => new Error(`${message} (${status})`),
    isTooLong: (error) => error instanceof RangeError,
    onIdle: () => {
      idle++;
    },
  });
  const add = (...operations: readonly Operation[]) =>
    Promise.allSettled(operations.map((operation) => queue.add(operation)));
  return { runs, add, queue, idle: () => idle };
}

const operation = (handler: string, input: unknown = handler): Operation => ({ handler, input });

describe("A queue of operations", () => {
  test("runs together what comes while an operation runs, in order", async () => {
    const { runs, add, queue, idle } = openQueue();
    const results = await add(operation("a"), operation("b"), operation("c"));
    expect(results.map((result) => result.status === "fulfilled" && result.value)).toEqual(["a", "b", "c"]);
    expect(runs).toEqual([["a"], ["b", "c"]]);
    await expect.poll(idle).toBe(1);
    await queue.add(operation("d"));
    await expect.poll(idle).toBe(2);
  });

  test("rejects only the operation that was refused", async () => {
    const { add } = openQueue();
    const results = await add(operation("a"), operation("refuse"), operation("b"));
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(results[1]).toMatchObject({ reason: { message: "no (409)" } });
  });

  test("runs operations one by one if they are too long for one message together", async () => {
    const { runs, add } = openQueue();
    const results = await add(operation("a"), operation("b"), operation("long"), operation("c"));
    expect(results.map(({ status }) => status)).toEqual(Array(4).fill("fulfilled"));
    expect(runs).toEqual([["a"], ["b", "long", "c"], ["b"], ["long"], ["c"]]);
  });

  test("rejects only the operation whose input is no JSON, and goes on", async () => {
    const { add, queue } = openQueue();
    const circular: unknown[] = [];
    circular.push(circular);
    const results = await add(operation("a"), operation("b"), operation("c", circular), operation("d"));
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
    expect(await queue.add(operation("e"))).toBe("e");
  });

  test("rejects all that ran together if they failed, and goes on", async () => {
    const { add, queue } = openQueue();
    const results = await add(operation("a"), operation("b"), operation("fail"));
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
    expect(await queue.add(operation("c"))).toBe("c");
  });

  test("runs what was not run with the others next", async () => {
    const { runs, add } = openQueue(2);
    await add(...["a", "b", "c", "d", "e"].map((name) => operation(name)));
    expect(runs).toEqual([["a"], ["b", "c"], ["d", "e"]]);
  });

  test("runs an operation alone if it cannot join others", async () => {
    const { runs, add } = openQueue();
    await add(...["a", "b", "alone", "c", "d"].map((name) => operation(name)));
    expect(runs).toEqual([["a"], ["b"], ["alone"], ["c", "d"]]);
  });

  test("runs together no more than fits into a message", async () => {
    const { runs, add } = openQueue();
    const long = "x".repeat(5_000_000);
    await add(operation("a"), operation("b", long), operation("c", long), operation("d", "short"));
    expect(runs).toEqual([["a"], ["b"], ["c", "d"]]);
  });
});
