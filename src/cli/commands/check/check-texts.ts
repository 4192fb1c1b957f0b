import type { ConfigProblem } from "../../../config/problem.ts";
import type { ConfigSource } from "../../../config/source.ts";
import type { ToolRegistry } from "../../../engine/registry.ts";
import { escapePointer } from "../../../json/pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";
import { escapeText } from "../../../rendering/escaping/escape.ts";
import type { ConfiguredTool } from "../../config/tools/load-tools.ts";

/** The most places in a definition that a warning names. */
const MAX_PLACES = 3;

/**
 * Returns a warning for each tool, and for the instructions of each MCP server, with a text that a model reads in another way than a
 * person: it has characters that are invisible, change the order of the text or look like others.
 *
 * @param said What MCP servers say besides their tools.
 */
export function checkTexts(
  source: ConfigSource,
  registry: ToolRegistry,
  tools: readonly ConfiguredTool[],
  said: ReadonlyMap<string, JsonObject>,
): readonly ConfigProblem[] {
  const paths = new Map(tools.map(({ tool: { name }, path }) => [name, path]));
  const warn = (
    what: string,
    path: readonly (string | number)[],
    definition: JsonObject,
  ): ConfigProblem[] => {
    const places = [...placesIn(definition, "")];
    if (places.length === 0) return [];
    const more = places.length > MAX_PLACES ? ` and ${places.length - MAX_PLACES} more places` : "";
    const message =
      `${what} has characters that are invisible or look like others, at ${places.slice(0, MAX_PLACES).join(", ")}${more}: ` +
      "'sandgate mcp diff' writes them out";
    return [source.problem(path, message, "warning")];
  };
  const ofTools = registry.definitions().flatMap(({ name, description, inputSchema }) => {
    return warn(`the definition of tool '${name}'`, paths.get(name) ?? ["mcp"], {
      name,
      description,
      inputSchema,
    });
  });
  const ofServers = [...said].flatMap(([name, definition]) => {
    const [server = name, ...offer] = name.split("/");
    const what = offer.length === 0 ? "what the MCP server says to the model" : `'${offer.join("/")}'`;
    return warn(what, ["mcp", "servers", server], definition);
  });
  return [...ofTools, ...ofServers];
}

/** The JSON pointers of texts, and of members whose names are such texts. */
function* placesIn(value: JsonValue, pointer: string): Generator<string> {
  if (typeof value === "string") {
    if (isMisleading(value)) yield pointer;
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* placesIn(item, `${pointer}/${index}`);
  } else if (isJsonObject(value)) {
    for (const [name, member = null] of Object.entries(value)) {
      if (isMisleading(name)) yield pointer;
      else yield* placesIn(member, `${pointer}/${escapePointer(name)}`);
    }
  }
}

function isMisleading(text: string): boolean {
  const plain = text.replaceAll("\t", " ").replaceAll("\r\n", "\n");
  return escapeText(plain, { keepsLines: true }).some(({ kind }) => kind === "escape");
}
