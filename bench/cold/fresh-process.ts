import { execFile } from "node:child_process";
import { promisify } from "node:util";

const execute = promisify(execFile);

/** Runs a module's text in a new process, which finds the package as this file does; gives what it prints. */
export async function runCode(code: string): Promise<string> {
  const args = ["--input-type=module", "--eval", code];
  return (await execute(process.execPath, args, { cwd: import.meta.dirname })).stdout.trimEnd();
}

/** Runs a file in a new process; gives what it prints. */
export async function runFile(file: string, ...args: readonly string[]): Promise<string> {
  return (await execute(process.execPath, [file, ...args])).stdout.trimEnd();
}
