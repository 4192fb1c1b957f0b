import { setTimeout as sleep } from "node:timers/promises";
import type { Tool } from "../../../src/engine/tool.ts";
import type { JsonObject } from "../../../src/json/value.ts";
import type { HostFunction } from "../../../src/tool/implementations/host-implementation.ts";
import { writeEffect } from "./effects.ts";

/** The longest time that a tool takes before its effect, and again after it, in ms: it is killed at any point. */
const LONGEST_MS = 25;

/**
 * The tools of the servers, whose effects are lines in a file. Calls can wait longer after their effect: `waitMs`.
 *
 * @param steps A URL that is asked before and after each effect.
 */
export function clusterTools(file: string, steps?: string): readonly Tool[] {
  const pass = async (step: string): Promise<void> => {
    if (steps !== undefined) await fetch(`${steps}/${step}`);
  };
  const run: HostFunction<JsonObject> = async ({ tool, name, waitMs = 0 }, { idempotencyKey }) => {
    await sleep(Math.random() * LONGEST_MS);
    await pass("before-effect");
    const key = idempotencyKey === undefined ? {} : { key: idempotencyKey };
    writeEffect(file, { tool: String(tool), name: String(name), pid: process.pid, ...key });
    await pass("after-effect");
    await sleep(Number(waitMs) + Math.random() * LONGEST_MS);
    return `done ${String(name)}`;
  };
  const tool = (name: string, more: Partial<Tool>): Tool => ({
    ...{ name, description: "Writes a line.", inputSchema: { type: "object" } },
    ...more,
    host: ((input, context) => run({ ...input, tool: name }, context)) as HostFunction<JsonObject>,
  });
  return [
    tool("note", { sideEffects: "write", confirm: "auto" }),
    tool("put", { sideEffects: "write", confirm: "auto", idempotent: true }),
    tool("read", { sideEffects: "read" }),
    tool("pure", { sideEffects: "none" }),
    tool("asks", { sideEffects: "write", alwaysConfirm: true }),
  ];
}
