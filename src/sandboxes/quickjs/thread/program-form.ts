import { type Node, type Options, type Program, parse } from "acorn";
import type { TypedCode } from "../../../tool/implementations/quickjs-implementation.ts";
import { type SyntaxNode, walk } from "../syntax-tree.ts";
import { TypeStrippingError } from "./type-stripper.ts";
import { stripCodeTypes } from "./typed-code.ts";

/** A program as it is evaluated: an expression, or the body of an asynchronous function of `tools` and {@link LATER}. */
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

/** The function that takes promises which the program leaves behind, and which are awaited at its end. */
export const LATER = "$later";
/** The variable that has what a program exports by default, as long as the words in its place. */
const EXPORTED = "var $result =  ";
const EXPORT_DEFAULT = "export default ";

const SCRIPT: Options = {
  ecmaVersion: "latest",
  sourceType: "script",
  allowAwaitOutsideFunction: true,
  allowReturnOutsideFunction: true,
  locations: true,
};

/**
 * Finds how a program is to be evaluated. Models write what they would write in a file, in a console or in Markdown: what can only
 * mean one thing is changed so that it does, and the notes say what was done.
 *
 * @param language Default: TypeScript, if the code is that and not JavaScript.
 * @throws {SyntaxError} as acorn does, with its position. It can also overflow the stack, as a `RangeError`.
 * @throws {TypeStrippingError} with the position before its message.
 */
export function formOf(code: string, language?: "js" | "ts"): ProgramForm {
  const notes: string[] = [];
  const fenced = withoutFence(code);
  if (fenced !== undefined) notes.push("the Markdown fence around the code was left out");
  const { text = code, isTypeScript = false } = fenced ?? {};
  const given = language ?? (isTypeScript ? "ts" : undefined);
  if (given === "ts") return formOfScript(stripCodeTypes(text), text, "ts", notes);
  try {
    return formOfScript(text, text, "js", notes);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const form = given === undefined ? typedForm(text, notes) : undefined;
    if (form === undefined) throw error;
    return form;
  }
}

function typedForm(code: string, notes: readonly string[]): ProgramForm | undefined {
  try {
    const note = 'the code was read as TypeScript, as it is no JavaScript: say so with language: "ts"';
    return formOfScript(stripCodeTypes(code), code, "ts", [...notes, note]);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeStrippingError) return undefined;
    throw error;
  }
}

/** Returns the code in a fence, on its own lines; `undefined` if the code is not all in one. */
function withoutFence(code: string): { readonly text: string; readonly isTypeScript: boolean } | undefined {
  const trimmed = code.trim();
  const [, ticks = "", language = ""] = /^(`{3,}|~{3,})[ \t]*(\w*)[^\n`]*\n/.exec(trimmed) ?? [];
  if (ticks === "" || !trimmed.endsWith(`\n${ticks}`)) return undefined;
  const inner = trimmed.slice(trimmed.indexOf("\n"), -ticks.length);
  // Several fences have a text between them.
  if (inner.includes(`\n${ticks}`)) return undefined;
  const before = code.slice(0, code.length - code.trimStart().length).replace(/[^\n]/g, "");
  return { text: before + inner.slice(0, -1), isTypeScript: /^(?:ts|tsx|typescript|mts)$/i.test(language) };
}

/** A part of the code that is replaced. */
interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

function formOfScript(
  code: string,
  typed: string,
  language: "js" | "ts",
  notes: readonly string[],
): ProgramForm {
  const expression = parsed(`(\n${withoutEnd(code)}\n)`, SCRIPT);
  if (!(expression instanceof SyntaxError))
    return { ...{ code, typed, language, notes }, isExpression: true, program: expression };
  const script = parsed(code, SCRIPT);
  const isModule = script instanceof SyntaxError && /\b(?:ex|im)port\b/.test(code);
  const program = isModule ? parsed(code, { ...SCRIPT, sourceType: "module" }) : script;
  if (program instanceof SyntaxError) throw isModule ? script : program;
  const changes = new BodyChanges(program, code);
  const change = (text: string): string => applied(text, changes.edits);
  return {
    ...{ code: change(code), typed: change(typed), language, program },
    ...{ isExpression: false, notes: [...notes, ...changes.notes] },
  };
}

