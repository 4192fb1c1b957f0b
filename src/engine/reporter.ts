import type { LogLevel } from "../sandboxes/log-level.ts";
import type { TaskObserver } from "../sandboxes/sandbox.ts";
import type { ToolCall } from "./call.ts";
import type { DispatchContext } from "./context.ts";
import type { EventBody } from "./events.ts";

/** Tells the event stream about one call, until its result is there: what comes later is dropped. */
export class Reporter implements TaskObserver {
  readonly #call: ToolCall;
  readonly #ctx: DispatchContext;
  #closed = false;

  constructor(call: ToolCall, ctx: DispatchContext) {
    this.#call = call;
    this.#ctx = ctx;
  }

  output(chunk: string): void {
    if (!this.#closed && this.listening) this.emit({ type: "tool.output", chunk });
  }

  log(level: LogLevel, message: string): void {
    if (!this.#closed && this.listening) this.emit({ type: "tool.log", level, message });
  }

  /** Whether anybody listens: an event that nobody hears is not built. */
  get listening(): boolean {
    return this.#ctx.events?.listening === true;
  }

  emit(body: EventBody): void {
    const { id: callId, name: toolName } = this.#call;
    this.#ctx.events?.emit({ callId, sessionId: this.#ctx.sessionId, toolName, at: Date.now(), ...body });
  }

  /** Tells how the call ended. */
  end(body: () => EventBody): void {
    this.#closed = true;
    if (this.listening) this.emit(body());
  }
}
