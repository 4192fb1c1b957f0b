import type { ToolCall } from "../../engine/call/call.ts";
import { isJsonObject } from "../../json/value.ts";
import { findExcessiveDepth, MAX_MESSAGE_DEPTH } from "../json-depth.ts";
import { CallCollector } from "../parsing/call-collector.ts";
import { isEventOf } from "../parsing/detect-format.ts";
import { ProtocolError } from "../parsing/protocol-error.ts";
import type { ProviderShape } from "../provider-shape.ts";
import type { ToolNames } from "../tool-names.ts";
import { EventParser } from "./event-parser.ts";

/**
 * Reads the calls of a message while it arrives. A call is given out when it is complete, and no sooner. Memory
 * is bounded whatever arrives; after an error the stream stays broken.
 */
export class CallStream {
  readonly #shape: Pick<ProviderShape<unknown, unknown>, "format" | "readEvent">;
  readonly #names: ToolNames;
  readonly #parser = new EventParser();
  readonly #collector = new CallCollector();
  #events = 0;
  /** Whether any event was one of this format. */
  #isKnown = false;
  #failure: ProtocolError | undefined;

  /** Made by `Protocol.stream`. @internal */
  constructor(shape: Pick<ProviderShape<unknown, unknown>, "format" | "readEvent">, names: ToolNames) {
    this.#shape = shape;
    this.#names = names;
  }

  /** The text beside the calls, as far as it arrived. */
  get text(): string {
    return this.#collector.text;
  }

  /**
   * Takes the next piece of the response's body: server-sent events or JSON lines, cut anywhere.
   *
   * @returns the calls that this piece completes, in order.
   * @throws {ProtocolError} when the stream has not the shape of its format, exceeds a bound, or reports an error
   *   of the provider.
   */
  push(chunk: Uint8Array | string): readonly ToolCall[] {
    return this.#guard(() => {
      for (const text of this.#parser.push(chunk)) this.#readText(text);
    });
  }

  /**
   * Takes the next event, for whoever has events and no bytes: a provider's SDK gives them.
   *
   * @returns the calls that this event completes.
   * @throws {ProtocolError} as {@link CallStream.push} does.
   */
  pushEvent(event: unknown): readonly ToolCall[] {
    return this.#guard(() => this.#readEvent(event));
  }

  /**
   * Tells that nothing follows.
   *
   * @returns the calls that the last event, if no line end followed it, completes.
   * @throws {ProtocolError} when the stream breaks off inside a call, or has no event of its format: it may not
   *   pass for a whole message.
   */
  end(): readonly ToolCall[] {
    return this.#guard(() => {
      for (const text of this.#parser.end()) this.#readText(text);
      this.#collector.end();
      // Readers pass over events that they do not know: of another format, that is every one.
      if (this.#events > 0 && !this.#isKnown) throw new ProtocolError("", "is no stream of this format");
    });
  }

  /** Reads a whole body, such as that of `fetch`, and gives each call as soon as it is complete. */
  async *read(body: AsyncIterable<Uint8Array | string>): AsyncGenerator<ToolCall, void, undefined> {
    for await (const chunk of body) yield* this.push(chunk);
    yield* this.end();
  }

  #readText(text: string): void {
    // How the streams of OpenAI and of those who follow it end.
    if (text === "[DONE]") {
      this.#collector.closeAll();
      return;
    }
    let event: unknown;
    try {
      event = JSON.parse(text);
    } catch {
      throw new ProtocolError("", "is no valid JSON", this.#events + 1);
    }
    if (findExcessiveDepth(text) !== undefined) {
      throw new ProtocolError("", `is nested deeper than ${MAX_MESSAGE_DEPTH} levels`, this.#events + 1);
    }
    this.#readEvent(event);
  }

  #readEvent(event: unknown): void {
    this.#events++;
    try {
      if (!isJsonObject(event)) throw new ProtocolError("", "must be an object");
      this.#isKnown ||= isEventOf(this.#shape.format, event);
      this.#shape.readEvent(event, this.#collector);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      throw new ProtocolError(error.pointer, error.reason, this.#events);
    }
  }

  #guard(step: () => void): readonly ToolCall[] {
    if (this.#failure !== undefined) throw this.#failure;
    try {
      step();
    } catch (error) {
      if (error instanceof ProtocolError) this.#failure = error;
      throw error;
    }
    return this.#collector.take().map((call) => ({ ...call, name: this.#names.toName(call.name) }));
  }
}
