import type { MaybePromise } from "../../base/promises.ts";
import type { CallPlace, ClaimedCall } from "../../engine/call/suspension.ts";
import { type Backend, type Entry, type Key, type Range, RecordError } from "../../record/backend.ts";
import type { ClaimState } from "../../record/identity.ts";
import { MemoryBackend } from "../../record/memory-backend.ts";
import { type Operation, Operations, type Transaction, wait } from "../../record/operations.ts";
import {
  claimOf,
  isHeader,
  MAX_TEMPLATE_BYTES,
  type ProgramHeader,
  type StoredCall,
  type StoredProgram,
  type SuspensionStore,
  SuspensionStoreError,
} from "./suspension-store.ts";

/** Under `programCall/PROGRAM/NUMBER`. */
interface StoredCallOfProgram {
  readonly number: number;
  readonly digest: string;
  /** In base64. */
  readonly sealed?: string;
}

/** Under `programAt/SESSION/TURN/MESSAGE/PROGRAM`: the programs of calls are found by it. */
type ProgramAt = CallPlace & Pick<ProgramHeader, "id" | "template">;

/** Under `template/DIGEST`; its bytes, in parts, are under `templatePart/DIGEST/INDEX`. */
interface RecordedTemplate {
  readonly digest: string;
  readonly parts: number;
  /** Whether the parts are not compressed. */
  readonly isRaw?: true;
}

/** How many bytes of a template one entry has at most. */
const PART_BYTES = 4_000_000;

/** Stores suspended programs over a backend, which several processes can share: a program continues in one of them. */
export class RecordedSuspensionStore implements SuspensionStore {
  readonly #operations: Operations;
  readonly #ownsBackend: boolean;
  readonly #compresses: boolean;

