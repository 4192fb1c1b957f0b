import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { ToolExecution } from "sandgate";
import { anthropicMessagesProtocol } from "sandgate/protocols";
import type { Session } from "sandgate/sessions";

/** What the user wants. */
const TASK = "An order of exactly 50 is charged for shipping. Please find out why, and fix it.";

/**
 * Runs the loop until the model calls no tool. The model is a recording of messages in the format of Anthropic, one in each
 * line; an agent with a model sends it `messages` and `tools` instead: see docs/providers.md.
 *
 * @param print Gets the transcript, line by line.
 * @returns how all calls ended, in order.
 */
export async function runAgent(session: Session, print: (line: string) => void): Promise<ToolExecution[]> {
  const protocol = anthropicMessagesProtocol(session.registry);
  const { tools } = protocol.toTools();
  print(`The model is offered ${tools.length} tools.`);
  print(`user: ${TASK}`);
  const messages: object[] = [{ role: "user", content: TASK }];
  const ended: ToolExecution[] = [];
  const turn = session.turn({ userText: TASK });
  for (const response of await recording()) {
    const { text, calls } = protocol.read(response);
    if (text !== "") print(`assistant: ${text}`);
    if (calls.length === 0) break;
    const executions = await turn.dispatchAll(calls);
    messages.push(...protocol.toMessages(calls, executions, { text }));
    for (const execution of executions) {
      if (execution === null) continue;
      ended.push(execution);
      printCall(execution, print);
    }
  }
  return ended;
}

async function recording(): Promise<readonly string[]> {
  return (await readFile(join(import.meta.dirname, "recording.jsonl"), "utf8")).trim().split("\n");
}

/** Prints a call, and what the model reads of it. */
function printCall(execution: ToolExecution, print: (line: string) => void): void {
  const { toolName, arguments: args, success, output, error } = execution;
  print(`  ${toolName} ${JSON.stringify(args)}`);
  const read = success ? output : `${error?.code}: ${error?.message}`;
  const lines = (typeof read === "string" ? read : JSON.stringify(read)).trimEnd().split("\n");
  for (const line of lines) print(`    ${line}`);
}
