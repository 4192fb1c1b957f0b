import type { Format } from "../formats.ts";

/** What a provider demands of the schemas of tools. If one schema does not meet it, the provider rejects the whole request. */
export interface SchemaDemands {
  /** Matches the names of properties that it accepts. */
  readonly propertyNames: RegExp;
  /** The keywords that a root may have. Default: all but those that combine or restrict the whole value. */
  readonly root?: ReadonlySet<string>;
  /** The keywords that it accepts. Others are added to the description. Default: all of JSON Schema 2020-12. */
  readonly keywords?: ReadonlySet<string>;
  /** The formats that it accepts. Default: all. */
  readonly formats?: ReadonlySet<string>;
  /** Whether a schema may refer to `$defs` of the root. Otherwise what it refers to takes the place of the reference. */
  readonly references: boolean;
  /** Whether an enum may only have texts, or only numbers. */
  readonly plainEnums: boolean;
}

/** How many images one request may have, and how large ones. */
export interface ImageLimits {
  readonly count: number;
  /** Maximum number of characters of base64 in all of them. */
  readonly characters: number;
  /** If there are more than `count` images, no side may have more than `side` pixels. */
  readonly many?: { readonly count: number; readonly side: number };
}

/** What a provider demands of requests. */
export interface Demands {
  readonly schema: SchemaDemands;
  /** Maximum number of tools of a request. */
  readonly tools: number;
  /** Maximum number of characters of a tool's description. */
  readonly description: number;
  /** Matches the ids of calls that it accepts. */
  readonly ids: RegExp;
  /** Maximum number of characters of an id. With less than 12, `fittingId` has no room for its digest. */
  readonly idLength: number;
  /** Default: any number of images. */
  readonly images?: ImageLimits;
}

/**
 * The names that Anthropic accepts: `tools.0.custom.input_schema.properties: Property keys should match pattern …`
 * (anthropics/claude-code#79418). Servers that speak another API pass schemas on to it.
 */
const PROPERTY_NAMES = /^[a-zA-Z0-9_.-]{1,64}$/;

/** OpenAI's rules, also for compatible servers and for gateways to other providers. */
const SCHEMA: SchemaDemands = {
  propertyNames: PROPERTY_NAMES,
  // `schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level`
  // (langchain-ai/langchainjs#9804). Anthropic: `input_schema does not support oneOf, allOf, or anyOf at the top level`
  // (anthropics/claude-code#5319). `array schema missing items` (streamnative/streamnative-mcp-server#26).
  references: true,
  plainEnums: false,
};

/** What Google documents for `parametersJsonSchema` (Gemini API, "Structured output"; Vertex AI, "FunctionDeclaration"). */
const GOOGLE_SCHEMA: SchemaDemands = {
  // A letter or an underscore, then letters, digits and underscores, 64 at most (Vertex AI, "FunctionDeclaration", `parameters`).
  propertyNames: /^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/,
  keywords: new Set([
    "type",
    "format",
    "title",
    "description",
    "enum",
    "items",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "anyOf",
    "oneOf",
    "properties",
    "additionalProperties",
    "required",
    "propertyOrdering",
  ]),
  formats: new Set(["date-time", "date", "time", "int32", "int64", "float", "double"]),
  // References to schemas that refer to themselves are allowed only in optional properties, and without other keywords.
  references: false,
  plainEnums: true,
};

/**
 * Amazon Nova supports three fields at the top level, `type`, `properties` and `required`; `$schema`, `description`, `title` and
 * `additionalProperties` are among those that it does not (Amazon Nova user guide, "Troubleshoot tool calls": prompting-tool-troubleshooting.html;
 * `$defs`: pydantic/pydantic-ai#1623).
 */
const BEDROCK_SCHEMA: SchemaDemands = {
  ...SCHEMA,
  root: new Set(["type", "properties", "required"]),
  references: false,
};

const ANY = /^/;
const NO_LIMIT = Number.POSITIVE_INFINITY;

const UNLIMITED: Omit<Demands, "schema"> = {
  tools: NO_LIMIT,
  description: NO_LIMIT,
  ids: ANY,
  idLength: NO_LIMIT,
};

/** The demands of each format, with their sources. The native format demands nothing. */
export const DEMANDS: Readonly<Record<Exclude<Format, "native">, Demands>> = {
  openai: {
    schema: SCHEMA,
    // `Invalid 'tools': array too long. Expected an array with maximum length 128` (zed-industries/zed#42393).
    tools: 128,
    // `Invalid 'tools[0].function.description': string too long. Expected a string with maximum length 1024`
    // (getsentry/sentry-mcp#106; Azure OpenAI, "Function calling"). OpenAI itself no longer seems to enforce it.
    description: 1_024,
    // `Invalid 'messages[10].tool_calls[0].id': string too long. Expected a string with maximum length 40` (agno-agi/agno#5382).
    ids: ANY,
    idLength: 40,
  },
  "openai-responses": {
    schema: SCHEMA,
    tools: 128,
    description: 1_024,
    // `Invalid 'input[N].call_id': string too long. Expected a string with maximum length 64`.
    ids: ANY,
    idLength: 64,
    // 500 images, and 50 MB for the whole request (OpenAI API, "Images and vision").
    images: { count: 500, characters: 40_000_000 },
  },
  anthropic: {
    ...UNLIMITED,
    schema: SCHEMA,
    // `tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'` (maximhq/bifrost#5097).
    ids: /^[a-zA-Z0-9_-]+$/,
    images: {
      // `Too much media: 0 document pages + 103 images > 100` (anthropics/claude-code#3397).
      count: 100,
      // `Request exceeds the maximum size` (earendil-works/pi#401): 32 MB with everything else.
      characters: 24_000_000,
      // `At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels`: with more than 20
      // images (anthropics/claude-code#49537, letta-ai/letta-code#615).
      many: { count: 20, side: 2_000 },
    },
  },
  // The SDK sends to any provider.
  "ai-sdk": { ...UNLIMITED, schema: SCHEMA },
  google: { ...UNLIMITED, schema: GOOGLE_SCHEMA, tools: 512 },
  cohere: { ...UNLIMITED, schema: SCHEMA },
  bedrock: {
    ...UNLIMITED,
    schema: BEDROCK_SCHEMA,
    // Amazon Bedrock API reference, "ToolUseBlock" and "ToolResultBlock": `[a-zA-Z0-9_-]+`, at most 64. A description has at least one
    // character ("ToolSpecification").
    ids: /^[a-zA-Z0-9_-]+$/,
    idLength: 64,
  },
};
