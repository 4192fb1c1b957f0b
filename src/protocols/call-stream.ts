import { isJsonObject, type JsonObject } from "../json/value.ts";
import type { CallMapper } from "./call-mapper.ts";
import { EventParser } from "./event-parser.ts";
import { type Format, isEventOf } from "./formats.ts";
import { ProtocolError } from "./parsing/shape.ts";
import { TurnCollector } from "./parsing/turn-collector.ts";
import { parseMessage } from "./parsing/values.ts";
import type { OtherCall, TurnCall } from "./turn.ts";

/** Reads the events of one format. */
export interface EventReader {
  readonly format: Format;
  /** Reads one event of a stream. @throws {ProtocolError} */
  readEvent(event: JsonObject, turn: TurnCollector): void;
}

/**
 * Reads the calls of a message while it arrives. A call is returned as soon as it is certainly complete. Memory is
 * bounded for any input. After an error, all methods throw that error.
 */
export class CallStream {
  readonly #shape: EventReader;
  readonly #mapper: CallMapper;
  readonly #parser = new EventParser();
  readonly #collector: TurnCollector;
  #events = 0;
  /** Whether any event identified this format. */
  #isKnown = false;
  #failure: ProtocolError | undefined;

  /** Called by `ProviderProtocol.stream`. @internal */
  constructor(shape: EventReader, mapper: CallMapper) {
    this.#shape = shape;
    this.#collector = new TurnCollector(shape.format, (alias) => mapper.isFreeform(alias));
    this.#mapper = mapper;
  }

  /** The text outside the calls that has arrived so far. */
  get text(): string {
    return this.#collector.text;
  }

  /** The calls so far that are not the registry's. */
  get other(): readonly OtherCall[] {
    return this.#collector.other;
  }

  /** Data that the provider wants back with the message, as far as it has arrived: see `AssistantTurn`. */
  get providerData(): JsonObject | undefined {
    return this.#collector.providerData;
  }

  /** Why the message stopped, in the provider's words; `undefined` before, and if it does not say. */
  get stopReason(): string | undefined {
    return this.#collector.stopReason;
  }

  /** Whether the provider cut off the message. Known when it has stopped. */
  get cutOff(): boolean {
    return this.#collector.cutOff;
  }

  /**
   * Reads the next chunk of the response's body: server-sent events or JSON lines, split anywhere.
   *
   * @returns the calls that this chunk completes, in order.
   * @throws {ProtocolError} if the stream does not match its format, exceeds a bound or reports a provider error.
   */
  push(chunk: Uint8Array | string): readonly TurnCall[] {
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
  pushEvent(event: unknown): readonly TurnCall[] {
    return this.#guard(() => this.#readEvent(event));
  }

  /**
   * Ends the stream.
   *
   * @returns the calls that the last event completes, if it was not followed by a line end.
   * @throws {ProtocolError} if the stream lacks the event that ends a message of its format, ends inside a call, or has
   *   no event of its format: it must not pass for a complete message.
   */
  end(): readonly TurnCall[] {
    return this.#guard(() => {
      for (const text of this.#parser.end()) this.#readText(text);
      // Readers ignore unknown events, and in a stream of another format, all events are unknown.
      if (this.#events > 0 && !this.#isKnown) throw new ProtocolError("", "is not a stream of this format");
      this.#collector.end();
    });
  }

  /** Reads a whole body, such as that of `fetch`, and yields each call as soon as it is complete. */
  async *read(body: AsyncIterable<Uint8Array | string>): AsyncGenerator<TurnCall, void, undefined> {
    for await (const chunk of body) yield* this.push(chunk);
    yield* this.end();
  }

  #readText(text: string): void {
    // OpenAI and compatible servers send this last, even after an error.
    if (text === "[DONE]") return;
    let event: unknown;
    try {
      event = parseMessage(text);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      throw new ProtocolError(error.pointer, error.reason, this.#events + 1);
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

  #guard(step: () => void): readonly TurnCall[] {
    if (this.#failure !== undefined) throw this.#failure;
    try {
      step();
    } catch (error) {
      if (error instanceof ProtocolError) this.#failure = error;
      throw error;
    }
    return this.#collector.take().map((call) => this.#mapper.fromProvider(call));
  }
}
