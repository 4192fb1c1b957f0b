import type { Tool } from "../../../engine/tool.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";
import { withObjectInput } from "../../../protocols/freeform.ts";
import type { Session } from "../../../sessions/session.ts";
import { changesNothing } from "../../../tool/side-effects.ts";
import { OFFER_TOOLS } from "../offers/find-offer.ts";
import { passedMeta } from "./passed-meta.ts";
import { wireOutputSchema } from "./structured-content.ts";

/** A tool in `tools/list`. */
export interface WireTool extends JsonObject {
  readonly name: string;
  readonly inputSchema: JsonObject;
}

/** For whom tools are listed. */
export interface ToolListing {
  readonly isModern: boolean;
  /** Whether the list has tools that the client can never call, too. */
  readonly listsAll: boolean;
}

/** The tools that a session can see and whose definitions are approved, as MCP lists them, in order of registration. */
export function listedTools(session: Session, { isModern, listsAll }: ToolListing): readonly WireTool[] {
  const { registry } = session;
  return registry
    .definitions()
    .filter(({ name }) => !OFFER_TOOLS.has(name) && (listsAll || session.mayCall(name)))
    .map((definition) => {
      const tool = registry.get(definition.name);
      const outputSchema = outputSchemaOf(tool);
      const { name, description, inputSchema } = withObjectInput(definition);
      return {
        name,
        ...(tool.title !== undefined && { title: tool.title }),
        description,
        inputSchema: asObject(inputSchema),
        ...(outputSchema && { outputSchema: wireOutputSchema(outputSchema, isModern) }),
        annotations: annotationsOf(tool),
        ...membersOf(listedBy(tool)),
      };
    });
}

/** MCP wants the arguments to be an object, and the schema to say so. Everything that a call has to be stays required. */
function asObject(schema: JsonObject): JsonObject {
  return schema["type"] === "object" ? schema : { type: "object", allOf: [schema] };
}

/** The tool's own hints, and those that its class makes true: a client must not take a tool for milder than its class. */
function annotationsOf(tool: Tool<never, never>): JsonObject {
  const { sideEffects = "destructive", idempotent } = tool;
  const readOnlyHint = changesNothing(sideEffects);
  return {
    ...tool.annotations,
    readOnlyHint,
    ...(sideEffects === "destructive" && { destructiveHint: true }),
    ...(idempotent && { idempotentHint: true }),
  };
}

/** The output schema of a tool, its own or that of the server it is imported from. */
export function outputSchemaOf(tool: Tool<never, never> | undefined): JsonObject | undefined {
  return tool && (tool.outputSchema ?? objectIn(listedBy(tool), "outputSchema"));
}

/** What the server of an imported tool says about it. */
function listedBy({ remote }: Tool<never, never>): JsonObject {
  const listed = (remote as { readonly mcp?: { readonly listed?: unknown } } | undefined)?.mcp?.listed;
  return isJsonObject(listed as JsonValue | undefined) ? (listed as JsonObject) : {};
}

function objectIn(listed: JsonObject, name: string): JsonObject | undefined {
  const value = listed[name];
  return isJsonObject(value) ? value : undefined;
}

function membersOf({ icons, _meta }: JsonObject): JsonObject {
  return {
    ...(Array.isArray(icons) && { icons }),
    ...(isJsonObject(_meta) && { _meta: passedMeta(_meta) }),
  };
}
