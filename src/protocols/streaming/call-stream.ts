import type { ToolCall } from "../../engine/call/call.ts";
import { isJsonObject, type JsonObject } from "../../json/value.ts";
import type { Format } from "../formats.ts";
import { CallCollector } from "../parsing/call-collector.ts";
import { isEventOf } from "../parsing/detect-format.ts";
import { findExcessiveDepth, MAX_MESSAGE_DEPTH } from "../parsing/limits.ts";
import { ProtocolError } from "../parsing/protocol-error.ts";
import type { ToolNames } from "../tool-names.ts";
import { EventParser } from "./event-parser.ts";

/** Reads the events of one format. */
export interface EventReader {
  readonly format: Format;
  /** Reads one event of a stream. @throws {ProtocolError} */
  readEvent(event: JsonObject, calls: CallCollector): void;
}

/**
 * Reads the calls of a message while it arrives. A call is returned as soon as it is complete. Memory is bounded for
 * any input. After an error, all methods throw that error.
 */
export class CallStream {
  readonly #shape: EventReader;
  readonly #names: ToolNames;
  readonly #parser = new EventParser();
  readonly #collector = new CallCollector();
  #events = 0;
  /** Whether any event identified this format. */
  #isKnown = false;
  #failure: ProtocolError | undefined;

  /** Called by `ProviderProtocol.stream`. @internal */
  constructor(shape: EventReader, names: ToolNames) {
    this.#shape = shape;
    this.#names = names;
  }

  /** The text besides the calls that has arrived so far. */
  get text(): string {
    return this.#collector.text;
  }

  /**
   * Reads the next chunk of the response's body: server-sent events or JSON lines, split anywhere.
   *
   * @returns the calls that this chunk completes, in order.
   * @throws {ProtocolError} if the stream does not match its format, exceeds a bound or reports a provider error.
   */
  push(chunk: Uint8Array | string): readonly ToolCall[] {
    return this.#guard(() => {
      for (const text of this.#parser.push(chunk)) this.#readText(text);
    });
  }

  /**
   * Reads the next event, for callers that get events from a provider's SDK.
   *
   * @returns the calls that this event completes, in order.
   * @throws {ProtocolError} like {@link CallStream.push}.
   */
  pushEvent(event: unknown): readonly ToolCall[] {
    return this.#guard(() => this.#readEvent(event));
  }

  /**
   * Ends the stream.
   *
   * @returns the calls that the last event completes, if it was not followed by a line end.
   * @throws {ProtocolError} if the stream ends inside a call or has no event of its format: it must not pass for a
   *   complete message.
   */
  end(): readonly ToolCall[] {
    return this.#guard(() => {
      for (const text of this.#parser.end()) this.#readText(text);
      this.#collector.end();
      // Readers ignore unknown events. In a stream of another format, all events are unknown.
      if (this.#events > 0 && !this.#isKnown) throw new ProtocolError("", "is not a stream of this format");
    });
  }

  /** Reads a whole body, such as that of `fetch`, and yields each call as soon as it is complete. */
  async *read(body: AsyncIterable<Uint8Array | string>): AsyncGenerator<ToolCall, void, undefined> {
    for await (const chunk of body) yield* this.push(chunk);
    yield* this.end();
  }

  #readText(text: string): void {
    // The end of a stream from OpenAI or a compatible server.
    if (text === "[DONE]") {
      this.#collector.closeAll();
      return;
    }
    let event: unknown;
    try {
      event = JSON.parse(text);
    } catch {
      throw new ProtocolError("", "is not valid JSON", this.#events + 1);
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
