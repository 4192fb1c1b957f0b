import { isJsonObject, type JsonValue } from "../../json/value.ts";
import { compileNamePattern, type NamePattern } from "../../policy/match/name-pattern.ts";
import { SIDE_EFFECTS, type SideEffects, UNDECLARED_SIDE_EFFECTS } from "../../tool/side-effects.ts";

/**
 * The classes of imported tools, by patterns of their names, such as `{ "mcp_github_*": "network" }`. The
 * first match applies.
 */
export type ToolClasses = Readonly<Record<string, SideEffects>>;

/** Finds the class of each imported tool. */
export class ImportedClasses {
  readonly #patterns: readonly (readonly [NamePattern, SideEffects])[];

  constructor(classes: ToolClasses = {}) {
    this.#patterns = Object.entries(classes).map(([pattern, sideEffects]) => [
      compileNamePattern(pattern),
      sideEffects,
    ]);
  }

  /**
   * Returns the class of a tool: the configured one, or `destructive`. A hint can only make it
   * stricter, since the server itself chooses its hints.
   *
   * @param name The name under which the tool is registered.
   * @param hints The `annotations` of the tool (MCP, "ToolAnnotations"). Any value.
   */
  classOf(name: string, hints: JsonValue | undefined): SideEffects {
    const configured = this.#patterns.find(([pattern]) => pattern.matches(name))?.[1];
    return stricter(configured ?? UNDECLARED_SIDE_EFFECTS, hintedClass(hints));
  }
}

function hintedClass(hints: JsonValue | undefined): SideEffects {
  if (!isJsonObject(hints)) return "none";
  const { destructiveHint, readOnlyHint } = hints;
  if (destructiveHint === true) return "destructive";
  return readOnlyHint === false ? "write" : "none";
}

function stricter(a: SideEffects, b: SideEffects): SideEffects {
  return SIDE_EFFECTS.indexOf(a) < SIDE_EFFECTS.indexOf(b) ? b : a;
}
