import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { toTerminalLines } from "../../rendering/lines.ts";
import { render } from "../../rendering/render.ts";
import { joinShown, shown, toLine } from "../../rendering/shown.ts";
import type { McpAskedRequest, McpCallLink } from "../../sandboxes/remote/mcp-client/questions/open-calls.ts";
import type { McpCallIdentity, McpProgress } from "../../tool/implementations/remote-implementation.ts";
import type { PauseWallTime } from "../../tool/wall-time.ts";
import { MAX_FORM_CHARS } from "../server/runs/forms.ts";
import { type McpInputRequest, SECRET_WORDS } from "../server/runs/input-requests.ts";

/** The longest address of a page, in characters. */
const MAX_URL = 2_048;

/** The longest texts of a request that is no form, in characters. */
const MAX_REQUEST = 100_000;

/** The requests that a server may make to the client of a call. */
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

/** The parts of a {@link clientLink}. */
export interface ClientLinkOptions {
  /** The name of the server in the config. */
  readonly server: string;
  readonly asks: ReadonlySet<McpAsk>;
  readonly client: CallingClient;
  /** Stops the wall time of the call. Default: it continues. */
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

/** Finds the clients of calls, so that a server can ask them. */
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

/**
 * Converts the request of a server into one for the client. A person has to see who asks: the message is
 * shown below the server's name, and a form with deceptive texts is refused.
 *
 * @throws an `Error` if it cannot be shown. Its text contains nothing from the server.
 */
function relayedRequest(server: string, { method, params }: McpAskedRequest): McpInputRequest {
  if (method === "roots/list") return { method };
  if (JSON.stringify(params).length > MAX_REQUEST) throw new Error("the request is too long");
  if (method === "sampling/createMessage") return { method, params };
  if (method !== "elicitation/create") throw new Error("the request is not one of a server");
  const message = messageFrom(server, params["message"]);
  return params["mode"] === "url"
    ? { method, params: { mode: "url", message, ...pageOf(params) } }
    : { method, params: { mode: "form", message, requestedSchema: schemaOf(params["requestedSchema"]) } };
}

function messageFrom(server: string, message: JsonValue | undefined): string {
  if (typeof message !== "string" || message.length > MAX_FORM_CHARS)
    throw new Error("the message is no short text");
  const lines = [
    shown`The MCP server '${server}' asks:`,
    toTerminalLines(render(message, { keepsLines: true })),
    shown`Do not answer with passwords or other secrets.`,
  ];
  return joinShown(lines, "\n").text;
}

function pageOf({ url, elicitationId }: JsonObject): JsonObject {
  const page = typeof url === "string" && url.length <= MAX_URL ? URL.parse(url) : null;
  const isPage = page !== null && ["http:", "https:"].includes(page.protocol) && page.username === "";
  if (!isPage) throw new Error("the url is not one of a page");
  const id = typeof elicitationId === "string" && elicitationId.length <= MAX_URL ? { elicitationId } : {};
  return { url: page.href, ...id };
}

function schemaOf(schema: JsonValue | undefined): JsonObject {
  if (!isJsonObject(schema) || !isJsonObject(schema["properties"]))
    throw new Error("the form has no requestedSchema with properties");
  if (JSON.stringify(schema).length > MAX_FORM_CHARS) throw new Error("the form is too long");
  for (const text of textsOf(schema)) {
    if (toLine(text.replaceAll("\n", " "), MAX_FORM_CHARS) !== text.replaceAll("\n", " "))
      throw new Error("the form has invisible characters");
  }
  for (const field of Object.values(schema["properties"])) {
    const { title, description } = isJsonObject(field) ? field : {};
    if ([title, description].some((text) => typeof text === "string" && SECRET_WORDS.test(text)))
      throw new Error("the form asks for a secret");
  }
  return schema;
}

function* textsOf(value: JsonValue): Generator<string> {
  if (typeof value === "string") yield value;
  else if (Array.isArray(value)) for (const item of value) yield* textsOf(item);
  else if (isJsonObject(value)) {
    for (const [name, member = null] of Object.entries(value)) {
      yield name;
      yield* textsOf(member);
    }
  }
}
