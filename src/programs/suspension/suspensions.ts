import { describeThrown } from "../../base/thrown.ts";
import { type OptionNames, refuseUnknown } from "../../base/unknown-names.ts";
import type {
  CallPlace,
  CallSuspension,
  CallSuspensions,
  ReopenedSuspension,
  SuspendableCall,
  SuspendedCall,
  WaitingCall,
} from "../../engine/call/suspension.ts";
import { MemorySuspensionStore } from "../stores/recorded-store.ts";
import type { ProgramHeader, StoredProgram, SuspensionStore } from "../stores/suspension-store.ts";
import { type SuspensionKey, SuspensionKeys, seal, unseal } from "./keys.ts";
import {
  boundTo,
  ProgramSuspension,
  programId,
  readContent,
  repeated,
  type SuspensionHost,
  warnNotRemoved,
} from "./program-suspension.ts";
import { SuspensionRefusedError } from "./suspension-error.ts";

/**
 * How long programs are stored after they may no longer wait, in ms: longer than a program can continue then,
 * as its wall time is at most 25 days.
 */
const KEPT_MS = 30 * 24 * 3_600_000;

const NAMES: OptionNames<SuspensionsOptions> = { store: true, keys: true, afterMs: true };

/** Options of {@link openSuspensions}. */
export interface SuspensionsOptions {
  /** Where suspended programs are stored. It is closed with the suspensions. Default: in memory. */
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
 * Opens the suspensions of JavaScript tools, including programs, which wait for the calls that they make.
 * Pass it as `suspensions` to `openSessions` or a dispatch, and close it after them.
 *
 * @throws {TypeError} if an option is invalid.
 */
export function openSuspensions(options: SuspensionsOptions): Suspensions {
  refuseUnknown(options, NAMES, "openSuspensions");
  const { store = new MemorySuspensionStore(), keys, afterMs = DEFAULT_AFTER_MS } = options;
  if (!(Number.isInteger(afterMs) && afterMs >= 1 && afterMs <= MAX_DELAY_MS)) {
    throw new TypeError(`afterMs must be an integer from 1 to ${MAX_DELAY_MS}, not ${String(afterMs)}`);
  }
  return new Suspensions({ store, keys: new SuspensionKeys(keys), afterMs, now: Date.now });
}

/** Suspended programs. {@link openSuspensions} opens them. */
export class Suspensions implements CallSuspensions, AsyncDisposable {
  readonly #host: SuspensionHost;
  /** The ids of programs that another process has taken, until their calls have ended in this one. */
  readonly #takenElsewhere = new Set<string>();

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
    const content = this.#open(stored, call);
    const { engine, state, leftWaitMs, heap } = readContent(content);
    const renewed = await this.#renew(stored, content);
    const { build, template, open, definitions, policyRevision } = renewed;
    const task = { build, template, open, state, leftWaitMs, heap };
    const restored = { ...engine, definitions, ...(policyRevision !== undefined && { policyRevision }) };
    const calls = await repeated(() => store.calls(id));
    const earlier = { task, restored, stored: renewed, calls };
    return new ProgramSuspension(this.#host, call, earlier) as ReopenedSuspension;
  }

  /**
   * Gives a program its next revision. A process with an earlier one, which may only have lost its
   * connection, can then no longer make calls for the program or write it.
   *
   * @throws {SuspensionRefusedError} as a rejection, if another process was first.
   */
  async #renew({ sealed: _, ...stored }: StoredProgram, content: Uint8Array): Promise<ProgramHeader> {
    const { store, keys } = this.#host;
    const header = { ...stored, revision: stored.revision + 1, keyId: keys.sealing.id };
    const program = { ...header, sealed: seal(content, boundTo(header), keys.sealing) };
    if (await repeated(() => store.replace(program))) return header;
    this.#takenElsewhere.add(header.id);
    throw new SuspensionRefusedError("taken");
  }

  /** @throws {SuspensionRefusedError} if it must not continue as this call. */
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
    const id = programId(place);
    if (this.#takenElsewhere.delete(id)) return;
    try {
      const stored = await store.get(id);
      // A program that continued in another process belongs to that process.
      if (stored?.state === "waiting" && (await store.take(stored.id, stored.revision)))
        await store.remove(stored.id);
    } catch (thrown) {
      warnNotRemoved(thrown);
    }
  }

  /** @internal */
  async clean(isLost: (call: SuspendedCall) => boolean): Promise<void> {
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

  /** Closes the store. Suspended programs stay suspended. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#host.store.close();
  }
}

/**
 * Removes the programs that can never continue, and the templates that no program uses. Programs of other
 * processes stay as long as they can continue.
 *
 * @param isLost Whether no process continues a program.
 * @param now Milliseconds since the epoch.
 */
async function cleanStore(
  store: SuspensionStore,
  isLost: (call: SuspendedCall) => boolean,
  now: number,
): Promise<void> {
  for (const program of await store.list()) {
    const isResumed = program.state === "taken";
    const isOver = now - program.waitUntil > KEPT_MS;
    if (isLost({ ...program, isResumed }) || (isOver && (await isFree(store, program))))
      await store.remove(program.id);
  }
  await store.removeTemplates();
}

/** Whether no process continues a program, or is about to. */
async function isFree(store: SuspensionStore, { id, state, revision }: ProgramHeader): Promise<boolean> {
  return state === "taken" || store.take(id, revision);
}
