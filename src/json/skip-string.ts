const BACKSLASH = 0x5c;

/**
 * Finds the quote that ends a JSON string; -1 when there is none.
 *
 * @param start Index of the quote that opens it.
 */
export function closingQuote(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++;
    // An even number of them escape each other.
    if (backslashes % 2 === 0) return end;
  }
  return -1;
}
