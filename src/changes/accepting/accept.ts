import { posix } from "node:path";
import { WorkspaceError } from "../../workspace/error.ts";
import type { StagedRecord } from "../../workspace/staged/staged-record.ts";
import type { StagedStore } from "../../workspace/staged/staged-store.ts";
import type { WorkspacePlaces } from "../workspace-places.ts";
import {
  AcceptingJournal,
  type AcceptingRecord,
  isRunning,
  ownProcess,
  type Step,
} from "./accepting-journal.ts";
import { plan, prepare } from "./prepare.ts";
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
