import { readFile } from "node:fs/promises";

/** What `sandgate --help` prints. */
export const HELP_TEXT = `Usage:
  sandgate dispatch [FILE|-] --config sandgate.yaml [--format FORMAT] [--output OUTPUT]
  sandgate check --config sandgate.yaml
  sandgate --help | --version

dispatch reads an assistant message with tool calls from FILE (default: the standard
input), dispatches each call, and prints what became of it.
  -c, --config   the tools, the policy and the sandboxes
  --format       the format of the message: native (default), openai, anthropic
  --output       table (default), json, or messages: those that go back to the provider

check loads everything that the config names, and reports every problem.

Exit codes: 0 when all calls were dispatched, failed tools included; 2 when the command
line, the config or the message is bad; 130 when interrupted.`;

/** The version of this package. */
export async function readVersion(): Promise<string> {
  const text = await readFile(new URL("../../package.json", import.meta.url), "utf8");
  const { version } = JSON.parse(text) as { version: string };
  return version;
}
