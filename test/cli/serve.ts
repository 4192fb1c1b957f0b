import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { run } from "../../src/cli/run.ts";
import { createFolder, PROJECT } from "./sandgate.ts";

const MAIN = resolve(import.meta.dirname, "../../src/cli/main.ts");
const COMPILED = resolve(import.meta.dirname, "../compiled.ts");

/** Serves a project in this process. Returns its address and a function that ends it. */
export async function serve(
  files: Record<string, string>,
  argv: readonly string[] = ["--listen", "127.0.0.1:0"],
): Promise<{
  readonly address: string;
  readonly folder: string;
  end(): Promise<number>;
  /** Returns what was written to standard error. Call it after `end`. */
  log(): Promise<string>;
}> {
  const folder = await createFolder(files);
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const interruption = new AbortController();
  const terminal = { stdin: Readable.from([]), stdout, stderr, signal: interruption.signal };
  const code = run(["serve", "--config", join(folder, "sandgate.yaml"), ...argv], terminal);
  onTestFinished(async () => {
    interruption.abort();
    await code;
  });
  const line = await Promise.race([once(stdout, "data"), code.then((exit) => [`exit ${exit}`])]);
  const [, address = ""] = /^listening on (.+)\n$/.exec(String(line[0])) ?? [];
  if (address === "") throw new Error(`${line[0]}: ${stderr.read()}`);
  return {
    address,
    folder,
    log: () => text(stderr.end()),
    end: () => {
      interruption.abort();
      return code;
    },
  };
}

/** Returns {@link PROJECT} with a `server` in its config. */
export function withServer(server: string): Record<string, string> {
  return { ...PROJECT, "sandgate.yaml": `${PROJECT["sandgate.yaml"]}\nserver: ${server}\n` };
}

/** Starts the command as a process that is killed after the test. */
export async function start(
  folder: string,
): Promise<{ readonly address: string; readonly child: ChildProcess }> {
  const child = spawn(
    process.execPath,
    [
      "--import",
      COMPILED,
      MAIN,
      "serve",
      "--config",
      join(folder, "sandgate.yaml"),
      "--listen",
      "127.0.0.1:0",
    ],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  onTestFinished(() => void child.kill("SIGKILL"));
  const [chunk] = (await once(child.stdout as Readable, "data")) as [Buffer];
  return { address: String(chunk).replace("listening on ", "").trim(), child };
}

/** A project whose tool `hash` keeps its thread for ever. */
export function withStuckWorker(server: string): Record<string, string> {
  const stuck = new URL("../fixtures/worker/stuck.ts", import.meta.url).href;
  const source = `
import { writeFileSync } from "node:fs";
import { stuck } from ${JSON.stringify(stuck)};
export default () => {
  writeFileSync(new URL("began", import.meta.url), "");
  stuck();
};
`;
  return { ...withServer(server), "tools/hash.mjs": source };
}

/** Waits until the worker of {@link withStuckWorker} is stuck. */
export async function waitForStuckWorker(folder: string): Promise<void> {
  while (!existsSync(join(folder, "tools/began"))) await new Promise((resolve) => setTimeout(resolve, 20));
}
