import { type FoundValue, lookUpAll, parsePointer } from "../../json/pointer.ts";
import type { JsonValue } from "../../json/value.ts";
import type { ArgumentProblem } from "../../schema/argument-problem.ts";
import type { PathArgument, ToolTraits, UrlArgument } from "../../tool/tool-traits.ts";

/** The arguments that a tool declares as paths and URLs. */
export interface DeclaredArguments {
  readonly paths: readonly Pointed<PathArgument>[];
  readonly urls: readonly Pointed<UrlArgument>[];
}

/** A declared argument, and the steps of its pointer. */
type Pointed<Argument> = Argument & { readonly steps: readonly string[] };

/** Returns what a tool declares; `undefined` if it declares neither paths nor URLs. */
export function declaredArguments({ paths = [], urls = [] }: ToolTraits): DeclaredArguments | undefined {
  if (paths.length === 0 && urls.length === 0) return undefined;
  return Object.freeze({ paths: paths.map(withSteps), urls: urls.map(withSteps) });
}

function withSteps<Argument extends UrlArgument>(argument: Argument): Pointed<Argument> {
  return { ...argument, steps: parsePointer(argument.argument) };
}

/** The values of a declared argument. An argument that is absent or `null` has none. */
export function valuesOf(input: JsonValue, { steps }: Pointed<UrlArgument>): readonly FoundValue[] {
  return lookUpAll(input, steps).filter(({ value }) => value !== null);
}

/** Returns what is wrong with the URLs in the arguments of a call. */
export function urlProblems(input: JsonValue, { urls }: DeclaredArguments): readonly ArgumentProblem[] {
  return urls.flatMap((url) =>
    valuesOf(input, url).flatMap(({ pointer, value }) => {
      const message = urlProblem(value);
      return message === undefined ? [] : [{ path: pointer, message }];
    }),
  );
}

/** `URL` drops spaces and control characters, and reads a backslash as a slash. Other programs do not. */
const MISREAD = /[\s\\\p{Cc}]/u;
const HTTP_URL = /^https?:\/\/[^/?#]/i;
const CREDENTIALS = /^https?:\/\/[^/?#]*@/i;

function urlProblem(value: JsonValue): string | undefined {
  if (typeof value !== "string" || !HTTP_URL.test(value) || MISREAD.test(value) || !URL.canParse(value)) {
    return "must be an http: or https: URL, such as https://example.com/page";
  }
  if (CREDENTIALS.test(value))
    return "must be a URL without user name and password: leave out what is before the @";
  return undefined;
}
