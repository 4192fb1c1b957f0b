const COMMENT = "//# sourceMappingURL=";

/** Returns the URL of the comment that a module ends with; `undefined` if it has none. */
export function sourceMapUrl(source: string): string | undefined {
  const at = source.lastIndexOf(COMMENT);
  if (at < 0) return undefined;
  const url = source.slice(at + COMMENT.length).trim();
  return url === "" || /\s/.test(url) ? undefined : url;
}

/** Returns the name of a source map that is a file beside its module; `undefined` for any other URL. */
export function mapFileBeside(source: string): string | undefined {
  const url = sourceMapUrl(source);
  return url !== undefined && url.length <= 255 && /^[\w-][\w.-]*\.map$/.test(url) ? url : undefined;
}
