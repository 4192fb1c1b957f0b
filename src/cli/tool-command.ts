/** A command on a tool's file, which is JavaScript, TypeScript or a WebAssembly component. */
export type ToolCommand =
  | {
      readonly name: "tool run";
      readonly file: string;
      /** The exported function. Default: `default` for JavaScript, the only tool for a component. */
      readonly export: string | undefined;
      /** The name of a component's tool. Default: the only one. */
      readonly tool: string | undefined;
      /** The engine of a component. Default: Sandgate's own. */
      readonly engine: Engine | undefined;
      /** JSON text. */
      readonly input: string;
      /** The policy file. `undefined` grants the sandbox with its own limits, the engine, and nothing else. */
      readonly policy: string | undefined;
    }
  | {
      readonly name: "tool check";
      readonly files: readonly string[];
      readonly export: string | undefined;
      readonly engine: Engine | undefined;
    }
  | { readonly name: "tool inspect"; readonly file: string }
  | { readonly name: "tool new"; readonly directory: string; readonly language: Language };

/** The languages of new projects. */
export const LANGUAGES = ["javascript", "c"] as const;

/** One of {@link LANGUAGES}. */
export type Language = (typeof LANGUAGES)[number];

/** Engines for components that are trusted. */
export const ENGINES = ["jco"] as const;

/** One of {@link ENGINES}. */
export type Engine = (typeof ENGINES)[number];

/** The options of `sandgate tool run`. `tool check` takes the first two, too. */
export const TOOL_OPTIONS = {
  export: { type: "string", short: "e" },
  engine: { type: "string" },
  tool: { type: "string", short: "t" },
  input: { type: "string", short: "i" },
  policy: { type: "string", short: "p" },
} as const;

/** The options of `sandgate tool new`. */
export const NEW_OPTIONS = { wasm: { type: "boolean" }, language: { type: "string", short: "l" } } as const;
