import { ConfigError } from "../../config/problem.ts";
import { canonicalText } from "../../json/canonical.ts";
import type { PolicySubject } from "../policy.ts";
import type { CedarData, CedarLibrary } from "./cedar-library.ts";
import { CedarPolicy } from "./cedar-policy.ts";

/** See `CedarVariants`. */
export class Variants {
  readonly base: CedarPolicy;
  readonly #cedar: CedarLibrary;
  readonly #data: CedarData;

  constructor(cedar: CedarLibrary, data: CedarData) {
    this.#cedar = cedar;
    this.#data = data;
    this.base = open(cedar, data);
  }

  openFor({ name, inputSchema }: Pick<PolicySubject, "name" | "inputSchema">): CedarPolicy | undefined {
    const { tools } = this.#data;
    const known = tools.find((tool) => tool.name === name);
    if (known && canonicalText(known.inputSchema) === canonicalText(inputSchema)) return this.base;
    const others = tools.filter((tool) => tool !== known);
    try {
      return open(this.#cedar, { ...this.#data, tools: [...others, { name, inputSchema }] });
    } catch (error) {
      if (error instanceof ConfigError) return undefined;
      throw error;
    }
  }
}

/** The schema depends on nothing else of a tool than its name and its input. */
function open(cedar: CedarLibrary, { cedar: policies, grants, tools }: CedarData): CedarPolicy {
  return new CedarPolicy(cedar, {
    policies,
    grants,
    tools: tools.map((tool) => ({ ...tool, sandboxes: [] })),
  });
}
