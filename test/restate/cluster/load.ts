import { setTimeout as sleep } from "node:timers/promises";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import type { ToolCall } from "../../../src/engine/call.ts";
import { type Client, FinalAnswer, type PostedMessage } from "./client.ts";
import { programOf } from "./programs.ts";
import { PRINCIPALS } from "./project.ts";
import { pickWeighted, type Random } from "./random.ts";

/** A message, and what each of those who asked has read. */
export interface AskedMessage extends PostedMessage {
  readonly reads: (readonly ToolExecution[])[];
}

/** The options of {@link Load}. */
export interface LoadOptions {
  readonly client: Client;
  readonly random: Random;
  /** How many calls a second are posted, unless too many messages are under way. */
  readonly rate: number;
  /** What the ids begin with. */
  readonly prefix: string;
}

const SESSIONS = 100;
/** After so many messages, a session is replaced by another one. */
const MESSAGES_OF_SESSION = 20;
/** How many messages are under way at most. */
const MAX_UNDER_WAY = 256;
/** How often a message is posted twice at once. */
const TWICE = 0.05;
const MAX_CALLS = 4;
/** Which tools are called, and how often of a hundred times. */
const TOOLS = { note: 32, put: 32, read: 31, asks: 5 };
/** How often a message is a program. */
const PROGRAMS = 0.02;

/** Posts messages of 1 to 4 calls at a rate. */
export class Load {
  readonly messages: AskedMessage[] = [];
  readonly #options: LoadOptions;
  readonly #underWay = new Set<Promise<unknown>>();
  #isEnding = false;
  #ended = 0;

  constructor(options: LoadOptions) {
    this.#options = options;
  }

  /** How many calls have their results. */
  get endedCalls(): number {
    return this.#ended;
  }

  /** How many messages have no results yet. */
  get underWay(): number {
    return this.#underWay.size;
  }

  /** Posts messages until {@link end}. */
  async run(): Promise<void> {
    const { rate } = this.#options;
    const begun = performance.now();
    let allowed = 0;
    let before = begun;
    while (!this.#isEnding) {
      const now = performance.now();
      // What could not be posted in time is not made up for: the rate is that of the servers then.
      allowed = Math.min(allowed + ((now - before) / 1_000) * rate, rate);
      before = now;
      while (allowed > 0 && this.#underWay.size < MAX_UNDER_WAY) allowed -= this.#post();
      await sleep(10);
    }
  }

  end(): void {
    this.#isEnding = true;
  }

  /** Resolves when every message has its results, or after some time. */
  async settle(maxMs: number): Promise<void> {
    const until = performance.now() + maxMs;
    while (this.#underWay.size > 0 && performance.now() < until) await sleep(50);
  }

  /** Asks for the results of all messages once more. */
  async readAgain(width: number): Promise<void> {
    const left = this.messages.filter(({ reads }) => reads.length > 0).values();
    const { client } = this.#options;
    const work = async (): Promise<void> => {
      for (const message of left) {
        message.reads.push((await client.message(messageOf(message)).catch(ignoreFinal)) ?? []);
      }
    };
    await Promise.all(Array.from({ length: width }, work));
  }

  #calls(messageId: string): readonly ToolCall[] {
    const { random } = this.#options;
    return Array.from({ length: 1 + Math.floor(random() * MAX_CALLS) }, (_, index) => ({
      id: `c${index}`,
      name: pickWeighted(random, TOOLS),
      arguments: { name: `${messageId}/c${index}` },
    }));
  }

  /** Returns how many calls were posted. */
  #post(): number {
    const { client, random, prefix } = this.#options;
    const number = this.messages.length;
    const place = Math.floor(random() * SESSIONS);
    const generation = Math.floor(number / (SESSIONS * MESSAGES_OF_SESSION));
    const messageId = `${prefix}m${number}`;
    const calls = random() < PROGRAMS ? [programCall(messageId)] : this.#calls(messageId);
    const message: AskedMessage = {
      sessionId: `${prefix}s${generation}-${place}`,
      principal: `p${place % PRINCIPALS}`,
      messageId,
      calls,
      reads: [],
    };
    this.messages.push(message);
    const askers = random() < TWICE ? 2 : 1;
    const read = async (): Promise<void> => {
      const executions = await client.message(messageOf(message));
      if (message.reads.length === 0) this.#ended += calls.length;
      message.reads.push(executions);
    };
    // A message without results is lost: see `check`.
    const ended = Promise.all(Array.from({ length: askers }, () => read().catch(ignoreFinal)));
    this.#underWay.add(ended);
    void ended.finally(() => this.#underWay.delete(ended));
    return calls.length;
  }
}

function programCall(messageId: string): ToolCall {
  return { id: "c0", name: "run_program", arguments: programOf(`${messageId}/c0`) };
}

function messageOf({ reads: _reads, ...message }: AskedMessage): PostedMessage {
  return message;
}

/** A message whose client was closed has no results either. */
function ignoreFinal(error: unknown): undefined {
  const isClosed = error instanceof Error && error.name === "AbortError";
  if (!(error instanceof FinalAnswer) && !isClosed) throw error;
}
