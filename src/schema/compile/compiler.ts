import type { Ajv, KeywordDefinition, Options, SchemaObject, ValidateFunction } from "ajv";
import { loadAjv } from "../../base/load-ajv.ts";
import type { JsonValue } from "../../json/value.ts";
import { compilePattern } from "../../patterns/pattern.ts";
import { meter } from "../bounds.ts";
import { checkedFormats, equals, isUnique, oneOf } from "../formats.ts";
import type { Draft } from "../keywords.ts";
import { chargeContents } from "./content-work.ts";
import { CONTENT_KEYWORD, type ContentWork, type LoweredSchema, WORK_KEYWORD } from "./references.ts";

/** Whether a validator stops at the first error or collects all of them. */
export type ErrorMode = "first" | "all";

/** An ajv instance retains memory for every schema that it compiled, so it is replaced after this many. */
const MAX_USES = 500;

const compilers = new Map<string, { readonly ajv: Ajv; uses: number }>();

/** Compiles a lowered schema with ajv. Patterns run in linear time, and no keyword takes quadratic time. */
export function compileLowered({ draft, schema }: LoweredSchema, mode: ErrorMode): ValidateFunction {
  const ajv = compilerFor(draft, mode);
  try {
    return ajv.compile(schema as SchemaObject | boolean);
  } finally {
    if (typeof schema === "object") ajv.removeSchema(schema as SchemaObject);
  }
}

function compilerFor(draft: Draft, mode: ErrorMode): Ajv {
  const key = `${draft} ${mode}`;
  let compiler = compilers.get(key);
  if (compiler === undefined || compiler.uses >= MAX_USES) {
    compiler = { ajv: makeCompiler(draft, mode), uses: 0 };
    compilers.set(key, compiler);
  }
  compiler.uses++;
  return compiler.ajv;
}

function makeCompiler(draft: Draft, mode: ErrorMode): Ajv {
  const options: Options = {
    allErrors: mode === "all",
    // Own properties only: `required: ["constructor"]` must fail on `{}`.
    ownProperties: true,
    // Lowering has validated the schema already.
    strict: false,
    validateSchema: false,
    meta: false,
    // Inlining would copy a definition for each reference.
    inlineRefs: false,
    formats: checkedFormats(),
    // Optimising takes most of the time, without a measurable gain.
    code: { optimize: false, regExp: Object.assign(linearPattern, { code: "linearPattern" }) },
    logger: false,
  };
  const Compiler = draft === "draft-07" ? loadAjv().Ajv : loadAjv().Ajv2020;
  const ajv: Ajv = new Compiler(options);
  for (const keyword of KEYWORDS) {
    ajv.removeKeyword(String(keyword.keyword));
    ajv.addKeyword(keyword);
  }
  return ajv;
}

function linearPattern(source: string): { test(text: string): boolean; toString(): string } {
  const pattern = compilePattern(source);
  // ajv identifies patterns by their text.
  const test = (text: string): boolean => {
    meter.charge(PATTERN_WORK + text.length * pattern.work);
    return pattern.test(text);
  };
  return { test, toString: () => source };
}

/** The work of beginning to match a text with a pattern. */
const PATTERN_WORK = 0.5;

/** Replacements for ajv's own keywords. */
const KEYWORDS: readonly KeywordDefinition[] = [
  {
    keyword: WORK_KEYWORD,
    schemaType: "number",
    // Runs first, so that the work is charged before anything can fail.
    before: "$ref",
    errors: false,
    valid: true,
    compile: (work: number) => () => {
      meter.charge(work);
      return true;
    },
  },
  {
    keyword: CONTENT_KEYWORD,
    schemaType: "object",
    before: "$ref",
    errors: false,
    valid: true,
    compile: (work: ContentWork) => (value: JsonValue) => {
      chargeContents(work, value);
      return true;
    },
  },
  {
    keyword: "const",
    errors: false,
    compile: equals,
    error: {
      message: "must be equal to constant",
      params: ({ schemaCode }) => loadAjv()._`{allowedValue: ${schemaCode}}`,
    },
  },
  {
    keyword: "enum",
    schemaType: "array",
    errors: false,
    compile: oneOf,
    error: {
      message: "must be equal to one of the allowed values",
      params: ({ schemaCode }) => loadAjv()._`{allowedValues: ${schemaCode}}`,
    },
  },
  {
    keyword: "uniqueItems",
    type: "array",
    schemaType: "boolean",
    errors: false,
    compile: (isAsked: boolean) => (items: readonly JsonValue[]) => !isAsked || isUnique(items),
    error: { message: "must NOT have duplicate items" },
  },
];
