import type { Tool } from "../engine/tool.ts";
import { QUICKJS_DEFAULT_LIMITS } from "../sandboxes/quickjs/quickjs-limits.ts";
import type { SideEffects } from "../tool/side-effects.ts";
import type { PreflightContext } from "../tool/tool-traits.ts";
import type { ProgramChecker } from "./check/program-checker.ts";

/** The longest program, in UTF-16 code units. */
const MAX_CODE_LENGTH = 65_536;

/** The name of the tool that runs programs. */
export const RUN_PROGRAM = "run_program";

/** The arguments of `run_program`. */
interface ProgramInput {
  readonly code: string;
  readonly language?: "js" | "ts";
}

/** How many calls a program may make, unless a rule grants another number. */
const { nestedCalls: MAX_CALLS } = QUICKJS_DEFAULT_LIMITS;

const descriptionWith = (
  prefix: string,
): string => `Runs a program in a sandbox and returns its value. Use it to call several tools at once, and to keep what you do not need out of the conversation.
Write JavaScript or TypeScript: an expression, or statements as in an async function. What is returned, or else the value of the last expression, is the result, which must be JSON. tools.<name>(input) calls a tool and resolves to its output; it throws an Error with code and message if the call fails. Use Promise.all for calls that do not depend on each other; a program can make ${MAX_CALLS} calls unless it is granted another number. tools.${prefix}search_tools({ query }) finds tools, tools.${prefix}describe_tools({ names }) shows their types. console.log writes to the log, whose ends you read. There is no other access to files or the network.
Example:
const found = await tools.${prefix}search_tools({ query: "weather" });
const cities = await Promise.all(["Oslo", "Rome"].map((city) => tools.get_weather({ city })));
cities.filter(({ celsius }) => celsius > 20)`;

/**
 * Returns the tool that runs a program: JavaScript or TypeScript that calls other tools.
 *
 * @param sideEffects The strictest class of the tools that a program may call.
 * @param prefix The prefix of the names of the tools for finding tools.
 */
export function runProgramTool(sideEffects: SideEffects, checker: ProgramChecker, prefix: string): Tool {
  return {
    name: RUN_PROGRAM,
    title: "Run a program",
    description: descriptionWith(prefix),
    sideEffects,
    reportsWork: true,
    searchesTools: true,
    preflight: ({ code, language }: ProgramInput, context: PreflightContext) =>
      checker.problemsOf({ code, language }, context),
    inputSchema: {
      type: "object",
      properties: {
        code: { type: "string", minLength: 1, maxLength: MAX_CODE_LENGTH, description: "The program" },
        language: { enum: ["js", "ts"], description: "Default: found by the code" },
      },
      required: ["code"],
      additionalProperties: false,
    },
    quickjs: { source: PROGRAM_RUNTIME, typedCode: { code: "code", language: "language" } },
  };
}

/**
 * The module that runs programs in QuickJS. It is the same for every program, so that all of them start from one
 * template; the code is evaluated within the call. `tools` has every name as a member, made when it is first used:
 * a tool that does not exist is refused when it is called, like any other call. Only tools that can be called are listed,
 * and their names are asked for when a program first lists them or looks for one.
 *
 * A program is an expression or the body of an asynchronous function, as `formOf` made it. If its value is a function, it is
 * called; promises in its value are awaited. Each call has a heap of its own, so a program that changes its globals affects no
 * other.
 *
 * `globalThis` is named, so that a program has all web APIs.
 */
