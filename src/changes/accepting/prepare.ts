import { randomBytes } from "node:crypto";
import { closeSync, constants, fsync, futimesSync, lstatSync, openSync, type Stats, write } from "node:fs";
import { join, posix } from "node:path";
import { promisify } from "node:util";
import { syscall, syscallLater } from "../../workspace/error.ts";
import { takeOver } from "../../workspace/file-replacement.ts";
import { OWN_PREFIX } from "../../workspace/protected-places.ts";
import type { StagedRecord } from "../../workspace/staged/staged-record.ts";
import type { StagedStore } from "../../workspace/staged/staged-store.ts";
import { conflictOf, findEntry, hashOf, readFile } from "../disk-entry.ts";
import type { WorkspacePlaces } from "../workspace-places.ts";
import type { Step } from "./accepting-journal.ts";
import { StepConflict } from "./run-steps.ts";

const writeLater = promisify(write);
const fsyncLater = promisify(fsync);

/** A plan of steps, and the names of files that it needs. */
export interface Plan {
  readonly steps: readonly PlannedStep[];
  readonly made: readonly string[];
}

type PlannedStep =
  | { readonly kind: "remove-folder" | "create-folder"; readonly path: string }
  | { readonly kind: "remove"; readonly path: string; readonly backup: string; readonly record: StagedRecord }
  | {
      readonly kind: "place";
      readonly path: string;
      readonly temporary: string;
      readonly backup: string | null;
      readonly content: string;
      readonly record: StagedRecord;
    };

/** Plans the steps for changes: what is removed comes first, then what is created, each in an order that is possible. */
export function plan(places: WorkspacePlaces, records: readonly StagedRecord[]): Plan {
  const sorted = records.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  const removed = sorted.filter(({ was, now }) => was !== null && was.kind !== now.kind);
  // A directory that is removed must not contain backups.
  const paths = new Set(removed.map(({ path }) => path));
  const made: string[] = [];
  const name = (path: string): string => {
    const own = `${OWN_PREFIX}-${randomBytes(8).toString("hex")}.tmp`;
    const place = posix.join(places.existingAbove(path, paths), own);
    made.push(place);
    return place;
  };
  const steps: PlannedStep[] = [
    ...removed
      .filter(({ was }) => was?.kind !== "directory")
      .map((record) => ({ kind: "remove" as const, path: record.path, backup: name(record.path), record })),
    ...removed
      .filter(({ was }) => was?.kind === "directory")
      .map(({ path }) => ({ kind: "remove-folder" as const, path }))
      .reverse(),
    ...sorted
      .filter(({ now }) => now.kind === "directory")
      .map(({ path }) => ({ kind: "create-folder" as const, path })),
    ...sorted.flatMap((record) => {
      const { path, was, now } = record;
      if (now.kind !== "file") return [];
      const backup = was?.kind === "file" ? name(path) : null;
      return [{ kind: "place" as const, path, temporary: name(path), backup, content: now.content, record }];
    }),
  ];
  return { steps, made };
}

/**
 * Writes the files that the steps need, beside their places, and flushes them.
 *
 * @throws {StepConflict} as a rejection, if a file is no longer what it was when its change was staged.
 */
export async function prepare(
  places: WorkspacePlaces,
  { contents }: StagedStore,
  { steps }: Plan,
  hashes: ReadonlyMap<string, string>,
): Promise<readonly Step[]> {
  const prepared: Step[] = [];
  for (const step of steps) {
    const { path } = step;
    switch (step.kind) {
      case "create-folder":
        // A directory that exists already needs no step, so that undoing does not remove it.
        if (findEntry(places, path).kind !== "directory") prepared.push({ kind: step.kind, path });
        break;
      case "remove-folder": {
        const { mode } = places.at(path, (entry) => lstatSync(entry));
        prepared.push({ kind: step.kind, path, mode: mode & 0o7777 });
        break;
      }
      case "remove": {
        const { backup } = step;
        prepared.push({ kind: step.kind, path, backup, version: await versionOf(places, step.record) });
        break;
      }
      case "place": {
        const { temporary, backup, content, record } = step;
        const version = backup === null ? null : await versionOf(places, record);
        if (backup !== null) await copyFile(places, path, backup, record);
        const old = findEntry(places, path);
        const stats = old.kind === "file" && backup !== null ? old.stats : undefined;
        const hash = await writeNew(places, temporary, join(contents, content), stats);
        if (hash !== (hashes.get(path) ?? hash)) throw new StepConflict(path);
        const identity = places.identity(temporary) as string;
        prepared.push({ kind: step.kind, path, temporary, identity, backup, version });
      }
    }
  }
  return prepared;
}

/** Returns the version of an entry that is what it was when its change was staged. */
async function versionOf(places: WorkspacePlaces, record: StagedRecord): Promise<string> {
  const version = places.version(record.path);
  if (version === undefined || (await conflictOf(places, record)) !== undefined) {
    throw new StepConflict(record.path);
  }
  return version;
}

/** Copies a file, to have it back if another step fails. */
async function copyFile(
  places: WorkspacePlaces,
  path: string,
  backup: string,
  { was }: StagedRecord,
): Promise<void> {
  const found = findEntry(places, path);
  if (found.kind !== "file" || was?.kind !== "file") throw new StepConflict(path);
  const fd = create(places, backup, 0o600);
  try {
    const sha256 = await readFile(places, path, (chunk) => writeAll(fd, chunk));
    if (sha256 !== was.sha256) throw new StepConflict(path);
    takeOver(fd, found.stats);
    futimesSync(fd, found.stats.atime, found.stats.mtime);
    await syscallLater(fsyncLater(fd));
  } finally {
    closeSync(fd);
  }
}

/**
 * @param old The file that is replaced. Default: the file is new.
 * @returns the SHA-256 of what was written.
 */
async function writeNew(
  places: WorkspacePlaces,
  temporary: string,
  source: string,
  old: Stats | undefined,
): Promise<string> {
  const from = syscall(() => openSync(source, constants.O_RDONLY | constants.O_NOFOLLOW));
  try {
    const fd = create(places, temporary, old === undefined ? 0o666 : 0o600);
    try {
      const hash = await hashOf(from, (chunk) => writeAll(fd, chunk));
      if (old !== undefined) takeOver(fd, old);
      await syscallLater(fsyncLater(fd));
      return hash;
    } finally {
      closeSync(fd);
    }
  } finally {
    closeSync(from);
  }
}

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;

function create(places: WorkspacePlaces, path: string, mode: number): number {
  return places.at(path, (entry) => openSync(entry, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, mode));
}

async function writeAll(fd: number, chunk: Buffer): Promise<void> {
  for (let done = 0; done < chunk.length; ) {
    const { bytesWritten } = await syscallLater(writeLater(fd, chunk, done, chunk.length - done, null));
    done += bytesWritten;
  }
}
