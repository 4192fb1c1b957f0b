import { readFile } from "node:fs/promises";
import { PACKAGE_FOLDER } from "../../base/package-folder.ts";
import type { EventStream } from "../../engine/call/events.ts";
import type { Sender } from "../../executor/http/authentication.ts";
import type { RuntimePolicy } from "../../policy/policy.ts";
import type { Redaction } from "../../redaction/redaction.ts";
import type { SideEffects } from "../../tool/side-effects.ts";
import { operatorSender } from "../access/operator.ts";
import type { ReloadableTools } from "../reloadable-tools.ts";
import { Beat } from "./calls/beat.ts";
import type { CallOrigin } from "./calls/call-record.ts";
import { CallRing } from "./calls/call-ring.ts";
import { CallSuggestions, type SuggestionParts } from "./calls/call-suggestion.ts";
import { Logins } from "./login/logins.ts";
import { WrongTokens } from "./login/wrong-tokens.ts";
import type { ServedConsole } from "./options.ts";
import { PageFiles } from "./page/page-files.ts";

/** What the page shows of the server. */
export interface ServerView {
  /** That of Sandgate. */
  readonly version: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** Absent while the server is paused, and if the policy has no revision. */
  readonly policyRevision?: string;
  readonly paused: boolean;
  /** Whether calls are recorded. */
  readonly journal: boolean;
  /** How many there are. */
  readonly tools: number;
}

/** What a console needs of its server. */
export interface ConsoleParts extends SuggestionParts {
  readonly state: () => ServerState;
  readonly sideEffectsOf: (toolName: string) => SideEffects | undefined;
}

/** What changes of a {@link ServerView}. */
export type ServerState = Omit<ServerView, "version" | "startedAt">;

/** The part of a server that its console needs. */
export class Console {
  readonly logins: Logins = new Logins();
  readonly wrongTokens: WrongTokens = new WrongTokens();
  readonly page: PageFiles;
  readonly calls: CallRing;
  readonly redaction: Redaction;
  readonly suggestions: CallSuggestions;
  /** Told of everything that the page shows as it happens. */
  readonly beat: Beat = new Beat();
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
    this.calls = new CallRing(parts.sideEffectsOf, () => this.beat.change());
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
  attend(): void {
    this.#attention++;
    this.beat.change();
  }

  /** Shows the calls of a stream of events. */
  follow(origin: CallOrigin, events: EventStream): void {
    events.keepProgress();
    events.on((event) => this.calls.take(origin, event));
  }

  /** Returns the policy of the server's tools, such that its calls can be explained. */
  hear(origin: CallOrigin, tools: ReloadableTools): RuntimePolicy {
    return tools.heardBy((request, policy) => {
      try {
        this.calls.ask(origin, request, policy);
      } catch {
        // What watches a call must not affect it.
      }
    });
  }

  /** What the page shows of the server now. */
  get server(): ServerView {
    return { version: this.#version, startedAt: this.#startedAt, ...this.#state() };
  }

  /** Returns a token with which one browser can log in as the operator. */
  issueToken(): string {
    if (this.#operator === undefined)
      throw new TypeError("the console has no operator: see its option 'operator'");
    return this.logins.issue(this.#operator);
  }
}
