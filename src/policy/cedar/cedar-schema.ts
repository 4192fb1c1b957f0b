import type { EntityJson, SchemaJson } from "@cedar-policy/cedar-wasm/nodejs";
import { canonicalText } from "../../json/canonical.ts";
import type { JsonObject } from "../../json/value.ts";
import { UNDECLARED_SIDE_EFFECTS } from "../../tool/side-effects.ts";
import type { PolicyTool } from "../file/policy-tool.ts";
import type { PolicyRequest, PolicySubject } from "../policy.ts";
import { type CedarType, cedarTypeOf } from "./cedar-type.ts";

/** The namespace of all entity types and actions. */
export const NAMESPACE = "Sandgate";

/**
 * Returns the Cedar schema (JSON format) of tools: an action for each tool, whose context has the tool's arguments.
 *
 * - `principal`: a `Sandgate::Principal`, in a `Sandgate::Role` for each of its roles. `kind` is its attribute, and its
 *   attributes are tags: texts as they are, others as JSON text. A call without a principal has the id `""`.
 * - `action`: `Sandgate::Action::"<tool>"`.
 * - `resource`: the `Sandgate::Tool`, with `sideEffects`, `tags` and `sandboxes`.
 * - `context`: `input` (if the arguments are an object), `sessionId`, and `workspace` if the session has one.
 */
export function cedarSchema(tools: readonly PolicyTool[]): SchemaJson<string> {
  const text = { type: "String" } as const;
  const texts = { type: "Set", element: text } as const;
  const actions: SchemaJson<string>[string]["actions"] = Object.create(null);
  for (const { name, inputSchema } of tools) {
    const input = inputTypeOf(inputSchema);
    const attributes = {
      sessionId: text,
      workspace: { ...text, required: false },
      ...(input && { input }),
    };
    actions[name] = {
      appliesTo: {
        principalTypes: ["Principal"],
        resourceTypes: ["Tool"],
        context: { type: "Record", attributes: attributes as never },
      },
    };
  }
  return {
    [NAMESPACE]: {
      entityTypes: {
        Role: {},
        Principal: {
          memberOfTypes: ["Role"],
          shape: { type: "Record", attributes: { kind: { ...text, required: false } } },
          tags: text,
        },
        Tool: {
          shape: { type: "Record", attributes: { sideEffects: text, tags: texts, sandboxes: texts } },
        },
      },
      actions,
    },
  };
}

/** The type of `context.input`; `undefined` if the arguments are not an object. */
export function inputTypeOf(inputSchema: JsonObject): CedarType | undefined {
  const type = cedarTypeOf(inputSchema, inputSchema);
  return type?.type === "Record" ? type : undefined;
}

/** An entity in a request, without the namespace of its type. */
export function entityId(type: string, id: string): { readonly type: string; readonly id: string } {
  return { type: `${NAMESPACE}::${type}`, id };
}

/** The entities of a request: its principal with its roles, and its tool. */
export function entitiesOf({ principal, tool }: PolicyRequest): EntityJson[] {
  const { id = "", kind, roles = [], attributes = {} } = principal ?? {};
  return [
    {
      uid: entityId("Principal", id),
      attrs: kind === undefined ? {} : { kind },
      parents: roles.map((role) => entityId("Role", role)),
      tags: Object.fromEntries(
        Object.entries(attributes).map(([name, value = null]) => [
          name,
          typeof value === "string" ? value : canonicalText(value),
        ]),
      ),
    },
    { uid: entityId("Tool", tool.name), attrs: toolAttributes(tool), parents: [] },
  ];
}

function toolAttributes({ sideEffects, tags = [], sandboxes }: PolicySubject): EntityJson["attrs"] {
  return { sideEffects: sideEffects ?? UNDECLARED_SIDE_EFFECTS, tags: [...tags], sandboxes: [...sandboxes] };
}
