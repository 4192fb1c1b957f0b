import { LruMap } from "../../base/lru-map.ts";
import type { DurableRuntime } from "../durable/durable-runtime.ts";
import type { Session } from "../session.ts";
import type { SessionTable } from "../session-table.ts";
import type { SessionRecord } from "../store/records.ts";

/** How many sessions of the runtime a process remembers. Others are read again when they are needed. */
const MAX_LOADED = 10_000;

/** What keeps the sessions of a process. */
export interface SessionKeeper {
  /** Opens a session of the runtime here. */
  create(record: SessionRecord): Promise<Session>;
  /** Drops a session that is closed, or was not used for long. Does nothing if it is not there. */
  forget(id: string): void;
}

/** The sessions of a durable runtime that this process has read. */
export class LoadedSessions {
  readonly #runtime: DurableRuntime;
  readonly #table: SessionTable;
  readonly #keeper: SessionKeeper;
  readonly #loading = new Map<string, Promise<Session | undefined>>();
  readonly #loaded: LruMap<string, Session>;
  readonly #readAt = new WeakMap<Session, number>();

  constructor(runtime: DurableRuntime, table: SessionTable, keeper: SessionKeeper) {
    this.#runtime = runtime;
    this.#table = table;
    this.#keeper = keeper;
    this.#loaded = new LruMap(MAX_LOADED, { onEvicted: (id) => keeper.forget(id) });
  }

  /**
   * Returns a session as it is now, perhaps changed by another process; `undefined` if it is closed.
   *
   * @param known The session, if it was read just now.
   * @param maxAgeMs How long ago it may have been read. Default: it is read now.
   */
  async find(id: string, known?: SessionRecord, maxAgeMs = 0): Promise<Session | undefined> {
    const session = this.#loaded.get(id);
    if (known === undefined && maxAgeMs > 0 && session !== undefined) {
      if (performance.now() - (this.#readAt.get(session) ?? 0) <= maxAgeMs) return session;
    }
    return this.#find(id, known);
  }

  async #find(id: string, known: SessionRecord | undefined): Promise<Session | undefined> {
    const record = known ?? (await this.#runtime.session(id));
    if (record === undefined) {
      this.#loaded.delete(id);
      this.#keeper.forget(id);
      return undefined;
    }
    const session = this.#table.get(id) ?? (await this.#load(record));
    if (session !== undefined) this.#readAt.set(session, performance.now());
    session?.takeOver(record);
    return session;
  }

  /** Reads all sessions that are open. */
  async findAll(): Promise<void> {
    for (const record of await this.#runtime.store.sessions()) await this.find(record.id, record);
  }

  /** Remembers a session that was opened here. */
  add(session: Session): void {
    this.#loaded.set(session.id, session);
  }

  #load(record: SessionRecord): Promise<Session | undefined> {
    const { id } = record;
    const before = this.#loading.get(id);
    if (before !== undefined) return before;
    const loading = this.#keeper
      .create(record)
      .then((session) => {
        this.#table.add(session);
        this.add(session);
        return session;
      })
      .finally(() => this.#loading.delete(id));
    this.#loading.set(id, loading);
    return loading;
  }
}
