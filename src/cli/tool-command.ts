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
      /** The file of the key-value stores. `undefined` stores them in memory until the command ends. */
      readonly store: string | undefined;
    }
  | {
      readonly name: "tool check";
      readonly files: readonly string[];
      readonly export: string | undefined;
      readonly engine: Engine | undefined;
      /** Where to write a policy that grants what the tools need; `undefined` for nowhere. */
      readonly grant: string | undefined;
      /** What the capabilities of that policy name, as `CAPABILITY=VALUE`. */
      readonly values: readonly string[];
    }
  | { readonly name: "tool inspect"; readonly file: string }
  | {
      readonly name: "tool component";
      /** A core module. */
      readonly file: string;
      /** Where to write the component. */
      readonly out: string;
    }
  | {
      readonly name: "tool import";
      /** A description of an API in OpenAPI. */
      readonly file: string;
      /** Patterns of the operations to import. Default: all. */
      readonly operations: readonly string[];
      /** The origins of the API. */
      readonly origins: readonly string[];
      /** `PATTERN=CLASS`: the side effects of operations. */
      readonly sideEffects: readonly string[];
      /** `SCHEME=NAME`: the names of secrets. */
      readonly secrets: readonly string[];
      /** The folder of the config and the policy. */
      readonly out: string;
    }
  | { readonly name: "tool new"; readonly directory: string; readonly template: Template };

/** The languages of new projects. */
export const LANGUAGES = ["javascript", "typescript", "c", "assemblyscript", "rust"] as const;

/** The projects that `sandgate tool new` can create. */
export type Template =
  | "javascript"
  | "typescript"
  | "wasm-javascript"
  | "wasm-c"
  | "wasm-assemblyscript"
  | "wasm-rust"
  | "wasm-key-value";

/** Engines for components that are trusted. */
export const ENGINES = ["jco"] as const;

/** One of {@link ENGINES}. */
type Engine = (typeof ENGINES)[number];
