import { deepStrictEqual } from "node:assert";
import { ToolRegistry } from "sandgate";
import { type Case, NotHereError, type Question } from "../harness/case.ts";
import { inFlight } from "../harness/in-flight.ts";
import { INPUT_SCHEMA, outputOf } from "../setting.ts";
import { refusedText, SIZES, sizedText, sizeName, TEXT_SCHEMA } from "../sizes.ts";
import { openDispatch, readTool, rulePolicy, valuesPolicy } from "./dispatch.ts";
import { FLOOR, openFloor } from "./floor.ts";

const IN_FLIGHT: readonly number[] = [1, 4, 16, 64, 256, 1_024, 4_096];
const TOOLS: readonly number[] = [10, 100, 1_000, 10_000, 100_000];
const RULES: readonly number[] = [1, 10, 100, 1_000, 10_000];

const floor: Case = { name: FLOOR, open: () => openFloor() };

/** Whether the cost of a call grows with the number of calls in flight. */
export const callsInFlight: Question = {
  name: "host-in-flight",
  scale: "calls in flight",
  cases: IN_FLIGHT.flatMap((at) => {
    const bare = { ...inFlight(at, floor), at };
    const ours = inFlight(at, { name: "dispatch", open: () => openDispatch({ policy: rulePolicy() }) });
    return [
      { ...bare, floor: bare.name },
      { ...ours, at, floor: bare.name },
    ];
  }),
};

/** Whether the cost per byte grows with the size of the arguments. */
export const argumentSizes: Question = {
  name: "host-argument-sizes",
  scale: "bytes of arguments",
  cases: SIZES.flatMap((at): Case[] => {
    const text = sizedText(at);
    const name = `${sizeName(at)}: ${FLOOR}`;
    const refused = refusedText(at);
    const ours = { name: `${sizeName(at)}: dispatch${refused}`, floor: name, open: () => openSized(at) };
    return [
      { name, at, floor: name, open: () => openFloor(text, TEXT_SCHEMA) },
      // Refused arguments have no position on the scale.
      refused === "" ? { ...ours, at } : ours,
    ];
  }),
};

/** Whether the cost of a lookup grows with the number of tools. */
export const registrySizes: Question = {
  name: "host-registry",
  scale: "tools in the registry",
  cases: [
    floor,
    ...TOOLS.map(
      (at): Case => ({
        name: `dispatch, ${at} tools`,
        at,
        open: () => {
          const registry = new ToolRegistry().register(readTool());
          // All tools share one schema, because the cost of compilation is measured elsewhere.
          const shared = { type: "object", properties: INPUT_SCHEMA["properties"] ?? {} };
          for (let i = 1; i < at; i++) registry.register(readTool(`tool_${i}`, shared));
          return openDispatch({ registry });
        },
      }),
    ),
  ],
};

/** Whether the cost of a policy grows with the number of rules. */
export const ruleCounts: Question = {
  name: "host-rules",
  scale: "rules in the policy",
  cases: [
    floor,
    ...RULES.map(
      (at): Case => ({
        name: `dispatch, ${at} rules`,
        at,
        open: () => openRules(at),
      }),
    ),
    {
      name: "dispatch, 10000 rules, 5000 of them for values of an argument of any tool",
      open: () => openDispatch({ policy: valuesPolicy(5_000) }),
    },
  ],
};

function openRules(count: number): ReturnType<typeof openDispatch> {
  try {
    return openDispatch({ policy: rulePolicy(count) });
  } catch (error) {
    if (error instanceof TypeError) throw new NotHereError(error.message);
    throw error;
  }
}

async function openSized(size: number): ReturnType<typeof openDispatch> {
  const text = sizedText(size);
  const registry = new ToolRegistry().register(readTool("read", TEXT_SCHEMA));
  const opened = await openDispatch({ registry }, text);
  const expected: unknown = JSON.parse(text);
  return {
    ...opened,
    check: (execution) => {
      const output = outputOf(execution);
      if (refusedText(size) === "") deepStrictEqual(output, expected);
      else deepStrictEqual((output as { error: { code: string } }).error.code, "validation_error");
    },
  };
}
