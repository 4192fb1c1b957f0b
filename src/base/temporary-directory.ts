import { lstatSync, mkdtempSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Maximum number of directories of ended processes that a process removes. */
const MAX_REMOVED = 1_000;

const PREFIX = "sandgate";
const MARK = "[0-9]+-[0-9]+-[0-9]+";
const NAME = new RegExp(`^${PREFIX}-[a-z]+-(${MARK})-[A-Za-z0-9]{6}$`);

let hasSwept = false;

/**
 * Makes a directory for temporary files, that only this user can use. The caller removes it. If this process
 * ends before that, a later one removes it when it makes its own first one.
 *
 * @param kind A word, which is a part of its name.
 */
export function makeTemporaryDirectory(kind: string): string {
  if (!hasSwept) {
    hasSwept = true;
    for (const path of leftDirectories()) void rm(path, { recursive: true, force: true }).catch(() => {});
  }
  return mkdtempSync(join(tmpdir(), `${PREFIX}-${kind}-${processMark()}-`));
}

/** Directories of this user, made by processes that have ended. Links are excluded. */
function leftDirectories(): readonly string[] {
  try {
    return readdirSync(tmpdir())
      .filter((name) => hasEnded(NAME.exec(name)?.[1]))
      .map((name) => join(tmpdir(), name))
      .filter(isOwnDirectory)
      .slice(0, MAX_REMOVED);
  } catch {
    return [];
  }
}

function isOwnDirectory(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isDirectory() === true && stats.uid === process.geteuid?.();
}

let ownMark: string | undefined;

/**
 * Identifies this process in names of what it may leave behind: by its PID namespace, its number and its
 * start. Only a process in the same namespace can find out whether it still runs.
 */
export function processMark(): string {
  ownMark ??= `${ownNamespace()}-${process.pid}-${startOf("self") ?? 0}`;
  return ownMark;
}

/** Whether a process with a mark has certainly ended. It is not known of processes in other namespaces. */
export function hasEnded(mark: string | undefined): boolean {
  const [namespace, pid = "", start] = mark?.split("-") ?? [];
  if (namespace === undefined || namespace !== ownNamespace() || namespace === "0") return false;
  const now = startOf(pid);
  return now !== undefined && now !== start;
}

function ownNamespace(): string {
  try {
    return /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] ?? "0";
  } catch {
    return "0";
  }
}

/**
 * When a process was started, in ticks since the machine was: proc_pid_stat(5). Empty if there is no such process, `undefined`
 * if it cannot be found out.
 */
function startOf(pid: string): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name of the program, in parentheses, can have blanks.
    return text.slice(text.lastIndexOf(")") + 2).split(" ")[19];
  } catch (error) {
    return ["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "") ? "" : undefined;
  }
}
