/** A function's name in WIT, as JavaScript names its parts. */
export interface JavaScriptName {
  readonly kind: "function" | "constructor" | "method" | "static";
  /** The class; "" for a function. */
  readonly resource: string;
  /** The function or method; "" for a constructor. */
  readonly member: string;
}

/** The syntax of a function's name (`Explainer.md`, `plainname`), such as `[method]pollable.block`. */
const PLAIN_NAME = /^(?:\[(constructor|method|static)\])?([a-z0-9-]+)(?:\.([a-z0-9-]+))?$/i;

/** Returns the parts of a function's name in JavaScript. */
export function javaScriptName(name: string): JavaScriptName {
  const [, kind = "function", first = "", second = ""] = PLAIN_NAME.exec(name) ?? [];
  const isFunction = kind === "function";
  return {
    kind: kind as JavaScriptName["kind"],
    resource: isFunction ? "" : pascalCase(first),
    member: camelCase(isFunction ? first : second),
  };
}

/** Returns an interface's name without its version. */
export function withoutVersion(interfaceName: string): string {
  return interfaceName.replace(/@.*$/, "");
}

/** Returns a label of WIT in camel case. Its words are all in lower or all in upper case. */
export function camelCase(label: string): string {
  return label.toLowerCase().replaceAll(/-([a-z0-9])/g, (_, first: string) => first.toUpperCase());
}

function pascalCase(label: string): string {
  return camelCase(`-${label}`);
}
