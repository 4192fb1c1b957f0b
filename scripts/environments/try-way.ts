import { execFile, spawn } from "node:child_process";
import { cpSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import type { Way } from "./environment.ts";

const TIMEOUT_MS = 120_000;
const RESULTS = /^RESULTS (.*)$/m;

/** The result of each call of the program: see `program/dispatch.mjs`. `thrown` is the error if it could not dispatch. */
export type Results = Readonly<Record<string, string>>;

/**
 * Builds and runs the program in one way. The folder is moved between the two, as a deployment does; a bundle runs without
 * `node_modules`, except that of a framework which runs it, whose `node_modules` lacks Sandgate.
 */
export async function tryWay(way: Way, installed: string, folder: string): Promise<Results> {
  const built = join(folder, "built");
  const deployed = join(folder, "deployed");
  for (const used of [built, deployed]) rmSync(used, { recursive: true, force: true });
  cpSync(installed, built, { recursive: true, verbatimSymlinks: true });
  for (const [file, text] of Object.entries(way.files ?? {})) {
    mkdirSync(dirname(join(built, file)), { recursive: true });
    writeFileSync(join(built, file), text);
  }
  const options = { cwd: built, timeout: TIMEOUT_MS, maxBuffer: 2 ** 26 };
  try {
    if (way.build !== undefined) await promisify(execFile)(...command(way.build), options);
  } catch (error) {
    return { thrown: `the build fails: ${sentence(error)}` };
  }
  renameSync(built, deployed);
  if (way.name === "bundled") {
    const modules = join(deployed, "node_modules");
    rmSync(way.serves ? join(modules, "sandgate") : modules, { recursive: true });
  }
  try {
    const printed = way.serves ? await askServer(way, deployed) : await printedBy(way, deployed);
    return JSON.parse(RESULTS.exec(printed)?.[1] ?? JSON.stringify({ thrown: `it printed: ${printed}` }));
  } catch (error) {
    return { thrown: sentence(error) };
  }
}

async function printedBy(way: Way, cwd: string): Promise<string> {
  const { stdout } = await promisify(execFile)(...command(way.run), { cwd, timeout: TIMEOUT_MS });
  return stdout;
}

/** Starts the server of a framework, and returns what its route answers. */
async function askServer(way: Way, cwd: string): Promise<string> {
  const port = await freePort();
  const [file, args] = command(way.run);
  const server = spawn(file, args, { cwd, env: { ...process.env, PORT: `${port}` }, stdio: "ignore" });
  try {
    for (const end = Date.now() + TIMEOUT_MS; ; await delay(200)) {
      const answer = await fetch(`http://127.0.0.1:${port}/calls`).catch(() => undefined);
      if (answer !== undefined) return await answer.text();
      if (server.exitCode !== null || Date.now() > end) throw new Error("the server does not answer");
    }
  } finally {
    server.kill();
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((listening) => server.once("listening", listening));
  const address = server.address();
  await new Promise((closed) => server.close(closed));
  return typeof address === "object" && address !== null ? address.port : 0;
}

function command([file = "", ...args]: readonly string[]): [string, string[]] {
  return [file === "node" ? process.execPath : file, args];
}

/** Returns the line of what a command printed that has its error. */
function sentence(error: unknown): string {
  const { stderr = "", stdout = "", message } = error as Error & { stderr?: string; stdout?: string };
  const lines = `${stderr}\n${stdout}\n${message}`.split("\n").map((line) => line.trim());
  return lines.find((line) => /^\S*Error\b.*:/.test(line)) ?? lines.find((line) => line !== "") ?? "";
}