const PROGRAM_RUNTIME: string = `
const AsyncFunction = (async () => {}).constructor;
const { apply, ownKeys: keysOf } = Reflect;
const { exec } = RegExp.prototype;
const ErrorOf = Error, SyntaxErrorOf = SyntaxError, TypeErrorOf = TypeError, ReferenceErrorOf = ReferenceError, ProxyOf = Proxy, PromiseOf = Promise;
const { isArray } = Array;
const { defineProperty: define, getPrototypeOf, keys: namesOf, prototype: objectMembers } = Object;
const { toPrimitive } = Symbol;
const FRAME = /<input>:(\\d+)(?::(\\d+))?/;
const global = globalThis;

const toolsFor = ({ call, names }) => {
  const members = { __proto__: null };
  let listed;
  const list = () => {
    if (listed === undefined) {
      listed = { __proto__: null };
      const found = names();
      for (let i = 0; i < found.length; i++) listed[found[i]] = true;
    }
    return listed;
  };
  const member = (name) => name === "then"
    // Whatever awaits \`tools\` would wait for ever.
    ? (input, reject) => {
      if (typeof input !== "function" || typeof reject !== "function") return call(name, input);
      reject(new TypeErrorOf("tools is not a promise: call one of its members"));
    }
    : (input) => call(name, input);
  const unfit = () => { throw new TypeErrorOf("tools has no value: call one of its members, or list them with Object.keys(tools)"); };
  // What every object has is no tool, unless there is one of this name: \`tools.toString()\`, JSON.stringify(tools).
  const get = (known, name) => {
    if (name === toPrimitive) return unfit;
    if (typeof name !== "string") return undefined;
    if (name in objectMembers && !(name in list())) return objectMembers[name];
    if (name === "toJSON" && !(name in list())) return unfit;
    return known[name] ??= member(name);
  };
  return new ProxyOf(members, {
    get,
    has: (known, name) => typeof name === "string" && name in list(),
    set: () => false,
    defineProperty: () => false,
    deleteProperty: () => false,
    setPrototypeOf: () => false,
    preventExtensions: () => false,
    ownKeys: () => keysOf(list()),
    getOwnPropertyDescriptor: (known, name) => typeof name === "string" && name in list()
      ? { value: known[name] ??= member(name), writable: true, enumerable: true, configurable: true }
      : undefined,
  });
};

const compile = (code) => {
  let end = code.length;
  while (end > 0 && (code[end - 1] === ";" || code[end - 1].trim() === "")) end--;
  const expression = code.slice(0, end);
  // In both, the code begins on the fourth line.
  try { return AsyncFunction("tools", "$later", "return (" + NEW_LINE + expression + NEW_LINE + ")"); } catch (thrown) {
    if (!(thrown instanceof SyntaxErrorOf)) throw thrown;
  }
  return AsyncFunction("tools", "$later", NEW_LINE + code);
};
const NEW_LINE = "\\n";

// What is not there, and what there is in its place.
const UNDEFINED = /^'([^']+)' is not defined$/;
const CALLS = "call a tool with tools.<name>(input)";
const REPLACED = {
  __proto__: null,
  require: "there are no modules to load: " + CALLS,
  module: "there are no modules: end the program with an expression or 'return'",
  exports: "there are no modules: end the program with an expression or 'return'",
  process: "there is no process: return a result, or throw an error",
  print: "write to the log with console.log",
  functions: CALLS, callTool: CALLS, call_tool: CALLS, codemode: CALLS, mcp: CALLS, tool: CALLS,
};
const hintOn = (message, tools) => {
  const found = typeof message === "string" ? apply(exec, UNDEFINED, [message]) : null;
  if (found === null) return "";
  if (REPLACED[found[1]] !== undefined) return ": " + REPLACED[found[1]];
  return found[1] in tools ? ": did you mean tools." + found[1] + "?" : "";
};

// Adds where the program threw to what the model reads.
const located = (thrown, tools) => {
  try {
    if (thrown instanceof ReferenceErrorOf) thrown.message += hintOn(thrown.message, tools);
  } catch {}
  try {
    if (!(thrown instanceof ErrorOf) || typeof thrown.stack !== "string") return thrown;
    const found = apply(exec, FRAME, [thrown.stack]);
    // Some errors have a frame before the code.
    if (found !== null && found[1] > LINES_BEFORE && typeof thrown.message === "string")
      thrown.message += " (line " + (found[1] - LINES_BEFORE) + (found[2] === undefined ? "" : ", column " + found[2]) + ")";
  } catch {}
  return thrown;
};
const LINES_BEFORE = 3;

// Waits for the promises in a result, and writes out its errors, which JSON has no form for.
const MAX_DEPTH = 64;
const isPlain = (value) => typeof value === "object" && value !== null && typeof value.toJSON !== "function";
// Of a map or bytes, a copy would be empty: what is lost is found later.
const hasOnlyMembers = (value) => {
  const prototype = getPrototypeOf(value);
  return isArray(value) || prototype === objectMembers || prototype === null || value instanceof ErrorOf;
};
const needsWork = (value, depth) => {
  if (!isPlain(value) || depth > MAX_DEPTH) return false;
  if (value instanceof PromiseOf || value instanceof ErrorOf) return true;
  const names = namesOf(value);
  for (let i = 0; i < names.length; i++) if (needsWork(value[names[i]], depth + 1)) return true;
  return false;
};
const settled = async (value, depth) => {
  if (value instanceof PromiseOf) return settled(await value, depth);
  if (!isPlain(value) || depth > MAX_DEPTH || !hasOnlyMembers(value)) return value;
  const copy = isArray(value) ? [] : {};
  const names = namesOf(value);
  if (value instanceof ErrorOf) {
    copy.name = value.name;
    copy.message = value.message;
    for (const name of ["cause", "errors"])
      if (value[name] !== undefined) copy[name] = await settled(value[name], depth + 1);
  }
  for (let i = 0; i < names.length; i++) {
    const member = await settled(value[names[i]], depth + 1);
    define(copy, names[i], { value: member, enumerable: true, configurable: true, writable: true });
  }
  return copy;
};

export default async ({ code, notes }, context) => {
  const tools = toolsFor(context.tools);
  const left = [];
  const later = (promise) => {
    left.push(promise);
    // It is awaited at the end, and must not count as unhandled until then.
    if (promise instanceof PromiseOf) promise.then(undefined, () => {});
  };
  try {
    for (let i = 0; i < (notes ? notes.length : 0); i++) context.log.info("note: " + notes[i]);
    let value = await compile(code)(tools, later);
    if (typeof value === "function") value = await value(tools);
    for (let i = 0; i < left.length; i++) await left[i];
    return needsWork(value, 0) ? await settled(value, 0) : value;
  } catch (thrown) {
    throw located(thrown, tools);
  }
};
`;
