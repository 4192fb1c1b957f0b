/**
 * The tools of the servers: each adds a line to the file of effects. It has no imports of the sources, since a server loads it
 * from its project.
 */
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "../../../src/json/value.ts";
import type { HostFunction } from "../../../src/tool/implementations/implementations.ts";
import type { Effect } from "./effects.ts";

/** The longest time that a tool takes before its effect, and again after it, in ms: it is killed at any point. */
const LONGEST_MS = 25;

const {
  SANDGATE_TEST_EFFECTS: file = "",
  /** A URL that is asked before and after each effect. */
  SANDGATE_TEST_STEPS: steps,
} = process.env;

async function pass(step: string): Promise<void> {
  if (steps !== undefined) await fetch(`${steps}/${step}`);
}

type Tool = HostFunction<JsonObject>;

/** A tool whose calls can wait longer after their effect: `waitMs`. */
function toolOf(tool: string): Tool {
  return async ({ name, waitMs = 0 }, { idempotencyKey }) => {
    await sleep(Math.random() * LONGEST_MS);
    await pass("before-effect");
    const key = idempotencyKey === undefined ? {} : { key: idempotencyKey };
    const effect: Effect = { tool, name: String(name), pid: process.pid, ...key };
    // The kernel has it as soon as this returns, whatever becomes of the process.
    appendFileSync(file, `${JSON.stringify(effect)}\n`);
    await pass("after-effect");
    await sleep(Number(waitMs) + Math.random() * LONGEST_MS);
    return `done ${String(name)}`;
  };
}

export const note: Tool = toolOf("note");
export const put: Tool = toolOf("put");
export const read: Tool = toolOf("read");
export const pure: Tool = toolOf("pure");
export const asks: Tool = toolOf("asks");
