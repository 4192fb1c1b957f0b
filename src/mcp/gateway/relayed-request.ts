import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { toTerminalLines } from "../../rendering/lines.ts";
import { render } from "../../rendering/render.ts";
import { joinShown, shown, toLine } from "../../rendering/shown.ts";
import type { McpAskedRequest } from "../../sandboxes/remote/mcp-client/questions/call-link.ts";
import { MAX_FORM_CHARS } from "../server/runs/forms.ts";
import { type McpInputRequest, SECRET_WORDS } from "../server/runs/input-requests.ts";

/** The longest address of a page, in characters. */
const MAX_URL = 2_048;

/** The longest texts of a request that is no form, in characters. */
const MAX_REQUEST = 100_000;

/**
 * Makes the request for the client of what a server asks. A person has to see who asks, so that the server's message stands
 * below its name, and a form whose texts are not what they look like is refused.
 *
 * @throws an `Error` if it cannot be shown. Its text has nothing of the server.
 */
export function relayedRequest(server: string, { method, params }: McpAskedRequest): McpInputRequest {
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
