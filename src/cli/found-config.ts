import { createHash } from "node:crypto";
import { lstat, readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { readConfigFile } from "../config/source.ts";
import { isJsonObject, type JsonValue } from "../json/value.ts";
import { shown } from "../rendering/shown.ts";
import { UsageError } from "./errors.ts";
import { asksForYes, ownCommand, print, type Terminal } from "./terminal.ts";

/** What a command does with a config: reads some of its values, loads what it names, or also makes calls of its tools. */
export type ConfigUse = "reads" | "loads" | "calls";

/** Others than the owner who may write a file. */
const OTHERS_WRITE = 0o022;

/** What a config has run as soon as a command loads it, or while it works, by the key that says so. */
const RUNS: Readonly<Record<string, string>> = {
  module: "modules",
  command: "programs",
  servers: "MCP servers",
  notify: "notifications",
};

/** What has it send requests, once a command makes calls. */
const SENDS: Readonly<Record<string, string>> = { remote: "requests", otlp: "telemetry" };

/** Schemas of arguments, in which such keys are names of arguments. */
const SCHEMAS: readonly string[] = ["inputSchema", "outputSchema"];

/**
 * Returns the path of a config that nobody named. Whoever puts one into a folder in which a command is typed
 * must not make it run anything: the file belongs to this user, who is asked before it has code run or, if
 * the command makes calls, requests sent.
 *
 * @param path Of the config.
 * @param isApproved Whether the question was answered on the command line.
 * @throws {UsageError} if there is no such config, others can write it, or nobody approves it.
 */
export async function findConfig(
  path: string,
  use: ConfigUse,
  isApproved: boolean,
  terminal: Terminal,
): Promise<string> {
  const file = resolve(path);
  await checkOwner(file, path);
  if (use === "reads" || isApproved) return path;
  const { value } = await readConfigFile(path);
  const runs = new Set<string>();
  collect(value, use, runs);
  if (runs.size === 0) return path;
  const digest = createHash("sha256")
    .update(await readFile(path))
    .digest("hex");
  const what = shown`${file} (sha256 ${digest}) was found and not named, and has ${[...runs].join(", ")} of its own`;
  if (terminal.isInteractive === true) {
    await print(terminal.stderr, what);
    if (await asksForYes(shown`Use it? Type yes, or anything else to stop:`, terminal)) return path;
    throw new UsageError(shown`nothing was run: name a config with --config`);
  }
  throw new UsageError(shown`${what}: name it with --config ${path}, or use it with --yes`);
}

/** @throws {UsageError} unless the file is there, and only this user can write it. */
async function checkOwner(file: string, path: string): Promise<void> {
  const refuse = (reason: string): never => {
    throw new UsageError(
      shown`${file} was found and is not used, since ${reason}: name it with --config ${path}`,
    );
  };
  const found = await lstat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT")
      throw new UsageError(
        shown`there is no ${path} here: name a config with --config, or create one with '${ownCommand()} init'`,
      );
    return refuse(`it cannot be read (${error.code ?? "unknown reason"})`);
  });
  if (!found.isFile()) refuse("it is not a file of its own");
  const user = process.getuid?.();
  if (user === undefined) refuse("its owner is not known on this system");
  if (found.uid !== user) refuse("it belongs to another user");
  if ((found.mode & OTHERS_WRITE) !== 0) refuse("others can write it ('chmod go-w' ends that)");
}

/** Collects what a config has run. */
function collect(value: JsonValue, use: ConfigUse, runs: Set<string>): void {
  if (Array.isArray(value)) {
    for (const item of value as readonly JsonValue[]) collect(item, use, runs);
    return;
  }
  if (!isJsonObject(value)) return;
  for (const [key, member = null] of Object.entries(value)) {
    if (SCHEMAS.includes(key)) continue;
    if (Object.hasOwn(RUNS, key)) runs.add(RUNS[key] as string);
    else if (use === "calls" && Object.hasOwn(SENDS, key)) runs.add(SENDS[key] as string);
    collect(member, use, runs);
  }
}