  /**
   * @param options.ownsBackend Whether the store closes it. Default: `true`.
   * @param options.compresses Whether it compresses templates. Default: `true`.
   */
  constructor(
    backend: Backend,
    {
      ownsBackend = true,
      compresses = true,
    }: { readonly ownsBackend?: boolean; readonly compresses?: boolean } = {},
  ) {
    this.#ownsBackend = ownsBackend;
    this.#compresses = compresses;
    this.#operations = new Operations(
      backend,
      (cause) => new SuspensionStoreError(`the store of programs failed: ${cause.message}`, { cause }),
    );
  }

  put(program: StoredProgram, calls: readonly StoredCall[]): MaybePromise<boolean> {
    return this.#operations.write(function* (transaction) {
      const known = yield* transaction.get<ProgramHeader>(["program", program.id]);
      if ((known?.revision ?? 0) !== program.revision - 1) return false;
      putProgram(transaction, program, known);
      for (const call of calls) putCall(transaction, program.id, call);
      return true;
    });
  }

  replace(program: StoredProgram): MaybePromise<boolean> {
    return this.#operations.write(function* (transaction) {
      const known = yield* transaction.get<ProgramHeader>(["program", program.id]);
      if (known?.state !== "waiting" || known.revision !== program.revision - 1) return false;
      putProgram(transaction, program, known);
      return true;
    });
  }

  take(id: string, revision: number): MaybePromise<boolean> {
    return this.#operations.write(function* (transaction) {
      const known = yield* transaction.get<ProgramHeader>(["program", id]);
      if (known?.state !== "waiting" || known.revision !== revision) return false;
      transaction.put(["program", id], { ...known, state: "taken" } satisfies ProgramHeader);
      return true;
    });
  }

  get(id: string): MaybePromise<StoredProgram | undefined> {
    const ranges: readonly Range[] = [{ key: ["program", id] }, { key: ["sealed", id] }];
    return this.#operations.read(ranges, ([header] = [], [sealed] = []) => {
      const read = header && headerOf(header);
      return read && sealed && { ...read, sealed: bytesOf(sealed.value) };
    });
  }

  list(): MaybePromise<readonly ProgramHeader[]> {
    return this.#operations.read([{ below: ["program"] }], (found = []) =>
      [...found]
        .sort((one, other) => one.created - other.created)
        .flatMap((entry) => headerOf(entry) ?? [])
        .sort((one, other) => one.suspendedAt - other.suspendedAt),
    );
  }

  remove(id: string): MaybePromise<boolean> {
    const { backend } = this.#operations;
    return this.#operations.write(function* (transaction) {
      const entry = yield* transaction.entry(["program", id]);
      if (entry === undefined) return false;
      const place = headerOf(entry) ?? (yield* findPlace(backend, id));
      const [here = []] = yield* transaction.entries<ProgramAt>(
        ...(place === undefined ? [] : [{ below: keyAt(place) }]),
      );
      for (const table of ["program", "sealed"]) transaction.remove([table, id]);
      transaction.removeBelow(["programCall", id]);
      for (const { value } of here) {
        if (value.id !== id && !value.callId.startsWith(`${place?.callId}/`)) continue;
        transaction.remove([...keyAt(value), value.id]);
        transaction.remove(["templateUse", value.template, value.id]);
        for (const table of ["program", "sealed"]) transaction.remove([table, value.id]);
        transaction.removeBelow(["programCall", value.id]);
      }
      return true;
    });
  }

  claim(id: string, revision: number, { number, digest }: ClaimedCall): MaybePromise<ClaimState> {
    return this.#operations.write(function* (transaction): Operation<ClaimState> {
      const [[program] = [], [call] = []] = yield* transaction.entries<unknown>(
        { key: ["program", id] },
        { key: callKey(id, number) },
      );
      if ((program?.value as ProgramHeader | undefined)?.revision !== revision) return "conflict";
      const claim = claimOf(call?.value as StoredCallOfProgram | undefined, digest);
      if (claim === "fresh") putCall(transaction, id, { number, digest });
      return claim;
    });
  }

  end(id: string, revision: number, call: Required<StoredCall>): MaybePromise<void> {
    return this.#operations.write(function* (transaction) {
      const [[program] = [], [known] = []] = yield* transaction.entries<unknown>(
        { key: ["program", id] },
        { key: callKey(id, call.number) },
      );
      if ((program?.value as ProgramHeader | undefined)?.revision !== revision) return;
      const before = known?.value as StoredCallOfProgram | undefined;
      if (before?.sealed === undefined)
        putCall(transaction, id, { ...call, digest: before?.digest ?? call.digest });
    });
  }

  calls(id: string): MaybePromise<readonly StoredCall[]> {
    return this.#operations.read([{ below: ["programCall", id] }], (found = []) =>
      found
        .map(({ value: { number, digest, sealed } }: Entry<StoredCallOfProgram>): StoredCall => {
          return { number, digest, ...(sealed !== undefined && { sealed: bytesOf(sealed) }) };
        })
        .sort((one, other) => one.number - other.number),
    );
  }

  hasTemplate(digest: string): MaybePromise<boolean> {
    return this.#operations.read([{ key: ["template", digest] }], ([found] = []) => found !== undefined);
  }

  addTemplate(digest: string, bytes: Uint8Array): MaybePromise<void> {
    const { zstdCompressSync } = process.getBuiltinModule("node:zlib");
    const compresses = this.#compresses;
    return this.#operations.write(function* (transaction) {
      if ((yield* transaction.get(["template", digest])) !== undefined) return;
      const written = compresses ? zstdCompressSync(bytes) : bytes;
      for (const [key, value] of templateEntries(digest, written, !compresses)) transaction.put(key, value);
    });
  }

  template(digest: string): MaybePromise<Uint8Array | undefined> {
    const ranges: readonly Range[] = [{ key: ["template", digest] }, { below: ["templatePart", digest] }];
    return this.#operations.read(ranges, ([found] = [], parts = []) => {
      if (found === undefined) return undefined;
      // The order of keys is that of texts.
      const inOrder = [...parts].sort((one, other) => one.created - other.created);
      const [first, ...others] = inOrder.map(({ value }) => bytesOf(value));
      const bytes =
        first !== undefined && others.length === 0
          ? first
          : Buffer.concat(inOrder.map(({ value }) => bytesOf(value)));
      if ((found.value as RecordedTemplate).isRaw) return bytes;
      const { zstdDecompressSync } = process.getBuiltinModule("node:zlib");
      try {
        return zstdDecompressSync(bytes, { maxOutputLength: MAX_TEMPLATE_BYTES });
      } catch (cause) {
        throw new SuspensionStoreError("the store of programs has a template that is corrupt", { cause });
      }
    });
  }

  async removeTemplates(): Promise<number> {
    const operations = this.#operations;
    const digests = await operations.read([{ below: ["template"] }], (found = []) =>
      found.map(({ value }: Entry<RecordedTemplate>) => value.digest),
    );
    let removed = 0;
    for (const digest of digests) {
      const isRemoved = await operations.write(function* (transaction) {
        const [uses = []] = yield* transaction.entries({ below: ["templateUse", digest] });
        if (uses.length > 0) return false;
        transaction.remove(["template", digest]);
        transaction.removeBelow(["templatePart", digest]);
        return true;
      });
      if (isRemoved) removed++;
    }
    return removed;
  }

  close(): MaybePromise<void> {
    return this.#ownsBackend ? this.#operations.backend.close() : undefined;
  }
}

