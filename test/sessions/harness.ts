import { type DispatchEvent, EventStream } from "../../src/engine/call/events.ts";
import type { ToolCall } from "../../src/engine/call.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import type { Tool } from "../../src/engine/tool.ts";
import type { JsonObject } from "../../src/json/value.ts";
import { HostPolicy } from "../../src/policy/policy.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import type {
  CallConfirmation,
  Confirmation,
  ToolQuestion,
} from "../../src/sessions/confirmations/confirmation.ts";
import type { SessionsOptions } from "../../src/sessions/options.ts";
import { openSessions, type Sessions } from "../../src/sessions/sessions.ts";
import type { HostContext } from "../../src/tool/implementations/implementations.ts";
import type { SideEffects } from "../../src/tool/side-effects.ts";

const sandboxes = await openSandboxes({ workers: { threads: 1 } });

/** A tool whose calls run until they are let go. Order is known by who has begun, never by time. */
export class Gate {
  /** The calls that have begun, in order. */
  readonly begun: string[] = [];
  readonly ended: string[] = [];
  #running = 0;
  /** The most calls that ran at the same time. */
  mostAtOnce = 0;
  readonly #held = new Map<string, () => void>();
  #onBegin: (() => void)[] = [];

  /** Runs until {@link release}, or until it is cancelled if the tool heeds its signal. */
  readonly host = async (_input: JsonObject, { callId, signal }: HostContext): Promise<string> => {
    this.begun.push(callId);
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.#running);
    for (const resolve of this.#onBegin.splice(0)) resolve();
    try {
      await new Promise<void>((resolve, reject) => {
        this.#held.set(callId, resolve);
        signal.addEventListener("abort", () => reject(new Error("stopped")));
      });
      return callId;
    } finally {
      this.#running--;
      this.ended.push(callId);
    }
  };

  /** Resolves when so many calls have begun. */
  async hasBegun(count: number): Promise<void> {
    while (this.begun.length < count) await new Promise<void>((resolve) => this.#onBegin.push(resolve));
  }

  release(...callIds: readonly string[]): void {
    for (const callId of callIds) this.#held.get(callId)?.();
  }
}

/** Sessions with their events, and people who answer. */
export interface TestSessions {
  readonly sessions: Sessions;
  readonly events: readonly DispatchEvent[];
  /** Resolves to the next confirmation that no earlier call has returned. */
  nextConfirmation(): Promise<CallConfirmation>;
  /** The same for a question of a tool. */
  nextQuestion(): Promise<ToolQuestion>;
}

/** A tool with a class, which runs on the host. */
export function tool(
  name: string,
  sideEffects: SideEffects,
  host: (input: JsonObject, ctx: HostContext) => unknown = () => `${name} ran`,
  more: Partial<Tool> = {},
): Tool {
  return { name, description: "", inputSchema: { type: "object" }, sideEffects, ...more, host } as Tool;
}

export function call(id: string, name: string, args: JsonObject = {}): ToolCall {
  return { id, name, arguments: args };
}

/** Opens sessions whose policy runs every call on the host. */
export async function testSessions(
  tools: readonly Tool[],
  more: Partial<SessionsOptions> = {},
): Promise<TestSessions> {
  const registry = new ToolRegistry();
  for (const each of tools) registry.register(each);
  const events = new EventStream();
  const seen: DispatchEvent[] = [];
  events.on((event) => seen.push(event));
  const sessions = await openSessions({ registry, policy: new HostPolicy(), sandboxes, events, ...more });
  const confirmations: Confirmation[] = [];
  let wake = (): void => {};
  sessions.onConfirmation((event) => {
    if (event.type === "requested") confirmations.push(event.confirmation);
    wake();
  });
  const next = async (): Promise<Confirmation> => {
    for (;;) {
      const confirmation = confirmations.shift();
      if (confirmation !== undefined) return confirmation;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return {
    sessions,
    events: seen,
    async nextConfirmation() {
      const confirmation = await next();
      if (confirmation.kind === "question") throw new TypeError("a tool asks a question");
      return confirmation;
    },
    async nextQuestion() {
      const confirmation = await next();
      if (confirmation.kind !== "question") throw new TypeError("a call waits to be confirmed");
      return confirmation;
    },
  };
}

/** What an answer to a confirmation names. */
export function answerTo(
  { digest }: Confirmation,
  decision: "allow" | "deny" | "always",
  by = "eve",
): { readonly digest: string; readonly decision: typeof decision; readonly by: string } {
  return { digest, decision, by };
}
