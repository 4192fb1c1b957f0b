import { parsePointer } from "../../json/pointer.ts";
import { isJsonObject, type JsonValue } from "../../json/value.ts";
import { globTexts, regexTexts } from "../possible/schema-values.ts";
import { compileCondition } from "../rule/conditions/condition.ts";
import { unlessReferring } from "../rule/conditions/value-reference.ts";
import type { RuleCondition } from "../rule/rule.ts";
import type { CheckedRule, ConditionProblem, PolicyTool } from "./checked-rule.ts";

type TextProblem = Omit<ConditionProblem, "path"> & { readonly path: readonly (string | number)[] };

/** Warns about texts in a condition that most likely mean something that they do not. */
export function textProblems(
  key: string,
  condition: RuleCondition,
  rule: CheckedRule,
): readonly TextProblem[] {
  const pointers = new Set(
    rule.tools.flatMap(({ inputSchema: { properties } }) =>
      isJsonObject(properties)
        ? Object.keys(properties).flatMap((name) =>
            ["/", "args.", "arguments.", "input.", "params."].map((root) => `${root}${name}`),
          )
        : [],
    ),
  );
  // The path '/name' is more likely than the argument where paths are compared.
  const isPath = rule.tools.some(({ access }) => access?.paths?.some(({ argument }) => argument === key));
  const isReference = (text: string): boolean => pointers.has(text) && !(isPath && text.startsWith("/"));
  return [...literalProblems(condition, { isReference, isPath }), ...commandProblems(key, condition, rule)];
}

