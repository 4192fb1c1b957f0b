import { expect, test } from "vitest";
import type { CallTrace, CallTracer } from "../../../src/engine/call/events.ts";
import { contextFor, dispatchTool, hostTool } from "../helpers.ts";

const echo = hostTool((input) => input);

function broken(): never {
  throw new Error("the tracer is broken");
}

test("a call runs although its tracer throws", async () => {
  const tracer: CallTracer = { begin: broken, continue: broken };
  const execution = await dispatchTool(await contextFor([echo], { tracer }), { a: 1 });
  expect(execution.output).toEqual({ a: 1 });
});

test("a call runs although its trace throws when it is told something", async () => {
  const trace: CallTrace = {
    decided: broken,
    run: (work) => work(),
    ended: broken,
    headers: () => undefined,
  };
  const tracer: CallTracer = { begin: () => trace, continue: () => tracer };
  const execution = await dispatchTool(await contextFor([echo], { tracer }), { a: 1 });
  expect(execution.output).toEqual({ a: 1 });
});

test("a trace learns of the decision and of the end, without a listener for events", async () => {
  const told: unknown[] = [];
  const trace: CallTrace = {
    decided: ({ decision }) => void told.push(decision),
    run: (work) => {
      told.push("run");
      return work();
    },
    ended: ({ execution }) => void told.push(execution?.success),
    headers: () => undefined,
  };
  const tracer: CallTracer = { begin: () => trace, continue: () => tracer };
  await dispatchTool(await contextFor([echo], { tracer }));
  expect(told).toEqual(["allow", "run", true]);
});
