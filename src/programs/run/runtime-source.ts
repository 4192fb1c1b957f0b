/**
 * The module that runs programs in QuickJS. It is the same for every program, so that all of them start from one
 * template; the code is evaluated within the call. `tools` has every name as a member, made when it is first used:
 * a tool that does not exist is refused when it is called, like any other call. Only tools that can be called are listed,
 * and their names are asked for when a program first lists them or looks for one.
 *
 * A program is an expression or the body of an asynchronous function. If its value is a function, it is called. Each call
 * has a heap of its own, so a program that changes its globals affects no other.
 *
 * `globalThis` is named, so that a program has all web APIs.
 */
export const PROGRAM_RUNTIME: string = `
const AsyncFunction = (async () => {}).constructor;
const { apply, ownKeys: keysOf } = Reflect;
const { exec } = RegExp.prototype;
const ErrorOf = Error, SyntaxErrorOf = SyntaxError, TypeErrorOf = TypeError, ProxyOf = Proxy;
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
  return new ProxyOf(members, {
    get: (known, name) => typeof name === "string" ? (known[name] ??= member(name)) : undefined,
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
  try { return AsyncFunction("tools", "return (" + NEW_LINE + expression + NEW_LINE + ")"); } catch (thrown) {
    if (!(thrown instanceof SyntaxErrorOf)) throw thrown;
  }
  return AsyncFunction("tools", NEW_LINE + code);
};
const NEW_LINE = "\\n";

// Adds where the program threw to what the model reads.
const located = (thrown) => {
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

export default async ({ code }, context) => {
  const tools = toolsFor(context.tools);
  try {
    const value = await compile(code)(tools);
    return typeof value === "function" ? await value(tools) : value;
  } catch (thrown) {
    throw located(thrown);
  }
};
`;
