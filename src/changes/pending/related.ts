import type { HeldRecord } from "../../workspace/held/held-record.ts";

/** Returns a change with those that have to be accepted before it: directories above it, and what was in it. */
export function acceptedWith(records: readonly HeldRecord[], record: HeldRecord): readonly HeldRecord[] {
  return records.filter((other) => {
    if (other.path === record.path) return true;
    if (isBelow(record.path, other.path)) return other.now.kind === "directory";
    const isReplaced = record.was?.kind === "directory" && record.now.kind !== "directory";
    return isReplaced && isBelow(other.path, record.path) && other.now.kind === "gone";
  });
}

/** Returns a change with those that cannot stay without it: what is in it, and the removal of directories above it. */
export function rejectedWith(records: readonly HeldRecord[], record: HeldRecord): readonly HeldRecord[] {
  return records.filter((other) => {
    if (other.path === record.path) return true;
    if (isBelow(other.path, record.path)) return record.now.kind === "directory" && other.was === null;
    return isBelow(record.path, other.path) && other.now.kind !== "directory";
  });
}

function isBelow(path: string, directory: string): boolean {
  return path.startsWith(`${directory}/`);
}
