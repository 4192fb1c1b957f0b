import { readFile } from "node:fs/promises";
import { canonicalText } from "../../src/json/canonical.ts";
import type { JsonObject, JsonValue } from "../../src/json/value.ts";

/** A call of a trace, with what the tool answered. */
export interface RecordedCall {
  readonly name: string;
  readonly arguments: JsonObject;
  readonly output: JsonValue;
}

/** What a user wants, or an attacker, and the calls that do it. */
export interface RecordedTask {
  readonly id: string;
  /** In the words of the user, or of the attacker. */
  readonly goal: string;
  readonly calls: readonly RecordedCall[];
}

/** A tool, as the traces describe it: they say nothing of its side effects. */
export interface RecordedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
}

/** The traces of one suite. */
export interface Suite {
  readonly name: string;
  readonly tools: readonly RecordedTool[];
  readonly tasks: readonly RecordedTask[];
  /** Those that have calls. */
  readonly attacks: readonly RecordedTask[];
}

/** A line of a file of traces. Tasks that could not be recorded have no calls. */
interface Line {
  readonly kind: "tools" | "user" | "injection";
  readonly suite: string;
  readonly id?: string;
  readonly goal?: string;
  readonly tools?: readonly RecordedTool[];
  readonly calls?: readonly (RecordedCall & { readonly error?: unknown })[] | null;
}

/** Reads a file of traces: JSON lines, of which each is the tools of a suite, a task of a user or an attack. */
export async function readTraces(file: string): Promise<readonly Suite[]> {
  const text = await readFile(file, "utf8");
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const all = lines.map((line) => JSON.parse(line) as Line);
  const names = new Set(all.map(({ suite }) => suite));
  return Array.from(names, (name) => {
    const own = all.filter(({ suite }) => suite === name);
    return {
      name,
      tools: own.flatMap(({ tools = [] }) => tools),
      tasks: own.filter(({ kind }) => kind === "user").flatMap(taskOf),
      attacks: own.filter(({ kind }) => kind === "injection").flatMap(taskOf),
    };
  });
}

function taskOf({ id = "", goal = "", calls }: Line): RecordedTask[] {
  return calls == null || calls.length === 0 ? [] : [{ id, goal, calls }];
}

/** A text that is the same for the same call. */
export function callKey(name: string, input: JsonValue): string {
  return `${name} ${canonicalText(input)}`;
}
