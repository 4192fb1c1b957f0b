import type { Program } from "acorn";
import type { TypedCode } from "../../../tool/implementations/implementations.ts";
import { parsed, positioned, SCRIPT, type SyntaxNode, walk } from "../parse-program.ts";
import {
  BodyChanges,
  type Edit,
  isAssignedExport,
  isFunction,
  isStarted,
  NO_GENERATOR,
  notesOn,
  TAKES_OBJECT,
  takesObject,
} from "./program-body.ts";
import { stripProgramTypes, TypeStrippingError } from "./type-stripper.ts";

/** The name of the code in errors. */
const NAME = "program.ts";

/** The parser reads modules, in which nothing can return: so the code is made a function, on its own lines. */
const BEFORE = "(async () => {";

const AFTER = "\n})";

const OUTSIDE = /cannot be used outside of module code/;

/** A program as it is evaluated: an expression, or the body of an asynchronous function of `tools` and `$later`. */
export interface ProgramForm {
  /** Without types. Every line is where it was. */
  readonly code: string;
  /** The same with its types. */
  readonly typed: string;
  readonly language: "js" | "ts";
  readonly isExpression: boolean;
  /** The syntax tree of what was written; of an expression, behind a line with a parenthesis. */
  readonly program: Program;
  /** What was changed, for the model. */
  readonly notes: readonly string[];
}

/**
 * Finds how a program is to be evaluated. Models write what they would write in a file, in a console or in Markdown: what can only
 * mean one thing is changed so that it does, and the notes say what was done.
 *
 * @param language Default: TypeScript, if the code is that and not JavaScript.
 * @throws {SyntaxError} as acorn does, with its position. It can also overflow the stack, as a `RangeError`.
 * @throws {TypeStrippingError} with the position before its message.
 */
export function formOf(code: string, language?: "js" | "ts"): ProgramForm {
  const whole = withoutFence(code, true);
  if (whole !== undefined) return formOfFenced(whole, language);
  const text = code.startsWith("#!") ? `//${code.slice(2)}` : code;
  try {
    return formOfText(text, language, []);
  } catch (error) {
    // A text around a fence is no code; a fence in a template is.
    const part = error instanceof RangeError ? undefined : withoutFence(code, false);
    if (part !== undefined) return formOfFenced(part, language);
    if (FENCE.test(code) && !(error instanceof RangeError)) throw positioned(FENCED, {});
    throw explained(error, text);
  }
}

const FENCE = /^[ \t]*(?:```|~~~)/m;
const FENCED =
  "only a part of the code is in a Markdown fence (```), or there are several: write one program alone";

function formOfFenced({ text, name, note }: Fenced, language: "js" | "ts" | undefined): ProgramForm {
  if (OTHER_LANGUAGES.test(name)) {
    throw positioned(`the Markdown fence says '${name}': write JavaScript or TypeScript`, {});
  }
  try {
    return formOfText(text, language ?? (TYPESCRIPT.test(name) ? "ts" : undefined), [note]);
  } catch (error) {
    throw explained(error, text);
  }
}

const TYPESCRIPT = /^(?:ts|tsx|typescript|mts)$/i;
const OTHER_LANGUAGES =
  /^(?:py|python3?|bash|sh|shell|zsh|console|ruby|rb|go|rust|rs|java|kotlin|swift|php|perl|c|cpp|csharp|cs|sql|html|css|yaml|toml)$/i;

function formOfText(text: string, language: "js" | "ts" | undefined, notes: readonly string[]): ProgramForm {
  if (language === "ts") return formOfScript(stripCodeTypes(text), text, "ts", notes);
  try {
    return formOfScript(text, text, "js", notes);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const form = typedForm(text, notes, error);
    if (language === undefined) return form;
    error.message = `${error.message.replace(/ \(\d+:\d+\)$/, "")}: TypeScript needs language: "ts"`;
    throw error;
  }
}

