/** What the SDK exports. */
export type RestateSdk = typeof import("@restatedev/restate-sdk");

/**
 * Loads `@restatedev/restate-sdk`, an optional peer.
 *
 * @throws {Error} as a rejection, if it is not installed.
 */
export async function loadSdk(): Promise<RestateSdk> {
  try {
    return await import("@restatedev/restate-sdk");
  } catch (cause) {
    throw new Error(
      "sandgate/restate needs @restatedev/restate-sdk: npm install @restatedev/restate-sdk@^1.17.0",
      {
        cause,
      },
    );
  }
}
