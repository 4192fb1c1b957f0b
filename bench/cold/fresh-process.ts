import { execFile } from "node:child_process";
import { promisify } from "node:util";

const execute = promisify(execFile);

/** Runs the source of a module in a new process, which resolves packages like this file. Returns its output. */
export async function runCode(code: string): Promise<string> {
  const args = ["--input-type=module", "--eval", code];
  return (await execute(process.execPath, args, { cwd: import.meta.dirname })).stdout.trimEnd();
}

/** Runs a file in a new process. Returns its output. */
export async function runFile(file: string, ...args: readonly string[]): Promise<string> {
  return (await execute(process.execPath, [file, ...args])).stdout.trimEnd();
}