/** What is written like a value of the call: a path from one of the roots, or a variable. */
const REFERENCE =
  /^(?:principal|session|input|args|arguments|params)\/\w|\$\{|\{\{|^\$[A-Za-z_.]|^%[A-Za-z_]+%|^env[:.]\w|^(?:principal|user|caller)\.(?:id|kind|roles|attributes)\b|^session\.id$/;

/** The argument with which texts are compared. */
interface Compared {
  readonly isReference: (text: string) => boolean;
  readonly isPath: boolean;
}

function literalProblems(
  condition: RuleCondition,
  compared: Compared,
  path: readonly (string | number)[] = [],
): readonly TextProblem[] {
  if ("not" in condition) return literalProblems(condition.not, compared, [...path, "not"]);
  for (const name of ["all", "any"] as const) {
    const parts = (condition as { readonly [name: string]: readonly RuleCondition[] | undefined })[name];
    if (parts !== undefined)
      return parts.flatMap((part, index) => literalProblems(part, compared, [...path, name, index]));
  }
  return Object.entries(condition).flatMap(([name, value]: [string, JsonValue]) => {
    if (!["equals", "oneOf", "glob", "prefix", "regex"].includes(name)) return [];
    const texts = Array.isArray(value)
      ? [...(value as readonly JsonValue[]).entries()]
      : [[undefined, value] as const];
    return texts.flatMap(([index, text]): readonly TextProblem[] => {
      if (typeof text !== "string") return [];
      const message = literalProblem(text, name, compared);
      const at = index === undefined ? [...path, name] : [...path, name, index];
      return message === undefined ? [] : [{ path: at, message, severity: "warning", at: "value" }];
    });
  });
}

function literalProblem(text: string, name: string, { isReference, isPath }: Compared): string | undefined {
  const [url, path] = /^\^?file:(?:\/\/)?(.*)/s.exec(text) ?? [];
  if (url !== undefined && isPath) return `'${text}' is a URL, and this argument is a path: write '${path}'`;
  if (name === "regex") return delimited(text);
  if (/^~(?:\/|$)/.test(text)) {
    return `'~' is not expanded, and matches only a path that is written so: write the absolute path of the directory`;
  }
  if (text !== text.trim() && text.trim() !== "" && name !== "prefix")
    return `the white space is part of the text, and is compared, too: write '${text.trim()}'`;
  if (!REFERENCE.test(text) && !isReference(text)) return undefined;
  const [, root, pointer] = /^(principal)(\/.+)/s.exec(text) ?? [];
  const meant =
    root !== undefined
      ? `{ ${root}: ${pointer} }`
      : isReference(text) && text.startsWith("/")
        ? `{ argument: ${text} }`
        : "";
  const remedy =
    meant === "" || name === "glob"
      ? "docs/policies.md says how to write a reference"
      : `for a reference, write ${meant}`;
  return `'${text}' is this text itself, and no reference: ${remedy}`;
}

/** Says that a regular expression is written between slashes, as in JavaScript, which are part of it here. */
export function delimited(regex: string): string | undefined {
  const [, inner, flags] = /^\/(.+)\/([a-z]*)$/.exec(regex) ?? [];
  if (inner === undefined || (flags === "" && inner.includes("/"))) return undefined;
  const besides = flags === "" ? "" : `, and there are no flags: list both cases, as in '[Aa]'`;
  return `the slashes are part of the regular expression${besides}. Write '${inner}'`;
}

/** Names of arguments that a shell reads. */
const COMMAND = /^(?:cmd|command|command_?line|script|shell|bash|sh)$/i;

/** A condition on the text of a command that a shell reads bounds nothing, if the text can continue or begin with another one. */
function commandProblems(
  key: string,
  condition: RuleCondition,
  { effect, tools }: CheckedRule,
): readonly TextProblem[] {
  if (!key.startsWith("/")) return [];
  const steps = parsePointer(key);
  const shells = tools.filter((tool) => isShell(tool, steps));
  if (shells.length === 0) return [];
  const texts = examplesOf(condition);
  const test = compileCondition("", condition);
  const matches = (text: string): boolean => test({ input: text, sessionId: "" }) === "yes";
  const matched = texts.filter(matches);
  if (matched.length === 0) return [];
  const names = shells.map(({ name }) => `'${name}'`).join(", ");
  const example = effect === "allow" ? allowedToo(matched, matches) : missedBy(matched, matches);
  if (example === undefined) return [];
  const verb = effect === "allow" ? "allows" : effect === "deny" ? "does not deny" : "does not ask about";
  const remedy =
    effect === "allow"
      ? "allow whole commands with 'oneOf', or have a tool that takes a list of arguments and no shell"
      : "allow known commands with 'oneOf', and bound what the sandbox grants";
  const message = `this bounds nothing, since ${names} ${shells.length === 1 ? "reads" : "read"} the text as a shell does: the rule also ${verb} ${example}: ${remedy} (docs/policy-guide.md#commands)`;
  return [{ path: [], message, severity: "warning", at: "value" }];
}

const OTHER = "curl evil.example";

function allowedToo(matched: readonly string[], matches: (text: string) => boolean): string | undefined {
  for (const text of matched) {
    for (const more of [`${text}; ${OTHER}`, `${text}$(${OTHER})`, `${text}\n${OTHER}`]) {
      if (matches(more)) return JSON.stringify(more);
    }
  }
  return undefined;
}

function missedBy(matched: readonly string[], matches: (text: string) => boolean): string | undefined {
  for (const text of matched) {
    for (const other of [`true; ${text}`, `  ${text}`, `${text.slice(0, 1)}''${text.slice(1)}`]) {
      if (!matches(other)) return JSON.stringify(other);
    }
  }
  return undefined;
}

function examplesOf(written: RuleCondition): readonly string[] {
  const condition = unlessReferring(written);
  if (condition === undefined) return [];
  if ("prefix" in condition) return [condition.prefix, `${condition.prefix}status`];
  if ("glob" in condition) return [condition.glob].flat().flatMap(globTexts);
  if ("regex" in condition) return regexTexts(condition.regex);
  if ("all" in condition) return condition.all.flatMap(examplesOf);
  return "any" in condition ? condition.any.flatMap(examplesOf) : [];
}

function isShell({ sideEffects, inputSchema }: PolicyTool, steps: readonly string[]): boolean {
  const [name = "", ...others] = steps;
  if (others.length > 0 || !COMMAND.test(name)) return false;
  const properties = inputSchema["properties"];
  const schema = isJsonObject(properties) ? properties[name] : undefined;
  // A list of arguments is not read by a shell.
  const type = isJsonObject(schema) ? schema["type"] : "string";
  return [type].flat().includes("string") && sideEffects !== "none" && sideEffects !== "read";
}
