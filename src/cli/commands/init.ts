import { readFile } from "node:fs/promises";
import { PACKAGE_FOLDER } from "../../base/package-folder.ts";
import type { ExitCode, Terminal } from "../terminal/terminal.ts";
import { writeNewFiles } from "./new-files.ts";

/** The files of a project, and where they are in the package. */
const FILES = {
  "sandgate.yaml": "examples/init/sandgate.yaml",
  "sandgate.policy-test.yaml": "examples/init/sandgate.policy-test.yaml",
  "tools/count-words.js": "examples/tool-javascript/tool.js",
  "message.json": "examples/init/message.json",
} as const;

/** Creates a config with a tool, a policy and its test, and a message to dispatch. It overwrites nothing. */
export async function init(directory: string, terminal: Terminal): Promise<ExitCode> {
  const files = new Map<string, string>();
  for (const [name, source] of Object.entries(FILES))
    files.set(name, await readFile(new URL(source, PACKAGE_FOLDER), "utf8"));
  const commands = "sandgate policy test && sandgate dispatch message.json --config sandgate.yaml";
  const next = directory === "." ? commands : `cd ${directory} && ${commands}`;
  return writeNewFiles(directory, files, next, terminal);
}
