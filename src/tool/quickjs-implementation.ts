/**
 * A tool that is an ES module of JavaScript without imports, run in QuickJS. Not trusted. Its function gets
 * the input and returns (or resolves to) any JSON value.
 */
export type QuickJsImplementation = QuickJsSource | QuickJsFile;

/** The module's text. */
export interface QuickJsSource {
  readonly source: string;
  /** The name of the exported function. Default: `"default"`. */
  readonly export?: string;
}

/** The module's file, read when the tool is first prepared. */
export interface QuickJsFile {
  /** An absolute path or a `file:` URL. */
  readonly file: string | URL;
  /** The name of the exported function. Default: `"default"`. */
  readonly export?: string;
}
