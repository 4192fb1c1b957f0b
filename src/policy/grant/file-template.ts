import { isAbsolute, posix, resolve } from "node:path";
import { lookUp, parsePointer } from "../../json/pointer.ts";
import type { JsonValue } from "../../json/value.ts";
import { isAmbiguous } from "../match/ambiguous-text.ts";
import { type FileGrant, isBelow, type WritesProtected } from "./fs-grant.ts";

/** A template cannot be filled in, so the call must be denied. `message` is for operators, and repeats no argument. */
export class TemplateRefusal extends Error {
  override readonly name = "TemplateRefusal";
}

/**
 * Grants the file whose path is in an argument. The call is denied if the argument is missing, is ambiguous (see
 * `isAmbiguous`) or is not the path of a file below `within`.
 */
export interface FileTemplate {
  /** A JSON pointer to the argument. Its path is absolute, or relative to `within`. */
  readonly file: { readonly argument: string };
  /** Absolute path of a directory on this machine. */
  readonly within: string;
  /**
   * Path at which the tool sees `within`; absolute paths in the argument must be below it. Default: the tool sees the
   * file at the path in the argument, which must be below `within` if it is absolute, and begins at `/` if it is not.
   */
  readonly at?: string;
  /** As in `FileGrant`. Default: false. */
  readonly write?: boolean;
  /** As in `FileGrant`. Default: none. */
  readonly writesProtected?: WritesProtected;
}

/** Whether an item of `fs` is a template of a file. */
export function isFileTemplate(grant: object): grant is FileTemplate {
  return "file" in grant && typeof grant.file === "object";
}

/**
 * Returns the file for a call.
 *
 * @throws {TemplateRefusal} if the argument does not name one.
 */
export function fileFor({ file, within, at, ...writing }: FileTemplate, input: JsonValue): FileGrant {
  const { argument } = file;
  const path = lookUp(input, parsePointer(argument));
  if (typeof path === "symbol") throw new TemplateRefusal(`the argument ${argument} is missing`);
  if (typeof path !== "string" || !isCertain(path)) {
    throw new TemplateRefusal(`the argument ${argument} is not a path of a file that is certain`);
  }
  const root = resolve(within);
  const outer = at ?? root;
  if (isAbsolute(path) && !isBelow(path, outer)) {
    throw new TemplateRefusal(`the path in the argument ${argument} is not within that of the rule`);
  }
  const below = isAbsolute(path) ? posix.relative(outer, path) : path;
  return {
    file: posix.join(root, below),
    within: root,
    at: isAbsolute(path) ? path : posix.join(at ?? "/", path),
    ...writing,
  };
}

/** Whether every program takes a text for the same path of a file. */
function isCertain(path: string): boolean {
  return !isAmbiguous(path) && !path.endsWith("/") && path.isWellFormed() && !/[\p{Cc}]/u.test(path);
}

/** Returns a file that stands for any that a template can grant. */
export function anyFileOf({ file: _, within, at = "/", ...writing }: FileTemplate, index: number): FileGrant {
  const name = `argument ${index + 1}`;
  const file = posix.join(within, name);
  return { file, within, at: posix.join(at, name), ...writing };
}
