import { readFile } from "node:fs/promises";

/** What `sandgate --help` prints. */
export const HELP_TEXT = `Usage:
  sandgate dispatch [FILE|-] --config sandgate.yaml [--format FORMAT] [--output OUTPUT]
  sandgate check --config sandgate.yaml
  sandgate tool run FILE [--input JSON] [--policy FILE] [--export NAME]
  sandgate tool check FILE... [--export NAME]
  sandgate --help | --version

dispatch reads an assistant message with tool calls from FILE (default: the standard
input), whole or as a recorded stream, dispatches each call, and prints what became of it.
  -c, --config   the tools, the policy and the sandboxes
  --format       the format of the message: auto (default) finds out which it is of
                 native, openai, openai-responses, anthropic, ai-sdk, google, cohere,
                 bedrock
  --output       table (default), json, or messages: those that go back to the provider

check loads everything that the config names, and reports every problem.

tool run calls a JavaScript or TypeScript tool in QuickJS, and prints result, log and receipt.
  -i, --input    the tool's input; default: {}
  -p, --policy   the policy file that grants the call; default: QuickJS's own limits
  -e, --export   the name of the exported function; default: default
tool check loads tools without calling them, and reports what is wrong with them.

Exit codes: 0 when all calls were dispatched, failed tools included; 1 when the tool of a
tool run failed; 2 when the command
line, the config or the message is bad; 130 when interrupted.`;

/** The version of this package. */
export async function readVersion(): Promise<string> {
  const text = await readFile(new URL("../../package.json", import.meta.url), "utf8");
  const { version } = JSON.parse(text) as { version: string };
  return version;
}