function parsed(code: string, options: Options): Program | SyntaxError {
  try {
    return parse(code, options);
  } catch (error) {
    if (error instanceof SyntaxError) return error;
    throw error;
  }
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

/** Finds what is to be changed in the body of a function, so that it returns what was meant. */
class BodyChanges {
  readonly edits: Edit[] = [];
  readonly notes: string[] = [];
  readonly #code: string;
  readonly #all: readonly SyntaxNode[];
  /** Without those that are empty. */
  readonly #body: readonly SyntaxNode[];
  readonly #asyncNames: ReadonlySet<string>;

  constructor({ body }: Program, code: string) {
    this.#code = code;
    this.#all = body as unknown as readonly SyntaxNode[];
    const statements = this.#all.filter(({ type }) => type !== "EmptyStatement");
    this.#body = statements.map((statement) => this.#withoutExport(statement));
    this.#asyncNames = new Set(this.#body.flatMap(asyncNameOf));
    const last = this.#body.at(-1);
    for (const statement of this.#body) if (statement !== last) this.#awaitAtEnd(statement);
    if (this.#exportsDefault) this.#append("return $result;");
    else if (last?.type === "ExpressionStatement" && last["directive"] === undefined) this.#returnLast(last);
    else this.#callFunction(last);
  }

  #exportsDefault = false;

  /** Returns the statement that is exported, in place of the export. */
  #withoutExport(statement: SyntaxNode): SyntaxNode {
    const { start, end } = statement;
    const declaration = statement["declaration"] as SyntaxNode | null | undefined;
    switch (statement.type) {
      case "ImportDeclaration":
        throw positioned("there are no modules to import: call tools.<name>(input)", statement);
      case "ExportNamedDeclaration":
        this.notes.push("'export' was left out");
        this.edits.push(
          declaration ? blanks(start, declaration.start, this.#code) : blanks(start, end, this.#code),
        );
        return declaration ?? statement;
      case "ExportAllDeclaration":
        throw positioned("there are no modules to export from", statement);
      case "ExportDefaultDeclaration": {
        const exported = declaration as SyntaxNode;
        this.notes.push("what is exported by default is the program");
        if (exported.type === "FunctionDeclaration" && exported["id"] !== null) {
          this.edits.push(blanks(start, exported.start, this.#code));
          return exported;
        }
        const written = this.#code.slice(start, exported.start);
        const text = written.length >= EXPORT_DEFAULT.length ? EXPORTED.padEnd(written.length) : EXPORTED;
        this.edits.push({ start, end: exported.start, text: text + lineEndsOf(written) });
        // A function or class that is declared needs no semicolon at its end, and an expression does.
        this.edits.push({ start: end, end, text: ";" });
        this.#exportsDefault = true;
        return statement;
      }
      default:
        return statement;
    }
  }

  #append(text: string): void {
    const { length } = this.#code;
    this.edits.push({ start: length, end: length, text: `\n${text}` });
  }

  #returnLast(last: SyntaxNode): void {
    // Before the white space, so that the columns of the line stay as they are.
    const before = this.#all.findLast(({ end }) => end <= last.start)?.end ?? 0;
    const at = this.#code.slice(before, last.start).includes("\n") ? before : last.start;
    this.edits.push({ start: at, end: at, text: ";return (" });
    const close = endOf(last, this.#code);
    this.edits.push({ start: close, end: close, text: ")" });
    if (!isLog(last["expression"] as SyntaxNode))
      this.notes.push("the value of the last expression is the result");
  }

  /** Calls what a program only declares: its one function, or the one with the name `main`. */
  #callFunction(last: SyntaxNode | undefined): void {
    if (last === undefined || !this.#body.every(isDeclaration)) return;
    const functions = this.#body.flatMap(functionNamesOf);
    const name =
      functions.length === 1 && functionNamesOf(last).length === 1
        ? functions[0]
        : functions.find((each) => each === "main");
    if (name === undefined) {
      if (last.type === "VariableDeclaration")
        this.notes.push(
          "the program ends with a declaration, so that it has no result: end it with an expression or 'return'",
        );
      return;
    }
    this.#append(`return ${name}(tools);`);
    this.notes.push(`the function '${name}' was called with tools, and its value is the result`);
  }

  /** A call of an asynchronous function whose promise nothing takes. */
  #awaitAtEnd(statement: SyntaxNode): void {
    if (statement.type !== "ExpressionStatement") return;
    const expression = statement["expression"] as SyntaxNode;
    if (expression.type !== "CallExpression") return;
    const callee = expression["callee"] as SyntaxNode;
    const isAsync = isFunction(callee)
      ? callee["async"] === true
      : callee.type === "Identifier" && this.#asyncNames.has(String(callee["name"]));
    if (!isAsync) return;
    const { start } = statement;
    this.edits.push({ start, end: start, text: `;${LATER}(` });
    const close = endOf(statement, this.#code);
    this.edits.push({ start: close, end: close, text: ")" });
    this.notes.push(
      `the promise of the call in line ${statement.loc?.start.line ?? 1} is awaited at the end`,
    );
  }
}

/** The end of a statement without its semicolon. */
function endOf({ end }: SyntaxNode, code: string): number {
  return code.charAt(end - 1) === ";" ? end - 1 : end;
}

function blanks(start: number, end: number, code: string): Edit {
  return { start, end, text: code.slice(start, end).replace(/[^\n]/g, " ") };
}

function lineEndsOf(text: string): string {
  return text.replace(/[^\n]/g, "");
}

function isFunction({ type }: SyntaxNode): boolean {
  return type === "ArrowFunctionExpression" || type === "FunctionExpression";
}

function isDeclaration(statement: SyntaxNode): boolean {
  return (
    ["FunctionDeclaration", "VariableDeclaration", "ClassDeclaration"].includes(statement.type) ||
    statement["directive"] !== undefined
  );
}

/** The names of functions that a statement declares. */
function functionNamesOf(statement: SyntaxNode): readonly string[] {
  return functionsOf(statement).map(({ name }) => name);
}

function asyncNameOf(statement: SyntaxNode): readonly string[] {
  return functionsOf(statement).flatMap(({ name, node }) => (node["async"] === true ? [name] : []));
}

function functionsOf(statement: SyntaxNode): readonly { readonly name: string; readonly node: SyntaxNode }[] {
  if (statement.type === "FunctionDeclaration")
    return [{ name: String((statement["id"] as SyntaxNode)["name"]), node: statement }];
  if (statement.type !== "VariableDeclaration") return [];
  return (statement["declarations"] as readonly SyntaxNode[]).flatMap((declarator) => {
    const [id, init] = [declarator["id"] as SyntaxNode, declarator["init"] as SyntaxNode | null];
    return id.type === "Identifier" && init !== null && isFunction(init)
      ? [{ name: String(id["name"]), node: init }]
      : [];
  });
}

/** Whether an expression only logs, and has no value. */
function isLog(expression: SyntaxNode): boolean {
  let isConsole = false;
  const callee = expression["callee"] as SyntaxNode | undefined;
  if (expression.type !== "CallExpression" || callee?.type !== "MemberExpression") return false;
  walk(callee["object"] as Node, (node) => {
    isConsole ||= node.type === "Identifier" && node["name"] === "console";
  });
  return isConsole;
}

function positioned(message: string, { loc }: SyntaxNode): SyntaxError {
  return Object.assign(new SyntaxError(message), { loc: loc?.start });
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
