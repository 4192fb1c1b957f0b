import { parse } from "acorn";

/** The parser of JavaScript. Load it with `loadAcorn`: the build bundles it into one file, which three threads share. */
export const LIBRARY: { readonly parse: typeof parse } = { parse };
