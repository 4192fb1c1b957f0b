import type { GenerateOptions } from "@bytecodealliance/jco-transpile/component";

/** Options with which jco transpiles a component. They are part of the key of a cache entry. */
export const TRANSPILE_OPTIONS: GenerateOptions = {
  name: "component",
  map: [],
  instantiation: { tag: "sync" },
  noNodejsCompat: true,
  noComponentErrorWrapping: true,
  base64Cutoff: 0,
};

/** The maximum size of generated code beyond the component's own size. A small component can generate any amount. */
export const MAX_GENERATED_BYTES: number = 8 * 1_024 * 1_024;

/** The beginning of the verdict on a valid component. The CPU time of compiling it follows, in ms. */
export const VALID = "+";

/** The size of a length in the input of the validating process. One precedes each part. */
export const LENGTH_BYTES = 4;
