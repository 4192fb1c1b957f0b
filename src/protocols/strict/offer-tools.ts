import type { ToolDefinition } from "../../engine/registered-tool.ts";
import { type StrictSubset, toStrictSchema } from "./schema.ts";
import { addSizes, findExcess, type SchemaSize } from "./size.ts";

/** A reason why a tool's schema has no strict form. Its definition is offered unchanged and without strictness. */
export interface StrictSchemaProblem {
  readonly tool: string;
  /** The JSON pointer (RFC 6901) of the unsupported part in the tool's schema. */
  readonly path: string;
  readonly reason: string;
}

/** A definition for the provider. If `strict` is true, its schema is in strict form. */
export interface OfferedTool extends ToolDefinition {
  readonly strict: boolean;
}

/** Definitions for the provider, and why some are not strict. */
export interface Offer {
  readonly tools: readonly OfferedTool[];
  readonly problems: readonly StrictSchemaProblem[];
}

/** Offers tools without strictness. Providers require `type: object`, so it is added. */
export function offerTools(tools: readonly ToolDefinition[]): Offer {
  return { tools: tools.map((tool) => ({ ...withType(tool), strict: false })), problems: [] };
}

/** Offers tools in strict form, in order, until the provider's limits for a request are reached. */
export function offerStrictTools(tools: readonly ToolDefinition[], subset: StrictSubset): Offer {
  const problems: StrictSchemaProblem[] = [];
  let used: SchemaSize = { properties: 0, enumValues: 0, text: 0, optional: 0, unions: 0 };
  let count = 0;
  const offered = tools.map(withType).map((tool): OfferedTool => {
    if (tool.freeform) return { ...tool, strict: false };
    const strict = toStrictSchema(tool.inputSchema, subset);
    if ("problems" in strict) {
      problems.push(...strict.problems.map((problem) => ({ tool: tool.name, ...problem })));
      return { ...tool, strict: false };
    }
    const sum = addSizes(used, strict.size);
    const excess =
      count < subset.request.tools
        ? findExcess(sum, subset.request)
        : `more than ${subset.request.tools} strict tools`;
    if (excess !== undefined) {
      problems.push({ tool: tool.name, path: "", reason: `the request would have ${excess}` });
      return { ...tool, strict: false };
    }
    used = sum;
    count++;
    return { ...tool, inputSchema: strict.schema, strict: true };
  });
  return { tools: offered, problems };
}

function withType(tool: ToolDefinition): ToolDefinition {
  return { ...tool, inputSchema: { type: "object", ...tool.inputSchema } };
}
