import type { StagedRecord } from "../../workspace/staged/staged-record.ts";

/** Staged changes by their paths. */
export class RecordsByPath {
  readonly #sorted: readonly StagedRecord[];
  readonly #byPath: ReadonlyMap<string, StagedRecord>;

  /** @param sorted All staged changes, sorted by path. */
  constructor(sorted: readonly StagedRecord[]) {
    this.#sorted = sorted;
    this.#byPath = new Map(sorted.map((record) => [record.path, record]));
  }

  /** Returns a change with those that have to be accepted before it: directories above it, and what was in it. */
  acceptedWith(record: StagedRecord): readonly StagedRecord[] {
    const above = directoriesAbove(record.path).flatMap((path) => this.#byPath.get(path) ?? []);
    const isReplaced = record.was?.kind === "directory" && record.now.kind !== "directory";
    const below = isReplaced ? this.#below(record.path) : [];
    return [
      ...above.filter(({ now }) => now.kind === "directory"),
      record,
      ...below.filter(({ now }) => now.kind === "gone"),
    ];
  }

  #below(directory: string): readonly StagedRecord[] {
    const prefix = `${directory}/`;
    let [start, end] = [0, this.#sorted.length];
    while (start < end) {
      const middle = (start + end) >>> 1;
      if ((this.#sorted[middle] as StagedRecord).path < prefix) start = middle + 1;
      else end = middle;
    }
    while (this.#sorted[end]?.path.startsWith(prefix)) end++;
    return this.#sorted.slice(start, end);
  }
}

function directoriesAbove(path: string): readonly string[] {
  const names = path.split("/").slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join("/"));
}

/** Returns a change with those that cannot stay without it: what is in it, and the removal of directories above it. */
export function rejectedWith(
  records: readonly StagedRecord[],
  record: StagedRecord,
): readonly StagedRecord[] {
  return records.filter((other) => {
    if (other.path === record.path) return true;
    if (isBelow(other.path, record.path)) return record.now.kind === "directory" && other.was === null;
    return isBelow(record.path, other.path) && other.now.kind !== "directory";
  });
}

function isBelow(path: string, directory: string): boolean {
  return path.startsWith(`${directory}/`);
}
