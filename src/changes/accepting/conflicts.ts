import type { HeldRecord } from "../../workspace/held/held-record.ts";
import type { HeldStore } from "../../workspace/held/held-store.ts";
import type { ChangeConflict } from "../accepted-changes.ts";
import { conflictOf } from "../disk-entry.ts";
import { hashContents } from "../pending/pending.ts";
import type { WorkspacePlaces } from "../workspace-places.ts";

/** Returns why changes cannot be made on the disk as it is now; empty if they can. */
export async function conflictsOf(
  places: WorkspacePlaces,
  records: readonly HeldRecord[],
): Promise<readonly ChangeConflict[]> {
  const conflicts: ChangeConflict[] = [];
  for (const record of records) {
    const reason = await conflictOf(places, record);
    if (reason !== undefined) conflicts.push({ path: record.path, reason });
  }
  return conflicts;
}

/**
 * Names what was found out only while changes were being made.
 *
 * @param path The path of one of them, which could not be made.
 * @param hashes The SHA-256 that the new contents had to have, by their paths.
 */
export async function conflictAt(
  path: string,
  places: WorkspacePlaces,
  store: HeldStore,
  records: readonly HeldRecord[],
  hashes: ReadonlyMap<string, string>,
): Promise<ChangeConflict> {
  const record = records.find((each) => each.path === path) as HeldRecord;
  const reason = await conflictOf(places, record);
  const { now, was } = record;
  const isWritten = now.kind === "file" && (await hashContents(store, now.content)) !== hashes.get(path);
  const otherwise = isWritten ? "not-shown" : was?.kind === "directory" ? "not-empty" : "changed";
  return { path, reason: reason ?? otherwise };
}
