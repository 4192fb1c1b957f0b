import type { Node, Program } from "acorn";
import { parsed, positioned, SCRIPT, type SyntaxNode, walk } from "../parse-program.ts";

/** The function that takes promises which the program leaves behind, and which are awaited at its end. */
const LATER = "$later";
/** The variable that has what a program exports by default, as long as the words in its place. */
const EXPORTED = "var $result =  ";
const EXPORT_DEFAULT = "export default ";

/** A part of the code that is replaced. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Finds what is to be changed in the body of a function, so that it returns what was meant. */
export class BodyChanges {
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
    const exported = this.#exported;
    if (exported !== undefined) this.#append(`return ${this.#calledMember(exported)};`);
    else if (last?.type === "ExpressionStatement" && last["directive"] === undefined) this.#returnLast(last);
    else if (last?.type === "BlockStatement" && this.#isObject(last)) this.#returnLast(last);
    else this.#callFunction(last);
  }

  /** What is the program: exported by default, or assigned to `module.exports`. */
  #exported: { readonly name: string; readonly node?: SyntaxNode } | undefined;

  /** The value of what is exported; of an object with one function, of a call of that. */
  #calledMember({ name, node }: { readonly name: string; readonly node?: SyntaxNode }): string {
    if (node?.type === "ClassExpression" || node?.type === "ClassDeclaration")
      throw positioned(NO_CLASS, node);
    if (node?.type !== "ObjectExpression") return name;
    const functions = this.#body.flatMap(functionNamesOf);
    const members = (node["properties"] as readonly SyntaxNode[]).filter(({ key, value, computed }) => {
      const [id, of] = [key as SyntaxNode | undefined, value as SyntaxNode | undefined];
      if (id?.type !== "Identifier" || of === undefined || computed === true) return false;
      return isFunction(of) || (of.type === "Identifier" && functions.includes(String(of["name"])));
    });
    const [only, ...others] = members.map(({ key }) => String((key as SyntaxNode)["name"]));
    if (only === undefined || others.length > 0) return name;
    this.notes.push(`the function '${only}' was called with tools, and its value is the result`);
    return `${name}.${only}(tools)`;
  }

  #exportDefault(start: number, node: SyntaxNode, end: number): void {
    const written = this.#code.slice(start, node.start);
    const text = written.length >= EXPORT_DEFAULT.length ? EXPORTED.padEnd(written.length) : EXPORTED;
    this.edits.push({ start, end: node.start, text: text + lineEndsOf(written) });
    // A function or class that is declared needs no semicolon at its end, and an expression does.
    this.edits.push({ start: end, end, text: ";" });
    this.#exported = { name: "$result", node };
  }

  /** Whether a block is an object without parentheses: `{ x, y }`. */
  #isObject({ start, end, body }: SyntaxNode): boolean {
    const statements = body as readonly SyntaxNode[];
    const before = this.#body.at(-2);
    if (before?.type === "ReturnStatement") {
      if (before["argument"] === null)
        this.notes.push(
          "'return' stands alone in its line, so that it returns nothing: write its value behind it",
        );
      return false;
    }
    return (
      statements.length > 0 && !(parsed(`(${this.#code.slice(start, end)})`, SCRIPT) instanceof SyntaxError)
    );
  }

  /** Returns the statement that is exported, in place of the export. */
  #withoutExport(statement: SyntaxNode): SyntaxNode {
    const { start, end } = statement;
    const declaration = statement["declaration"] as SyntaxNode | null | undefined;
    switch (statement.type) {
      case "ImportDeclaration":
        throw positioned("there are no modules to import: call tools.<name>(input)", statement);
      case "ExpressionStatement": {
        const expression = statement["expression"] as SyntaxNode;
        if (isStarted(expression)) {
          const { start: at } = expression["argument"] as SyntaxNode;
          this.edits.push(blanks(expression.start, at, this.#code));
          this.notes.push(
            `the operator before the function in line ${statement.loc?.start.line ?? 1} was left out`,
          );
          return { ...statement, expression: expression["argument"] };
        }
        if (!isAssignedExport(expression)) return statement;
        if (this.#exported !== undefined)
          throw positioned("a program has one value: export one function", statement);
        this.notes.push("what is assigned to the module's exports is the program");
        this.#exportDefault(start, expression["right"] as SyntaxNode, end);
        return { ...statement, type: "ExportDefaultDeclaration" };
      }
      case "IfStatement": {
        const [test, consequent] = [statement["test"] as SyntaxNode, statement["consequent"] as SyntaxNode];
        if (!IS_MAIN.test(this.#code.slice(test.start, test.end)) || statement["alternate"] !== null)
          return statement;
        const [only = consequent, ...others] =
          (consequent["body"] as readonly SyntaxNode[] | undefined) ?? [];
        if (others.length > 0) return statement;
        this.edits.push(blanks(start, only.start, this.#code), blanks(only.end, end, this.#code));
        return only;
      }
      case "ExportNamedDeclaration":
        this.notes.push("'export' was left out");
        for (const { local, exported } of statement["specifiers"] as readonly SyntaxNode[]) {
          if (nameIn(exported) === "default") this.#exported = { name: nameIn(local) };
        }
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
        this.#exportDefault(start, exported, end);
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
    const expression = last["expression"] as SyntaxNode | undefined;
    if (expression !== undefined && isLog(expression)) return;
    this.notes.push("the value of the last expression is the result");
    if (expression !== undefined) this.notes.push(...notesOn(expression));
  }

  /** Calls what a program only declares: its one function, or the one with the name `main`. */
  #callFunction(last: SyntaxNode | undefined): void {
    if (last === undefined) {
      this.notes.push("the code has no statement, so that nothing was run");
      return;
    }
    if (!this.#body.every(isDeclaration)) {
      if (!isEnd(last) && !this.#all.some(returns)) this.notes.push(NO_RESULT);
      return;
    }
    const functions = this.#body.flatMap(functionNamesOf);
    const name =
      functions.length === 1 && functionNamesOf(last).length === 1
        ? functions[0]
        : functions.find((each) => each === "main");
    if (name === undefined) {
      if (this.#body.every(({ type }) => type === "ClassDeclaration")) throw positioned(NO_CLASS, last);
      const only = this.#body.every(({ type }) => type === "FunctionDeclaration")
        ? functions.join("' and '")
        : "";
      this.notes.push(
        only === ""
          ? "the program ends with a declaration, so it has no result: end it with an expression or 'return'"
          : `the program only declares '${only}', and calls neither, so that nothing was run: call one at its end`,
      );
      return;
    }
    const node = this.#body.flatMap(functionsOf).find((each) => each.name === name)?.node;
    if (node?.["generator"] === true) throw positioned(NO_GENERATOR, node);
    if (node !== undefined && takesObject(node)) {
      this.#append(`return ${name}({ tools });`);
      this.notes.push(TAKES_OBJECT);
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

export const NO_GENERATOR = "a generator is not a program: return its values, as in 'return [...values()]'";
const NO_CLASS =
  "a class is not a program: create an object of it and await one of its methods, as in 'await new Name().run()'";
const NO_RESULT = "the program has no result: end it with an expression or 'return'";

function nameIn(node: unknown): string {
  const { name, value } = node as SyntaxNode;
  return String(name ?? value);
}

/** Whether a program ends with a statement, or only logs afterwards. */
function isEnd(statement: SyntaxNode): boolean {
  return statement.type === "ReturnStatement" || statement.type === "ThrowStatement";
}

/** Whether a statement returns from the program. */
function returns(statement: SyntaxNode): boolean {
  let found = false;
  walk(statement, ({ type }) => {
    found ||= type === "ReturnStatement";
  });
  return found;
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

export function isFunction({ type }: SyntaxNode): boolean {
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

export const TAKES_OBJECT = "the function was called with { tools }, and its value is the result";

/** The note on a last expression whose value is probably not the intended result. */
export function notesOn(expression: SyntaxNode): readonly string[] {
  const { value } = expression;
  if (expression.type === "Literal" && typeof value === "string" && /\btools\.|\breturn\b/.test(value)) {
    return ["the code is only a text, which is the result: write the code itself, not a string with it"];
  }
  const callee = expression["callee"] as SyntaxNode | undefined;
  if (callee?.type === "Identifier" && /^set(?:Timeout|Interval)$/.test(String(callee["name"]))) {
    return ["timers are not waited for: await new Promise((resolve) => setTimeout(resolve, milliseconds))"];
  }
  return [];
}

/** Whether this is `void` or another operator before a call of an asynchronous function, which only starts it. */
export function isStarted({ type, ...members }: SyntaxNode): boolean {
  const argument = members["argument"] as SyntaxNode | undefined;
  if (type !== "UnaryExpression" || argument?.type !== "CallExpression") return false;
  const callee = argument["callee"] as SyntaxNode;
  return isFunction(callee) && callee["async"] === true;
}

/** Whether a function takes an object with `tools`. */
export function takesObject(node: SyntaxNode): boolean {
  const [first] = node["params"] as readonly SyntaxNode[];
  if (first?.type !== "ObjectPattern") return false;
  return (first["properties"] as readonly SyntaxNode[]).some(
    ({ key }) => (key as SyntaxNode | undefined)?.["name"] === "tools",
  );
}

/** Whether a module is the program, and not loaded by another one. */
const IS_MAIN = /^(?:require\.main\s*===?\s*module|import\.meta\.main)$/;

const EXPORTS = /^(?:module\.)?exports(?:\.\w+)?$/;

/** Whether this is `module.exports = …` or `exports.name = …`. */
export function isAssignedExport({ type, operator, left }: SyntaxNode): boolean {
  return type === "AssignmentExpression" && operator === "=" && EXPORTS.test(pathOf(left as SyntaxNode));
}

/** `a.b.c`; of all else, an empty text. */
function pathOf(node: SyntaxNode): string {
  if (node.type === "Identifier") return String(node["name"]);
  if (node.type !== "MemberExpression" || node["computed"] === true) return "";
  return `${pathOf(node["object"] as SyntaxNode)}.${pathOf(node["property"] as SyntaxNode)}`;
}
