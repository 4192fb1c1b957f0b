import { type OptionNames, refuseUnknown } from "../../base/unknown-names.ts";
import type { ToolRegistry } from "../../engine/registry.ts";
import type { Tool } from "../../engine/tool.ts";
import { compileNamePattern } from "../../policy/match/name-pattern.ts";
import { commentOf, keyOf, schemaType } from "./schema-type.ts";

const NAMES: OptionNames<DescribeOptions> = { tools: true, style: true };

/** The longest comments, in UTF-16 code units. */
const MAX_DESCRIPTION_LENGTH = 1_000;
const MAX_SUMMARY_LENGTH = 100;

/** The longest type of an input or output, and the longest text of all declarations. */
const MAX_TYPE_LENGTH = 8_000;
const MAX_LENGTH = 1_000_000;

/** Options of {@link describe}. */
export interface DescribeOptions {
  /** Patterns of the names of the tools, in which `*` matches anything. Default: all tools. */
  readonly tools?: readonly string[];
  /**
   * `"full"`: descriptions and types of inputs and outputs. `"names"`: the names with the first sentence of each
   * description, for a model that looks the types up with `describe_tools`. Default: `"full"`.
   */
  readonly style?: "full" | "names";
}

/**
 * Writes the TypeScript declarations of tools, as a program calls them: a declaration of `tools`. The texts of tools are
 * hostile: whatever they have, the result is one declaration, of at most 1,000,000 characters; tools that have no room are
 * counted. Schemas are not followed out of their document, and what is recursive, too deep or too large is `any`.
 */
export function describe(registry: ToolRegistry<never>, options: DescribeOptions = {}): string {
  refuseUnknown(options, NAMES, "describe");
  const { tools = ["*"], style = "full" } = options;
  const patterns = tools.map(compileNamePattern);
  const named = registry.tools.filter(({ name }) => patterns.some((pattern) => pattern.matches(name)));
  return declare(named, style);
}

/**
 * Writes the declarations of these tools.
 *
 * @param others A declaration of further members. Default: none.
 */
export function declare(
  tools: readonly Tool<never, never>[],
  style: "full" | "names",
  others?: string,
): string {
  const lines: string[] = others === undefined ? [] : [`  ${others}`];
  let length = 0;
  for (const tool of tools) {
    const line = style === "full" ? fullLine(tool) : nameLine(tool);
    length += line.length + 1;
    if (length > MAX_LENGTH) {
      lines.push(`  // and ${tools.length - lines.length} more: see search_tools`);
      break;
    }
    lines.push(line);
  }
  return `declare const tools: {\n${lines.join("\n")}\n};\n`;
}

function fullLine({ name, description, inputSchema, outputSchema }: Tool<never, never>): string {
  const input = bounded(schemaType(inputSchema));
  const needsNothing = inputSchema["type"] === "object" && !hasRequired(inputSchema["required"]);
  const output = outputSchema === undefined ? "any" : bounded(schemaType(outputSchema));
  const comment = commentOf(description, MAX_DESCRIPTION_LENGTH);
  return `  ${comment}${keyOf(name)}: (input${needsNothing ? "?" : ""}: ${input}) => Promise<${output}>;`;
}

function nameLine({ name, description }: Tool<never, never>): string {
  return `  ${commentOf(firstSentence(description), MAX_SUMMARY_LENGTH)}${keyOf(name)}: (input: any) => Promise<any>;`;
}

function hasRequired(required: unknown): boolean {
  return Array.isArray(required) && required.length > 0;
}

function bounded(type: string): string {
  return type.length <= MAX_TYPE_LENGTH ? type : "any";
}

/** Returns the beginning of a text up to the end of its first sentence or paragraph. */
export function firstSentence(text: string): string {
  const start = text.slice(0, 1_000).trimStart();
  const end = /[.!?](?=\s)|\n/.exec(start);
  return end === null ? start : start.slice(0, end.index + 1).trimEnd();
}
