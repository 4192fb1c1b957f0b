/**
 * A tool as an ES module of JavaScript or TypeScript that runs in QuickJS. It is not trusted. The exported function gets
 * the input and returns or resolves to any JSON value. See docs/javascript-tools.md.
 */
export type QuickJsImplementation = QuickJsSource | QuickJsFile;

/** A tool given as the text of its module, which cannot import other modules. */
export interface QuickJsSource {
  /** The text of the module. */
  readonly source: string;
  /** The name of the exported function. Default: `"default"`. */
  readonly export?: string;
  /** Where the arguments have code from which types are removed before the function gets it. Default: nowhere. */
  readonly typedCode?: TypedCode;
}

/** Where arguments have code with types. */
export interface TypedCode {
  /** The member with the body of an asynchronous function. */
  readonly code: string;
  /** The member that is `"ts"` if the code has types. */
  readonly language: string;
}

/** A tool given as the file of its module, which is read when the tool is first prepared. */
export interface QuickJsFile {
  /** An absolute path or a `file:` URL. */
  readonly file: string | URL;
  /** The name of the exported function. Default: `"default"`. */
  readonly export?: string;
}
