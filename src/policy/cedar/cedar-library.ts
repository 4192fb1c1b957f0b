import type * as Cedar from "@cedar-policy/cedar-wasm/nodejs";

export type CedarLibrary = typeof Cedar;

/**
 * Loads `@cedar-policy/cedar-wasm`, an optional peer.
 *
 * @throws {Error} if it is not installed.
 */
export async function loadCedar(): Promise<CedarLibrary> {
  try {
    return await import("@cedar-policy/cedar-wasm/nodejs");
  } catch (cause) {
    throw new Error("Cedar policies need the package @cedar-policy/cedar-wasm: install its version 4.13", {
      cause,
    });
  }
}
