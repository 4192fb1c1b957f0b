import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import type { Tool } from "../../../src/engine/tool.ts";
import type { JsonObject } from "../../../src/json/value.ts";
import { MemorySuspensionStore } from "../../../src/programs/stores/recorded-store.ts";
import type { SuspensionStore } from "../../../src/programs/stores/suspension-store.ts";
import type { SuspensionKey } from "../../../src/programs/suspension/keys.ts";
import { openSuspensions, type Suspensions } from "../../../src/programs/suspension/suspensions.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import type { Confirmation } from "../../../src/sessions/confirmations/confirmation.ts";
import type { SessionsOptions } from "../../../src/sessions/options.ts";
import { openSessions, type Sessions } from "../../../src/sessions/sessions.ts";
import { MemorySessionStore } from "../../../src/sessions/store/memory-store.ts";
import type { SessionStore } from "../../../src/sessions/store/store.ts";
import { KEY, programPolicy } from "./setting.ts";

const sandboxes = await openSandboxes({ workers: { threads: 1 } });

/** What one life has that differs from the one before. */
export interface LifeOptions extends Partial<SessionsOptions> {
  readonly tools?: readonly Tool[];
  readonly keys?: readonly SuspensionKey[];
  readonly afterMs?: number;
}

/** The stores that outlive processes. */
export interface LivesStores {
  readonly sessions: SessionStore;
  readonly programs: SuspensionStore;
}

/**
 * Sessions over stores that outlive them, as those of processes that come one after the other. The earlier ones are not
 * closed: like processes that were killed, they write nothing later, as nobody answers them.
 */
export class Lives {
  readonly sessionStore: SessionStore;
  readonly programStore: SuspensionStore;
  readonly #tools: readonly Tool[];
  #begun = 0;

  /** @param stores Default: in memory. */
  constructor(tools: readonly Tool[], stores?: LivesStores) {
    this.#tools = tools;
    this.sessionStore = stores?.sessions ?? new MemorySessionStore();
    this.programStore = stores?.programs ?? new MemorySuspensionStore();
  }

  async begin({ tools = this.#tools, keys = [KEY], afterMs, ...more }: LifeOptions = {}): Promise<Life> {
    const registry = new ToolRegistry();
    for (const tool of tools) registry.register(tool);
    const suspensions = openSuspensions({
      store: this.programStore,
      keys,
      ...(afterMs !== undefined && { afterMs }),
    });
    const sessions = await openSessions({
      registry,
      suspensions,
      sandboxes,
      policy: programPolicy(),
      store: this.sessionStore,
      confirmations: { default: { destructive: "auto", write: "auto" } },
      ...more,
    });
    return new Life(sessions, suspensions, ++this.#begun);
  }
}

/** One process. */
export class Life {
  readonly sessions: Sessions;
  readonly suspensions: Suspensions;
  /** The results of the messages of earlier lives. */
  readonly resumed: Promise<readonly (ToolExecution | null)[]>[];
  readonly #number: number;

  constructor(sessions: Sessions, suspensions: Suspensions, number: number) {
    this.#number = number;
    this.sessions = sessions;
    this.suspensions = suspensions;
    this.resumed = sessions.takeResumed().map(({ results }) => results);
  }

  /** Has the model call the program. */
  async call(
    input: JsonObject = {},
    name = "program",
  ): Promise<Promise<readonly (ToolExecution | null)[]>[]> {
    const session = await this.sessions.open({ id: "s1", principal: { id: "ann", kind: "user" } });
    const results = session
      .turn({ id: "t1" })
      .dispatchAll([{ id: "c1", name, arguments: input }], { messageId: "m1" });
    return [results];
  }

  /** Waits until so many confirmations are open, and as many programs suspended. Returns the confirmations. */
  async waits(confirmations: number, programs = 1): Promise<readonly Confirmation[]> {
    for (;;) {
      const waiting = (await this.suspensions.list()).filter(({ state }) => state === "waiting");
      const open = this.sessions.openConfirmations();
      if (open.length === confirmations && waiting.length === programs) return open;
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }

  /**
   * Waits until this life has suspended the only program, as each one before it has. The program gets a new revision when a life
   * finds it, and when it is suspended.
   */
  async suspended(): Promise<void> {
    const revision = 2 * this.#number - 1;
    for (;;) {
      const [program] = await this.suspensions.list();
      if (program?.revision === revision && program.state === "waiting") return;
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }

  async answer({ id, digest }: Confirmation, decision: "allow" | "deny" = "allow"): Promise<void> {
    await this.sessions.answer(id, { decision, digest, by: "eve" });
  }

  /** The only result of the message of an earlier life. */
  async result(): Promise<ToolExecution> {
    const [execution] = (await this.resumed[0]) ?? [];
    if (execution === undefined || execution === null) throw new Error("there is no result");
    return execution;
  }
}
