import type { MaybePromise } from "../../base/promises.ts";
import type { ClaimedCall } from "../../engine/call/suspension.ts";
import type { Backend, Entry, Key, Range } from "../../record/backend.ts";
import type { ClaimState } from "../../record/identity.ts";
import { type Operation, Operations, type Transaction } from "../../record/operations.ts";
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
interface RecordedCall {
  readonly number: number;
  readonly digest: string;
  /** In base64. */
  readonly sealed?: string;
}

/** Under `programAt/SESSION/TURN/MESSAGE/PROGRAM`: the programs of calls are found by it. */
type ProgramAt = Pick<ProgramHeader, "id" | "callId" | "template">;

/** Under `template/DIGEST`; the parts of it, in base64, are under `templatePart/DIGEST/INDEX`. */
interface RecordedTemplate {
  readonly digest: string;
  readonly parts: number;
}

/** How many compressed bytes one entry has at most. */
const PART_BYTES = 4_000_000;

/** Stores suspended programs over a backend, which several processes can share: a program continues in one of them. */
export class RecordedSuspensionStore implements SuspensionStore {
  readonly #operations: Operations;
  readonly #ownsBackend: boolean;

  /** @param options.ownsBackend Whether the store closes it. Default: `true`. */
  constructor(backend: Backend, { ownsBackend = true }: { readonly ownsBackend?: boolean } = {}) {
    this.#ownsBackend = ownsBackend;
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
      if (header === undefined || sealed === undefined || !isHeader(header.value)) return undefined;
      return { ...(header.value as ProgramHeader), sealed: bytesOf(sealed.value) };
    });
  }

  list(): MaybePromise<readonly ProgramHeader[]> {
    return this.#operations.read([{ below: ["program"] }], (found = []) =>
      found
        .map(({ value }: Entry<ProgramHeader>) => value)
        .filter(isHeader)
        .sort((one, other) => one.suspendedAt - other.suspendedAt),
    );
  }

  remove(id: string): MaybePromise<boolean> {
    return this.#operations.write(function* (transaction) {
      const header = yield* transaction.get<ProgramHeader>(["program", id]);
      if (header === undefined) return false;
      const { sessionId, turnId, messageId, callId } = header;
      const [here = []] = yield* transaction.entries<ProgramAt>({
        below: ["programAt", sessionId, turnId, messageId],
      });
      for (const { value } of here) {
        if (value.id !== id && !value.callId.startsWith(`${callId}/`)) continue;
        transaction.remove(["programAt", sessionId, turnId, messageId, value.id]);
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
      const claim = claimOf(call?.value as RecordedCall | undefined, digest);
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
      const before = known?.value as RecordedCall | undefined;
      if (before?.sealed === undefined)
        putCall(transaction, id, { ...call, digest: before?.digest ?? call.digest });
    });
  }

  calls(id: string): MaybePromise<readonly StoredCall[]> {
    return this.#operations.read([{ below: ["programCall", id] }], (found = []) =>
      found
        .map(({ value: { number, digest, sealed } }: Entry<RecordedCall>): StoredCall => {
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
    return this.#operations.write(function* (transaction) {
      if ((yield* transaction.get(["template", digest])) !== undefined) return;
      const compressed = zstdCompressSync(bytes);
      const parts = Math.ceil(compressed.length / PART_BYTES);
      for (let index = 0; index < parts; index++) {
        const part = compressed.subarray(index * PART_BYTES, (index + 1) * PART_BYTES);
        transaction.put(["templatePart", digest, String(index)], part.toString("base64"));
      }
      transaction.put(["template", digest], { digest, parts } satisfies RecordedTemplate);
    });
  }

  template(digest: string): MaybePromise<Uint8Array | undefined> {
    const { zstdDecompressSync } = process.getBuiltinModule("node:zlib");
    const ranges: readonly Range[] = [{ key: ["template", digest] }, { below: ["templatePart", digest] }];
    // The order of keys is that of texts.
    return this.#operations.read(ranges, ([found] = [], parts = []) => {
      if (found === undefined) return undefined;
      const inOrder = [...parts].sort((one, other) => one.created - other.created);
      try {
        const compressed = Buffer.concat(inOrder.map(({ value }) => bytesOf(value)));
        return zstdDecompressSync(compressed, { maxOutputLength: MAX_TEMPLATE_BYTES });
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

function putProgram(
  transaction: Transaction,
  { sealed, ...header }: StoredProgram,
  before: ProgramHeader | undefined,
): void {
  const { id, sessionId, turnId, messageId, callId, template } = header;
  transaction.put(["program", id], { ...header, state: "waiting" } satisfies ProgramHeader);
  transaction.put(["sealed", id], Buffer.from(sealed).toString("base64"));
  transaction.put(["programAt", sessionId, turnId, messageId, id], {
    id,
    callId,
    template,
  } satisfies ProgramAt);
  if (before?.template === template) return;
  if (before !== undefined) transaction.remove(["templateUse", before.template, id]);
  transaction.put(["templateUse", template, id], id);
}

function putCall(transaction: Transaction, id: string, { number, digest, sealed }: StoredCall): void {
  const call: RecordedCall = {
    number,
    digest,
    ...(sealed !== undefined && { sealed: Buffer.from(sealed).toString("base64") }),
  };
  transaction.put(callKey(id, number), call);
}

function callKey(id: string, number: number): Key {
  return ["programCall", id, String(number)];
}

function bytesOf(base64: unknown): Uint8Array {
  return new Uint8Array(Buffer.from(String(base64), "base64"));
}