/** @param error Why the code is no JavaScript. */
function typedForm(code: string, notes: readonly string[], error: SyntaxError): ProgramForm {
  try {
    const note = 'the code was read as TypeScript, as it is no JavaScript: say so with language: "ts"';
    return formOfScript(stripCodeTypes(code), code, "ts", [...notes, note]);
  } catch (other) {
    // Enumerations, and other syntax that is more than types.
    if (other instanceof TypeStrippingError && / not supported in /.test(other.message)) throw other;
    if (other instanceof SyntaxError || other instanceof TypeStrippingError) throw error;
    throw other;
  }
}

/** Explains a syntax error of the parser. */
function explained(error: unknown, code: string): unknown {
  const { pos } = error as { readonly pos?: number };
  if (!(error instanceof SyntaxError) || pos === undefined || !error.message.startsWith("Unexpected token"))
    return error;
  if (code.slice(pos).trim() === "")
    error.message = "the code ends in the middle: a bracket or a quote is left open";
  else if (/^<[A-Za-z>]/.test(code.slice(pos, pos + 2)))
    error.message = "Unexpected token: JSX cannot be used, only JavaScript and TypeScript";
  return error;
}

function formOfScript(
  code: string,
  typed: string,
  language: "js" | "ts",
  notes: readonly string[],
): ProgramForm {
  const expression = parsed(`(\n${withoutEnd(code)}\n)`, SCRIPT);
  if (!(expression instanceof SyntaxError)) {
    const form = formOfExpression(expression, { code, typed, notes });
    if (form !== undefined) return { ...form, language };
  }
  const script = parsed(code, SCRIPT);
  const isModule = script instanceof SyntaxError && /\b(?:ex|im)port\b/.test(code);
  const program = isModule ? parsed(code, { ...SCRIPT, sourceType: "module" }) : script;
  if (program instanceof SyntaxError) throw isModule ? script : program;
  if (hasFence(program)) throw positioned(FENCED, {});
  const changes = new BodyChanges(program, code);
  const change = (text: string): string => applied(text, changes.edits);
  return {
    code: change(code),
    typed: change(typed),
    language,
    program,
    isExpression: false,
    notes: [...notes, ...changes.notes],
  };
}

/** Whether a fence was parsed as code: as an empty template that is called with another one. */
function hasFence(program: Program): boolean {
  let found = false;
  walk(program, ({ type, tag }) => {
    found ||= type === "TaggedTemplateExpression" && (tag as SyntaxNode).type === "TemplateLiteral";
  });
  return found;
}

/** Returns the form of an expression; `undefined` if it is to be read as statements. */
function formOfExpression(
  program: Program,
  { code, typed, notes }: Pick<ProgramForm, "code" | "typed" | "notes">,
): Omit<ProgramForm, "language"> | undefined {
  const [statement] = program.body;
  const expression = (statement as unknown as SyntaxNode)["expression"] as SyntaxNode;
  if (expression.type === "ClassExpression" || isStarted(expression) || isAssignedExport(expression))
    return undefined;
  if (hasFence(program)) throw positioned(FENCED, {});
  if (isFunction(expression) && expression["generator"] === true) throw positioned(NO_GENERATOR, {});
  const form = { code, typed, isExpression: true, program };
  if (isFunction(expression) && takesObject(expression)) {
    const call = (text: string): string => `(${withoutEnd(text)})({ tools })`;
    return { ...form, code: call(code), typed: call(typed), notes: [...notes, TAKES_OBJECT] };
  }
  return { ...form, notes: [...notes, ...notesOn(expression)] };
}

function applied(code: string, edits: readonly Edit[]): string {
  let result = "";
  let at = 0;
  for (const { start, end, text } of edits.toSorted((a, b) => a.start - b.start || a.end - b.end)) {
    result += code.slice(at, start) + text;
    at = end;
  }
  return result + code.slice(at);
}

