import type { GenerateOptions } from "@bytecodealliance/jco-transpile/component";

/** How jco writes a component as JavaScript. Part of what names a cache entry. */
export const TRANSPILE_OPTIONS: GenerateOptions = {
  name: "component",
  map: [],
  // One function without imports of its own, which is given core modules and imports.
  instantiation: { tag: "sync" },
  noNodejsCompat: true,
  noComponentErrorWrapping: true,
  base64Cutoff: 0,
};
