import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import type { JsonObject } from "../../../src/json/value.ts";
import type { ToldAnswer } from "./approvers.ts";
import type { Effect } from "./effects.ts";

/** The tools that a program calls, each once. A person is asked about the last one, and the program waits for the answer. */
export const INNER_TOOLS = ["read", "put", "asks"] as const;

/** The arguments of `run_program` for the call of a name. */
export function programOf(name: string): JsonObject {
  const code = `
    const call = (tool) => tools[tool]({ name: ${JSON.stringify(name)} + "/" + tool });
    await call("read");
    const asked = call("asks").catch(({ code }) => code);
    return { put: await call("put"), asks: await asked };`;
  return { code };
}

/** Returns the name of what a program has a tool do. */
export function innerName(name: string, tool: string): string {
  return `${name}/${tool}`;
}

/**
 * Returns how what a program has done differs from its result; `undefined` if it does not.
 *
 * @param done The effects of the call of a name.
 * @param winner The answer that was first.
 */
export function faultOfProgram(
  name: string,
  { success, error, output }: ToolExecution,
  done: (name: string) => readonly Effect[],
  winner: ToldAnswer | undefined,
): string | undefined {
  const counts = INNER_TOOLS.map((tool) => done(innerName(name, tool)).length);
  if (counts.some((count) => count > 1)) return `ran a line twice: ${INNER_TOOLS} had ${counts} effects`;
  const [read = 0, put = 0, asks = 0] = counts;
  const isAllowed = winner?.won === "allow";
  if (asks > 0 && !isAllowed) return "had a tool run that was not allowed";
  if (!success) {
    if (error?.effect === "unknown") return undefined;
    return read + put + asks > 0 ? `failed with ${error?.code} and had effects` : undefined;
  }
  if (read + put < 2) return `succeeded, and ${INNER_TOOLS} had ${counts} effects`;
  const told = (output as { readonly asks?: unknown }).asks;
  const ended = asks > 0 ? `done ${innerName(name, "asks")}` : "user_denied";
  // What the tool has done may be unknown inside the program, too.
  return told === ended || told === "execution_error" ? undefined : `was told ${told}, and not ${ended}`;
}
