/** A line of a trailer, as `git interpret-trailers` knows it. */
const TRAILER = /^[A-Za-z0-9-]+: \S/;

/**
 * Appends trailers to a commit message: to those at its end, or as a paragraph of their own.
 *
 * @throws {TypeError} if a name or a value cannot be a trailer.
 */
export function withTrailers(message: string, trailers: Readonly<Record<string, string>>): string {
  const lines = Object.entries(trailers).map(([name, value]) => {
    const line = `${name}: ${value}`;
    if (!TRAILER.test(line) || /[\r\n]/.test(line)) throw new TypeError(`'${name}' cannot be a trailer`);
    return line;
  });
  if (lines.length === 0) return message;
  const paragraphs = message.trimEnd().split(/\n{2,}/);
  const isAfterTrailers =
    paragraphs.length > 1 && (paragraphs.at(-1) ?? "").split("\n").every((line) => TRAILER.test(line));
  return `${message.trimEnd()}${isAfterTrailers ? "\n" : "\n\n"}${lines.join("\n")}\n`;
}
