import { LruMap } from "../base/lru-map.ts";
import type { ToolExecution } from "../engine/call/execution.ts";
import type { CallSuspensions } from "../engine/call/suspension.ts";
import { receiveCall } from "../engine/call.ts";
import { problemOfArguments } from "./calls/call-confirmation.ts";
import { messageCall } from "./calls/call-run.ts";
import { cancelledExecution } from "./calls/ended-calls.ts";
import { toolPlaces } from "./calls/lanes.ts";
import { MessageRun } from "./calls/message-run.ts";
import type { CallGates, DurableCall, DurableHost, DurableRuntime } from "./durable-runtime.ts";
import type { Settings } from "./options.ts";
import type { Session } from "./session.ts";
import type { SessionTable } from "./session-table.ts";
import type { SessionRecord } from "./store/store.ts";

/** How many sessions of the runtime a process caches. */
const MAX_LOADED = 10_000;

/** Opens and drops the sessions of a process. */
interface SessionOpener {
  /** Opens a session of the runtime here. */
  create(record: SessionRecord): Promise<Session>;
  /** Drops a session that is closed, or was not used for long. Does nothing if it does not exist. */
  forget(id: string): void;
}

/** The sessions of a durable runtime that this process has read. */
export class LoadedSessions {
  readonly #runtime: DurableRuntime;
  readonly #table: SessionTable;
  readonly #opener: SessionOpener;
  readonly #loading = new Map<string, Promise<Session | undefined>>();
  readonly #loaded: LruMap<string, Session>;
  readonly #readAt = new WeakMap<Session, number>();

  constructor(runtime: DurableRuntime, table: SessionTable, opener: SessionOpener) {
    this.#runtime = runtime;
    this.#table = table;
    this.#opener = opener;
    this.#loaded = new LruMap(MAX_LOADED, { onEvicted: (id) => opener.forget(id) });
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
      this.#opener.forget(id);
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
    const loading = this.#opener
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

/** What dispatches the calls of a durable runtime needs of the sessions of this process. */
export interface HostSessions {
  readonly settings: Settings;
  /** Returns a session as it is now; `undefined` if it is closed. */
  find(id: string, known?: SessionRecord): Promise<Session | undefined>;
}

/** Returns what dispatches the calls that a durable runtime gives to this process. */
export function durableHost({ settings, find }: HostSessions): DurableHost {
  const { suspensions, registry } = settings.context;
  return {
    checkArguments: async ({ sessionId, turnId, callId, shown }, edited) => {
      const session = await find(sessionId);
      if (session === undefined) return "the session is closed";
      return problemOfArguments(session, { callId, turnId, toolName: shown.toolName }, edited);
    },
    placesOf: (name) => toolPlaces(registry, settings, name),
    isSuspended: (call) => isSuspended(call, suspensions),
    dispatch: async (call, gates) => {
      const session = await find(call.sessionId, recentRecord(call));
      return session === undefined
        ? cancelledExecution(receiveCall(call.call))
        : dispatch(session, call, gates);
    },
  };
}

/** How long the record of a session is fresh, in ms. A message reads it once for its calls, which follow at once. */
const RECENT_MS = 1_000;

function recentRecord({ session }: DurableCall): SessionRecord | undefined {
  // The clocks of two machines may differ.
  if (session === undefined || Math.abs(Date.now() - session.readAt) > RECENT_MS) return undefined;
  return session.record;
}

async function dispatch(
  session: Session,
  call: DurableCall,
  gates: CallGates,
): Promise<ToolExecution | null> {
  const { turnId, userText, unattended, messageId, trace, isSuspended: goesOn } = call;
  const turn = session.turnOf({ id: turnId, userText, unattended: unattended === true });
  const received = goesOn ? { ...messageCall(call.call), isSuspended: goesOn } : messageCall(call.call);
  const run = new MessageRun(turn, messageId, [received], { gates, trace });
  const result = await run.runFirst();
  // The program waits for the next process.
  if (session.isSuspended && run.hasLeft(received.id)) throw new Error("the process is ending");
  if (run.isLost(received.id)) throw new Error("the call continues in another process");
  return result;
}

async function isSuspended(
  { sessionId, turnId, messageId, call }: DurableCall,
  suspensions: CallSuspensions | undefined,
): Promise<boolean> {
  return (await suspensions?.isSuspended({ sessionId, turnId, messageId, callId: call.id })) ?? false;
}
