import { accessSync, closeSync, constants, openSync, readSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import type { FsGrant } from "../policy/grant/fs-grant.ts";
import { ToolPreparationError } from "../sandboxes/contract/sandbox.ts";

/** Directories of programs and libraries that every sandbox shows. */
const SYSTEM = /^\/(?:usr|bin|sbin|lib|lib32|lib64|libx32)\//;

/** The program of a confined agent, and the files of its own that it sees. */
export interface OwnFiles {
  readonly command: string;
  readonly fs: readonly FsGrant[];
}

/**
 * Finds the program of an agent and its files: its folder with everything below it, read-only and at its own
 * path, and the program itself unless it belongs to the system.
 *
 * @param command A path, or a name that is looked up in this process's `PATH`.
 * @param cwd The agent's folder. Default: it has none.
 * @throws {ToolPreparationError} if the program does not exist, or the folder contains more than an agent.
 */
export function ownFiles(command: string, cwd: string | undefined): OwnFiles {
  const folder = cwd === undefined ? undefined : ownFolder(cwd);
  const program = findProgram(command, folder);
  if (program === undefined) throw new ToolPreparationError(`the program '${command}' was not found`);
  const isShown = SYSTEM.test(program) || (folder !== undefined && program.startsWith(`${folder}/`));
  return {
    command: program,
    fs: [
      ...(folder === undefined ? [] : [{ directory: folder, at: folder }]),
      ...(isShown ? [] : [{ file: program, at: program }]),
    ],
  };
}

function ownFolder(cwd: string): string {
  let folder: string;
  try {
    folder = realpathSync(resolve(cwd));
  } catch {
    throw new ToolPreparationError(`the working directory '${cwd}' does not exist`);
  }
  // The agent would see everything below it.
  if (folder === "/" || `${realHome()}/`.startsWith(`${folder}/`))
    throw new ToolPreparationError(
      `a confined agent sees everything in its working directory, and '${folder}' holds a home directory: start it in a folder of its own`,
    );
  return folder;
}

function realHome(): string {
  try {
    return realpathSync(homedir());
  } catch {
    return homedir();
  }
}

/** Returns the canonical path of a program; `undefined` if it does not exist. */
function findProgram(command: string, folder: string | undefined): string | undefined {
  if (command.includes("/")) return executable(resolve(folder ?? "/", command));
  for (const directory of (process.env["PATH"] ?? "/usr/bin:/bin").split(delimiter)) {
    if (!directory.startsWith("/")) continue;
    const found = executable(join(directory, command));
    // A script outside the system needs other files, which the agent does not see.
    if (found !== undefined && (SYSTEM.test(found) || !isScript(found))) return found;
  }
  return undefined;
}

function executable(path: string): string | undefined {
  try {
    const real = realpathSync(path);
    accessSync(real, constants.X_OK);
    return statSync(real).isFile() ? real : undefined;
  } catch {
    return undefined;
  }
}

function isScript(path: string): boolean {
  const start = Buffer.alloc(2);
  const fd = openSync(path, "r");
  try {
    readSync(fd, start, 0, start.length, 0);
  } finally {
    closeSync(fd);
  }
  return start.toString("latin1") === "#!";
}
