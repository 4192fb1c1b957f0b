import type { Tool } from "../../../engine/tool.ts";
import { isJsonObject, type JsonObject } from "../../../json/value.ts";
import { withObjectInput } from "../../../protocols/freeform.ts";
import type { Session } from "../../../sessions/session.ts";
import { changesNothing } from "../../../tool/side-effects.ts";
import { GET_PROMPT, READ_RESOURCE } from "../offers/offer-tools.ts";
import { wireOutputSchema } from "./structured-content.ts";

/** A tool in `tools/list`. */
export interface WireTool extends JsonObject {
  readonly name: string;
  readonly inputSchema: JsonObject;
}

/** The tools that a session can see and whose definitions are approved, as MCP lists them, in order of registration. */
export function listedTools({ registry }: Session, isModern: boolean): readonly WireTool[] {
  return registry
    .definitions()
    .filter(({ name }) => name !== READ_RESOURCE && name !== GET_PROMPT)
    .map((definition) => {
      const tool = registry.get(definition.name);
      const { name, description, inputSchema } = withObjectInput(definition);
      return {
        name,
        ...(tool.title !== undefined && { title: tool.title }),
        description,
        inputSchema: asObject(inputSchema),
        ...(tool.outputSchema && { outputSchema: wireOutputSchema(tool.outputSchema, isModern) }),
        annotations: annotationsOf(tool),
        ...importedMembers(tool),
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

const PASSED_THROUGH = ["icons", "_meta"] as const;

/** What the server of an imported tool says about it. */
function importedMembers({ remote }: Tool<never, never>): JsonObject {
  const handle = (remote as { readonly mcp?: { toJSON?(): unknown } } | undefined)?.mcp;
  const given = handle?.toJSON?.();
  if (!isJsonObject(given)) return {};
  return Object.fromEntries(
    PASSED_THROUGH.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]])),
  );
}
