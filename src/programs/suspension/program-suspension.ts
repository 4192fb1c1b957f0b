import { ExponentialBackoff, handleAll, retry } from "cockatiel";
import type { MaybePromise } from "../../base/promises.ts";
import { describeThrown } from "../../base/thrown.ts";
import type {
  CallPlace,
  CallSuspension,
  ClaimedCall,
  EngineState,
  SuspendableCall,
} from "../../engine/call/suspension.ts";
import { CanonicalJson } from "../../json/canonical.ts";
import type { JsonObject } from "../../json/value.ts";
import { claimState, requireClaimed } from "../../record/identity.ts";
import type { NestedResult } from "../../sandboxes/contract/sandbox.ts";
import type { SuspendedTask, SuspendedTemplate } from "../../sandboxes/contract/suspension.ts";
import type { ProgramHeader, StoredCall, SuspensionStore } from "../stores/suspension-store.ts";
import { type SuspensionKeys, seal, unseal } from "./keys.ts";
import { SuspensionRefusedError } from "./suspension-error.ts";

/** How often an operation is tried again, after about 0.1, 0.2 and 0.4 s. */
const RETRIES = retry(handleAll, {
  maxAttempts: 3,
  backoff: new ExponentialBackoff({ initialDelay: 100, maxDelay: 1_000 }),
});

/** The services that all programs share. */
export interface SuspensionHost {
  readonly store: SuspensionStore;
  readonly keys: SuspensionKeys;
  readonly afterMs: number;
  /** Returns milliseconds since the epoch. */
  readonly now: () => number;
}

/** A program that an earlier process suspended. */
export interface EarlierProgram {
  readonly task: SuspendedTask;
  readonly restored: EngineState;
  readonly stored: ProgramHeader;
  readonly calls: readonly StoredCall[];
}

/** A call of a program's tool in memory, before the program is suspended for the first time. */
interface MemoryCall {
  readonly digest: string;
  /** `undefined` until it has ended. */
  readonly result?: NestedResult;
}

/**
 * Stores one program. Until it is first suspended, nothing is written, and the states of its calls stay in
 * memory: they are of no use without the program, and most programs never wait for long.
 */
export class ProgramSuspension implements CallSuspension {
  readonly from: SuspendedTask | undefined;
  readonly restored: EngineState | undefined;
  readonly sinceMs: number;
  readonly afterMs: number;
  readonly #host: SuspensionHost;
  readonly #call: SuspendableCall;
  readonly #id: string;
  /** The states of the calls that an earlier process made. */
  readonly #earlier: ReadonlyMap<number, "begun" | NestedResult>;
  readonly #calls = new Map<number, MemoryCall>();
  #revision: number;
  /** Whether another process has taken the program, so that this one must not remove it. */
  #isLost = false;
  /** Whether it is waiting in the store, so that another process can take it. */
  #isWaiting: boolean;
  #writing: Promise<void> | undefined;

