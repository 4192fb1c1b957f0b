import { createRequire } from "node:module";
import type { RE2JS } from "re2js";
import { LruMap } from "../base/lru-map.ts";
import { resolveDependency } from "../base/package-files.ts";
import { PatternError, translatePattern } from "./pattern-syntax.ts";

/** A pattern that matches in linear time. */
export interface Pattern {
  /** The size of its program. */
  readonly size: number;
  /** The cost of each UTF-16 code unit of a text, in keywords of a schema. */
  readonly work: number;
  /** What it costs to compile, in units of about 10 µs. */
  readonly compilation: number;
  test(text: string): boolean;
  /** Returns the index at which the first match begins, or -1. */
  search(text: string): number;
}

/** Options of {@link compilePattern}. */
export interface PatternOptions {
  /** Whether upper and lower case are the same. Default: `false`. */
  readonly ignoreCase?: boolean;
}

/** The maximum length of a pattern, in UTF-16 code units. */
export const MAX_PATTERN_LENGTH = 1_024;
/** The maximum size of a pattern with its repetitions expanded: `(ab){3}` has the size 6. */
export const MAX_PATTERN_SIZE = 2_000;

/** Divisors for the cost of a character, in keywords. In RE2 it is at least 1, and more in a large program. */
const RE2_STEPS = 16;
const NATIVE_STEPS = 64;

/**
 * Compiles a pattern in ECMAScript's syntax (JSON Schema 2020-12 Core, section 6.4) for RE2, which matches in linear
 * time. Simple patterns run in V8's own engine, where they take linear time, too.
 *
 * @throws {PatternError} if it is not a valid regular expression, is too large or cannot be matched in linear time.
 */
export function compilePattern(source: string, { ignoreCase = false }: PatternOptions = {}): Pattern {
  const key = `${ignoreCase ? "i" : ""}/${source}`;
  let pattern = recent.get(key);
  if (pattern === undefined) {
    pattern = used.get(key)?.deref();
    if (pattern === undefined) {
      pattern = compile(source, ignoreCase);
      used.set(key, new WeakRef(pattern));
      collected.register(pattern, key);
    }
    recent.set(key, pattern);
  }
  return pattern;
}

/** Each pattern is needed when it is checked, and again by up to two validators. */
const recent = new LruMap<string, Pattern>(256);

/**
 * A policy of 10,000 patterns compiles each several times in one job, during which a `WeakRef` retains its target, and
 * its next version has most of them, too.
 */
const used = new Map<string, WeakRef<Pattern>>();
const collected = new FinalizationRegistry<string>((key) => {
  if (used.get(key)?.deref() === undefined) used.delete(key);
});

function compile(source: string, ignoreCase: boolean): Pattern {
  if (source.length > MAX_PATTERN_LENGTH) {
    throw new PatternError(`the pattern is longer than ${MAX_PATTERN_LENGTH} characters`);
  }
  const native = parse(source);
  const { re2, size, retried } = translatePattern(source);
  if (size > MAX_PATTERN_SIZE) {
    throw new PatternError(
      `the pattern is larger than ${MAX_PATTERN_SIZE} characters with its repetitions expanded`,
    );
  }
  if (retried !== undefined && native.unicode && !ignoreCase) {
    const work = (1 + retried) / NATIVE_STEPS;
    const compilation = 2 + source.length / 32;
    const search = (text: string): number => text.search(native);
    return { size, work, compilation, test: (text) => native.test(text), search };
  }
  const program = compileLinear(re2, { ignoreCase });
  const work = Math.max(1, size / RE2_STEPS);
  const compilation = 25 + Math.max(size, source.length) / 4;
  const search = (text: string): number => {
    const matcher = program.matcher(text);
    return matcher.find() ? matcher.start() : -1;
  };
  return { size, work, compilation, test: (text) => program.test(text), search };
}

/**
 * Compiles a pattern in the syntax of RE2.
 *
 * @internal
 */
export function compileLinear(re2: string, { ignoreCase = false }: PatternOptions = {}): RE2JS {
  engine ??= loadEngine();
  try {
    return engine.RE2JS.compile(re2, ignoreCase ? engine.RE2JS.CASE_INSENSITIVE : 0);
  } catch (error) {
    const detail = error instanceof Error ? error.message.replace("error parsing regexp: ", "") : "";
    throw new PatternError(`the pattern is not supported by the linear-time engine: ${detail}`);
  }
}

// Loaded on first use: that takes longer than everything else here, and many programs do not need it.
let engine: typeof import("re2js") | undefined;

/** @throws {PackageFileError} if it is not installed where this code is, as in a bundle. */
function loadEngine(): typeof import("re2js") {
  const file = resolveDependency("re2js");
  return createRequire(file)(file) as typeof import("re2js");
}

/**
 * Parses with the flag `u`, as JSON Schema requires; or without it, as many patterns in use have escapes that `u`
 * refuses.
 */
function parse(source: string): RegExp {
  for (const flags of ["u", ""]) {
    try {
      return new RegExp(source, flags);
    } catch {
      // Try the next flags.
    }
  }
  throw new PatternError("not a valid regular expression");
}