/** Removes white space and semicolons from the end of code, in linear time. */
export function withoutEnd(code: string): string {
  let end = code.length;
  while (end > 0 && /[\s;]/.test(code.charAt(end - 1))) end--;
  return code.slice(0, end);
}

/**
 * Brings the code in arguments into the form in which it is evaluated, without types.
 *
 * @param input The arguments as JSON text.
 * @param where Default: there is no such code.
 * @returns The arguments, with the notes of {@link formOf} as `notes`, as JSON text.
 * @throws {TypeStrippingError} like `stripCodeTypes`.
 */
export function withProgramForm(input: string, where: TypedCode | undefined): string {
  if (where === undefined) return input;
  const args: unknown = JSON.parse(input);
  if (typeof args !== "object" || args === null) return input;
  const members = args as Readonly<Record<string, unknown>>;
  const { [where.code]: code, [where.language]: language } = members;
  if (typeof code !== "string") return input;
  try {
    const form = formOf(code, language === "ts" || language === "js" ? language : undefined);
    return JSON.stringify({ ...members, [where.code]: form.code, notes: form.notes });
  } catch (error) {
    // The engine says what is wrong with it.
    if (error instanceof SyntaxError || error instanceof RangeError) return input;
    throw error;
  }
}

const FENCE_LINE = /^\s*(`{3,}|~{3,})[ \t]*([\w+#-]*)[^`]*$/;

/** The code in a Markdown fence. */
interface Fenced {
  /** On its own lines. */
  readonly text: string;
  /** The language that the fence names. */
  readonly name: string;
  readonly note: string;
}

/**
 * Returns the code in the only fence of a text.
 *
 * @param isWhole Whether nothing may stand around the fence.
 */
function withoutFence(code: string, isWhole: boolean): Fenced | undefined {
  const lines = code.split("\n");
  const opening = lines.findIndex((line) => FENCE_LINE.test(line));
  const [, ticks = "", name = ""] = FENCE_LINE.exec(lines[opening] ?? "") ?? [];
  if (ticks === "") return undefined;
  const rest = lines.slice(opening + 1);
  const length = rest.findIndex((line) => line.trim() === ticks);
  const after = rest.slice(length + 1);
  if (length < 0 || after.some((line) => line.trimStart().startsWith(ticks))) return undefined;
  const around = [...lines.slice(0, opening), ...after].join("").trim();
  if (isWhole && around !== "") return undefined;
  return {
    text: "\n".repeat(opening + 1) + rest.slice(0, length).join("\n"),
    name,
    note:
      around === ""
        ? "the Markdown fence around the code was left out"
        : "the Markdown fence and the text around it were left out",
  };
}

/**
 * Replaces the types in the body of an asynchronous function with blanks, which preserves lines and columns.
 *
 * @throws {TypeStrippingError} if that is not possible. The position is separate from the first line of the
 *   message.
 */
function stripCodeTypes(code: string): string {
  try {
    return stripped(code, BEFORE, AFTER);
  } catch (error) {
    if (!(error instanceof TypeStrippingError) || !OUTSIDE.test(error.message)) throw error;
    // Nothing can be exported in a function.
    return stripped(code, "", "");
  }
}

function stripped(code: string, before: string, after: string): string {
  const sources = { [NAME]: before + code + after };
  try {
    const all = stripProgramTypes({ entry: NAME, exportName: "", sources }).sources[NAME] ?? "";
    return all.slice(before.length, all.length - after.length);
  } catch (error) {
    if (!(error instanceof TypeStrippingError)) throw error;
    const [, line = "1", column = "1", message = error.message] =
      /^program\.ts:(\d+)(?::(\d+))?: (.*)$/s.exec(error.message) ?? [];
    const shift = line === "1" ? before.length : 0;
    const position = `${line}:${Math.max(Number(column) - shift, 1)}`;
    throw new TypeStrippingError(NAME, `${position}: ${message.replace(/^program\.ts: /, "")}`);
  }
}
