import { describe, expect, test } from "vitest";
// Inside: answers of several processes alternate behind one address, as behind a load balancer.
import { AnsweringProcess } from "../../../../src/sandboxes/remote/executor-client/endpoint.ts";

const A = { id: "a".repeat(32), time: 10 };
const B = { id: "b".repeat(32), time: 5 };

describe("the process behind an executor's address", () => {
  test("calls are addressed to the process that answered last, with its latest time", () => {
    const process = new AnsweringProcess();
    expect(process.only(0)).toBeUndefined();
    process.learn(A, 0);
    process.learn({ ...A, time: 30 }, 1);
    // An answer that was overtaken.
    process.learn({ ...A, time: 20 }, 2);
    expect(process.only(3)).toEqual({ ...A, time: 30 });
    // A restart.
    process.learn(B, 4);
    expect(process.only(5)).toEqual(B);
  });

  test("calls are not addressed to one process while several take turns, and are later", () => {
    const process = new AnsweringProcess();
    for (const stamp of [A, B, A]) process.learn(stamp, 0);
    expect(process.only(1)).toBeUndefined();
    expect(process.last).toEqual(A);
    expect(process.only(60_001)).toEqual(A);
  });
});