/** Stores suspended programs in the memory of this process: they free their heaps while they wait, and end with the process. */
export class MemorySuspensionStore extends RecordedSuspensionStore {
  constructor() {
    super(new MemoryBackend(), { compresses: false });
  }
}

/** Returns the entries of a program besides its calls. */
export function* programEntries({
  sealed,
  ...header
}: StoredProgram): Generator<readonly [key: Key, value: unknown]> {
  const { id, sessionId, turnId, messageId, callId, template } = header;
  yield [["program", id], header];
  yield [["sealed", id], sealed];
  const at: ProgramAt = { id, sessionId, turnId, messageId, callId, template };
  yield [[...keyAt(header), id], at];
  yield [["templateUse", template, id], id];
}

/** Returns the entries of a template. */
export function* templateEntries(
  digest: string,
  bytes: Uint8Array,
  isRaw = false,
): Generator<readonly [key: Key, value: unknown]> {
  const parts = isRaw ? 1 : Math.ceil(bytes.length / PART_BYTES);
  for (let index = 0; index < parts; index++) {
    const part = isRaw ? bytes : bytes.subarray(index * PART_BYTES, (index + 1) * PART_BYTES);
    yield [["templatePart", digest, String(index)], part];
  }
  yield [["template", digest], { digest, parts, ...(isRaw && { isRaw }) } satisfies RecordedTemplate];
}

/** Returns the entry of a call of a program's tool. */
export function callEntry(id: string, call: StoredCall): readonly [key: Key, value: unknown] {
  const { number, digest, sealed } = call;
  const value: StoredCallOfProgram = {
    number,
    digest,
    ...(sealed !== undefined && { sealed: Buffer.from(sealed).toString("base64") }),
  };
  return [callKey(id, number), value];
}

/** Returns where a program is that has no readable header; `undefined` if that is not known. */
function* findPlace(backend: Backend, id: string): Operation<ProgramAt | undefined> {
  const [all = []] = yield* wait(backend.read([{ below: ["programAt"] }]));
  return (all as readonly Entry<ProgramAt>[]).find(({ value }) => value.id === id)?.value;
}

/** Returns what is readable of a program; `undefined` if it was changed, so that it cannot be read and cannot continue. */
function headerOf(entry: Entry): ProgramHeader | undefined {
  try {
    const header = entry.value as ProgramHeader;
    return isHeader(header) ? header : undefined;
  } catch (error) {
    if (error instanceof RecordError || error instanceof TypeError) return undefined;
    throw error;
  }
}

function putProgram(
  transaction: Transaction,
  program: StoredProgram,
  before: ProgramHeader | undefined,
): void {
  const { id, template } = program;
  const isNamed = before?.template === template;
  if (before !== undefined && !isNamed) transaction.remove(["templateUse", before.template, id]);
  for (const [key, value] of programEntries({ ...program, state: "waiting" })) transaction.put(key, value);
}

function putCall(transaction: Transaction, id: string, call: StoredCall): void {
  transaction.put(...callEntry(id, call));
}

/** The key below which the programs of a message are. */
function keyAt({ sessionId, turnId, messageId }: Omit<CallPlace, "callId">): Key {
  return ["programAt", sessionId, turnId, messageId];
}

function callKey(id: string, number: number): Key {
  return ["programCall", id, String(number)];
}

/** Returns bytes that were stored as such, or in base64. */
function bytesOf(stored: unknown): Uint8Array {
  return stored instanceof Uint8Array ? stored : new Uint8Array(Buffer.from(String(stored), "base64"));
}
