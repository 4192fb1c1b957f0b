import { mapSome } from "../../base/promises.ts";
import type { ClaimedCall } from "../../engine/call/suspension.ts";
import type {
  ProgramHeader,
  StoredCall,
  StoredProgram,
  SuspensionStore,
} from "../../programs/stores/suspension-store.ts";
import type { ClaimState } from "../../record/identity.ts";
import type { StorePlace } from "../objects/object-keys.ts";
import {
  type CallText,
  type ProgramText,
  programIndexObject,
  programIndexObjects,
  programObject,
  templateObject,
} from "../objects/program-objects.ts";
import { DEFAULT_TIMEOUT_MS, type RestateStoreOptions, StoreClient } from "./store-client.ts";

/**
 * Stores suspended programs in virtual objects of Restate, which several servers can share: one of them takes a program. A
 * program or a template has at most about 20 MB, since messages of Restate have at most 32 MiB.
 */
export class RestateSuspensionStore implements SuspensionStore {
  readonly #client: StoreClient;
  readonly #store: StorePlace;

  constructor({ ingress, prefix = "", timeoutMs = DEFAULT_TIMEOUT_MS }: RestateStoreOptions) {
    this.#store = { prefix };
    this.#client = new StoreClient({ ingress, timeoutMs, pinged: programIndexObject(this.#store, "") });
  }

  put({ sealed, ...header }: StoredProgram, calls: readonly StoredCall[]): Promise<boolean> {
    return this.#client.write(programObject(this.#store, header.id), "put", {
      store: this.#store,
      header,
      sealed: textOf(sealed),
      calls: calls.map(callTextOf),
    });
  }

  replace({ sealed, ...header }: StoredProgram): Promise<boolean> {
    const program = { header, sealed: textOf(sealed) };
    return this.#client.write(programObject(this.#store, header.id), "replace", program);
  }

  take(id: string, revision: number): Promise<boolean> {
    return this.#client.write(programObject(this.#store, id), "take", revision);
  }

  async get(id: string): Promise<StoredProgram | undefined> {
    const program = await this.#client.read<ProgramText | undefined>(programObject(this.#store, id), "read");
    return program && { ...program.header, sealed: bytesOf(program.sealed) };
  }

  async list(): Promise<readonly ProgramHeader[]> {
    const ids = await this.#readIndex("list");
    const headers = await mapSome(ids, (id) =>
      this.#client.read<ProgramHeader | undefined>(programObject(this.#store, id), "header"),
    );
    return headers
      .filter((header) => header !== undefined)
      .sort((one, other) => one.suspendedAt - other.suspendedAt);
  }

  remove(id: string): Promise<boolean> {
    return this.#client.write(programObject(this.#store, id), "remove", { store: this.#store });
  }

  claim(id: string, revision: number, call: ClaimedCall): Promise<ClaimState> {
    return this.#client.write(programObject(this.#store, id), "claim", { revision, call });
  }

  end(id: string, revision: number, call: Required<StoredCall>): Promise<void> {
    return this.#client.write(programObject(this.#store, id), "end", { revision, call: callTextOf(call) });
  }

  async calls(id: string): Promise<readonly StoredCall[]> {
    const calls = await this.#client.read<readonly CallText[]>(programObject(this.#store, id), "calls");
    return calls.map(
      ({ sealed, ...call }): StoredCall =>
        sealed === undefined ? call : { ...call, sealed: bytesOf(sealed) },
    );
  }

  hasTemplate(digest: string): Promise<boolean> {
    return this.#client.read(templateObject(this.#store, digest), "has");
  }

  addTemplate(digest: string, bytes: Uint8Array): Promise<void> {
    return this.#client.write(templateObject(this.#store, digest), "add", {
      store: this.#store,
      digest,
      bytes: textOf(bytes),
    });
  }

  async template(digest: string): Promise<Uint8Array | undefined> {
    const text = await this.#client.read<string | undefined>(templateObject(this.#store, digest), "read");
    return text === undefined ? undefined : bytesOf(text);
  }

  /** A template that a program names for the first time meanwhile may be removed: no other server should suspend programs. */
  async removeTemplates(): Promise<number> {
    const digests = await this.#readIndex("templates");
    const named = new Set((await this.list()).map(({ template }) => template));
    const unnamed = digests.filter((digest) => !named.has(digest));
    const removed = await mapSome(unnamed, (digest) =>
      this.#client.write<boolean>(templateObject(this.#store, digest), "remove", {
        store: this.#store,
        digest,
      }),
    );
    return removed.filter((isRemoved) => isRemoved).length;
  }

  close(): void {
    this.#client.close();
  }

  async #readIndex(handler: string): Promise<readonly string[]> {
    const parts = programIndexObjects(this.#store);
    return (await mapSome(parts, (part) => this.#client.read<readonly string[]>(part, handler))).flat();
  }
}

function callTextOf({ number, digest, sealed }: StoredCall): CallText {
  return { number, digest, ...(sealed !== undefined && { sealed: textOf(sealed) }) };
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

function bytesOf(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, "base64"));
}
