import { existsSync, readFileSync } from "node:fs";

/** What a tool has done outside. */
export interface Effect {
  readonly tool: string;
  /** Names the call among all of a run. */
  readonly name: string;
  /** The idempotency key, for tools that have one. */
  readonly key?: string;
  /** The process that did it. */
  readonly pid: number;
}

/** Reads what all processes have done. */
export function readEffects(file: string): readonly Effect[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line): Effect => JSON.parse(line));
}
