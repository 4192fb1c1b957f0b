import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { importedToolName } from "./tool-name.ts";

/** A tool in the list of an MCP server (MCP, "Tool"), without what is wrong with it. */
export interface ListedTool {
  /** The name under which it is registered. */
  readonly name: string;
  /** The server's own name of it. */
  readonly original: string;
  readonly title?: string;
  /** Empty if the server provides none. */
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations?: JsonObject;
  /** The whole definition, as it was sent. */
  readonly listed: JsonObject;
  /** Everything else that the server says about it, such as `icons`, `_meta` and `execution`. */
  readonly others: JsonObject;
}

/** The longest description, in characters. A model reads it with every message. */
const MAX_DESCRIPTION = 65_536;

/** The tools of a list that can be registered, and a problem for each one that cannot. */
export interface ReadTools {
  readonly tools: readonly ListedTool[];
  /** One line for each. They have text of the server: show them only rendered. */
  readonly problems: readonly string[];
}

/** How many tools of one name a problem names. */
const MAX_NAMED = 10;

/**
 * Reads the tools of a server. Malformed definitions are skipped. So are all tools that share a name, since
 * it is unknown which of them a call would reach.
 *
 * @param server The name of the server in the config.
 * @param listed The members of `tools` of all pages. Anything.
 * @param nameOf The name under which a tool is registered. Default: `mcp_<server>_<tool>`.
 */
export function readListedTools(
  server: string,
  listed: readonly JsonValue[],
  nameOf: (original: string) => string = (original) => importedToolName(server, original),
): ReadTools {
  const problems: string[] = [];
  const byName = new Map<string, ListedTool[]>();
  for (const [index, item] of listed.entries()) {
    const tool = readTool(nameOf, item);
    if (typeof tool === "string") problems.push(`tool ${index + 1} of server '${server}': ${tool}`);
    else {
      const same = byName.get(tool.name);
      if (same === undefined) byName.set(tool.name, [tool]);
      else same.push(tool);
    }
  }
  const tools: ListedTool[] = [];
  for (const [name, same] of byName) {
    const [first, ...others] = same;
    if (first !== undefined && others.length === 0) tools.push(first);
    else {
      const originals = same.slice(0, MAX_NAMED).map(({ original }) => `'${original}'`);
      if (same.length > MAX_NAMED) originals.push(`${same.length - MAX_NAMED} more`);
      problems.push(
        `server '${server}' has several tools that would be called ${name}: ${originals.join(" and ")}`,
      );
    }
  }
  return { tools, problems };
}

const HINTS = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

/** Clients refuse a whole list for annotations of other types (MCP, "ToolAnnotations"). */
function isAnnotations(value: JsonValue): value is JsonObject {
  if (!isJsonObject(value)) return false;
  const { title } = value;
  const areHints = HINTS.every((hint) => value[hint] === undefined || typeof value[hint] === "boolean");
  return areHints && (title === undefined || typeof title === "string");
}

/** Clients refuse a whole list for icons in another form (MCP, "Icon"). */
function isIcons(value: JsonValue): boolean {
  return (
    Array.isArray(value) &&
    value.every((icon) => {
      if (!isJsonObject(icon)) return false;
      const { src, mimeType, sizes, theme } = icon;
      const areSizes = Array.isArray(sizes) && sizes.every((size) => typeof size === "string");
      return (
        typeof src === "string" &&
        (mimeType === undefined || typeof mimeType === "string") &&
        (sizes === undefined || areSizes) &&
        (theme === undefined || theme === "light" || theme === "dark")
      );
    })
  );
}

function readTool(nameOf: (original: string) => string, item: JsonValue): ListedTool | string {
  if (!isJsonObject(item)) return "it is not an object";
  const { name, title, description = "", inputSchema, outputSchema, annotations, ...others } = item;
  if (typeof name !== "string" || name === "") return "it has no name";
  if (title !== undefined && typeof title !== "string") return `the title of '${name}' is not a string`;
  if (typeof description !== "string") return `the description of '${name}' is not a string`;
  if (description.length > MAX_DESCRIPTION) {
    return `the description of '${name}' has more than ${MAX_DESCRIPTION} characters`;
  }
  if (!isJsonObject(inputSchema)) return `the input schema of '${name}' is not an object`;
  // Arguments are always an object, so that nothing is lost where a server does not say so.
  const { type = "object" } = inputSchema;
  if (type !== "object") return `the input schema of '${name}' is not one of objects`;
  if (outputSchema !== undefined && !isJsonObject(outputSchema)) {
    return `the output schema of '${name}' is not an object`;
  }
  if (annotations !== undefined && !isAnnotations(annotations)) {
    return `the annotations of '${name}' are not an object with a title that is a string and hints that are true or false`;
  }
  const { icons, _meta, execution } = others;
  if (icons !== undefined && !isIcons(icons))
    return `the icons of '${name}' are not a list of objects with src`;
  if (_meta !== undefined && !isJsonObject(_meta)) return `_meta of '${name}' is not an object`;
  if (execution !== undefined && !isJsonObject(execution)) return `execution of '${name}' is not an object`;
  if (execution?.["taskSupport"] === "required")
    return `'${name}' is called only as a task, which is not supported`;
  return {
    name: nameOf(name),
    original: name,
    description,
    inputSchema: "type" in inputSchema ? inputSchema : { type, ...inputSchema },
    listed: item,
    others: others as JsonObject,
    ...(title !== undefined && { title }),
    ...(outputSchema !== undefined && { outputSchema }),
    ...(annotations !== undefined && { annotations }),
  };
}
