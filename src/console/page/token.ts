/**
 * Returns the token of an address such as `/console/#token=…`, and removes it from the address bar and from the entry of
 * the history, so that it is neither bookmarked nor seen over a shoulder. `undefined` if there is none.
 */
export function takeToken(): string | undefined {
  const match = /^#token=(.+)$/.exec(location.hash);
  if (match === null) return undefined;
  history.replaceState(undefined, "", `${location.pathname}${location.search}`);
  const [, encoded = ""] = match;
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}
