import { randomBytes } from "node:crypto";
import { closeSync, constants, fsync, futimesSync, lstatSync, openSync, type Stats, write } from "node:fs";
import { join, posix } from "node:path";
import { promisify } from "node:util";
import { syscall, syscallLater, WorkspaceError } from "../../workspace/error.ts";
import { takeOver } from "../../workspace/file-replacement.ts";
import { OWN_PREFIX } from "../../workspace/protected-places.ts";
import type { StagedRecord } from "../../workspace/staged/staged-record.ts";
import type { StagedStore } from "../../workspace/staged/staged-store.ts";
import { conflictOf, findEntry, hashOf, readFile } from "../disk-entry.ts";
import type { WorkspacePlaces } from "../workspace-places.ts";
import {
  AcceptingJournal,
  type AcceptingRecord,
  isRunning,
  ownProcess,
  type Step,
} from "./accepting-journal.ts";
import { changedDirectories, doStep, removeOwn, StepConflict, undoStep } from "./run-steps.ts";

/**
 * Makes staged changes on the disk: all of them, or none. Each step is recorded in a journal before it is
 * done, so that {@link recover} can complete or undo it after a crash.
 *
 * @param hashes The SHA-256 that the new contents of files must have, by their paths. Default: they are not
 *   checked.
 * @returns the path of an entry that another process has changed meanwhile, so that nothing was accepted;
 *   `undefined` if all were.
 * @throws {WorkspaceError} as a rejection, if the system refuses a step: nothing was accepted.
 */
export async function acceptRecords(
  places: WorkspacePlaces,
  store: StagedStore,
  records: readonly StagedRecord[],
  hashes: ReadonlyMap<string, string> = new Map(),
): Promise<string | undefined> {
  const journal = new AcceptingJournal(store.folder);
  const planned = plan(places, records);
  const base = { process: ownProcess(), made: planned.made, records };
  journal.write({ ...base, state: "preparing", steps: [] });
  let steps: readonly Step[] = [];
  try {
    steps = await prepare(places, store, planned, hashes);
    places.sync(planned.made.map((path) => posix.dirname(path).replace(/^\.$/, "")));
    journal.write({ ...base, state: "applying", steps });
  } catch (error) {
    clean(places, journal, planned.made);
    return conflictIn(error);
  }
  try {
    complete(places, store, { ...base, state: "applying", steps });
    return undefined;
  } catch (error) {
    undo(places, store, { ...base, state: "undoing", steps });
    return conflictIn(error);
  }
}

/** @throws what was thrown, unless it is a conflict. */
function conflictIn(error: unknown): string {
  if (error instanceof StepConflict) return error.path;
  throw error;
}

/**
 * Completes or undoes what a process that has ended was accepting.
 *
 * @param isOwnProcess Whether a record of this process counts as interrupted, too. Default: `false`.
 * @returns `"accepted"` if the changes have been made, `"undone"` if none was made; `undefined` if nothing was being
 *   accepted, or the process still runs.
 * @throws {WorkspaceError} if the system refuses to undo it. It can be tried again.
 */
export function recover(
  places: WorkspacePlaces,
  store: StagedStore,
  isOwnProcess = false,
): "accepted" | "undone" | undefined {
  const journal = new AcceptingJournal(store.folder);
  const record = journal.read();
  if (record === undefined || (!isOwnProcess && isRunning(record.process))) return undefined;
  if (!isOwn(places, record)) return undefined;
  switch (record.state) {
    case "preparing":
      clean(places, journal, record.made);
      return "undone";
    case "undoing":
      undo(places, store, record);
      return "undone";
    case "done":
      finish(places, store, record);
      return "accepted";
    case "applying":
      try {
        complete(places, store, record);
        return "accepted";
      } catch (error) {
        if (!(error instanceof StepConflict || error instanceof WorkspaceError)) throw error;
        undo(places, store, record);
        return "undone";
      }
  }
}

const OWN_NAME = /^\.sandgate-[0-9a-f]{16}\.tmp$/;

/** Whether a record changes only what accepted changes can: other programs could have written it in the workspace. */
function isOwn(places: WorkspacePlaces, { made, steps }: AcceptingRecord): boolean {
  const own = steps.flatMap((step) => {
    if (step.kind === "remove") return [step.backup];
    if (step.kind !== "place") return [];
    return step.backup === null ? [step.temporary] : [step.temporary, step.backup];
  });
  const areOwn = [...made, ...own].every((path) => {
    const folder = posix.dirname(path);
    return OWN_NAME.test(posix.basename(path)) && (folder === "." || !places.isProtected(folder));
  });
  return areOwn && !steps.some(({ path }) => places.isProtected(path));
}

function complete(places: WorkspacePlaces, store: StagedStore, record: AcceptingRecord): void {
  for (const step of record.steps) doStep(places, step);
  places.sync(existing(places, changedDirectories(record.steps)));
  new AcceptingJournal(store.folder).setState("done");
  finish(places, store, record);
}

/** Removes changes that have been made from the store. */
function finish(places: WorkspacePlaces, store: StagedStore, { records, made }: AcceptingRecord): void {
  for (const record of records) {
    if (store.remove(record) && record.now.kind === "file") store.removeContent(record.now.content);
  }
  clean(places, new AcceptingJournal(store.folder), made);
}

function undo(places: WorkspacePlaces, store: StagedStore, record: AcceptingRecord): void {
  const journal = new AcceptingJournal(store.folder);
  journal.setState("undoing");
  for (const step of record.steps.toReversed()) undoStep(places, step);
  places.sync(existing(places, changedDirectories(record.steps)));
  clean(places, journal, record.made);
}

function clean(places: WorkspacePlaces, journal: AcceptingJournal, made: readonly string[]): void {
  for (const path of made) removeOwn(places, path);
  journal.remove();
}

function existing(places: WorkspacePlaces, directories: readonly string[]): readonly string[] {
  return directories.filter((path) => path === "" || places.exists(path));
}

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
