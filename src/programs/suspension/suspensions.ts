import { describeThrown } from "../../base/thrown.ts";
import type {
  CallPlace,
  CallSuspension,
  CallSuspensions,
  KeptCall,
  ReopenedSuspension,
  SuspendableCall,
  WaitingCall,
} from "../../engine/call/suspension.ts";
import { cleanStore } from "../stores/clean-store.ts";
import { MemorySuspensionStore } from "../stores/memory-store.ts";
import type { ProgramHeader, StoredProgram, SuspensionStore } from "../stores/suspension-store.ts";
import { type SuspensionKey, SuspensionKeys } from "./keys.ts";
import { warnNotRemoved } from "./not-removed.ts";
import { boundTo, programId, readContent } from "./program-record.ts";
import { ProgramSuspension, type SuspensionHost } from "./program-suspension.ts";
import { repeated } from "./repeated.ts";
import { unseal } from "./sealing.ts";
import { SuspensionRefusedError } from "./suspension-error.ts";

/** Options of {@link openSuspensions}. */
export interface SuspensionsOptions {
  /** Where suspended programs are kept. It is closed with the suspensions. Default: in memory. */
  readonly store?: SuspensionStore;
  /** The first key seals, and all of them open: see `readSuspensionKeys`. */
  readonly keys: readonly SuspensionKey[];
  /**
   * Milliseconds after which a program that waits is suspended, whatever it waits for: 1 to 2^31 - 1. One that waits for a
   * person is suspended at once. Default: 2,000.
   */
  readonly afterMs?: number;
}

const DEFAULT_AFTER_MS = 2_000;
const MAX_DELAY_MS = 2_147_483_647;

/**
 * Opens what keeps JavaScript tools, programs among them, while they wait for the calls that they make. Pass it as
 * `suspensions` to `openSessions` or a dispatch, and close it after them.
 *
 * @throws {TypeError} if an option is invalid.
 */
export function openSuspensions(options: SuspensionsOptions): Suspensions {
  const { store = new MemorySuspensionStore(), keys, afterMs = DEFAULT_AFTER_MS } = options;
  if (!(Number.isInteger(afterMs) && afterMs >= 1 && afterMs <= MAX_DELAY_MS)) {
    throw new TypeError(`afterMs must be an integer from 1 to ${MAX_DELAY_MS}, not ${String(afterMs)}`);
  }
  return new Suspensions({ store, keys: new SuspensionKeys(keys), afterMs, now: Date.now });
}

/** Suspended programs. {@link openSuspensions} opens them. */
export class Suspensions implements CallSuspensions, AsyncDisposable {
  readonly #host: SuspensionHost;

  /** @internal */
  constructor(host: SuspensionHost) {
    this.#host = host;
  }

  /** @internal */
  begin(call: SuspendableCall): CallSuspension {
    return new ProgramSuspension(this.#host, call);
  }

  /** @internal */
  async reopen(call: SuspendableCall): Promise<ReopenedSuspension> {
    const { store } = this.#host;
    const id = programId(call);
    const stored = await repeated(() => store.get(id));
    if (stored === undefined) throw new SuspensionRefusedError("unknown");
    if (stored.state !== "waiting") throw new SuspensionRefusedError("taken");
    const { engine, state, leftWaitMs, heap } = readContent(this.#open(stored, call));
    const { build, template, open, definitions, policyRevision } = stored;
    const task = { build, template, open, state, leftWaitMs, heap };
    const kept = { ...engine, definitions, ...(policyRevision !== undefined && { policyRevision }) };
    const calls = await repeated(() => store.calls(id));
    const earlier = { task, kept, stored, calls };
    return new ProgramSuspension(this.#host, call, earlier) as ReopenedSuspension;
  }

  /** @throws {SuspensionRefusedError} if it must not go on as this call. */
  #open({ sealed, ...header }: StoredProgram, call: SuspendableCall): Uint8Array {
    if (header.principal !== call.principal) throw new SuspensionRefusedError("other_principal");
    const isSame =
      programId(header) === programId(call) &&
      header.id === programId(call) &&
      header.toolName === call.toolName &&
      header.digest === call.digest;
    if (!isSame) throw new SuspensionRefusedError("other_call");
    const key = this.#host.keys.find(header.keyId);
    if (key === undefined) throw new SuspensionRefusedError("unknown_key");
    return unseal(sealed, boundTo(header), key);
  }

  /** @internal */
  async isSuspended(place: CallPlace): Promise<boolean> {
    return (await repeated(() => this.#host.store.get(programId(place))))?.state === "waiting";
  }

  /** @internal */
  async waiting(): Promise<readonly WaitingCall[]> {
    return (await this.list()).filter(({ state }) => state === "waiting");
  }

  /** @internal */
  async forget(place: CallPlace): Promise<void> {
    const { store } = this.#host;
    try {
      const stored = await store.get(programId(place));
      // One that went on in another process is its own.
      if (stored?.state === "waiting" && (await store.take(stored.id, stored.revision)))
        await store.remove(stored.id);
    } catch (thrown) {
      warnNotRemoved(thrown);
    }
  }

  /** @internal */
  async clean(isLost: (call: KeptCall) => boolean): Promise<void> {
    try {
      await cleanStore(this.#host.store, isLost, this.#host.now());
    } catch (thrown) {
      const { message } = describeThrown(thrown);
      process.emitWarning(`Programs could not be cleaned up: ${message}`, { code: "SANDGATE_NOT_SUSPENDED" });
    }
  }

  /** Returns what is readable of all suspended programs, the oldest first. */
  async list(): Promise<readonly ProgramHeader[]> {
    return this.#host.store.list();
  }

  /** Closes the store. What is suspended stays so. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#host.store.close();
  }
}
