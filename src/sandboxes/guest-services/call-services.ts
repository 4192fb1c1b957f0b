import type { Egress } from "../../egress/egress.ts";
import type { KeyValueStores } from "../../key-value/key-value-store.ts";
import { MAX_WALL_TIME_MS } from "../../policy/grant/limits.ts";
import type { CallEffect, ResourceUse, SandboxTask } from "../contract/sandbox.ts";
import { HttpService } from "./http-service.ts";
import { KeyValueService } from "./key-value-service.ts";
import type { GuestReply, GuestRequest } from "./service-request.ts";
import { ToolService } from "./tool-service.ts";

/** What the sandbox has that calls may be granted a part of. */
export interface Outside {
  readonly keyValue: KeyValueStores | undefined;
  readonly openEgress: () => Egress;
}

/** The limits of a call that are enforced here. */
export interface ServiceLimits {
  readonly nestedCalls: number;
  readonly netBytes: number;
}

/** Answers what one component asks for outside its thread, and decides whether it was granted. */
export class CallServices {
  readonly #tools: ToolService;
  readonly #keyValue: KeyValueService;
  readonly #http: HttpService;
  readonly #cancel = new AbortController();
  /** The request that is being answered: a component waits for each. */
  #running: Promise<GuestReply> | undefined;

  constructor(task: SandboxTask, { keyValue, openEgress }: Outside, limits: ServiceLimits) {
    const { capabilities, sessionId } = task;
    const { wallTimeMs = MAX_WALL_TIME_MS } = task.limits;
    this.#tools = new ToolService(task.callTool, limits.nestedCalls);
    this.#keyValue = new KeyValueService(keyValue, { granted: capabilities.keyValue ?? [], sessionId });
    this.#http = new HttpService(openEgress, {
      grants: capabilities.net ?? [],
      netBytes: limits.netBytes,
      wallTimeMs,
    });
  }

  /** The effect of the requests: `unknown` as long as one is running that may change something. */
  get effect(): CallEffect {
    const effects = [this.#tools.effect, this.#keyValue.effect, this.#http.effect];
    return effects.every((effect) => effect === "none") ? "none" : "unknown";
  }

  /** What was used here. */
  get used(): Omit<ResourceUse, "wallTimeMs"> {
    const { count: nestedCalls } = this.#tools;
    return { ...(nestedCalls > 0 && { nestedCalls }), ...this.#http.traffic };
  }

  /** Replies to a thread's request. Never rejects. */
  readonly answer = async (text: string): Promise<string> => {
    try {
      this.#running = this.#answer(JSON.parse(text) as GuestRequest);
      return JSON.stringify(await this.#running);
    } catch {
      // Nothing here is meant to throw: without a reply, the thread would wait until its deadline.
      return JSON.stringify({ error: { code: "unavailable", message: "it cannot be done now" } });
    } finally {
      this.#running = undefined;
    }
  };

  #answer(request: GuestRequest): Promise<GuestReply> {
    const { signal } = this.#cancel;
    switch (request.kind) {
      case "call-tool":
        return this.#tools.answer(request, signal);
      case "http":
        return this.#http.answer(request, signal);
      default:
        return this.#keyValue.answer(request, signal);
    }
  }

  /** Cancels the requests that still run, and waits for their end. */
  async end(): Promise<void> {
    if (this.#running === undefined) return;
    this.#cancel.abort();
    await this.#running.catch(() => {});
  }
}
