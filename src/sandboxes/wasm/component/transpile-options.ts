import type { GenerateOptions } from "@bytecodealliance/jco-transpile/component";

/** How jco transpiles a component. Part of what names a cache entry. */
export const TRANSPILE_OPTIONS: GenerateOptions = {
  name: "component",
  map: [],
  instantiation: { tag: "sync" },
  noNodejsCompat: true,
  noComponentErrorWrapping: true,
  base64Cutoff: 0,
};

/** What jco may write beyond the component's own bytes: a small component can ask for endless code. */
export const MAX_GENERATED_BYTES: number = 8 * 1_024 * 1_024;

/** How the verdict on a valid component begins. The CPU time that compiling it took follows, in ms. */
export const VALID = "+";

/** Parts of what the validating process reads: each has its length before it, in 32 bits. */
export const LENGTH_BYTES = 4;