  /** @throws {SuspensionRefusedError} if a result of a call was changed. */
  constructor(host: SuspensionHost, call: SuspendableCall, earlier?: EarlierProgram) {
    this.#host = host;
    this.#call = call;
    this.#id = programId(call);
    this.afterMs = host.afterMs;
    this.from = earlier?.task;
    this.restored = earlier?.restored;
    this.sinceMs = earlier === undefined ? 0 : Math.max(host.now() - earlier.stored.suspendedAt, 0);
    this.#revision = earlier?.stored.revision ?? 0;
    this.#isWaiting = earlier !== undefined;
    const calls = earlier?.calls ?? [];
    this.#earlier = new Map(
      calls.map((each) => [each.number, each.sealed === undefined ? "begun" : this.#open(each, each.sealed)]),
    );
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  get #isStored(): boolean {
    return this.#revision > 0;
  }

  async suspend(task: SuspendedTask, template: SuspendedTemplate): Promise<void> {
    this.#writing = this.#write(task, template);
    try {
      await this.#writing;
    } finally {
      this.#writing = undefined;
    }
  }

  async #write(task: SuspendedTask, template: SuspendedTemplate): Promise<void> {
    const { store, keys, now } = this.#host;
    if (!(await store.hasTemplate(template.digest)))
      await store.addTemplate(template.digest, template.bytes());
    const { describe, ...call } = this.#call;
    const { definitions, policyRevision, ...engine } = describe(task.open);
    const { build, open, state, heap, leftWaitMs } = task;
    const suspendedAt = now();
    const header = {
      ...call,
      id: this.#id,
      revision: this.#revision + 1,
      state: "waiting" as const,
      keyId: keys.sealing.id,
      build,
      template: template.digest,
      definitions,
      open,
      ...(policyRevision !== undefined && { policyRevision }),
      suspendedAt,
      waitUntil: Math.floor(suspendedAt + leftWaitMs),
    };
    const content = writeContent({ engine, state, leftWaitMs, heap });
    const sealed = seal(content, boundTo(header), keys.sealing);
    // The calls in the store have states of their own from the first time on.
    const calls = this.#isStored
      ? []
      : Array.from(this.#calls, ([number, known]) => this.#stored(number, known));
    const program = { ...header, sealed };
    if (!(await (this.#isWaiting ? store.replace(program) : store.put(program, calls)))) {
      this.#isLost = true;
      throw new SuspensionRefusedError("taken");
    }
    this.#revision++;
    this.#isWaiting = true;
    // Once a program names it, nobody removes it; until then, another process could.
    if (!(await store.hasTemplate(template.digest)))
      await store.addTemplate(template.digest, template.bytes());
    this.#calls.clear();
  }

  #stored(number: number, { digest, result }: MemoryCall): StoredCall {
    if (result === undefined) return { number, digest };
    return { number, digest, sealed: this.#seal({ number, digest }, result) };
  }

  #seal(call: ClaimedCall, result: NestedResult): Uint8Array {
    const { principal } = this.#call;
    const bound = boundResult({ id: this.#id, ...(principal !== undefined && { principal }) }, call);
    const { sealing } = this.#host.keys;
    const text = Buffer.from(JSON.stringify(result));
    return Buffer.concat([
      Buffer.from([sealing.id.length]),
      Buffer.from(sealing.id),
      seal(text, bound, sealing),
    ]);
  }

  async resume(): Promise<void> {
    if (!(await this.#take())) throw new SuspensionRefusedError("taken");
  }

  /** Takes the program from the store. Returns `false` if another process has it. */
  async #take(): Promise<boolean> {
    this.#isLost = !(await repeated(() => this.#host.store.take(this.#id, this.#revision)));
    this.#isWaiting = false;
    return !this.#isLost;
  }

  async template(digest: string): Promise<Uint8Array | undefined> {
    return repeated(() => this.#host.store.template(digest));
  }

  claim(call: ClaimedCall, again: boolean): MaybePromise<void> {
    if (this.#writing !== undefined || this.#isStored) return this.#claimLater(call, again);
    const { number, digest } = call;
    const known = this.#calls.get(number);
    requireClaimed(claimState(known, call, { isClaimed: true, isEnded: known?.result !== undefined }), again);
    this.#calls.set(number, { digest });
  }

  async #claimLater(call: ClaimedCall, again: boolean): Promise<void> {
    await this.#settled();
    if (!this.#isStored) return this.claim(call, again);
    requireClaimed(await this.#host.store.claim(this.#id, this.#revision, call), again);
  }

  end(call: ClaimedCall, result: NestedResult): MaybePromise<void> {
    if (this.#writing !== undefined || this.#isStored) return this.#endLater(call, result);
    this.#calls.set(call.number, { digest: call.digest, result });
  }

  async #endLater(call: ClaimedCall, result: NestedResult): Promise<void> {
    await this.#settled();
    if (!this.#isStored) return this.end(call, result);
    try {
      await this.#host.store.end(this.#id, this.#revision, { ...call, sealed: this.#seal(call, result) });
    } catch (thrown) {
      // The program has the result; after a loss of the process, whether the call took effect is not known.
      const { message } = describeThrown(thrown);
      process.emitWarning(`The result of a call could not be kept: ${message}`, {
        code: "SANDGATE_NOT_SUSPENDED",
      });
    }
  }

  /** Waits until nothing is being written. */
  async #settled(): Promise<void> {
    await this.#writing?.catch(() => {});
  }

  known(number: number): "begun" | NestedResult | undefined {
    return this.#earlier.get(number);
  }

  /** @throws {SuspensionRefusedError} if the result was changed. */
  #open(call: ClaimedCall, sealed: Uint8Array): NestedResult {
    const { principal } = this.#call;
    const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.length);
    const textAt = 1 + (bytes[0] ?? 0);
    const key = this.#host.keys.find(bytes.toString("utf8", 1, textAt));
    if (key === undefined) throw new SuspensionRefusedError("unknown_key");
    const bound = boundResult({ id: this.#id, ...(principal !== undefined && { principal }) }, call);
    return JSON.parse(Buffer.from(unseal(bytes.subarray(textAt), bound, key)).toString()) as NestedResult;
  }

  async close(): Promise<void> {
    await this.#settled();
    if (!this.#isStored || this.#isLost) return;
    try {
      // While it waited, it may have gone on in another process, which needs it.
      if (!this.#isWaiting || (await this.#take())) await this.#host.store.remove(this.#id);
    } catch (thrown) {
      warnNotRemoved(thrown);
    }
  }
}

/**
 * Tells the operator that a program that has ended stays in its store. It never continues, and is removed
 * later.
 */
export function warnNotRemoved(thrown: unknown): void {
  const { message } = describeThrown(thrown);
  process.emitWarning(`A program could not be removed: ${message}`, { code: "SANDGATE_NOT_SUSPENDED" });
}

/**
 * Does something with a store, again if it fails: a program that may have waited for days ends when it cannot be read or taken.
 *
 * @throws as a rejection, what the last attempt threw.
 */
export async function repeated<Result>(operation: () => MaybePromise<Result>): Promise<Result> {
  return RETRIES.execute(async () => operation());
}

const ID_LENGTH = 32;

/** Returns the id of the program that a call is. */
export function programId({ sessionId, turnId, messageId, callId }: CallPlace): string {
  return new CanonicalJson([sessionId, turnId, messageId, callId]).digest.slice(0, ID_LENGTH);
}

/** The data that a sealed program is bound to: its unencrypted part, except for whether it waits. */
export function boundTo({ state: _, ...header }: ProgramHeader): JsonObject {
  return JSON.parse(JSON.stringify(header)) as JsonObject;
}

/** The data that a sealed result of a call is bound to. */
function boundResult(
  program: Pick<ProgramHeader, "id" | "principal">,
  call: { readonly number: number; readonly digest: string },
): JsonObject {
  const { id, principal = null } = program;
  return { program: id, principal, call: call.number, digest: call.digest };
}

/** What is sealed. */
interface ProgramContent {
  readonly engine: Omit<EngineState, "definitions" | "policyRevision">;
  readonly state: SuspendedTask["state"];
  readonly leftWaitMs: number;
  readonly heap: Uint8Array;
}

/** Writes the content of a program: the length of a JSON text, the text, and the heap. */
function writeContent({ heap, ...rest }: ProgramContent): Uint8Array {
  const text = Buffer.from(JSON.stringify(rest));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  return Buffer.concat([length, text, heap]);
}

/** @throws {SuspensionRefusedError} if it is no content. */
export function readContent(content: Uint8Array): ProgramContent {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.length);
  try {
    const heapAt = 4 + bytes.readUInt32LE(0);
    if (heapAt > bytes.length) throw new RangeError("the text is longer than the content");
    const rest = JSON.parse(bytes.toString("utf8", 4, heapAt)) as Omit<ProgramContent, "heap">;
    return { ...rest, heap: bytes.subarray(heapAt) };
  } catch {
    throw new SuspensionRefusedError("changed");
  }
}
