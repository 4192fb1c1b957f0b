import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { run } from "../../src/cli/run.ts";

/** The outcome of a command. */
export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The terminal of a test. */
export interface TerminalOptions {
  readonly stdin?: string | Buffer | Readable;
  readonly columns?: number;
  readonly signal?: AbortSignal;
  /** Whether standard error is a terminal. */
  readonly isTTY?: boolean;
  /** Whether the streams are a terminal. */
  readonly isInteractive?: boolean;
  /** Gets what is written to standard error while the command runs. */
  readonly onStderr?: (text: string) => void;
}

/** Runs a command line in this process. */
export async function sandgate(argv: readonly string[], options: TerminalOptions = {}): Promise<Outcome> {
  const { stdin = "", columns, signal, isTTY, isInteractive = false } = options;
  const stdout = Object.assign(new PassThrough(), columns !== undefined && { columns });
  const stderr = Object.assign(
    new PassThrough(),
    columns !== undefined && { columns },
    isTTY !== undefined && { isTTY },
  );
  if (options.onStderr !== undefined) stderr.on("data", (chunk: Buffer) => options.onStderr?.(`${chunk}`));
  // Read while the command runs, as it waits if the streams are full.
  const written = Promise.all([text(stdout), text(stderr)]);
  const code = await run(argv, {
    stdin: stdin instanceof Readable ? stdin : Readable.from([Buffer.from(stdin)]),
    stdout,
    stderr,
    isInteractive,
    ...(signal && { signal }),
  });
  stdout.end();
  stderr.end();
  const [out, err] = await written;
  return { code, stdout: out, stderr: err };
}

/** The lines of a log in JSON. */
export function entriesOf(stderr: string): Record<string, unknown>[] {
  return stderr
    .trimEnd()
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

/** Writes files into a folder that is removed after the test. Returns the folder. */
export async function createFolder(files: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "sandgate-cli-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  }
  return folder;
}

/** A config with tools on the host, in a thread and in QuickJS, and the files that it names. */
export const PROJECT: Record<string, string> = {
  "sandgate.yaml": `
tools:
  - name: add
    description: Adds two numbers
    inputSchema: schemas/add.json
    sideEffects: none
    host: { module: tools/host.mjs, export: add, thread: false }
  - name: wait
    description: Waits until it is cancelled
    inputSchema: { type: object }
    host: { module: tools/host.mjs, export: wait, thread: false }
  - name: broken
    description: Fails
    inputSchema: { type: object }
    host: { module: tools/host.mjs, export: broken, thread: false }
  - name: hash
    description: Hashes a text
    inputSchema: { type: object, properties: { text: { type: string } }, required: [text] }
    sideEffects: none
    host: { module: tools/hash.mjs }
  - name: upper
    description: Writes a text in capitals
    inputSchema: { type: object, properties: { text: { type: string } }, required: [text] }
    sideEffects: none
    quickjs: { file: tools/upper.js, export: upper }
  - name: forbidden
    description: Is denied by the policy
    inputSchema: { type: object }
    host: { module: tools/host.mjs, export: add, thread: false }
policy: policy.yaml
sandboxes:
  workers: { threads: 1 }
`,
  "policy.yaml": `
rules:
  - { name: on the host, tools: [add, wait, broken, hash], effect: allow, sandboxes: [host] }
  - { name: isolated, tools: [upper], effect: allow, sandboxes: [quickjs] }
  - { name: denied, tools: [forbidden], effect: deny }
`,
  "schemas/add.json": `{
  "type": "object",
  "properties": { "a": { "type": "number" }, "b": { "type": "number" } },
  "required": ["a", "b"]
}`,
  "tools/host.mjs": `
export const add = ({ a, b }) => a + b;
export const wait = (input, { signal }) =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped"))));
export const broken = () => { throw new Error("HTTP 500: \\u001b[2Jconnection refused"); };
`,
  "tools/hash.mjs": `
import { createHash } from "node:crypto";
export default ({ text }) => createHash("sha256").update(text).digest("hex");
`,
  "tools/upper.js": "export const upper = ({ text }) => text.toUpperCase();",
};
