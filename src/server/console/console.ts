import { readFile } from "node:fs/promises";
import { LruMap } from "../../base/lru-map.ts";
import { PACKAGE_FOLDER } from "../../base/package-folder.ts";
import type { EventStream } from "../../engine/call/events.ts";
import type { Sender } from "../../http/authentication.ts";
import { type Operator, operatorSender } from "../../http/clients.ts";
import type { RuntimePolicy } from "../../policy/policy.ts";
import { Redaction } from "../../redaction/redaction.ts";
import type { ConsoleServer } from "../../shapes/server.ts";
import type { ReloadableTools } from "../admin.ts";
import { WaitingReaders } from "../event-stream.ts";
import { type CallFacts, CallRing } from "./calls/call-ring.ts";
import { CallSuggestions, type SuggestionParts } from "./calls/call-suggestion.ts";
import type { CallOrigin } from "./calls/console-call.ts";
import { Logins } from "./logins.ts";
import { PageFiles } from "./page-files.ts";

/** The console of a server: a page for people who watch its calls and answer its questions. */
export interface ServedConsole {
  /** The folder of the built page. Default: the page of this package. */
  readonly page?: string;
  /**
   * The person who logs in with the tokens of `Server.issueConsoleToken`; the roles must not have `caller`. Default: people can
   * log in only with the bearer tokens of credentials.
   */
  readonly operator?: Operator;
}

interface OpenConsoleOptions extends Pick<CallFacts, "sessionOf"> {
  readonly journal: boolean;
  readonly redaction?: Redaction | undefined;
}

/**
 * Opens the console of a server with these tools.
 *
 * @param options.journal Whether the server records its calls.
 * @param options.redaction That of the server. Default: one that hides common secrets.
 * @throws {TypeError} as a rejection: see {@link Console.open}.
 */
export function openConsole(
  options: ServedConsole,
  tools: ReloadableTools,
  { journal, redaction = new Redaction(), sessionOf }: OpenConsoleOptions,
): Promise<Console> {
  return Console.open(options, {
    redaction,
    tools: () => tools.registry.subjects,
    sessionOf,
    state: () => stateOf(tools, journal),
    sideEffectsOf: (name) => tools.registry.find(name)?.tool.sideEffects,
  });
}

function stateOf({ registry, policy, isPaused }: ReloadableTools, journal: boolean): ServerState {
  const { revision } = policy;
  return {
    ...(revision !== undefined && { policyRevision: revision }),
    paused: isPaused,
    journal,
    tools: registry.size,
  };
}

/** The part of its server that a console uses. */
export interface ConsoleParts extends SuggestionParts, CallFacts {
  readonly state: () => ServerState;
}

/** What changes of a {@link ConsoleServer}. */
export type ServerState = Omit<ConsoleServer, "version" | "startedAt">;

/** The part of a server that its console needs. */
export class Console {
  readonly logins: Logins = new Logins();
  readonly wrongTokens: WrongTokens = new WrongTokens();
  readonly page: PageFiles;
  readonly calls: CallRing;
  readonly redaction: Redaction;
  readonly suggestions: CallSuggestions;
  /** Notified of every change of what the page shows. */
  readonly pageChanges: ChangeSignal = new ChangeSignal();
  #attention = 0;
  readonly #version: string;
  readonly #startedAt = Date.now();
  readonly #state: () => ServerState;
  readonly #operator: Sender | undefined;

  private constructor(page: PageFiles, version: string, operator: Sender | undefined, parts: ConsoleParts) {
    this.page = page;
    this.#version = version;
    this.#operator = operator;
    this.#state = parts.state;
    this.redaction = parts.redaction;
    this.suggestions = new CallSuggestions(parts);
    this.calls = new CallRing(parts, () => this.pageChanges.change());
  }

  /** @throws {TypeError} as a rejection, if the page cannot be read, or the operator is a caller. */
  static async open({ page, operator }: ServedConsole, parts: ConsoleParts): Promise<Console> {
    const { version } = JSON.parse(await readFile(new URL("package.json", PACKAGE_FOLDER), "utf8")) as {
      version: string;
    };
    const files = page === undefined ? await PageFiles.readOwn() : await PageFiles.read(page);
    return new Console(files, version, operator && operatorSender(operator), parts);
  }

  /** Counts the changes of the open confirmations. */
  get attention(): number {
    return this.#attention;
  }

  /** A confirmation was requested or resolved. */
  confirmationsChanged(): void {
    this.#attention++;
    this.pageChanges.change();
  }

  /** Shows the calls of a stream of events. */
  follow(origin: CallOrigin, events: EventStream): void {
    events.keepProgress();
    events.on((event) => this.calls.take(origin, event));
  }

  /** Returns the policy of the server's tools, such that its calls can be explained. */
  observe(origin: CallOrigin, tools: ReloadableTools): RuntimePolicy {
    return tools.observedBy((request, policy) => {
      try {
        this.calls.ask(origin, request, policy);
      } catch {
        // What watches a call must not affect it.
      }
    });
  }

  /** What the page shows of the server now. */
  get server(): ConsoleServer {
    return { version: this.#version, startedAt: this.#startedAt, ...this.#state() };
  }

  /** Returns a token with which one browser can log in as the operator. */
  issueToken(): string {
    if (this.#operator === undefined)
      throw new TypeError("the console has no operator: see its option 'operator'");
    return this.logins.issue(this.#operator);
  }
}

/** Milliseconds for which changes are collected before readers are woken. */
const WAKE_DELAY_MS = 100;

/** Wakes readers some time after a change, so that many changes wake them once. A change costs the same for any number of them. */
class ChangeSignal {
  #version = 0;
  readonly #readers = new WaitingReaders();
  #isScheduled = false;

  /** Counts the changes. */
  get version(): number {
    return this.#version;
  }

  /** Something has changed. */
  change(): void {
    this.#version++;
    if (!this.#readers.isEmpty) this.#schedule();
  }

  /**
   * Waits until something has changed since a version, or the signal is aborted.
   *
   * @returns `true` if that took too long.
   */
  wait(since: number, signal: AbortSignal, maxMs: number): Promise<boolean> {
    const waiting = this.#readers.wait(signal, maxMs);
    if (!signal.aborted && since !== this.#version) this.#schedule();
    return waiting;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setTimeout(() => {
      this.#isScheduled = false;
      this.#readers.wake();
    }, WAKE_DELAY_MS).unref();
  }
}

const MAX_WRONG = 20;
const WINDOW_MS = 60_000;
const MAX_ADDRESSES = 1_000;

/** Counts the wrong tokens of each address, of the latest 1,000. */
class WrongTokens {
  readonly #counts = new LruMap<string, { count: number; readonly since: number }>(MAX_ADDRESSES);

  /** Whether an address has sent 20 wrong tokens within a minute. */
  isTooMany(address: string): boolean {
    return (this.#of(address)?.count ?? 0) >= MAX_WRONG;
  }

  add(address: string): void {
    const counted = this.#of(address);
    if (counted === undefined) this.#counts.set(address, { count: 1, since: Date.now() });
    else counted.count++;
  }

  #of(address: string) {
    const counted = this.#counts.get(address);
    return counted !== undefined && Date.now() - counted.since < WINDOW_MS ? counted : undefined;
  }
}
