import type { StrictSubset } from "./schema.ts";
import { UNLIMITED } from "./size.ts";

const FORMATS: ReadonlySet<string> = new Set([
  "date-time",
  "time",
  "date",
  "duration",
  "email",
  "hostname",
  "ipv4",
  "ipv6",
  "uuid",
]);

/** OpenAI, "Structured outputs", section "Supported schemas". */
export const OPENAI_STRICT: StrictSubset = {
  requiresAll: true,
  takesRecursion: true,
  bounds: new Set([
    "pattern",
    "multipleOf",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minItems",
    "maxItems",
  ]),
  formats: FORMATS,
  maxDepth: 10,
  tool: { ...UNLIMITED, properties: 5_000, enumValues: 1_000, text: 120_000, longEnum: 15_000 },
  request: { ...UNLIMITED, tools: Number.POSITIVE_INFINITY },
};

/** Anthropic, "Structured outputs", sections "JSON Schema limitations" and "Schema complexity limits". */
export const ANTHROPIC_STRICT: StrictSubset = {
  requiresAll: false,
  takesRecursion: false,
  bounds: new Set(["minItems: 0", "minItems: 1"]),
  formats: new Set([...FORMATS, "uri"]),
  maxDepth: 32,
  tool: UNLIMITED,
  request: { ...UNLIMITED, tools: 20, optional: 24, unions: 16 },
};

/** The subset that both support, for the AI SDK, which sends the same schema to either. */
export const COMMON_STRICT: StrictSubset = {
  requiresAll: true,
  takesRecursion: false,
  bounds: ANTHROPIC_STRICT.bounds,
  formats: FORMATS,
  maxDepth: OPENAI_STRICT.maxDepth,
  tool: OPENAI_STRICT.tool,
  request: ANTHROPIC_STRICT.request,
};
