import { mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { Document } from "yaml";
import type { CapabilityName } from "../../../policy/grant/capabilities.ts";
import { shown } from "../../../rendering/shown.ts";
import type { SandboxMode } from "../../../tool/sandbox-mode.ts";
import { UsageError } from "../../errors.ts";

/** What a policy has to grant to the tools of one file. */
export interface FileNeeds {
  readonly file: string;
  /** The names of its tools. */
  readonly tools: readonly string[];
  readonly sandbox: SandboxMode;
  /** Each capability that the file can use, and what shows it. */
  readonly capabilities: ReadonlyMap<CapabilityName, string>;
}

/** The first line of a policy that this command wrote, without its "#". */
const WRITTEN = " Written by 'sandgate tool check --grant'.";

/** The limits of a new grant. An author lowers them. */
const LIMITS = { wallTime: "5s", memory: "64MiB", output: "1MiB" };

/** The capabilities that are granted as they are; all other ones name what they grant. */
const WHOLE: ReadonlyMap<CapabilityName, unknown> = new Map<CapabilityName, unknown>([
  ["clock", true],
  ["random", true],
  ["engine", "jco"],
]);

/** What the other capabilities name, for example. */
const EXAMPLES: Partial<Record<CapabilityName, string>> = {
  tools: "tools=read_*",
  fs: "fs=DIRECTORY",
  net: "net=https://api.example.com",
  keyValue: "keyValue=STORE",
};

/** The values of `--value`, by capability. */
type GrantValues = ReadonlyMap<CapabilityName, readonly string[]>;

/**
 * Reads the values of `--value`: `CAPABILITY=VALUE`.
 *
 * @throws {UsageError} if one has a different form.
 */
export function readGrantValues(values: readonly string[]): GrantValues {
  const read = new Map<CapabilityName, string[]>();
  for (const value of values) {
    const at = value.indexOf("=");
    const name = value.slice(0, at) as CapabilityName;
    if (at < 1 || at === value.length - 1 || EXAMPLES[name] === undefined) {
      const forms = Object.values(EXAMPLES).join(", ");
      throw new UsageError(shown`--value must be like one of ${forms}, not '${value}'`);
    }
    read.set(name, [...(read.get(name) ?? []), value.slice(at + 1)]);
  }
  return read;
}

/**
 * Writes a policy file that grants tools what they can use, and no more. What only a person can know, such as the origins
 * of `net`, is granted as far as `values` names it; a comment in the file says what is missing.
 *
 * @throws {UsageError} if a value is for a capability that no file can use, or the file cannot be written.
 */
export async function writeGrant(
  path: string,
  files: readonly FileNeeds[],
  values: GrantValues,
): Promise<void> {
  for (const name of values.keys()) {
    if (files.some(({ capabilities }) => capabilities.has(name))) continue;
    throw new UsageError(shown`--value ${name}=… grants nothing: no tool here can use '${name}'`);
  }
  const policy = new Document({ rules: files.map((file) => ruleOf(file, values)) });
  const notes = files.flatMap((file) => missing(file, values));
  policy.commentBefore = [WRITTEN, ...notes].join("\n");
  try {
    if (!(await isOurs(path))) throw new Error("it exists, and 'tool check --grant' did not write it");
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, policy.toString());
  } catch (error) {
    throw new UsageError(shown`--grant ${path} cannot be written: ${(error as Error).message}`);
  }
}

/** Returns whether a file does not exist, or can be replaced because this command wrote it. */
async function isOurs(path: string): Promise<boolean> {
  try {
    return (await readFile(path, "utf8")).startsWith(`#${WRITTEN}`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return true;
    throw error;
  }
}

function ruleOf({ tools, sandbox, capabilities }: FileNeeds, values: GrantValues): object {
  const granted: Record<string, unknown> = {};
  for (const name of capabilities.keys()) {
    if (WHOLE.has(name)) granted[name] = WHOLE.get(name);
    const named = values.get(name);
    if (named === undefined) continue;
    granted[name] = name === "fs" ? named.map(directoryGrant) : named;
  }
  return {
    tools,
    effect: "allow",
    sandboxes: [sandbox],
    limits: LIMITS,
    ...(Object.keys(granted).length > 0 && { capabilities: granted }),
  };
}

/** Grants a directory for reading, under its name. */
function directoryGrant(directory: string): object {
  return { directory: resolve(directory), at: `/${basename(resolve(directory))}` };
}

/** Returns a line for each capability of which nothing is granted. */
function missing({ file, capabilities }: FileNeeds, values: GrantValues): readonly string[] {
  return Array.from(capabilities)
    .filter(([name]) => !WHOLE.has(name) && !values.has(name))
    .map(([name, shownBy]) => {
      const remedy = EXAMPLES[name] === undefined ? "Write it here" : `Add --value ${EXAMPLES[name]}`;
      return ` '${name}' is not granted, though ${basename(file)} ${shownBy}. ${remedy} if it needs that.`;
    })
    .map((line) => line.replace(/[^\P{C}]/gu, " "));
}
