import { beginning } from "../base/text.ts";
import { defineTool, type Tool } from "../engine/tool.ts";
import type { HttpImplementation } from "../tool/implementations/remote-implementation.ts";
import { DISPLAY_FORMAT, MAX_DISPLAY_CHARS } from "../tool/streamed.ts";
import type { ModelReader } from "../tool/tool-traits.ts";
import { noteText } from "./model-texts.ts";
import { inputSchema, type ToolsetNaming } from "./tool-parts.ts";

/** The options of the toolset `web`. */
export interface WebOptions extends ToolsetNaming {
  /**
   * Where `web_search` searches: a URL with the argument `query`, such as `https://search.example.com/v1{?query}`. Default:
   * there is no `web_search`.
   */
  readonly search?: Pick<HttpImplementation, "url" | "headers" | "response">;
}

const URL_ARGUMENT = { type: "string", minLength: 1, maxLength: 8_192 } as const;
const URLS = [{ argument: "/url" }] as const;
const MEDIA_TYPE = "^[\\w.+-]{1,100}/[\\w.+-]{1,100}(; ?charset=[\\w-]{1,40})?$";

/** A free address is a way out for data: a person is asked, unless the policy names the origin. */
const fetchTool = defineTool({
  name: "web_fetch",
  description:
    "Returns the text of a web page or another resource with its media type, as the server sends it. HTML stays HTML. A note " +
    "says how to read on if not all of it fits.",
  sideEffects: "read",
  confirm: "prompt",
  urls: URLS,
  inputSchema: inputSchema(
    { url: URL_ARGUMENT },
    {
      offset: {
        type: "integer",
        minimum: 0,
        description: "How many characters of the text to skip, to read on. Default: 0",
      },
    },
  ),
  modelText: (page: Page, reader) => pageText(page, reader, true),
  remote: { web: { method: "GET" } },
});

const postTool = defineTool({
  name: "web_post",
  description: "Sends a text to a URL, and returns the text of the response.",
  sideEffects: "network",
  urls: URLS,
  inputSchema: inputSchema(
    { url: URL_ARGUMENT, body: { type: "string" } },
    { contentType: { type: "string", pattern: MEDIA_TYPE, description: "Default: application/json" } },
  ),
  modelText: (page: Page, reader) => pageText(page, reader, false),
  remote: { web: { method: "POST" } },
});

const diagramTool = defineTool({
  name: "display_diagram",
  description: "Shows a diagram to the user, such as one of Mermaid. The user may see only its source.",
  sideEffects: "none",
  confirm: "auto",
  inputSchema: inputSchema({
    source: { type: "string", minLength: 1, maxLength: MAX_DISPLAY_CHARS },
    format: { type: "string", pattern: DISPLAY_FORMAT, description: "Such as mermaid, dot or svg." },
  }),
  host: ({ source, format }, { display }) => {
    display({ source, format });
    return { displayed: true };
  },
});

/** A response, as the sandbox returns it. */
interface Page {
  readonly url: string;
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
}

/** The characters reserved for the lines around the text of a page. */
const RESERVED = 400;

/**
 * Returns how the model reads a response: a line about it, and its text from the argument `offset` on.
 *
 * @param canSkip Whether the tool has that argument.
 */
function pageText(
  { url, status, contentType, text }: Page,
  { chars, input, toolName }: ModelReader,
  canSkip: boolean,
): string {
  const { offset = 0 } = input as { readonly offset?: number };
  const type = beginning(contentType, MAX_TYPE) || "of an unknown type";
  const head = `${beginning(url, MAX_URL)} (status ${status}, ${type})`;
  if (offset > 0 && offset >= text.length)
    return `${head}\n${noteText(`The text has only ${text.length} characters.`)}`;
  const shown = beginning(text.slice(offset), Math.max(chars - head.length - RESERVED, RESERVED));
  const end = offset + shown.length;
  const next = canSkip ? ` Call ${toolName} with offset ${end} for the next ones.` : "";
  const note = `Characters ${offset + 1} to ${end} of ${text.length} are shown.${next}`;
  return [head, "", shown, ...(end < text.length ? [noteText(note)] : [])].join("\n");
}

const MAX_URL = 1_000;
const MAX_TYPE = 100;

/** Tools for the web: `web_fetch`, `web_post`, `display_diagram`, and with an endpoint for it `web_search`. */
export function webTools({ search }: WebOptions): readonly Tool[] {
  const tools = [fetchTool, postTool, diagramTool];
  return search === undefined ? tools : [...tools, searchTool(search)];
}

function searchTool(search: NonNullable<WebOptions["search"]>): Tool {
  return defineTool({
    name: "web_search",
    description: "Searches the web.",
    sideEffects: "read",
    inputSchema: inputSchema({ query: { type: "string", minLength: 1, maxLength: 2_000 } }),
    remote: { http: { ...search } },
  });
}
