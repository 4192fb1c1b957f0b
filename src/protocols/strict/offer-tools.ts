import { beginning } from "../../base/text.ts";
import type { ToolDefinition } from "../../engine/definition.ts";
import type { JsonObject } from "../../json/value.ts";
import type { Demands } from "../demands/demands.ts";
import type { ToolFit } from "../demands/tool-fits.ts";
import { toStrictSchema } from "./schema.ts";
import { addSizes, findExcess, type SchemaSize, type StrictSubset } from "./subsets.ts";

/** A tool, or a part of its schema, that a provider is not offered as it is, and why. */
export interface ToolProblem {
  readonly tool: string;
  /** The JSON pointer (RFC 6901) of the part in the tool's schema; `""` is the tool itself. */
  readonly path: string;
  readonly reason: string;
  /**
   * The effect: the tool is not offered, since the provider would reject the request with all tools; it is offered without
   * strictness, or with less of what describes it.
   */
  readonly effect: "left out" | "not strict" | "shortened";
}

/** A definition for the provider. If `strict` is true, its schema is in strict form. */
export interface OfferedTool extends Omit<ToolDefinition, "description"> {
  /** Absent if the tool has none: providers reject a blank one. */
  readonly description?: string;
  readonly strict: boolean;
}

/** Definitions for the provider, and their problems. */
export interface Offer {
  readonly tools: readonly OfferedTool[];
  readonly problems: readonly ToolProblem[];
}

/** How tools are offered. */
export interface Offering {
  /** The demands of the provider. Absent if it takes everything. */
  readonly demands: Demands | undefined;
  /** The strict subset, if the tools are to be strict. */
  readonly subset: StrictSubset | undefined;
  readonly fitOf: (name: string) => ToolFit | undefined;
}

/** Offers tools as a provider accepts them, in order, until its limits for a request are reached. */
export function offerTools(
  definitions: readonly ToolDefinition[],
  { demands, subset, fitOf }: Offering,
): Offer {
  const problems: ToolProblem[] = [];
  const strictly = subset && new StrictOffer(subset);
  const tools: OfferedTool[] = [];
  const most = demands?.tools ?? Number.POSITIVE_INFINITY;
  for (const definition of definitions) {
    const { name: tool, freeform } = definition;
    if (tools.length >= most) {
      problems.push({
        tool,
        path: "",
        reason: `the request would have more than ${most} tools`,
        effect: "left out",
      });
      continue;
    }
    const fit = freeform ? undefined : fitOf(tool);
    const strict = freeform ? undefined : strictly?.offer(definition, problems);
    if (strict !== undefined) {
      tools.push(
        described({ ...definition, inputSchema: fit?.names.rename(strict) ?? strict, strict: true }, demands),
      );
      continue;
    }
    if (fit?.reason !== undefined) {
      problems.push({ tool, path: "", reason: fit.reason, effect: "left out" });
      continue;
    }
    if (fit?.lacksRules) {
      problems.push({
        tool,
        path: "",
        reason: "its rules are too long for its description",
        effect: "shortened",
      });
    }
    const text = [definition.description, fit?.rules ?? ""].filter((part) => part.trim() !== "").join("\n\n");
    // Providers require the type.
    const inputSchema = fit?.schema ?? { type: "object", ...definition.inputSchema };
    tools.push(described({ ...definition, description: text, inputSchema, strict: false }, demands));
  }
  return { tools, problems };
}

/** Offers tools in strict form, the first ones that are together within the provider's limits. */
class StrictOffer {
  readonly #subset: StrictSubset;
  #used: SchemaSize = { properties: 0, enumValues: 0, text: 0, longEnum: 0, optional: 0, unions: 0 };
  #count = 0;

  constructor(subset: StrictSubset) {
    this.#subset = subset;
  }

  /**
   * Returns a tool's schema in strict form; `undefined` if it cannot be written in that form, or the limits
   * of the request are reached.
   */
  offer({ name: tool, inputSchema }: ToolDefinition, problems: ToolProblem[]): JsonObject | undefined {
    const { request } = this.#subset;
    const effect = "not strict";
    if (this.#count >= request.tools) {
      const reason = `the request would have more than ${request.tools} strict tools`;
      problems.push({ tool, path: "", reason, effect });
      return undefined;
    }
    const strict = toStrictSchema({ type: "object", ...inputSchema }, this.#subset);
    if ("problems" in strict) {
      problems.push(...strict.problems.map((problem) => ({ tool, ...problem, effect }) as const));
      return undefined;
    }
    const sum = addSizes(this.#used, strict.size);
    const excess = findExcess(sum, request);
    if (excess !== undefined) {
      problems.push({ tool, path: "", reason: `the request would have ${excess}`, effect });
      return undefined;
    }
    this.#used = sum;
    this.#count++;
    return strict.schema;
  }
}

/** Leaves out a blank description, and moves the excess of a long one to the description of the schema. */
function described(tool: OfferedTool, demands: Demands | undefined): OfferedTool {
  const { description = "", ...others } = tool;
  if (description.trim() === "") return demands === undefined ? tool : others;
  const most = demands?.description ?? Number.POSITIVE_INFINITY;
  if (description.length <= most) return tool;
  const first = beginning(description, most - 1);
  const rest = `…${description.slice(first.length)}`;
  if (tool.freeform) return { ...tool, description: `${first}…` };
  const { description: own } = tool.inputSchema;
  const text = typeof own === "string" ? `${rest}\n\n${own}` : rest;
  return { ...tool, description: `${first}…`, inputSchema: { ...tool.inputSchema, description: text } };
}
