import type { ToolExecution } from "../engine/call/execution.ts";
import { RecordedSuspensionStore } from "../programs/stores/recorded-store.ts";
import type { SuspensionStore } from "../programs/stores/suspension-store.ts";
import { RecordError, type SharedBackend } from "../record/backend.ts";
import { PostgresBackend } from "../record/postgres-backend.ts";
import { checkPostgresOptions, type PostgresOptions } from "../record/postgres-connection.ts";
import type { ConfirmationBroker } from "../sessions/confirmations/confirmation-broker.ts";
import { SharedConfirmations } from "../sessions/confirmations/shared-confirmations.ts";
import type {
  DurableHost,
  DurableMessage,
  DurableRuntime,
  MessagePlace,
} from "../sessions/durable-runtime.ts";
import type { CountShared } from "../sessions/quotas.ts";
import { SessionStoreError } from "../sessions/session-errors.ts";
import { RecordedSessionStore } from "../sessions/store/recorded-store.ts";
import type { MessageRecord, SessionRecord } from "../sessions/store/store.ts";
import { MessageRuns } from "./message-runs.ts";
import { RecordedListOfOpen, RecordedMessages } from "./recorded-messages.ts";

/** Runs sessions on several servers that share one database. */
export interface PostgresRuntime extends DurableRuntime {
  /** Stores suspended programs, for `openSuspensions` of `sandgate/programs`. The runtime closes it. */
  readonly programs: SuspensionStore;
}

/**
 * Opens the runtime with which the processes that use one schema of PostgreSQL share sessions: give it to
 * `openSessions` as `durable`. A process that does not reach the database for `leaseMs` is considered gone,
 * and the others take over its calls.
 *
 * @throws {TypeError} as a rejection, if an option is invalid, and {@link SessionStoreError} if the database
 *   cannot be used.
 */
export async function openPostgres(options: PostgresOptions): Promise<PostgresRuntime> {
  const settings = checkPostgresOptions(options);
  try {
    return new RecordedRuntime(await PostgresBackend.open(settings), settings.leaseMs);
  } catch (error) {
    throw error instanceof RecordError ? new SessionStoreError(error.message, { cause: error }) : error;
  }
}

/** For how long calls that run may continue when the process ends, in ms. */
const DRAIN_MS = 10_000;

/** Runs sessions on the processes that have one backend open. */
export class RecordedRuntime implements PostgresRuntime {
  readonly store: RecordedSessionStore;
  readonly programs: SuspensionStore;
  readonly #backend: SharedBackend;
  readonly #leaseMs: number;
  readonly #drainMs: number;
  readonly #messages: RecordedMessages;
  readonly #host = Promise.withResolvers<DurableHost>();
  #confirmations: SharedConfirmations | undefined;
  #runs: MessageRuns | undefined;
  #scanning: NodeJS.Timeout | undefined;
  /** Since when the store was reached whenever it was asked, as `performance.now` says. */
  #reachedSince: number = performance.now();
  #scannedAt: number = performance.now();
  #closing: Promise<void> | undefined;
  readonly #stops: (() => void)[] = [];

  /**
   * @param leaseMs After how many ms without a sign of it the backend takes a process for gone.
   * @param drainMs For how many ms calls that run may continue when this process ends. Default: 10,000.
   */
  constructor(backend: SharedBackend, leaseMs: number, drainMs: number = DRAIN_MS) {
    this.#backend = backend;
    this.#leaseMs = leaseMs;
    this.#drainMs = drainMs;
    this.store = new RecordedSessionStore(backend);
    this.programs = new RecordedSuspensionStore(backend, { ownsBackend: false });
    this.#messages = new RecordedMessages(this.store.operations, backend.member);
  }

  /** That of the store is all. */
  get problem(): undefined {
    return undefined;
  }

  async session(id: string): Promise<SessionRecord | undefined> {
    return this.store.session(id);
  }

  readonly count: CountShared = async (identity, tool, limits) => {
    const counted = await this.store.countOnce(identity, tool, limits);
    return counted === "known" ? "counted" : counted;
  };

  openConfirmations({ timeoutMs }: { readonly timeoutMs: number }): ConfirmationBroker {
    const confirmations = new SharedConfirmations({
      store: this.store,
      list: new RecordedListOfOpen(this.store.operations),
      timeoutMs,
      now: () => Date.now() + this.#backend.skewMs,
      checkArguments: async (confirmation, edited) =>
        (await this.#host.promise).checkArguments(confirmation, edited),
    });
    this.#confirmations = confirmations;
    // The list is read each second in any case.
    this.#stops.push(
      this.#backend.watch({ below: ["open"] }, () => void confirmations.refresh().catch(() => {})),
    );
    return confirmations;
  }

  async start(host: DurableHost): Promise<void> {
    const runs = new MessageRuns(
      { messages: this.#messages, confirmations: this.#confirmations as SharedConfirmations, host },
      this.#backend,
    );
    this.#runs = runs;
    const cancel = (): void => void runs.cancelCancelled().catch(() => {});
    this.#stops.push(this.#backend.watch({ below: ["cancelled"] }, cancel));
    this.#stops.push(this.#backend.watch({ below: ["session"] }, cancel));
    this.#host.resolve(host);
    this.#scanLater(0);
  }

  #scanLater(delayMs: number): void {
    if (this.#closing !== undefined) return;
    this.#scanning = setTimeout(
      () => void this.#scan().finally(() => this.#scanLater(this.#leaseMs / 5)),
      delayMs,
    );
    this.#scanning.unref();
  }

  async #scan(): Promise<void> {
    const now = performance.now();
    // A process that stood still does not know what it has missed; after an outage, the others need time to be seen again.
    if (now - this.#scannedAt > this.#leaseMs || this.#backend.problem !== undefined)
      this.#reachedSince = now;
    this.#scannedAt = now;
    try {
      await this.#runs?.scan(now - this.#reachedSince >= this.#leaseMs);
    } catch {
      this.#reachedSince = performance.now();
    }
  }

  async accept(message: DurableMessage): Promise<MessageRecord | "forgotten" | undefined> {
    await this.#host.promise;
    const runs = this.#runs as MessageRuns;
    return runs.accept(message, async () => this.#messages.accept(message));
  }

  async results(message: MessagePlace): Promise<readonly (ToolExecution | null)[] | undefined> {
    const runs = this.#runs as MessageRuns;
    const own = await runs.results(message);
    if (own !== undefined) return own;
    await runs.ended(message);
    return undefined;
  }

  async cancelTurn(sessionId: string, turnId: string): Promise<void> {
    this.#runs?.cancel(sessionId, turnId);
    await this.#messages.cancelTurn(sessionId, turnId, Date.now() + this.#backend.skewMs);
  }

  /** Calls that run may end; those that have not begun continue in another process. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    clearTimeout(this.#scanning);
    for (const stop of this.#stops) stop();
    await this.#runs?.close(this.#drainMs);
    await this.#backend.close();
  }
}
