import { ConfigError } from "../../config/problem.ts";
import { canonicalText } from "../../json/canonical.ts";
import type { CedarData } from "../../policy/cedar/cedar-data.ts";
import type { CedarLibrary } from "../../policy/cedar/cedar-library.ts";
import type { CedarPolicy } from "../../policy/cedar/cedar-policy.ts";
import { deny, type PolicyDecision } from "../../policy/decision.ts";
import type { PolicySubject, RuntimePolicy } from "../../policy/policy.ts";
import type { RecordedRequest } from "../read/recorded-calls.ts";

const UNDECIDED = deny("the policies are invalid for the tool as it was recorded");

/**
 * A policy in Cedar that decides on recorded calls. Its schema has each tool as it was recorded, since those of today can
 * have other arguments.
 */
export class RecordedCedarPolicy implements RuntimePolicy {
  readonly #data: CedarData;
  readonly #base: CedarPolicy;
  readonly #open: (data: CedarData) => CedarPolicy;
  /** Cedar does not accept the policies for some tools as they were recorded. */
  readonly #policies = new Map<PolicySubject, CedarPolicy | undefined>();

  private constructor(data: CedarData, open: (data: CedarData) => CedarPolicy) {
    this.#data = data;
    this.#open = open;
    this.#base = open(data);
  }

  /** @throws {Error} if `@cedar-policy/cedar-wasm` is not installed. */
  static async open(data: CedarData): Promise<RecordedCedarPolicy> {
    const [{ loadCedar }, opened] = await Promise.all([
      import("../../policy/cedar/cedar-library.ts"),
      import("../../policy/cedar/cedar-policy.ts"),
    ]);
    const cedar: CedarLibrary = await loadCedar();
    return new RecordedCedarPolicy(data, ({ cedar: policies, grants, tools }) => {
      const all = tools.map((tool) => ({ ...tool, sandboxes: [] }));
      return new opened.CedarPolicy(cedar, { policies, grants, tools: all });
    });
  }

  get readsSession(): boolean {
    return this.#base.readsSession;
  }

  check(request: RecordedRequest): PolicyDecision {
    const { tool } = request;
    if (!this.#policies.has(tool)) this.#policies.set(tool, this.#openFor(tool));
    const policy = this.#policies.get(tool);
    if (policy !== undefined) return policy.check(request);
    request.missing ??= "tool changed";
    return UNDECIDED;
  }

  #openFor({ name, inputSchema }: PolicySubject): CedarPolicy | undefined {
    const { tools } = this.#data;
    const known = tools.find((tool) => tool.name === name);
    if (known && canonicalText(known.inputSchema) === canonicalText(inputSchema)) return this.#base;
    const others = tools.filter((tool) => tool !== known);
    try {
      return this.#open({ ...this.#data, tools: [...others, { name, inputSchema }] });
    } catch (error) {
      if (error instanceof ConfigError) return undefined;
      throw error;
    }
  }
}
