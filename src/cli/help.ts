import { readFile } from "node:fs/promises";
import { PACKAGE_FOLDER } from "./package-folder.ts";

/** What `sandgate --help` prints. */
export const HELP_TEXT = `Usage:
  sandgate dispatch [FILE|-] --config sandgate.yaml [--format FORMAT] [--output OUTPUT]
  sandgate check --config sandgate.yaml
  sandgate serve --config sandgate.yaml [--listen HOST:PORT|unix:PATH]
  sandgate tool run FILE [--input JSON] [--policy FILE] [--export NAME] [--tool NAME]
  sandgate tool check FILE... [--export NAME]
  sandgate tool inspect FILE.wasm
  sandgate tool new DIR --wasm [--language javascript|c]
  sandgate --help | --version

dispatch reads an assistant message with tool calls from FILE (default: the standard
input), whole or as a recorded stream, dispatches each call, and prints what became of it.
  -c, --config   the tools, the policy and the sandboxes
  --format       the format of the message: auto (default) finds out which it is of
                 native, openai, openai-responses, anthropic, ai-sdk, google, cohere,
                 bedrock
  --output       table (default), json, or messages: those that go back to the provider

check loads everything that the config names, and reports every problem.

serve dispatches the calls of others over HTTP, until SIGTERM: see docs/remote-protocol.md.
  -l, --listen   where; default: the config's server.listen, or 127.0.0.1:7420

tool run calls a tool and prints result, log and receipt: one in JavaScript or TypeScript in
QuickJS, one of a WebAssembly component in the Wasm sandbox.
  -i, --input    the tool's input; default: {}
  -p, --policy   the policy file that grants the call; default: the sandbox's own limits
  -e, --export   the exported function; default: default, and of a component its only tool
  -t, --tool     which of a component's tools; default: the only one
tool check loads tools without calling them, and reports what is wrong with them.
tool inspect prints what a component exports, with JSON schemas, and what grant each of its
imports needs; nothing of it runs.
tool new writes a project that builds a component, and overwrites nothing.
  -l, --language javascript (default) or c

Exit codes: 0 when all calls were dispatched, failed tools included; 1 when the tool of a
tool run failed; 2 when the command line, the config, the message or a tool's file is bad;
130 when interrupted.`;

/** Reads the version of this package. */
export async function readVersion(): Promise<string> {
  const text = await readFile(new URL("package.json", PACKAGE_FOLDER), "utf8");
  const { version } = JSON.parse(text) as { version: string };
  return version;
}
