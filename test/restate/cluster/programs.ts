import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import type { JsonObject } from "../../../src/json/value.ts";
import type { ToldAnswer } from "./approvers.ts";
import type { Effect } from "./effects.ts";

/** The tools that a program calls, each once. A person is asked about the last one, and the program waits for the answer. */
export const INNER_TOOLS = ["read", "note", "asks"] as const;

/** The arguments of `run_program` for the call of a name. */
export function programOf(name: string): JsonObject {
  const code = `
    const call = (tool) => tools[tool]({ name: ${JSON.stringify(name)} + "/" + tool }).catch(({ code }) => code);
    const read = await call("read");
    const asks = call("asks");
    return { read, note: await call("note"), asks: await asks };`;
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
  const [read = 0, note = 0, asks = 0] = INNER_TOOLS.map((tool) => done(innerName(name, tool)).length);
  // A call that a lost process has begun is made again only if its tool reads.
  if (note > 1 || asks > 1) return `ran a line twice: ${INNER_TOOLS} had ${read}, ${note}, ${asks} effects`;
  if (asks > 0 && winner?.won !== "allow") return "had a tool run that was not allowed";
  if (!success) {
    const isTold = error?.effect === "unknown" || read + note + asks === 0;
    return isTold ? undefined : `failed with ${error?.code} and had effects`;
  }
  const told = output as Readonly<Record<string, unknown>>;
  const faults = [
    faultOfLine(told["read"], innerName(name, "read"), read),
    faultOfLine(told["note"], innerName(name, "note"), note),
    faultOfLine(told["asks"], innerName(name, "asks"), asks),
  ];
  return faults.find((fault) => fault !== undefined);
}

/** What a program was told of a call is what the tool has done, unless that is not known. */
function faultOfLine(told: unknown, name: string, effects: number): string | undefined {
  if (told === "execution_error") return undefined;
  const isDone = told === `done ${name}`;
  return isDone === effects > 0 ? undefined : `was told '${told}' of ${name}, which had ${effects} effects`;
}
