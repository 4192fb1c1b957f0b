import {
  type Batch,
  type Bounds,
  boundsOf,
  checkOf,
  type Entry,
  keyText,
  type Range,
  type SharedBackend,
} from "./backend.ts";

/** Entries in the memory of this process, which several backends can share. They end with the process. */
export class MemorySpace {
  readonly entries: Map<string, Entry> = new Map();
  readonly listeners: Set<readonly [bounds: Bounds, onChange: () => void]> = new Set();
  readonly members: Set<string> = new Set();
  /** The keys in order. */
  readonly #sorted: string[] = [];
  #version = 0;
  #members = 0;

  join(): string {
    const member = `memory-${++this.#members}`;
    this.members.add(member);
    return member;
  }

  put(key: string, value: unknown): void {
    const version = ++this.#version;
    const created = this.entries.get(key)?.created;
    if (created === undefined) this.#sorted.splice(firstIndex(this.#sorted, key), 0, key);
    this.entries.set(key, { value, version, created: created ?? version });
  }

  remove(key: string): void {
    if (this.entries.delete(key)) this.#sorted.splice(firstIndex(this.#sorted, key), 1);
  }

  /** Returns the keys within bounds, in order. */
  keys({ from, to }: Bounds): readonly string[] {
    return this.#sorted.slice(firstIndex(this.#sorted, from), firstIndex(this.#sorted, to));
  }

  read(range: Range): readonly Entry[] {
    if ("key" in range) {
      const entry = this.entries.get(keyText(range.key));
      return entry === undefined ? [] : [entry];
    }
    return this.keys(boundsOf(range)).map((key) => this.entries.get(key) as Entry);
  }
}

/** A store of entries in memory. Nothing that it does returns a promise. */
export class MemoryBackend implements SharedBackend {
  readonly member: string;
  readonly problem: undefined;
  readonly isSerial = true;
  readonly skewMs = 0;
  readonly #space: MemorySpace;

  constructor(space: MemorySpace = new MemorySpace()) {
    this.#space = space;
    this.member = space.join();
  }

  read(ranges: readonly Range[]): readonly (readonly Entry[])[] {
    return ranges.map((range) => this.#space.read(range));
  }

  apply({ checks, writes }: Batch): number | undefined {
    const failed = checks.findIndex(({ range, count, version }) => {
      const now = checkOf(range, this.#space.read(range));
      return now.count !== count || now.version !== version;
    });
    if (failed >= 0) return failed;
    const changed: string[] = [];
    for (const write of writes) {
      const keys = "key" in write ? [keyText(write.key)] : this.#space.keys(boundsOf({ below: write.below }));
      changed.push(...keys);
      if ("value" in write) this.#space.put(keyText(write.key), write.value);
      else for (const key of keys) this.#space.remove(key);
    }
    for (const [{ from, to }, onChange] of [...this.#space.listeners]) {
      if (changed.some((key) => from <= key && key < to)) onChange();
    }
    return undefined;
  }

  watch(range: Range, onChange: () => void): () => void {
    const listener = [boundsOf(range), onChange] as const;
    this.#space.listeners.add(listener);
    return () => this.#space.listeners.delete(listener);
  }

  members(): ReadonlySet<string> {
    return new Set(this.#space.members);
  }

  close(): void {
    this.#space.members.delete(this.member);
  }
}

/** Returns the index of the first text that is not before another one. */
function firstIndex(sorted: readonly string[], text: string): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] as string) < text) low = middle + 1;
    else high = middle;
  }
  return low;
}
