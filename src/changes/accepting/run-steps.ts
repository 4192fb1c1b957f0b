import {
  closeSync,
  constants,
  fchmodSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmdirSync,
  unlinkSync,
} from "node:fs";
import { posix } from "node:path";
import { syscallUnless } from "../../workspace/error.ts";
import { findEntry } from "../disk-entry.ts";
import type { WorkspacePlaces } from "../workspace-places.ts";
import type { PlaceStep, RemoveStep, Step } from "./accepting-journal.ts";

/** A step is impossible, since another process has changed the entry. */
export class StepConflict extends Error {
  override readonly name = "StepConflict";
  readonly path: string;

  constructor(path: string) {
    super(`'${path}' has changed`);
    this.path = path;
  }
}

/**
 * Carries out a step, unless it was carried out before.
 *
 * @throws {StepConflict} if the entry is no longer the one that the step was planned for.
 */
export function doStep(places: WorkspacePlaces, step: Step): void {
  switch (step.kind) {
    case "remove":
      remove(places, step);
      return;
    case "place":
      place(places, step);
      return;
    case "remove-folder":
      removeFolder(places, step.path);
      return;
    case "create-folder":
      if (findEntry(places, step.path).kind === "directory") return;
      places.at(step.path, (entry) => mkdirSync(entry));
  }
}

function remove(places: WorkspacePlaces, { path, backup, version }: RemoveStep): void {
  if (places.exists(backup)) return;
  const found = places.version(path);
  if (found === undefined) return;
  if (found !== version) throw new StepConflict(path);
  move(places, path, backup);
}

function place(places: WorkspacePlaces, { path, temporary, identity, version }: PlaceStep): void {
  if (!places.exists(temporary)) return;
  if (version !== null) {
    if (places.version(path) !== version) throw new StepConflict(path);
    move(places, temporary, path);
    return;
  }
  // A rename would replace an entry that another process has created meanwhile.
  if (places.identity(path) !== identity) {
    const isNew = syscallUnless(["exist"], () => {
      places.at(temporary, (from) => places.at(path, (to) => linkSync(from, to)));
      return true;
    });
    if (isNew === undefined) throw new StepConflict(path);
  }
  places.at(temporary, (entry) => unlinkSync(entry));
}

function removeFolder(places: WorkspacePlaces, path: string): void {
  if (!places.exists(path)) return;
  const isRemoved = syscallUnless(["not-empty", "exist", "not-directory"], () => {
    places.at(path, (entry) => rmdirSync(entry));
    return true;
  });
  if (isRemoved === undefined) throw new StepConflict(path);
}

/** Undoes a step if it was done. Later changes by other processes are preserved. */
export function undoStep(places: WorkspacePlaces, step: Step): void {
  switch (step.kind) {
    case "remove":
      if (places.exists(step.backup) && !places.exists(step.path)) move(places, step.backup, step.path);
      return;
    case "place":
      unplace(places, step);
      return;
    case "remove-folder":
      if (!places.exists(step.path)) places.at(step.path, (entry) => makeDirectory(entry, step.mode));
      return;
    case "create-folder":
      syscallUnless(["no-entry", "not-empty", "exist"], () =>
        places.at(step.path, (entry) => rmdirSync(entry)),
      );
  }
}

/** Restores a directory with its former mode, regardless of the process's umask. */
function makeDirectory(entry: string, mode: number): void {
  mkdirSync(entry, mode);
  const fd = openSync(entry, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    fchmodSync(fd, mode);
  } finally {
    closeSync(fd);
  }
}

function unplace(places: WorkspacePlaces, { path, identity, backup }: PlaceStep): void {
  if (places.identity(path) !== identity) return;
  if (backup === null) places.at(path, (entry) => unlinkSync(entry));
  else if (places.exists(backup)) move(places, backup, path);
}

/** Removes one of Sandgate's own files, if it exists. */
export function removeOwn(places: WorkspacePlaces, path: string): void {
  syscallUnless(["no-entry", "not-directory"], () => places.at(path, (entry) => unlinkSync(entry)));
}

/** The directories whose entries the steps change. */
export function changedDirectories(steps: readonly Step[]): readonly string[] {
  return steps.flatMap((step) => {
    const paths = "backup" in step && step.backup !== null ? [step.path, step.backup] : [step.path];
    return paths.map((path) => posix.dirname(path).replace(/^\.$/, ""));
  });
}

function move(places: WorkspacePlaces, from: string, to: string): void {
  places.at(from, (source) => places.at(to, (target) => renameSync(source, target)));
}
