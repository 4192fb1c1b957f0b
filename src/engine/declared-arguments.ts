import type { MaybePromise } from "../base/promises.ts";
import { describeThrown } from "../base/thrown.ts";
import { type FoundValue, lookUpAll, parsePointer } from "../json/pointer.ts";
import type { JsonValue } from "../json/value.ts";
import { type ArgumentProblem, problemText } from "../schema/arguments.ts";
import { ESCAPE_TEXT, escapeDetail } from "../tool/tool-failure.ts";
import type { ArgumentPath, PathArgument, ToolTraits, UrlArgument } from "../tool/tool-traits.ts";
import type { PathResolver, ResolvedPath } from "../workspace/resolve-path.ts";
import { invalidArgumentsText } from "./errors.ts";
import { denial, invalid, Refusal } from "./refusal.ts";

/** A path in the arguments of a call, as its tool declares it. */
export interface DeclaredPath {
  /** A JSON pointer to it. */
  readonly argument: string;
  readonly access: PathArgument["access"];
  /** See `PathArgument`. */
  readonly opensProtected: boolean;
  /** Where it leads in the session's workspace; as the model wrote it if there is no workspace. */
  readonly path: string;
  /** `undefined` if there is no workspace. */
  readonly resolved: ResolvedPath | undefined;
}

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

/** Returns the paths of a call as its policy sees them; `undefined` if it is not known where they lead. */
export function argumentPaths(declared: readonly DeclaredPath[]): readonly ArgumentPath[] | undefined {
  const known = declared.flatMap(({ argument, path, resolved }): readonly ArgumentPath[] => {
    if (resolved === undefined) return [];
    const { links } = resolved;
    return [Object.freeze({ argument, path, ...(links.length > 0 && { links: Object.freeze([...links]) }) })];
  });
  return known.length === 0 ? undefined : Object.freeze(known);
}

/** Each path takes a few system calls, in which the process does nothing else. */
const MAX_PATHS = 1_000;

/**
 * Checks the paths and URLs that a tool declares among the arguments of a call. Whether a path exists is left to the tool,
 * which may run on another machine.
 *
 * @param workspace The session's, if it has one. Without it, a path can lead anywhere.
 * @returns The paths. A promise only if the code that resolves them has to be loaded.
 * @throws {Refusal} `permission_denied` for a path that leads out of the workspace, or if the workspace cannot be opened;
 *   `validation_error` for what is no path or URL. A promise rejects with it.
 */
export function checkDeclaredArguments(
  declared: DeclaredArguments,
  input: JsonValue,
  workspace: string | undefined,
  tool: string,
): MaybePromise<readonly DeclaredPath[]> {
  if (declared.paths.length === 0 || workspace === undefined) return check(declared, input, undefined);
  if (Resolver !== undefined) return checkIn(declared, input, workspace, tool, Resolver);
  return import("../workspace/resolve-path.ts").then(({ PathResolver }) => {
    Resolver = PathResolver;
    return checkIn(declared, input, workspace, tool, PathResolver);
  });
}

/** Loaded on first use: most programs have no tools that declare paths. */
let Resolver: typeof PathResolver | undefined;

function checkIn(
  declared: DeclaredArguments,
  input: JsonValue,
  workspace: string,
  tool: string,
  Opened: typeof PathResolver,
): readonly DeclaredPath[] {
  let resolver: PathResolver;
  try {
    resolver = new Opened(workspace);
  } catch (error) {
    throw denial(tool, "workspace", describeThrown(error).detail);
  }
  try {
    return check(declared, input, resolver);
  } finally {
    resolver[Symbol.dispose]();
  }
}

function check(
  declared: DeclaredArguments,
  input: JsonValue,
  resolver: PathResolver | undefined,
): readonly DeclaredPath[] {
  const problems: ArgumentProblem[] = [];
  const found: DeclaredPath[] = [];
  for (const argument of declared.paths) {
    for (const { pointer, value } of valuesOf(input, argument)) {
      if (found.length === MAX_PATHS) {
        const message = `holds more than ${MAX_PATHS} paths: make several calls`;
        throw refusalOf([{ path: argument.argument, message }]);
      }
      const path = read(pointer, value, argument, resolver);
      if (typeof path === "string") problems.push({ path: pointer, message: path });
      else found.push(path);
    }
  }
  problems.push(...urlProblems(input, declared));
  if (problems.length > 0) throw refusalOf(problems);
  return found;
}

/** Returns what is wrong with a path as a text. */
function read(
  argument: string,
  value: JsonValue,
  { access, opensProtected = false }: PathArgument,
  resolver: PathResolver | undefined,
): DeclaredPath | string {
  if (typeof value !== "string") return "must be a string: the path of one file or directory";
  if (value.includes("\0")) return "must be a path without NUL characters";
  if (resolver === undefined) return { argument, access, opensProtected, path: value, resolved: undefined };
  const resolved = resolver.resolve(value);
  if (resolved === "escapes") {
    throw new Refusal("permission_denied", ESCAPE_TEXT, { detail: escapeDetail(value) });
  }
  if ("problem" in resolved) return `cannot be the path of a file: ${resolved.problem}`;
  return { argument, access, opensProtected, path: resolved.path, resolved };
}

function refusalOf(problems: readonly ArgumentProblem[]): Refusal {
  return invalid(invalidArgumentsText(problems.map(problemText)), problems);
}

/** The values of a declared argument. An argument that is absent or `null` has none. */
function valuesOf(input: JsonValue, { steps }: Pointed<UrlArgument>): readonly FoundValue[] {
  return lookUpAll(input, steps).filter(({ value }) => value !== null);
}

/** Returns what is wrong with the URLs in the arguments of a call. */
function urlProblems(input: JsonValue, { urls }: DeclaredArguments): readonly ArgumentProblem[] {
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
