import { OWN_PREFIX } from "../../workspace/protected-places.ts";

/** The folder of shadows, in Sandgate's own folder of a workspace. */
export const SHADOWS = "shadows";

/** Returns the workspace of which a directory is a shadow; `undefined` if it is none. */
export function shadowedBy(directory: string): string | undefined {
  const names = directory.split("/");
  if (names.at(-2) !== SHADOWS || names.at(-3) !== OWN_PREFIX) return undefined;
  return names.slice(0, -3).join("/") || "/";
}
