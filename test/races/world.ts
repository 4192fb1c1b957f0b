import { setImmediate as nextTurn } from "node:timers/promises";
import { type DispatchEvent, EventStream } from "../../src/engine/call/events.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { canonicalText } from "../../src/json/canonical.ts";
import type { JsonValue } from "../../src/json/value.ts";
import {
  allow,
  ask,
  deny,
  type PolicyDecision,
  type PolicyRequest,
  type RuntimePolicy,
} from "../../src/policy/policy.ts";
import type { SandboxRouter } from "../../src/sandboxes/contract/sandbox.ts";
import type { PolicyVersion } from "./vector.ts";

/** A call that a tool was given. */
export interface Run {
  /** Session, turn and id of the call. A tool is not told the message. */
  readonly key: string;
  readonly arguments: string;
  /** The digest of the definition whose implementation ran. */
  readonly definition: string;
  readonly wallTimeMs: number | undefined;
}

/** What the policy asks, before the digest of the definition. */
export const POLICY_QUESTION = "Run it? ";

const WALL_TIMES = { narrower: 30_000, same: 60_000, wider: 90_000, auto: 60_000 };
const SCHEMA = { type: "object", properties: { path: { type: "string" } }, required: ["path"] } as const;

/** Everything outside of the process that can crash: tools, policy, and what the tools did. */
export class World {
  readonly runs: Run[] = [];
  readonly sandboxes: SandboxRouter;
  /** Ends the runs of tools that wait. */
  readonly waiting: (() => void)[] = [];
  policy: PolicyVersion = "same";
  failsNext = false;
  #version = 1;
  #process = 0;
  #registry: ToolRegistry | undefined;

  readonly #onRun: (run: Run) => void;

  /** @param onRun Called before a tool does anything. */
  constructor(sandboxes: SandboxRouter, onRun: (run: Run) => void = () => {}) {
    this.sandboxes = sandboxes;
    this.#onRun = onRun;
  }

  /** The registry of a new process. */
  startProcess(): { registry: ToolRegistry; policy: RuntimePolicy; events: EventStream } {
    // The tools of a process that is gone end without an effect on anything.
    this.#process++;
    for (const end of this.waiting.splice(0)) end();
    this.#registry = new ToolRegistry();
    this.#register();
    const registry = this.#registry;
    const events = new EventStream();
    const limits = new Map<string, number | undefined>();
    events.on((event: DispatchEvent) => {
      if (event.type === "tool.started") limits.set(event.callId, event.grant.limits.wallTimeMs);
    });
    this.#limits = limits;
    return { registry, policy: { check: (request) => this.#check(request) }, events };
  }

  #limits = new Map<string, number | undefined>();

  /** What tools do. */
  async use(run: Run, signal?: AbortSignal): Promise<JsonValue> {
    const process = this.#process;
    this.#onRun(run);
    this.runs.push(run);
    await this.#wait(signal);
    if (this.failsNext && process === this.#process) {
      this.failsNext = false;
      throw new Error("the tool failed");
    }
    return { done: true };
  }

  /** The description of the tools. */
  get definition(): string {
    return `Version ${this.#version}.`;
  }

  changeDefinition(): void {
    this.#version++;
    this.#register();
  }

  #register(): void {
    const registry = this.#registry as ToolRegistry;
    for (const name of ["write", "note", "read"]) {
      registry.register(
        {
          name,
          description: this.definition,
          inputSchema: SCHEMA,
          sideEffects: name === "read" ? "read" : "write",
          host: async (input, { callId, sessionId, turnId = "", signal }) => {
            const run: Run = {
              key: JSON.stringify([sessionId, turnId, callId]),
              arguments: canonicalText(input as JsonValue),
              definition,
              wallTimeMs: this.#limits.get(callId),
            };
            return this.use(run, signal);
          },
        },
        { replace: true },
      );
      const definition = registry.find(name)?.subject.definition?.digest ?? "";
    }
  }

  #wait(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      this.waiting.push(resolve);
      signal?.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  #check({ tool }: PolicyRequest): PolicyDecision {
    if (this.policy === "deny") return deny("the policy was changed");
    const grant = { sandbox: "host", limits: { wallTimeMs: WALL_TIMES[this.policy] } } as const;
    if (tool.name === "read" || this.policy === "auto") return allow(grant);
    const question = `${POLICY_QUESTION}${tool.definition?.digest}`;
    // What people approved beyond one call holds for notes alone.
    return ask(question, { grant, ...(tool.name === "note" && { remember: "session" }) });
  }
}

/** Lets everything go on that does not wait for a disk, a person or a tool. */
export async function settle(): Promise<void> {
  await nextTurn();
  await nextTurn();
}
