import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import type { McpCallLink } from "../../sandboxes/remote/mcp-client/questions/call-link.ts";
import type { McpCallIdentity, McpProgress } from "../../tool/implementations/mcp-implementation.ts";
import type { PauseWallTime } from "../../tool/wall-time.ts";
import type { McpInputRequest } from "../server/runs/input-requests.ts";
import { relayedRequest } from "./relayed-request.ts";

/** What a server may ask of the client of a call. */
export type McpAsk = "elicitation" | "sampling" | "roots";

/** The client of a call, as `McpServer.clientOf` returns it. */
export interface CallingClient {
  readonly capabilities: Readonly<Record<string, unknown>>;
  ask(
    requests: Readonly<Record<string, McpInputRequest>>,
    signal?: AbortSignal,
  ): Promise<Readonly<Record<string, JsonObject>>>;
  /** Tells the client how far the call has come, with the figures as they are. */
  progress(report: McpProgress): void;
}

/** Finds the client of a call; `undefined` if it has none. */
export type ClientOfCall = (call: McpCallIdentity) => CallingClient | undefined;

/** What a {@link clientLink} is made of. */
export interface ClientLinkOptions {
  /** The name of the server in the config. */
  readonly server: string;
  readonly asks: ReadonlySet<McpAsk>;
  readonly client: CallingClient;
  /** Stops the wall time of the call. Default: it goes on. */
  readonly pause?: PauseWallTime | undefined;
}

const KEY = /^[\w.-]{1,64}$/;

const ASK_OF: Readonly<Record<string, McpAsk>> = {
  "elicitation/create": "elicitation",
  "sampling/createMessage": "sampling",
  "roots/list": "roots",
};

/** The way back from a server's call to the client that made it. Time in which the client is asked does not count. */
export function clientLink({ server, asks, client, pause }: ClientLinkOptions): McpCallLink {
  let others = 0;
  return {
    capabilities: capabilitiesOf(asks, client),
    ask: async (given, { method, params }, signal) => {
      const ask = ASK_OF[method];
      if (ask === undefined || !asks.has(ask)) throw new Error(`requests of ${method} are not passed on`);
      const request = relayedRequest(server, { method, params });
      const key = KEY.test(given) ? given : `other_${++others}`;
      const resume = pause?.();
      try {
        const { [key]: answer } = await client.ask({ [key]: request }, signal);
        if (answer === undefined) throw new Error("the client did not answer");
        return withoutMeta(answer);
      } finally {
        resume?.();
      }
    },
  };
}

/** What the client declared, as far as the server may ask for it. Nothing else of its words is passed on. */
function capabilitiesOf(asks: ReadonlySet<McpAsk>, { capabilities }: CallingClient): JsonObject {
  const { elicitation, sampling, roots } = capabilities;
  return {
    ...(asks.has("elicitation") &&
      isJsonObject(elicitation as JsonValue) && { elicitation: modesOf(elicitation as JsonObject) }),
    ...(asks.has("sampling") && isJsonObject(sampling as JsonValue) && { sampling: {} }),
    ...(asks.has("roots") && isJsonObject(roots as JsonValue) && { roots: {} }),
  };
}

function modesOf({ form, url }: JsonObject): JsonObject {
  return { ...(form !== undefined && { form: {} }), ...(url !== undefined && { url: {} }) };
}

/** `_meta` belongs to one connection. */
function withoutMeta({ _meta, ...answer }: JsonObject): JsonObject {
  return answer as JsonObject;
}

/** The client of a call, and the way back to it. */
export interface LinkedCall {
  readonly client: CallingClient;
  readonly link: McpCallLink;
}

/** Finds the way back from a call of a server to its client. */
export class CallLinks {
  readonly #clientOf: ClientOfCall | undefined;
  readonly #asksOf: (server: string) => ReadonlySet<McpAsk>;

  /** @param clientOf Finds the client of a call. Default: calls have none. */
  constructor(clientOf: ClientOfCall | undefined, asksOf: (server: string) => ReadonlySet<McpAsk>) {
    this.#clientOf = clientOf;
    this.#asksOf = asksOf;
  }

  /** Returns `undefined` if the call has no client. */
  of(server: string, call: McpCallIdentity | undefined, pause?: PauseWallTime): LinkedCall | undefined {
    const client = call && this.#clientOf?.(call);
    return client && { client, link: clientLink({ server, asks: this.#asksOf(server), client, pause }) };
  }
}
